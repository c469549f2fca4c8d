//! Races: accesses of which one writes and that nothing orders.
//!
//! A [`Watch`] sees what a team does and keeps, for each word of memory that was touched, who wrote it last
//! and who has read it since ([`cell`]; for whole lines at once where they were touched as a whole, [`line`]), and for each warp what it knows to be over ([`clock`]). Barriers,
//! barrier objects, ordered accesses and fences pass knowledge on; a wait for a group of copies, of stores
//! or of multiplies gives knowledge of the accelerator's doings. So an access that nothing orders is found
//! whichever way the threads happened to run, and in whatever order asynchronous work completed.
//!
//! The kinds of doings, each an agent with numbers of its own: a warp (a number between any two points at
//! which it meets others), its copies, its stores' readings and writings, a warpgroup's multiplies, and what
//! a barrier object counts (numbered by phase: one that waited for a phase knows of all it counted).
//!
//! Writes by the ordinary path are seen by the asynchronous one only behind a fence between the paths; a
//! second clock is kept for that.
//!
//! Lanes of a warp share one clock. They are told apart only for what they exchange between two points at
//! which the warp meets ([`Code::WarpSynchronous`](super::fault::Code)), with all checks on.

mod accesses;
mod async_work;
pub(super) mod blocks;
mod cell;
mod clock;
mod flight;
mod group;
mod hooks;
mod leaving;
mod line;
mod maps;
mod numbers;
mod outgoing;
mod place;
mod quick;
mod registers;
mod report;
mod sync;
pub(super) mod unset;

use super::block::Team;
use super::costs::Costs;
use super::exec::Ctx;
use super::findings::Findings;
use super::launch::Env;
use super::options::Checks;
use super::warp::Warp;
pub(super) use blocks::Global;
use cell::{Stamp, View};
use clock::{Known, Released};
use flight::Flight;
pub(super) use hooks::pc_of;
use line::Shadow;
pub(super) use numbers::finite;
pub(super) use place::shared_place;
pub(super) use quick::{Eye, Touch};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Lane of a stamp of a box that was not spread; the widths of a spread follow.
pub(super) const SPREAD: u8 = 0xe0;
/// Lane of a stamp of asynchronous work that has no lane and no spread.
pub(super) const PLAIN: u8 = 0xfe;

/// What an agent is: whose doings it numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Warp(usize),
    Copies(usize),
    Readings(usize),
    Writings(usize),
    /// Of the warpgroup that begins with this warp.
    Multiplies(usize),
    /// Of a block.
    Object(u32),
}

/// Knowledge that those who come gather for those who wait.
#[derive(Debug, Default, Clone)]
struct Gather {
    generation: u64,
    known: Rc<RefCell<Known>>,
}

impl Gather {
    /// Nobody has come for this generation yet.
    fn begin(&mut self, generation: u64, spare: &mut Vec<Rc<RefCell<Known>>>) {
        self.generation = generation;
        if Rc::strong_count(&self.known) > 1 {
            self.known = spare.pop().unwrap_or_default();
        }
        self.known.borrow_mut().clear();
    }
}

/// Knowledge that a warp has a right to once a generation is over.
#[derive(Debug)]
struct Due {
    /// Barrier of the block; the cluster's if `None`.
    bar: Option<u8>,
    generation: u64,
    known: Rc<RefCell<Known>>,
}

/// A warp, as the watch sees it.
#[derive(Debug, Default)]
struct Side {
    known: Known,
    /// What it knew at its last fence, and whether that fence reaches other blocks.
    at_fence: Option<(Box<Known>, bool)>,
    /// What unordered accesses told it; a fence makes it known.
    heard: Option<Box<Known>>,
    due: Vec<Due>,
    cluster: Option<Gather>,
    copies: Flight,
    /// Stores of the accelerator: their readings and their writings.
    readings: Flight,
    writings: Flight,
    multiplies: Flight,
    registers: registers::Registers,
    written: unset::Written,
}

/// A barrier object, as the watch sees it.
#[derive(Debug)]
struct Object {
    agent: u16,
    phase: u64,
    gather: Known,
    done: Known,
    /// Who made it, and when.
    made: (u16, u32),
    ended: bool,
}

/// What was released at a place, by team.
type Flag = HashMap<u32, Released>;

