//! Shared memory that is known by allocation alone: several lives of one storage, and what instructions of the
//! author's touch.
//!
//! An allocation that reuses another's storage is followed like any other; besides, each access is held
//! against those of the other lives since the last barrier, byte for byte, and what is written ends what lay there.

use super::cells::Cells;
use super::conflict::{Found, conflict, verb};
use super::offsets::Offsets;
use super::track_shared::{Access, Active, Kind, Walk};
use crate::ast::Span;
use crate::diag::{Diag, codes};
use crate::ir::{self, Touched};
use std::collections::BTreeMap;
use std::rc::Rc;

impl Walk<'_, '_> {
    /// What the author's instructions touch is known by allocation alone.
    pub(super) fn fragment(&mut self, fragment: &ir::Written, span: Span, here: &Active) {
        for touch in &fragment.touches {
            let Touched::Shared(alloc) = touch.tensor else {
                continue;
            };
            let access = Access {
                alloc,
                span,
                kind: if touch.writes {
                    Kind::Write
                } else {
                    Kind::Read
                },
                cells: None,
                symbols: BTreeMap::new(),
                swizzle: (0, 0, 0),
                exact: here.exact,
                warp_met: false,
                some_met: false,
                group: None,
                peer: false,
            };
            self.meet(access, here);
            if self.followed.contains(&alloc) {
                let name = &self.kernel.shared[alloc].name;
                let text =
                    format!("whether the stage of `{name}` that these instructions touch is held");
                self.unproven.add(span, text);
            }
        }
    }

    /// The allocations that lie in the same storage as another.
    pub(super) fn lives(&self, alloc: usize) -> Vec<usize> {
        let (root, _) = self.kernel.storage(alloc);
        let own = |other: &usize| *other != alloc && self.kernel.storage(*other).0 == root;
        (0..self.kernel.shared.len()).filter(own).collect()
    }

    /// An access in units of bytes of its storage; `None` if it is not known exactly.
    pub(super) fn in_storage(&self, a: &Access, unit: i64) -> Option<Access> {
        let cells = a.cells.as_ref().filter(|_| a.symbols.is_empty())?;
        let (_, from) = self.kernel.storage(a.alloc);
        let size = i64::from(self.kernel.shared[a.alloc].dtype.bytes());
        let units = |(t, at): (u32, i64)| {
            let first = (i64::from(from) + at * size) / unit;
            (0..size / unit).map(move |i| (t, first + i))
        };
        Some(Access {
            cells: Some(Rc::new(Cells::of(cells.iter().flat_map(units).collect()))),
            ..a.clone()
        })
    }

    /// Holds an access against those of other lives of its storage: a barrier must lie between.
    pub(super) fn meet_lives(&mut self, a: &Access, name: &str) {
        let lives = self.lives(a.alloc);
        for other in &lives {
            if self.beside.contains(other) || self.beside.contains(&a.alloc) {
                let first = &self.kernel.shared[*other].name;
                let text = format!(
                    "whether what is under way in `{first}` is done where `{name}` takes its storage"
                );
                self.unproven.add(a.span, text);
            }
        }
        let size = |alloc: usize| i64::from(self.kernel.shared[alloc].dtype.bytes());
        for old in self.pending.iter().filter(|old| lives.contains(&old.alloc)) {
            if old.kind == Kind::Read && a.kind == Kind::Read {
                continue;
            }
            let unit = size(old.alloc).min(size(a.alloc));
            let found = match (self.in_storage(old, unit), self.in_storage(a, unit)) {
                (Some(x), Some(y)) => conflict(&x, &y),
                _ => Found::Unknown,
            };
            let first = &self.kernel.shared[old.alloc].name;
            match found {
                Found::None => {}
                Found::Threads(x, y) if old.exact && a.exact && !old.some_met => {
                    let diag = Diag::error(
                        codes::RACE,
                        a.span,
                        format!(
                            "`{name}` takes the storage of `{first}` here with no barrier between"
                        ),
                    )
                    .label(format!(
                        "thread {y} meets what thread {x} has {}",
                        verb(old.kind)
                    ))
                    .also(old.span, format!("`{first}` is {} here", verb(old.kind)))
                    .help("sync_block(); between the two lives");
                    self.sink.push(diag);
                }
                _ => self.unproven.add(
                    a.span,
                    format!(
                        "whether `{name}` takes the storage of `{first}` while other threads use it"
                    ),
                ),
            }
        }
    }

    /// What is written ends what lay there.
    pub(super) fn end_lives(&mut self, a: &Access) {
        for other in self.lives(a.alloc) {
            let size = i64::from(self.kernel.shared[other].dtype.bytes());
            let (_, from) = self.kernel.storage(other);
            let w = &self.written[other];
            if w.may.is_empty() && !w.somewhere {
                continue;
            }
            match self.in_storage(a, 1) {
                Some(bytes) => {
                    let gone: Offsets = bytes
                        .cells
                        .iter()
                        .flat_map(|cells| cells.iter())
                        .map(|(_, at)| (at - i64::from(from)).div_euclid(size))
                        .collect();
                    let w = &mut self.written[other];
                    if w.may.meets(&gone) || w.somewhere {
                        w.ended = Some((a.span, a.alloc));
                    }
                    w.may.remove(&gone);
                    w.must.remove(&gone);
                }
                None => self.written[other].must.clear(),
            }
        }
    }
}
