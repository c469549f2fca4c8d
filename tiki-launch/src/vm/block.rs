//! A team: the blocks of a cluster (one, without clusters), run together by one host thread.
//!
//! A warp runs until all of its lanes wait or its turn is over; then the next one. When nothing in the
//! team can run, work that was put off completes; when there is none, the team is stuck and says what
//! every warp waits for.

use super::fault::{Code, Fault, Source};
use super::launch::Env;
use super::program::Step;
use super::shared::Shared;
use super::warp::{State, Warp};
use crate::vm::meaning::{LANES, Plane};
use std::fmt::Write;
use tiki_kernel::isa::Special;
use tiki_kernel::isa::special::Tells;

/// Steps of a warp's turn.
const TURN: u32 = 8192;

/// A barrier of a block.
#[derive(Debug, Clone, Default)]
pub(super) struct Named {
    /// Threads that have come, whole warps counting as 32.
    pub(super) arrived: u32,
    /// Threads that must come; `None` for all.
    pub(super) expected: Option<u32>,
    /// Lanes of warps that came in part.
    pub(super) partial: Vec<(u32, u32)>,
    pub(super) generation: u64,
    pub(super) popc: u32,
    pub(super) all: bool,
    pub(super) any: bool,
    /// Of the generation before: count, all, any.
    pub(super) result: (u32, bool, bool),
    pub(super) open: bool,
}

#[derive(Debug)]
pub(super) struct Block {
    pub(super) id: [u32; 3],
    pub(super) shared: Shared,
    pub(super) warps: Vec<Warp>,
    pub(super) bars: [Named; 16],
}

/// Blocks that run together.
#[derive(Debug)]
pub(super) struct Team {
    pub(super) blocks: Vec<Block>,
    /// The cluster's barrier: threads that have come, and its generation.
    pub(super) cluster_arrived: u32,
    pub(super) cluster_generation: u64,
    /// Threads of the cluster that have not left.
    pub(super) cluster_alive: u32,
    pub(super) engine: super::engine::Engine,
    pub(super) objects: super::object::Objects,
    pub(super) clock: u64,
    pub(super) products: super::products::Products,
    /// What looks on; nothing where nobody asks.
    pub(super) watch: Option<Box<super::race::Watch>>,
    /// What its threads have printed.
    pub(super) printed: Vec<u8>,
    /// What notes when things happen; nothing where nobody asks.
    pub(super) tape: Option<Box<super::timeline::Tape>>,
    /// Faults behind which it went on, where nothing looks on.
    pub(super) faults: Vec<Fault>,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Done,
    /// The team used its turn up.
    Yield,
}

impl Team {
    pub(super) fn new(env: &Env<'_>, first: u64) -> Team {
        let size = env.cluster.iter().product::<u32>().max(1);
        let ids = env.block_ids(first, size);
        let threads: u32 = env.block.iter().product();
        let blocks: Vec<Block> = ids
            .iter()
            .enumerate()
            .map(|(rank, id)| {
                let warps = (0..threads.div_ceil(32))
                    .map(|w| {
                        let left = threads - w * 32;
                        let lanes = if left >= 32 {
                            u32::MAX
                        } else {
                            (1 << left) - 1
                        };
                        let mut warp = Warp::new(w, lanes, env.kernel);
                        warp.file.place.rank = rank as u32;
                        for (slot, s) in &env.kernel.specials {
                            fill(&mut warp, *slot, *s, env, *id, rank as u32);
                        }
                        warp
                    })
                    .collect();
                let bytes = env.kernel.shared_bytes + env.dynamic_shared;
                Block {
                    id: *id,
                    shared: Shared::new(bytes as usize, env.options.checks),
                    warps,
                    bars: Default::default(),
                }
            })
            .collect();
        let per_block = threads.div_ceil(32) as usize;
        Team {
            watch: super::race::Watch::new(env, first, blocks.len(), per_block),
            tape: super::timeline::Tape::new(env, &ids, per_block),
            blocks,
            cluster_arrived: 0,
            cluster_generation: 0,
            cluster_alive: threads * ids.len() as u32,
            engine: super::engine::Engine::default(),
            objects: super::object::Objects::default(),
            clock: 0,
            products: super::products::Products::default(),
            faults: vec![],
            printed: vec![],
        }
    }

