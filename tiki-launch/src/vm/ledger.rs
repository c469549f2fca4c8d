//! What the teams of a launch did, put together in the order of their numbers.
//!
//! Teams may end in any order; a [`Ledger`] holds back what comes early. So findings, and which of them is
//! the first, do not depend on the number of host threads.

use super::block::Team;
use super::costs::{Cost, Costs};
use super::fault::Fault;
use super::findings::{Findings, is_error};
use super::launch::Env;
use super::race::Global;
use super::race::blocks::Between;
use std::collections::BTreeMap;

/// What a team leaves.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    steps: u64,
    findings: Vec<Fault>,
    global: Global,
    costs: Costs,
    printed: Vec<u8>,
}

impl Outcome {
    /// Takes it out of a team, with the fault that ended it, if one did.
    pub(super) fn new(team: &mut Team, fatal: Option<Box<Fault>>) -> Outcome {
        let steps = team.blocks.iter().flat_map(|b| &b.warps).map(|w| w.steps);
        let mut out = Outcome {
            steps: steps.sum(),
            printed: std::mem::take(&mut team.printed),
            ..Outcome::default()
        };
        let mut found = Findings::default();
        if let Some(watch) = team.watch.take() {
            (found, out.global, out.costs) = watch.into_parts();
        }
        for f in std::mem::take(&mut team.faults)
            .into_iter()
            .chain(fatal.map(|f| *f))
        {
            found.add(f);
        }
        out.findings = found.into_list();
        out
    }
    /// Whether something in it is wrong.
    pub(super) fn is_wrong(&self) -> bool {
        self.findings.iter().any(is_error)
    }
}

/// What all teams of a launch did.
#[derive(Debug)]
pub(super) struct Closed {
    pub(super) steps: u64,
    pub(super) findings: Vec<Fault>,
    pub(super) costs: Vec<Cost>,
    pub(super) printed: String,
}

/// All teams so far.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    next: u64,
    early: BTreeMap<u64, Outcome>,
    between: Between,
    findings: Findings,
    costs: Costs,
    steps: u64,
    printed: Vec<u8>,
    closed: bool,
}

impl Ledger {
    /// Enters what a team left.
    pub(super) fn enter(&mut self, env: &Env<'_>, team: u64, outcome: Outcome) {
        self.early.insert(team, outcome);
        while let Some(outcome) = self.early.remove(&self.next) {
            self.take(env, self.next, outcome);
            self.next += 1;
        }
    }
    fn take(&mut self, env: &Env<'_>, team: u64, outcome: Outcome) {
        self.steps += outcome.steps;
        if self.closed {
            return;
        }
        let room = super::outside::MOST.saturating_sub(self.printed.len());
        self.printed.extend(outcome.printed.iter().take(room));
        self.costs.add(outcome.costs);
        let races = self.between.lay(env, team as u32, outcome.global);
        for f in outcome.findings.into_iter().chain(races) {
            self.closed |= is_error(&f) && !env.keep_going;
            self.findings.add(f);
        }
    }
    /// Whether nothing more need be entered.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }
    /// What all teams did; of teams that others did not follow, last.
    pub(super) fn close(mut self, env: &Env<'_>) -> Closed {
        for (team, outcome) in std::mem::take(&mut self.early) {
            self.take(env, team, outcome);
        }
        let costs = self.costs.list(env);
        Closed {
            steps: self.steps,
            findings: self.findings.into_list(),
            costs,
            printed: String::from_utf8_lossy(&self.printed).into_owned(),
        }
    }
}
