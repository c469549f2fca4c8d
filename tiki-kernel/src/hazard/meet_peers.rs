//! What blocks of a cluster read of one another's shared memory.
//!
//! All blocks run the same text. So a read of another block's tensor is held against what the text writes to its own:
//!
//! | since the cluster last met | |
//! | --- | --- |
//! | written, then read by another block | the other block may be early: an error |
//! | read by another block, then written | the other block may be late: an error |
//! | read by another block, then the end | the block's memory goes with it: an error |
//!
//! Any thread meets any other here, its own number in the other block included.

use super::cells::Cells;
use super::conflict::verb;
use super::track_shared::{Access, Active, Kind, Walk};
use crate::diag::{Diag, codes};
use std::rc::Rc;

impl Access {
    /// What makes a read defined.
    pub(super) fn written_first(&self) -> &'static str {
        if self.peer {
            "write all of it before, then let the cluster meet: `cluster_sync();`"
        } else {
            "write all of it before, then meet: `sync_block();`"
        }
    }
}

impl Walk<'_, '_> {
    /// The cluster meets, if all threads are here; else it is not followed who met whom, and the block did not. Copies under
    /// way are not done by it.
    pub(super) fn meet_cluster(&mut self, here: &Active) {
        if here.uniform {
            self.across.retain(|a| a.group.is_some());
            self.pending.retain(|a| a.group.is_some());
        } else {
            self.across.iter_mut().for_each(|a| a.some_met = true);
        }
    }

    /// Takes back what a meeting ended that may not have been: in a loop that may not run.
    pub(super) fn keep_across(&mut self, before: Vec<Access>) {
        let same = |a: &Access, b: &Access| {
            (a.alloc, a.span, a.peer) == (b.alloc, b.span, b.peer) && a.kind == b.kind
        };
        for a in before {
            if !self.across.iter().any(|b| same(&a, b)) {
                self.across.push(a);
            }
        }
    }

    /// Holds an access against those of other blocks since the cluster last met.
    pub(super) fn meet_peers(&mut self, a: &Access, name: &str) {
        if a.peer && self.beside.contains(&a.alloc) {
            let text = format!(
                "whether what another block's `{name}` is filled with or read by, beside its threads, is done"
            );
            self.unproven.add(a.span, text);
        }
        let lives = self.lives(a.alloc);
        for old in &self.across {
            let same = old.alloc == a.alloc || lives.contains(&old.alloc);
            let reads = old.kind == Kind::Read && a.kind == Kind::Read;
            if !same || reads || old.peer == a.peer {
                continue;
            }
            let size = |alloc: usize| i64::from(self.kernel.shared[alloc].dtype.bytes());
            let unit = size(old.alloc).min(size(a.alloc));
            let meets = match (self.in_storage(old, unit), self.in_storage(a, unit)) {
                (Some(x), Some(y)) if old.swizzle == a.swizzle => {
                    let met = |(p, q): (Rc<Cells>, Rc<Cells>)| p.elements().meets(q.elements());
                    x.cells.zip(y.cells).map(met)
                }
                _ => None,
            };
            match meets {
                Some(false) => {}
                Some(true) if old.exact && a.exact && !old.some_met => {
                    let message = if a.peer {
                        format!(
                            "`{name}` is read in another block here, which may not have written it"
                        )
                    } else {
                        format!("`{name}` is {} here, while another block may still read it", verb(a.kind))
                    };
                    let label = if old.peer { "read by others" } else { verb(old.kind) };
                    let diag = Diag::error(codes::RACE, a.span, message)
                        .label("the cluster has not met since")
                        .also(old.span, format!("{label} here"))
                        .help("put `cluster_sync();` between them");
                    self.sink.push(diag);
                    return;
                }
                _ => self.unproven.add(
                    a.span,
                    format!("whether `{name}`, {} here, meets what another block of the cluster has {} since the cluster last met", verb(a.kind), verb(old.kind)),
                ),
            }
        }
    }

    /// The end: nobody's memory may be read any more.
    pub(super) fn leave_peers(&mut self) {
        let Some(read) = self.across.iter().find(|a| a.peer) else {
            return;
        };
        let name = &self.kernel.shared[read.alloc].name;
        let text = format!(
            "`{name}` is read in another block here, which may be over: its memory goes with it"
        );
        if read.exact && !read.some_met {
            let diag = Diag::error(codes::RACE, read.span, text)
                .help("let the cluster meet before the kernel ends: `cluster_sync();`");
            self.sink.push(diag);
        } else {
            self.unproven.add(read.span, text);
        }
    }
}
