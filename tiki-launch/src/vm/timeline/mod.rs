//! Timelines: when each phase of a block's warps ran, in logical time.
//!
//! Time is counted in warp instructions. Each warp has a clock that an instruction it issues moves by one, and that a
//! wait moves to the moment at which what it waited for was there: the last arrival or the last issue that the barrier
//! (or barrier object) counted. So warps that run side by side on a card run side by side here, whatever order the
//! machine ran them in, and a timeline does not depend on the number of host threads. It says what overlaps what and
//! who waits for whom; it says nothing about how long a card takes.
//!
//! Asynchronous work (copies, stores of the accelerator, a warpgroup's multiplies) lasts from its issue to the wait that
//! it lets pass, or to the end of its warp if none does; it is drawn *beside* the warp's own instructions.
//!
//! A launch is recorded if its [`Options`](super::Options) name a [`Recorder`]: one block of it, and the blocks of its
//! cluster. A timeline is written as a drawing ([`Timeline::to_svg`]) or as trace events, which Perfetto and Chrome open
//! ([`Timeline::to_trace`]).

mod draw;
mod hooks;
mod tape;
mod trace;

pub(super) use tape::Tape;

use super::fault::Source;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// What a warp, or work that it has issued, is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Data on its way from global memory (or from another block).
    Load,
    /// At a barrier, or for work that was issued.
    Wait,
    /// Tensor cores.
    Product,
    /// All other instructions.
    Compute,
    /// Data on its way to global memory.
    Store,
}

impl Phase {
    /// All of them, in the order of a legend.
    pub const ALL: [Phase; 5] = [
        Phase::Load,
        Phase::Wait,
        Phase::Product,
        Phase::Compute,
        Phase::Store,
    ];
    /// In a word.
    #[must_use]
    pub fn text(self) -> &'static str {
        ["load", "wait", "product", "compute", "store"][self as usize]
    }
}

/// What counts a piece of work, or what a wait waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum On {
    /// A barrier of the block, by number.
    Barrier(u32),
    /// The cluster's barrier.
    Cluster,
    /// A phase of a barrier object: rank of its block in the cluster, byte in shared memory, number of the phase.
    Object {
        /// Rank of the block.
        rank: u32,
        /// First byte.
        byte: u32,
        /// Phases that ended before it.
        phase: u64,
    },
}

impl std::fmt::Display for On {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            On::Barrier(n) => write!(f, "barrier {n}"),
            On::Cluster => f.write_str("the cluster's barrier"),
            On::Object { byte, phase, .. } => {
                write!(f, "barrier object at shared byte {byte}, phase {phase}")
            }
        }
    }
}

/// A warp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Block.
    pub block: [u32; 3],
    /// Warp in the block.
    pub warp: u32,
    /// When it ended.
    pub end: u64,
}

/// A stretch of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Number of the warp's row.
    pub row: usize,
    /// What it was.
    pub phase: Phase,
    /// It went on beside the warp's own instructions.
    pub beside: bool,
    /// First tick.
    pub from: u64,
    /// Tick behind the last.
    pub to: u64,
    /// Line of the PTX text at which it began.
    pub ptx_line: u32,
    /// Place in the author's source.
    pub source: Option<Source>,
    /// What counts it or what it waits for, where that has a name.
    pub on: Option<On>,
}

/// What the warps of a block did, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// Kernel.
    pub kernel: String,
    /// Warps, block by block.
    pub rows: Vec<Row>,
    /// In the order of their issue, warp by warp as the machine ran them.
    pub spans: Vec<Span>,
    /// Spans beyond the most that are kept ([`Timeline::MOST`]).
    pub left_out: u64,
}

impl Timeline {
    /// Spans that are kept of a launch.
    pub const MOST: usize = 1 << 20;

    /// When the last warp ended.
    #[must_use]
    pub fn end(&self) -> u64 {
        let spans = self.spans.iter().map(|s| s.to);
        self.rows
            .iter()
            .map(|r| r.end)
            .chain(spans)
            .max()
            .unwrap_or(0)
    }
    /// Spans of a phase, beside a warp's own instructions or not.
    pub fn of(&self, phase: Phase) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(move |s| s.phase == phase)
    }
    /// Writes it to a file: a drawing if that ends in `.svg`, trace events if in `.json`.
    ///
    /// # Errors
    /// If it ends otherwise or cannot be written.
    pub fn save(&self, file: &Path) -> std::io::Result<()> {
        let text = match file.extension().and_then(|e| e.to_str()) {
            Some("svg") => self.to_svg(),
            Some("json") => self.to_trace().to_string(),
            _ => {
                let text = format!("{} ends neither in .svg nor in .json", file.display());
                return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, text));
            }
        };
        let said =
            |e: std::io::Error| std::io::Error::new(e.kind(), format!("{}: {e}", file.display()));
        std::fs::write(file, text).map_err(said)
    }
}

/// Takes the timelines of launches whose options name it.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Kept>);

#[derive(Debug, Default)]
struct Kept {
    block: [u32; 3],
    list: Mutex<Vec<Timeline>>,
}

impl Recorder {
    /// A recorder of this block of each launch.
    #[must_use]
    pub fn of(block: [u32; 3]) -> Recorder {
        Recorder(Arc::new(Kept {
            block,
            list: Mutex::default(),
        }))
    }
    /// What was recorded since the last call: one timeline a launch that has the block, in their order.
    #[must_use]
    pub fn take(&self) -> Vec<Timeline> {
        std::mem::take(&mut self.0.list.lock().unwrap_or_else(PoisonError::into_inner))
    }
    fn block(&self) -> [u32; 3] {
        self.0.block
    }
    fn keep(&self, timeline: Timeline) {
        let mut list = self.0.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(timeline);
    }
}
