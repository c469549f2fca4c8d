//! A launch: its grid, checked, and its blocks, shared among host threads.
//!
//! Blocks that cannot see one another run on any number of threads; the result is the same because nothing
//! depends on their order. Where they can (atomics on global memory, ordered or volatile accesses), one
//! thread runs them in turns, in the order of their numbers, and a block that waits for another lets it run:
//! again the result depends on nothing but the launch.

use super::block::{Team, Turn};
use super::costs::Cost;
use super::dispatch::{Checked, Level};
use super::fault::{Code, Fault};
use super::ledger::{Closed, Ledger, Outcome};
use super::memory::Table;
use super::options::{Async, Checks, Options};
use super::program::{Kernel, Program};
use super::race::Global;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a launch did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Blocks.
    pub blocks: u64,
    /// Instructions of warps.
    pub warp_instructions: u64,
    /// Findings that did not stop it.
    pub findings: Vec<Fault>,
    /// What accesses cost, by line; with all checks on only.
    pub costs: Vec<Cost>,
    /// What its threads printed, block by block; a mebibyte of it.
    pub printed: String,
}

/// All that a launch's blocks share.
#[derive(Debug)]
pub(super) struct Env<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) program: &'a Program,
    pub(super) table: &'a Table,
    pub(super) params: Vec<u8>,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) cluster: [u32; 3],
    pub(super) dynamic_shared: u32,
    pub(super) level: Checked,
    pub(super) options: &'a Options,
    /// Faults are noted where the launch can go on behind them.
    pub(super) keep_going: bool,
    /// Record of global memory, where blocks can see one another.
    pub(super) global: Mutex<Global>,
}

/// Resident teams of a thread that runs blocks in turns.
const RESIDENT: usize = 4096;
/// Turns before the next team is let in.
const TURNS: u32 = 64;

impl Env<'_> {
    /// Identities of the blocks of the team with this number.
    pub(super) fn block_ids(&self, team: u64, size: u32) -> Vec<[u32; 3]> {
        let c = self.cluster.map(|c| c.max(1));
        let across = [
            self.grid[0] / c[0],
            self.grid[1] / c[1],
            self.grid[2] / c[2],
        ]
        .map(u64::from);
        let at = [
            team % across[0],
            team / across[0] % across[1],
            team / (across[0] * across[1]),
        ];
        (0..size)
            .map(|r| {
                let inside = [r % c[0], r / c[0] % c[1], r / (c[0] * c[1])];
                std::array::from_fn(|d| at[d] as u32 * c[d] + inside[d])
            })
            .collect()
    }
    fn teams(&self) -> u64 {
        let size = u64::from(self.cluster.iter().map(|c| c.max(&1)).product::<u32>());
        self.grid.iter().map(|d| u64::from(*d)).product::<u64>() / size
    }
    fn refuse(&self, text: String) -> Box<Fault> {
        refusal(&self.kernel.name, text)
    }
    /// Holds the launch against the kernel and the limits of a card.
    fn check(&self) -> Result<(), Box<Fault>> {
        let threads: u64 = self.block.iter().map(|d| u64::from(*d)).product();
        let limits = [1024, 1024, 64];
        if threads == 0 || threads > 1024 || (0..3).any(|d| self.block[d] > limits[d]) {
            return Err(self.refuse(format!(
                "a block of {:?} threads: 1 to 1024 are possible",
                self.block
            )));
        }
        let grids = [i32::MAX as u32, 65535, 65535];
        if (0..3).any(|d| self.grid[d] > grids[d]) {
            return Err(self.refuse(format!("a grid of {:?} blocks is too large", self.grid)));
        }
        if let Some((exact, n)) = self.kernel.block_limit() {
            let fits = if exact {
                self.block == n
            } else {
                (0..3).all(|d| self.block[d] <= n[d])
            };
            if !fits {
                return Err(self.refuse(format!(
                    "the kernel is for {} {n:?} threads, launched with {:?}",
                    if exact { "exactly" } else { "at most" },
                    self.block
                )));
            }
        }
        if (0..3).any(|d| !self.grid[d].is_multiple_of(self.cluster[d].max(1))) {
            return Err(self.refuse(format!(
                "a grid of {:?} blocks is no multiple of clusters of {:?}",
                self.grid, self.cluster
            )));
        }
        let cluster: u32 = self.cluster.iter().map(|c| c.max(&1)).product();
        if cluster > 16 {
            return Err(self.refuse(format!(
                "clusters of {cluster} blocks: at most 16 are possible"
            )));
        }
        let shared = u64::from(self.kernel.shared_bytes) + u64::from(self.dynamic_shared);
        if shared > 227 * 1024 {
            return Err(self.refuse(format!(
                "{shared} bytes of shared memory: at most {} are possible",
                227 * 1024
            )));
        }
        if self.params.len() < self.kernel.param_bytes as usize {
            return Err(self.refuse(format!(
                "{} bytes of parameters are given, the kernel takes {}",
                self.params.len(),
                self.kernel.param_bytes
            )));
        }
        Ok(())
    }
}

