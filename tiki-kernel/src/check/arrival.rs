//! The arrival of who fills a stage: with the bytes of the copies that follow, and after what is written before them.
//!
//! Who waits for the stage sees what was written before the arrival, so a number that stands beside a stage needs no barrier of
//! its own. The bytes are added up at build time: the copies stand in the block of the `acquire`.

use super::{Check, Push};
use crate::ast::Span;
use crate::diag::codes;
use crate::ir::{Async, StmtKind, Transaction};

impl Check<'_> {
    /// Adds the bytes of a copy into a stage that was just acquired; its *full* barrier.
    pub(crate) fn expect_bytes(&mut self, i: usize, bytes: u32, span: Span) -> bool {
        if let Some((serial, at)) = self.pipes[i].expect
            && serial == self.block_serial
            && at < self.block.len()
        {
            let at = self.arrive_after_writes(i, at);
            if let StmtKind::Async(Async::Transaction {
                op: Transaction::ArriveExpect(n),
                ..
            }) = &mut self.block[at].kind
            {
                *n += bytes;
                return true;
            }
        }
        let pipe = &self.pipes[i];
        let at = pipe.span;
        self.error(
            codes::PIPELINE,
            span,
            "a copy into a stage stands in the same block as the stage's `acquire`",
        )
        .also(at, "the pipeline")
        .note("the bytes that complete the stage are added up at build time")
        .push(self);
        false
    }

    /// Where memory was written between a stage's `acquire` and its first copy, the arrival comes after it: who waits for
    /// the stage sees it. The arrival's place.
    fn arrive_after_writes(&mut self, i: usize, at: usize) -> usize {
        let first = matches!(
            self.block[at].kind,
            StmtKind::Async(Async::Transaction {
                op: Transaction::ArriveExpect(0),
                ..
            })
        );
        let writes = |s: &StmtKind| {
            matches!(
                s,
                StmtKind::Store { .. }
                    | StmtKind::StoreShared { .. }
                    | StmtKind::StoreElement { .. }
                    | StmtKind::StoreSharedElement { .. }
            )
        };
        if !first || !self.block[at + 1..].iter().any(|s| writes(&s.kind)) {
            return at;
        }
        let arrival = self.block.remove(at);
        self.block.push(arrival);
        let place = self.block.len() - 1;
        for pipe in &mut self.pipes {
            if let Some((serial, other)) = &mut pipe.expect
                && *serial == self.block_serial
                && *other > at
            {
                *other -= 1;
            }
        }
        self.pipes[i].expect = Some((self.block_serial, place));
        place
    }
}