/// All that is watched of a team.
#[derive(Debug)]
pub(super) struct Watch {
    team: u32,
    per_block: usize,
    sides: Vec<Side>,
    shared: Vec<Shadow>,
    /// Global memory, where blocks cannot see one another; else the launch has it.
    global: Global,
    flags: HashMap<(usize, usize), Flag>,
    bars: HashMap<(usize, u8), Gather>,
    cluster: Gather,
    objects: HashMap<(u32, u32), Object>,
    groups: HashMap<usize, group::Group>,
    /// Knowledge that nobody waits for any more: its room is used again.
    spare: Vec<Rc<RefCell<Known>>>,
    /// Lists of places, empty between uses.
    places: Vec<(bool, (usize, usize))>,
    objects_at: Vec<(usize, (u32, u32))>,
    objects_once: Vec<(u32, u32)>,
    /// Tensor maps that were edited.
    maps: maps::Maps,
    /// What the agents behind the warps are.
    kinds: Vec<Kind>,
    /// All checks are on: lanes of a warp are told apart, and costs counted.
    lanes: bool,
    costs: Costs,
    pub(super) found: Findings,
}

impl Watch {
    pub(super) fn new(env: &Env<'_>, team: u64, blocks: usize, warps: usize) -> Option<Box<Watch>> {
        // Recording every access costs several times the run itself.
        if env.options.checks != Checks::All {
            return None;
        }
        let sides = (0..blocks * warps)
            .map(|w| {
                let mut side = Side {
                    written: unset::Written::new(env.kernel),
                    ..Side::default()
                };
                side.known.seen.raise(w as u16, 1);
                if Watch::follows_registers(env) {
                    side.registers = registers::Registers::new(env.kernel.words);
                }
                side
            })
            .collect();
        Some(Box::new(Watch {
            team: team as u32,
            per_block: warps,
            sides,
            shared: (0..blocks).map(|_| Shadow::default()).collect(),
            global: Global::default(),
            flags: HashMap::new(),
            bars: HashMap::new(),
            cluster: Gather::default(),
            objects: HashMap::new(),
            groups: HashMap::new(),
            spare: vec![],
            places: vec![],
            objects_at: vec![],
            objects_once: vec![],
            maps: maps::Maps::new(),
            kinds: vec![],
            lanes: env.options.checks == Checks::All,
            costs: Costs::default(),
            found: Findings::default(),
        }))
    }

    /// What was found, the record of global memory, and costs.
    pub(super) fn into_parts(self) -> (Findings, Global, Costs) {
        (self.found, self.global, self.costs)
    }

    fn number(&self, ctx: &Ctx<'_, '_>, warp: &Warp) -> usize {
        ctx.b * self.per_block + warp.index as usize
    }
    fn fresh(&mut self, kind: Kind) -> u16 {
        self.kinds.push(kind);
        (self.sides.len() + self.kinds.len() - 1).min(usize::from(u16::MAX)) as u16
    }
    /// The warp's own number now.
    fn now(&self, w: usize) -> u32 {
        self.sides[w].known.seen.get(w as u16)
    }
    /// What the warp does from here on is told apart from what it did.
    fn tick(&mut self, w: usize) {
        let next = self.now(w) + 1;
        self.sides[w].known.seen.raise(w as u16, next);
    }
    /// Takes the knowledge of barriers that are over.
    fn settle(&mut self, team: &Team, b: usize, w: usize) {
        let side = &mut self.sides[w];
        if side.due.is_empty() {
            return;
        }
        let mut i = 0;
        while let Some(d) = side.due.get(i) {
            let now = match d.bar {
                Some(id) => team.blocks[b].bars[id as usize].generation,
                None => team.cluster_generation,
            };
            if now == d.generation {
                i += 1;
                continue;
            }
            let over = side.due.swap_remove(i);
            side.known.join(&over.known.borrow());
            if Rc::strong_count(&over.known) == 1 {
                self.spare.push(over.known);
            }
        }
    }
    fn view(&self, w: usize) -> View<'_> {
        View {
            team: self.team,
            agent: w as u16,
            clock: self.now(w),
            known: &self.sides[w].known,
            lanes: self.lanes,
        }
    }
    /// A stamp of the warp itself, of no bytes yet.
    fn stamp(&self, w: usize, pc: u32, bits: u8) -> Stamp {
        Stamp {
            clock: self.now(w),
            pc,
            team: self.team,
            agent: w as u16,
            lane: PLAIN,
            bits,
        }
    }
}