pub(super) fn refusal(kernel: &str, text: String) -> Box<Fault> {
    Box::new(Fault::new(Code::Launch, kernel, text))
}

pub(super) fn level(options: &Options) -> Checked {
    Checked::new(options.level.unwrap_or_else(Level::detect))
}

/// Runs all blocks. Findings are in the order of the blocks.
pub(super) fn run(env: &Env<'_>) -> Result<Report, Box<Fault>> {
    env.check()?;
    let teams = env.teams();
    let size = u64::from(env.cluster.iter().map(|c| c.max(&1)).product::<u32>());
    if teams == 0 {
        return Ok(Report::default());
    }
    let wanted = match env.options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    let unset = || env.table.iter().flatten().any(|b| b.written.is_some());
    let threads = if env.kernel.communicates || (env.options.checks != Checks::Run && unset()) {
        1
    } else {
        wanted.clamp(1, teams.min(256) as usize)
    };
    let ledger = if threads == 1 {
        in_turns(env, teams)
    } else {
        in_parallel(env, teams, threads)
    };
    let Closed {
        steps,
        mut findings,
        costs,
        printed,
    } = ledger.close(env);
    if let Some(to) = &env.options.printed {
        to.add(&printed);
    }
    if env.options.checks == Checks::All {
        findings.extend(super::pressure::findings(env));
    }
    Ok(Report {
        blocks: teams * size,
        warp_instructions: steps,
        findings,
        costs,
        printed,
    })
}

/// Teams that run at once where a seed says which goes on.
const MIXED: usize = 8;

/// Teams in the order of their numbers; one that does not finish its turn lets the next one in. With a seed,
/// a few run at once, and the seed says which goes on.
fn in_turns(env: &Env<'_>, teams: u64) -> Ledger {
    let mut resident: VecDeque<(u64, Team)> = VecDeque::new();
    let (mut next, mut ledger) = (0, Ledger::default());
    let mut let_in = true;
    let mut seed = match env.options.completion {
        Async::Seed(s) => Some(s ^ 0x9e37_79b9_7f4a_7c15),
        _ => None,
    };
    loop {
        if let Some(s) = &mut seed {
            while next < teams && resident.len() < MIXED {
                resident.push_back((next, Team::new(env, next)));
                next += 1;
            }
            *s ^= *s << 13;
            *s ^= *s >> 7;
            *s ^= *s << 17;
            if !resident.is_empty() {
                resident.rotate_left((*s >> 8) as usize % resident.len());
            }
            let_in = false;
        }
        let (n, mut team) =
            if next < teams && (resident.is_empty() || (let_in && resident.len() < RESIDENT)) {
                next += 1;
                (next - 1, Team::new(env, next - 1))
            } else if let Some(t) = resident.pop_front() {
                t
            } else {
                return ledger;
            };
        let_in = !let_in;
        let fatal = match team.run(env, if seed.is_some() { 1 } else { TURNS }) {
            Ok(Turn::Yield) => {
                resident.push_back((n, team));
                continue;
            }
            Ok(Turn::Done) => None,
            Err(f) => Some(f),
        };
        // Blocks that wait for one that broke would wait for ever.
        let broken = fatal.is_some();
        team.keep_tape(env);
        let outcome = Outcome::new(&mut team, fatal);
        let wrong = outcome.is_wrong();
        ledger.enter(env, n, outcome);
        if (broken && env.kernel.communicates) || ((wrong || broken) && !env.keep_going) {
            return ledger;
        }
    }
}

fn in_parallel(env: &Env<'_>, teams: u64, threads: usize) -> Ledger {
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let ledger = Mutex::new(Ledger::default());
    std::thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    // A fault of a later block must not hide one of an earlier block.
                    if n >= teams || stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let mut team = Team::new(env, n);
                    let fatal = loop {
                        match team.run(env, u32::MAX) {
                            Ok(Turn::Done) => break None,
                            Ok(Turn::Yield) => {}
                            Err(f) => break Some(f),
                        }
                    };
                    team.keep_tape(env);
                    let outcome = Outcome::new(&mut team, fatal);
                    drop(team);
                    let wrong = outcome.is_wrong() && !env.keep_going;
                    let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
                    ledger.enter(env, n, outcome);
                    if wrong || ledger.is_closed() {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    ledger.into_inner().unwrap_or_else(PoisonError::into_inner)
}