    /// Runs for at most `turns` turns of warps.
    pub(super) fn run(&mut self, env: &Env<'_>, turns: u32) -> Result<Turn, Box<Fault>> {
        let mut left = turns;
        loop {
            let mut moved = false;
            let mut alive = false;
            for b in 0..self.blocks.len() {
                for w in 0..self.blocks[b].warps.len() {
                    if self.blocks[b].warps[w].alive == 0 {
                        continue;
                    }
                    moved |= self.turn(env, b, w, TURN)?;
                    alive |= self.blocks[b].warps[w].alive != 0;
                }
            }
            if !alive {
                return self.finish(env).map(|()| Turn::Done);
            }
            if !moved && !self.complete_something(env)? {
                return Err(self.stuck(env));
            }
            self.breathe(env)?;
            left = left.saturating_sub(1);
            if left == 0 {
                return Ok(Turn::Yield);
            }
        }
    }

    /// Hands over what was noted, once the team has stopped.
    pub(super) fn keep_tape(&mut self, env: &Env<'_>) {
        if let Some(tape) = self.tape.take() {
            let ids: Vec<[u32; 3]> = self.blocks.iter().map(|b| b.id).collect();
            tape.keep(env, &ids);
        }
    }

    fn finish(&mut self, env: &Env<'_>) -> Result<(), Box<Fault>> {
        self.watch_end(env);
        while self.complete_something(env)? {}
        for b in 0..self.blocks.len() {
            for w in 0..self.blocks[b].warps.len() {
                if let Err(text) = self.flush_stores(env, b, w) {
                    let step = &env.kernel.code[0];
                    return Err(env.fault_at(
                        Code::Bounds,
                        text,
                        step,
                        self.blocks[b].id,
                        w as u32,
                        0,
                    ));
                }
            }
        }
        Ok(())
    }

    /// Wakes fragments whose wait is over; whether any can run.
    pub(super) fn wake(&mut self, env: &Env<'_>, b: usize, warp: &mut Warp) -> bool {
        let mut ready = false;
        for i in 0..warp.frags.len() {
            let over = match warp.frags[i].state {
                State::Ready => true,
                State::Join(_) => false,
                State::Bar { id, generation } => {
                    let bar = &self.blocks[b].bars[id as usize];
                    let over = bar.generation != generation;
                    if over {
                        let result = bar.result;
                        self.after_bar(env, warp, i, result);
                        self.tape_bar_over(b, warp.index, u32::from(id), generation);
                    }
                    over
                }
                State::Cluster { generation } => {
                    let over = self.cluster_generation != generation;
                    if over {
                        self.tape_cluster_over(b, warp.index, generation);
                    }
                    over
                }
                State::Object { block, at, phase } => {
                    self.objects.phase(block, at).is_none_or(|p| p > phase)
                }
            };
            if over {
                warp.frags[i].state = State::Ready;
                ready = true;
            }
        }
        ready
    }

    /// Everybody who has not left waits: what for?
    fn stuck(&self, env: &Env<'_>) -> Box<Fault> {
        let mut text = String::from("nothing can go on:");
        let mut first = None;
        for block in &self.blocks {
            for warp in &block.warps {
                for f in &warp.frags {
                    let at = match f.state {
                        State::Join(_) | State::Object { .. } => f.pc,
                        _ => f.pc.saturating_sub(1),
                    };
                    let step = &env.kernel.code[at as usize];
                    first.get_or_insert((block.id, warp.index, f.mask, at));
                    let [x, y, z] = block.id;
                    let _ = write!(
                        text,
                        "\n  block ({x}, {y}, {z}) warp {} lanes {} at PTX line {}",
                        warp.index,
                        super::fault::lanes(f.mask),
                        step.line
                    );
                    if let Some(s) = env.source(step) {
                        let _ = write!(text, " ({}:{})", s.file, s.line);
                    }
                    let _ = write!(text, ": {}", self.waits_for(block, warp, f.state));
                }
            }
        }
        let (id, warp, lanes, at) = first.unwrap_or(([0; 3], 0, 0, 0));
        // All that was under way has come: bytes that are still awaited never will.
        let waits = self.objects.unbalanced();
        let code = if waits.is_empty() {
            Code::Deadlock
        } else {
            waits.iter().for_each(|(_, _, t)| {
                let _ = write!(text, "\n  {t}");
            });
            Code::Bytes
        };
        env.fault_at(code, text, &env.kernel.code[at as usize], id, warp, lanes)
    }

