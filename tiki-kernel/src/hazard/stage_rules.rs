//! The rules of [`super::follow_stages`]: what a statement does to a path, and what it breaks.

use super::follow_stages::Walk;
use super::stages::{Held, Region, State};
use crate::ast::Span;
use crate::diag::{Diag, codes};
use crate::ir::SharedView;
use crate::ir::asynchronous::{Async, Operand, TensorCopyKind, Transaction};

/// Rules about a stage that was acquired, which say too much where it was to be waited for.
const ACQUIRED: &str = "threads";
const BYTES: &str = "bytes";

fn warpgroups(n: u32) -> String {
    format!("{n} warpgroup{}", if n == 1 { "" } else { "s" })
}

impl<'a> Walk<'a, '_> {
    /// Everything that was found, but for what follows from a stage acquired in place of waited for.
    pub(super) fn tell(self) {
        for (rule, diag) in self.found {
            let follows = [ACQUIRED, BYTES].contains(&rule) && self.mistaken.contains(&diag.span);
            if !follows {
                self.sink.push(diag);
            }
        }
    }

    fn error(&self, span: Span, message: String) -> Diag {
        Diag::error(codes::PIPELINE, span, message)
    }

    /// The stage that a view lies in: `None` if it is not known.
    fn stage_of(&self, s: &State, view: &SharedView) -> Option<usize> {
        let mut found = view.dynamic.iter().filter_map(|(v, _)| s.values.get(v));
        found.next().copied()
    }

    fn ring_of(&self, alloc: usize) -> Option<usize> {
        self.rings.iter().position(|r| r.tiles.contains(&alloc))
    }

    /// Something reads a tile of a ring now (or starts to); the stage it reads.
    pub(super) fn read(&mut self, s: &State, view: &SharedView, span: Span) -> Option<usize> {
        let ring = self.ring_of(view.alloc)?;
        let name = self.kernel.shared[view.alloc].name.clone();
        let at = self.rings[ring].span;
        let Some(held) = self.stage_of(s, view) else {
            if !s.held.iter().any(|h| h.ring == ring && !h.fills) {
                let diag = self
                    .error(
                        span,
                        format!("`{name}` is read before any stage of it was waited for"),
                    )
                    .also(at, "the pipeline that fills it")
                    .help("read `stage(pipe.wait())`");
                self.broken(s, "unwaited", diag);
            } else {
                self.unproven.add(
                    span,
                    format!(
                        "whether the stage of `{name}` that is read here is one that was waited for"
                    ),
                );
            }
            return None;
        };
        let h = &s.held[held];
        if h.ring != ring {
            let diag = self
                .error(
                    span,
                    format!("`{name}` is read at a stage of another pipeline"),
                )
                .also(at, "the pipeline that fills it")
                .also(h.span, "the stage");
            self.broken(s, "foreign", diag);
        } else if h.fills {
            // Who fills nothing did not mean to fill: of this one slip, only this is said.
            if h.copies.is_empty() && s.sure {
                self.mistaken.insert(h.span);
            }
            let diag = self
                .error(
                    span,
                    format!("`{name}` is read at a stage that is being filled"),
                )
                .also(h.span, "acquired here")
                .help("`acquire` is for the side that fills; `wait` gives a stage that is full");
            self.broken(s, "filling", diag);
        } else if let Some(released) = h.released {
            let diag = self
                .error(
                    span,
                    format!("`{name}` is read after its stage was released"),
                )
                .also(released, "released here")
                .note("the filling side may be writing it again");
            self.broken(s, "released", diag);
        }
        Some(held)
    }

    pub(super) fn release(&mut self, s: &mut State, ring: usize, barrier: &SharedView, span: Span) {
        let warps = s.warps();
        let (all, at) = &mut self.releases[ring];
        all.extend(warps);
        at.get_or_insert(span);
        let Some(held) = self.stage_of(s, barrier) else {
            self.unproven.add(
                span,
                "whether the stage that is released here was waited for",
            );
            return;
        };
        let h = s.held[held].clone();
        if h.fills {
            let diag = self
                .error(span, "a stage is released that was not waited for".into())
                .also(h.span, "acquired here")
                .help("the using side releases what `wait` gave it");
            self.broken(s, "release of a filled one", diag);
        } else if let Some(before) = h.released {
            let diag = self
                .error(span, "a stage is released twice".into())
                .also(before, "released before here")
                .also(h.span, "waited for here")
                .note("the second arrival counts for the stage's next use");
            self.broken(s, "twice", diag);
        } else if let Some(newest) = s.groups.iter().rposition(|g| g.contains(&held)) {
            let pending = s.groups.len() - 1 - newest;
            let diag = self
                .error(
                    span,
                    "a stage is released while a product may still be reading it".into(),
                )
                .also(h.span, "waited for here")
                .help(format!("`warpgroup_wait({pending})` before it"));
            self.broken(s, "in flight", diag);
        }
        s.held[held].released = Some(span);
    }

    /// Threads write a tile.
    pub(super) fn write(&mut self, s: &mut State, view: &SharedView, span: Span) {
        let name = self.kernel.shared[view.alloc].name.clone();
        let region = Region::of(view);
        let open = s.stores.iter().flatten().chain(&s.open);
        let mut met = open.filter_map(|(r, at)| r.meets(&region).map(|sure| (sure, *at)));
        if let Some((sure, at)) = met.next() {
            if sure {
                let pending = s
                    .stores
                    .iter()
                    .rev()
                    .position(|g| g.iter().any(|(r, _)| r.meets(&region) == Some(true)));
                let mut diag = Diag::error(
                    codes::PROXY,
                    span,
                    format!("`{name}` is written while a tensor copy may still be reading it"),
                )
                .also(at, "the copy");
                if let Some(n) = pending {
                    diag = diag.help(format!(
                        "the thread that started it: `wait_read({n})`, then a barrier"
                    ));
                }
                self.broken(s, "read by a copy", diag);
            } else {
                self.unproven.add(
                    span,
                    format!("whether `{name}`, written here, is still read by a tensor copy"),
                );
            }
        }
        s.unfenced.insert(view.alloc, span);
    }

    /// The accelerator or a warpgroup's product reads a tile that threads may have written.
    fn seen(&mut self, s: &State, alloc: usize, what: &str, span: Span) {
        let name = self.kernel.shared[alloc].name.clone();
        let (written, why, help) = if let Some(at) = s.unfenced.get(&alloc) {
            (
                *at,
                "which was written and not fenced",
                "fence_async(); then a barrier of the writers",
            )
        } else if let Some(at) = s.apart.get(&alloc) {
            (
                *at,
                "whose writers have not met since their fence",
                "a barrier of the writers before it",
            )
        } else {
            return;
        };
        let diag = Diag::error(codes::PROXY, span, format!("{what} reads `{name}`, {why}"))
            .also(written, "written here")
            .help(help);
        self.broken(s, "unfenced", diag);
    }

    pub(super) fn asynchronous(&mut self, a: &'a Async, s: &mut State, span: Span) {
        match a {
            Async::Transaction { barrier, op } => self.transaction(s, barrier, op, span),
            Async::TensorCopy(t) => match t.kind {
                TensorCopyKind::Load => {
                    let bytes = t.shared.shape().iter().product::<u32>()
                        * self.kernel.shared[t.shared.alloc].dtype.bytes();
                    let plain = t.multicast.is_none();
                    if let Some(barrier) = &t.barrier {
                        self.fill(s, &t.shared, barrier, bytes, plain, span);
                    }
                }
                _ => {
                    self.seen(s, t.shared.alloc, "this tensor copy", span);
                    s.open.push((Region::of(&t.shared), span));
                }
            },
            Async::CommitStores => {
                let group = std::mem::take(&mut s.open);
                s.stores.push(group);
            }
            Async::WaitStores { newest, .. } => {
                let done = s.stores.len().saturating_sub(*newest as usize);
                s.stores.drain(..done);
            }
            Async::CopyTile { into, .. } => {
                s.unfenced.insert(into.alloc, span);
            }
            Async::FenceAsync => {
                let fenced = std::mem::take(&mut s.unfenced);
                s.apart.extend(fenced);
            }
            Async::ClusterBarrier => s.apart.clear(),
            Async::Mma(m) => {
                let left = match &m.a {
                    Operand::Shared(view) => Some(view),
                    Operand::Register(_) => None,
                };
                let mut reads = Vec::new();
                for view in left.into_iter().chain([&m.b]) {
                    reads.extend(self.read(s, view, span));
                    if !m.kind.by_warps() {
                        self.seen(s, view.alloc, "this product", span);
                    }
                }
                if !m.kind.by_warps() {
                    s.groups.push(reads);
                }
            }
            Async::WaitProducts(newest) => {
                let done = s.groups.len().saturating_sub(*newest as usize);
                s.groups.drain(..done);
            }
            _ => {}
        }
    }

    fn transaction(&mut self, s: &mut State, barrier: &SharedView, op: &Transaction, span: Span) {
        let full = self.rings.iter().position(|r| r.full == barrier.alloc);
        let empty = self.rings.iter().position(|r| r.empty == barrier.alloc);
        let stage = barrier.dynamic.first().map(|(v, _)| *v);
        match (op, full.or(empty), stage) {
            (Transaction::Wait(_), Some(ring), Some(stage)) => {
                let fills = full.is_none();
                if fills {
                    self.count_bytes(s, Some(ring));
                } else if !self.rings[ring].filled {
                    let diag = self
                        .error(span, "a stage is waited for that nothing fills".into())
                        .also(self.rings[ring].span, "the pipeline")
                        .help("the filling side: `acquire`, then copies into the stage");
                    self.broken(s, "unfilled", diag);
                }
                s.held.push(Held::new(ring, fills, span));
                let held = s.held.len() - 1;
                s.values.insert(stage, held);
            }
            (Transaction::ArriveExpect(bytes), Some(ring), Some(stage)) => {
                if let Some(held) = s.values.get(&stage).copied() {
                    s.held[held].expected = Some(*bytes);
                }
                if let Some(n) = s.count().filter(|n| *n != 1) {
                    let diag = self
                        .error(span, format!("a stage is acquired by {n} threads"))
                        .also(self.rings[ring].span, "the pipeline")
                        .note("each would arrive for the one that fills it")
                        .help("put the filling side under `if elect_one()` of one warpgroup");
                    self.broken(s, ACQUIRED, diag);
                }
            }
            _ => {}
        }
    }

    /// A tensor load into a tile, which completes a barrier.
    fn fill(
        &mut self,
        s: &mut State,
        tile: &SharedView,
        barrier: &SharedView,
        bytes: u32,
        plain: bool,
        span: Span,
    ) {
        let name = self.kernel.shared[tile.alloc].name.clone();
        let Some(ring) = self.rings.iter().position(|r| r.full == barrier.alloc) else {
            return;
        };
        let Some(held) = self.stage_of(s, barrier) else {
            self.unproven.add(
                span,
                format!("whether the stage of `{name}` that is filled here was acquired"),
            );
            return;
        };
        s.held[held].copies.push((span, bytes));
        s.held[held].plain &= plain;
        let h = s.held[held].clone();
        if h.ring != ring {
            let diag = self
                .error(
                    span,
                    format!("`{name}` is filled at a stage of another pipeline"),
                )
                .also(h.span, "the stage");
            self.broken(s, "foreign", diag);
        } else if !h.fills {
            let diag = self
                .error(
                    span,
                    format!("`{name}` is filled at a stage that is in use"),
                )
                .also(h.span, "waited for here")
                .help("`acquire` gives a stage that is free");
            self.broken(s, "in use", diag);
        }
        match self.stage_of(s, tile) {
            Some(other) if other != held => {
                let diag = self
                    .error(
                        span,
                        format!(
                            "the copy into `{name}` completes another stage than the one it fills"
                        ),
                    )
                    .also(h.span, "the stage it completes")
                    .also(s.held[other].span, "the stage it fills");
                self.broken(s, "other stage", diag);
            }
            None if self.kernel.shared[tile.alloc].stages > 1 => {
                self.unproven.add(
                    span,
                    format!("whether the copy fills the stage of `{name}` that it completes"),
                );
            }
            _ => {}
        }
    }

    /// What stages expect is what is copied into them; of one ring, or of all at the end.
    pub(super) fn count_bytes(&mut self, s: &State, ring: Option<usize>) {
        let of = |h: &&Held| h.fills && ring.is_none_or(|r| r == h.ring);
        let Some(h) = s.held.iter().rfind(of) else {
            return;
        };
        let Some(expected) = h.expected.filter(|_| h.plain && self.kernel.cluster == 1) else {
            return;
        };
        let copied: u32 = h.copies.iter().map(|(_, bytes)| bytes).sum();
        let message = match (copied, expected) {
            (0, 0) => "nothing is copied into the stage that is acquired here: it is full at once"
                .to_string(),
            (c, e) if c == e => return,
            (c, e) => format!("a stage expects {e} bytes; the copies into it bring {c}"),
        };
        let mut diag = self
            .error(h.span, message)
            .also(self.rings[h.ring].span, "the pipeline");
        for (at, bytes) in &h.copies {
            diag = diag.also(*at, format!("a copy of {bytes} bytes"));
        }
        if copied < expected {
            diag = diag.note("it is never full, and who waits for it waits forever");
        }
        self.broken(s, BYTES, diag);
    }

    /// As many warps release a stage as the pipeline is for.
    pub(super) fn count_releases(&mut self) {
        for (ring, (warps, at)) in self.rings.iter().zip(&self.releases) {
            let blocks = if ring.clustered {
                self.kernel.cluster
            } else {
                1
            };
            let wanted = ring.arrivals / blocks.max(1);
            let Some(at) = at else {
                if ring.waited_in_a_loop {
                    self.unproven.add(ring.span, "whether all stages of this pipeline are filled at most once: none is released");
                }
                continue;
            };
            if warps.len() as u32 != wanted {
                let (groups, n) = (wanted / 4, warps.len());
                let diag = Diag::error(
                    codes::PIPELINE,
                    *at,
                    format!(
                        "{n} warps release a stage; the pipeline is for {}, {wanted} warps",
                        warpgroups(groups)
                    ),
                )
                .also(ring.span, "the pipeline")
                .note("a stage is free once every warp that uses it has released it");
                let now = warpgroups(n as u32 / 4);
                let diag = match n.is_multiple_of(4) && n > 0 {
                    true if (n as u32) < wanted => diag.help(format!(
                        "release it in each of the {groups}; or, if {now} alone waits for it, make the pipeline for {now}"
                    )),
                    true => diag.help(format!("make the pipeline for {now}")),
                    false => diag,
                };
                self.found.push(("releases", diag));
            }
        }
    }
}
