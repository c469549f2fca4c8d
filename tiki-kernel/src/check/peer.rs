//! Shared tensors in other blocks of the cluster: the same place in another block's memory, to be read.

use super::Check;
use super::call::Call;
use super::value::{Num, SharedVal, Val};
use crate::diag::codes;

impl SharedVal {
    /// As it may be used: what is in another block is only read.
    pub(super) fn val<'a>(self) -> Val<'a> {
        match self.block {
            Some(_) => Val::Peer(self),
            None => Val::Shared(self),
        }
    }
}

impl<'a> Check<'a> {
    /// `tensor.peer(rank)`: what lies there in another block.
    pub(crate) fn shared_peer(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(mut s) = Self::shared(call) else {
            return Val::Poison;
        };
        let blocks = self.kernel.cluster;
        if blocks < 2 {
            let diag = self
                .error(
                    codes::UNSUPPORTED,
                    call.span,
                    "another block's shared memory in a kernel without clusters",
                )
                .help("add `cluster = 2` to the kernel");
            return self.refuse(diag);
        }
        let Some(rank) = self.scalar_as(&call.arg(0), Num::Usize, call.at(0)) else {
            return Val::Poison;
        };
        // A rank beyond the cluster is an address of nobody, which no card reports.
        if rank.hi >= i128::from(blocks) {
            let which = if rank.lo == rank.hi {
                format!("block {}", rank.lo)
            } else {
                format!("a block of {} to {}", rank.lo, rank.hi)
            };
            let text = format!("{which} of a cluster of {blocks}");
            let help = format!(
                "its blocks are 0 to {}: `% {blocks}` keeps a rank among them",
                blocks - 1
            );
            let diag = self.error(codes::BOUNDS, call.at(0), text).help(help);
            return self.refuse(diag);
        }
        s.block = Some(self.narrow(&rank, call.at(0)));
        s.val()
    }
}