    fn waits_for(&self, block: &Block, warp: &Warp, s: State) -> String {
        match s {
            State::Ready => "could run".into(),
            State::Join(mask) => format!(
                "waits for lanes {} of its warp",
                super::fault::lanes(mask & warp.alive)
            ),
            State::Bar { id, .. } => {
                let bar = &block.bars[id as usize];
                let need = bar
                    .expected
                    .unwrap_or(32 * block.warps.iter().filter(|w| w.alive != 0).count() as u32);
                format!("barrier {id}: {} of {need} threads have come", bar.arrived)
            }
            State::Cluster { .. } => format!(
                "the cluster's barrier: {} threads have come",
                self.cluster_arrived
            ),
            State::Object { block, at, phase } => self.objects.describe(block, at, phase),
        }
    }
}

impl Env<'_> {
    /// A fault of a step.
    pub(super) fn fault_at(
        &self,
        code: Code,
        text: String,
        step: &Step,
        block: [u32; 3],
        warp: u32,
        lanes: u32,
    ) -> Box<Fault> {
        let mut f = Fault::new(code, &self.kernel.name, text);
        (f.block, f.warp, f.lanes) = (block, warp, lanes);
        (f.ptx_line, f.source) = (step.line, self.source(step));
        Box::new(f)
    }
    pub(super) fn source(&self, step: &Step) -> Option<Source> {
        let l = step.loc?;
        let (_, file) = self.program.files.iter().find(|(n, _)| *n == l.file)?;
        Some(Source {
            file: file.clone(),
            line: l.line,
            col: l.col,
        })
    }
}

/// Planes of a special register.
fn fill(warp: &mut Warp, slot: u32, s: Special, env: &Env<'_>, id: [u32; 3], rank: u32) {
    let row = s.row();
    let (d, cluster) = (row.dim, env.cluster.map(|c| c.max(1)));
    let [bx, by, _] = env.block;
    let one = |v: u32| Plane::splat(v);
    let base = warp.index * LANES as u32;
    let threads: u32 = env.block.iter().product();
    let plane = match row.tells {
        Tells::Thread => Plane(std::array::from_fn(|l| {
            let t = base + l as u32;
            [t % bx, t / bx % by, t / (bx * by)][d]
        })),
        Tells::Lane => Plane(std::array::from_fn(|l| l as u32)),
        Tells::Lanes(f) => Plane(std::array::from_fn(|l| f(l as u32))),
        Tells::Threads => one(env.block[d]),
        Tells::Block => one(id[d]),
        Tells::Blocks => one(env.grid[d]),
        Tells::Warp => one(warp.index),
        Tells::Warps => one(threads.div_ceil(32)),
        Tells::Cluster => one(id[d] / cluster[d]),
        Tells::Clusters => one(env.grid[d] / cluster[d]),
        Tells::InCluster => one(id[d] % cluster[d]),
        Tells::ClusterShape => one(cluster[d]),
        Tells::ClusterRank => one(rank),
        Tells::ClusterSize => one(cluster.iter().product()),
        Tells::IsClustered => one(u32::from(env.kernel.cluster().is_some())),
        Tells::Sm | Tells::Clock | Tells::Nanoseconds | Tells::Grid => one(0),
        Tells::Sms => one(1),
        Tells::DynamicShared => one(env.dynamic_shared),
        Tells::TotalShared => one(env.dynamic_shared + env.kernel.shared_bytes),
        Tells::WarpSize => one(LANES as u32),
    };
    warp.file.words[slot as usize] = plane;
}
