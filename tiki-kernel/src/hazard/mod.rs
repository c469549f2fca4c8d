//! What can go wrong between threads, decided on the typed program: each answer is proven, refuted (an
//! error) or unproven (listed, and found by the machine when it happens).
//!
//! 1. [`check_barriers`]: barriers and warp operations that not all of their threads reach (TK602, TK606,
//!    TK006).
//! 2. [`track_shared`]: conflicting shared accesses without a barrier between (TK601), and reads of what
//!    nobody wrote (TK605); among the lives of one storage ([`storage_lives`]) and blocks of a cluster ([`meet_peers`]) too.
//! 3. [`follow_stages`]: stages of pipelines out of order (TK610), writes that the accelerator does not see or
//!    that it still reads (TK611).
//! 4. [`find_duplicates`]: elements that several threads write (TK607).
//! 5. [`count_traffic`]: wavefronts of shared and sectors of global accesses, by enumeration of the
//!    lanes (TK603, TK608 where the author denies them).
//!
//! What a thread computes is followed as far as it is integer arithmetic on its number
//! ([`evaluate`]); values that are the same for the block stay symbols.
//!
//! The barrier inside a reduction over several warps orders nothing for the author: whether there is one
//! depends on the schedule.

mod cells;
pub mod check_barriers;
mod conflict;
mod count_elements;
mod count_sectors;
pub mod count_traffic;
pub mod evaluate;
pub mod find_duplicates;
pub mod follow_stages;
mod meet_peers;
mod offsets;
mod requests;
mod stage_rules;
mod stages;
mod storage_lives;
pub mod track_shared;

use crate::ast::Span;
use crate::diag::{Diag, Sink, codes};
use crate::ir::{Deny, Dist, Kernel};
use crate::report::Report;

/// Facts neither proven nor refuted.
#[derive(Debug, Default)]
pub struct Unproven(Vec<(Span, String)>);

impl Unproven {
    /// Adds one; the same at the same place once.
    pub fn add(&mut self, span: Span, text: impl Into<String>) {
        let item = (span, text.into());
        if !self.0.contains(&item) {
            self.0.push(item);
        }
    }
    /// All of them.
    #[must_use]
    pub fn items(&self) -> &[(Span, String)] {
        &self.0
    }
}

/// Runs all analyses.
pub fn run(kernel: &Kernel, sink: &mut Sink, report: &mut Report) {
    let mut unproven = Unproven::default();
    check_barriers::run(kernel, sink);
    let followed = follow_stages::run(kernel, sink, &mut unproven);
    track_shared::run(kernel, &followed, sink, &mut unproven);
    find_duplicates::run(kernel, sink, &mut unproven);
    count_traffic::run(kernel, sink, report);
    for (span, text) in unproven.items() {
        report.add("unproven", *span, "", text.clone());
        if kernel.deny.contains(&Deny::Unproven) {
            sink.push(
                Diag::error(codes::UNPROVEN, *span, format!("unproven: {text}"))
                    .note("`deny(unproven)` makes what is neither proven nor refuted an error")
                    .help("compute the index from thread, block and loop numbers, state a fact, or use atomics"),
            );
        }
    }
}

/// Whether a thread is the first of those that hold the same elements: only these store.
#[must_use]
pub(crate) fn first_holder(dist: &Dist, thread: u32) -> bool {
    let mut stride = 1;
    for m in &dist.threads {
        if m.axis.is_none() && !(thread / stride).is_multiple_of(m.extent) {
            return false;
        }
        stride *= m.extent;
    }
    true
}
