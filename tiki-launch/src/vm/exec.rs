//! Steps that are not plain: control flow, and what lanes do together.

use super::block::Team;
use super::fault::{Code, Fault};
use super::launch::Env;
use super::program::{ABSENT, Act, Step};
use super::warp::{Frag, State, Warp};
use crate::vm::meaning::ask::Ask;
use crate::vm::meaning::compare::NEGATED;
use crate::vm::meaning::{LANES, Plane, put_plane};

/// What a request does to the fragment that made it.
pub(super) enum After {
    /// On to the next step.
    Next,
    /// It stands elsewhere already.
    Jumped,
    /// It waits, at this step or behind it.
    Wait(State, bool),
    /// Its lanes are gone, or it waits in the warp's list.
    Gone,
}

pub(super) type Result<T> = std::result::Result<T, Box<Fault>>;

/// Who runs: block, warp, step, and the lanes that execute.
pub(super) struct Ctx<'a, 'e> {
    pub(super) env: &'a Env<'e>,
    pub(super) b: usize,
    pub(super) step: &'a Step,
    pub(super) mask: u32,
}

impl Ctx<'_, '_> {
    pub(super) fn fault(
        &self,
        team: &Team,
        warp: &Warp,
        code: Code,
        lanes: u32,
        text: impl Into<String>,
    ) -> Box<Fault> {
        self.env.fault_at(
            code,
            text.into(),
            self.step,
            team.blocks[self.b].id,
            warp.index,
            lanes,
        )
    }
    /// Plane of an operand.
    pub(super) fn slot(&self, at: u8) -> u32 {
        self.step.args.s[at as usize]
    }
    /// Plane of an operand that may be left out.
    pub(super) fn given(&self, at: Option<u8>) -> Option<u32> {
        at.map(|a| self.slot(a)).filter(|s| *s != ABSENT)
    }
    /// The first lane that executes.
    pub(super) fn leader(&self) -> usize {
        self.mask.trailing_zeros() as usize & 31
    }
    /// An operand's value in the first lane that executes.
    pub(super) fn uniform(&self, warp: &Warp, slot: u32) -> u32 {
        warp.file.words[slot as usize].0[self.leader()]
    }
    /// A condition, with its negation.
    pub(super) fn condition(&self, warp: &Warp, slot: u32) -> u32 {
        warp.file.preds[slot as usize]
            ^ if self.step.args.flags & NEGATED != 0 {
                u32::MAX
            } else {
                0
            }
    }
}

impl Team {
    pub(super) fn act(
        &mut self,
        ctx: &Ctx<'_, '_>,
        act: &Act,
        warp: &mut Warp,
        cur: &mut Frag,
    ) -> Result<After> {
        match act {
            Act::Ask(ask) => {
                self.watch_ask(ctx, ask, warp, cur.pc);
                self.ask(ctx, ask, warp, cur)
            }
            Act::Extend { slot, signed } => {
                let low = warp.file.words[*slot as usize].0;
                let high = low.map(|x| {
                    if *signed {
                        ((x as i32) >> 31) as u32
                    } else {
                        0
                    }
                });
                put_plane(&mut warp.file.words[*slot as usize + 1], &high, ctx.mask);
                Ok(After::Next)
            }
            Act::Copies(list) => {
                for (from, to, bytes) in list {
                    super::planes::copy_own(warp, *from, *to, *bytes, ctx.mask);
                    self.watch_passed(ctx, warp, *to, *bytes);
                }
                Ok(After::Next)
            }
            Act::Outside(call) => self.call_outside(ctx, call, warp).map(|()| After::Next),
            Act::Clock { slot, wide } => {
                self.clock += 1;
                warp.file.words[*slot as usize] = Plane::splat(self.clock as u32);
                if *wide {
                    warp.file.words[*slot as usize + 1] = Plane::splat((self.clock >> 32) as u32);
                }
                Ok(After::Next)
            }
            Act::Lanes(_) => Ok(After::Next),
        }
    }

    pub(super) fn ask(
        &mut self,
        ctx: &Ctx<'_, '_>,
        ask: &Ask,
        warp: &mut Warp,
        cur: &mut Frag,
    ) -> Result<After> {
        match *ask {
            Ask::Load(a) => self.load(ctx, &a, warp).map(|()| After::Next),
            Ask::Store(a) => self.store(ctx, &a, warp).map(|()| After::Next),
            Ask::Atomic(a) => self.atomic(ctx, &a, warp).map(|()| After::Next),
            Ask::Nothing
            | Ask::Fence { .. }
            | Ask::FenceProxy { .. }
            | Ask::MapAcquire { .. }
            | Ask::SetRegisters
            | Ask::GroupFence => Ok(After::Next),
            Ask::Branch => Ok(After::Next),
            Ask::Switch => Ok(switch(ctx, warp, cur)),
            Ask::Call => {
                split(warp, cur, ctx.mask);
                cur.calls.push(cur.pc + 1);
                cur.pc = ctx.step.targets[0];
                Ok(After::Jumped)
            }
            Ask::Return if cur.calls.is_empty() => self.leave(ctx, warp, cur),
            Ask::Return => {
                split(warp, cur, ctx.mask);
                cur.pc = cur.calls.pop().unwrap_or(0);
                Ok(After::Jumped)
            }
            Ask::Exit => self.leave(ctx, warp, cur),
            Ask::Trap => Err(ctx.fault(
                self,
                warp,
                Code::Trap,
                ctx.mask,
                "the kernel stopped itself",
            )),
            Ask::Shuffle(mode) => self.together(ctx, warp, cur, 4, |t, c, w| {
                super::lanes::shuffle(t, c, w, mode)
            }),
            Ask::Vote(mode) => self.together(ctx, warp, cur, 2, |_, c, w| {
                super::lanes::vote(c, w, mode);
                Ok(())
            }),
            Ask::Match { all, wide } => self.together(ctx, warp, cur, 2, |_, c, w| {
                super::lanes::matching(c, w, all, wide);
                Ok(())
            }),
            Ask::Redux(f) => self.together(ctx, warp, cur, 2, |_, c, w| {
                let from = w.file.words[c.slot(1) as usize].0;
                let lanes = c.mask & member_mask(c, w, 2);
                let mut all = (0..LANES).filter(|i| lanes >> i & 1 == 1).map(|i| from[i]);
                let first = all.next().unwrap_or(0);
                let r = all.fold(first, f);
                put_plane(&mut w.file.words[c.slot(0) as usize], &[r; LANES], c.mask);
                Ok(())
            }),
            Ask::ActiveMask => {
                put_plane(
                    &mut warp.file.words[ctx.slot(0) as usize],
                    &[ctx.mask; LANES],
                    ctx.mask,
                );
                Ok(After::Next)
            }
            Ask::SyncWarp => self.together(ctx, warp, cur, 0, |_, _, _| Ok(())),
            Ask::Bar {
                wait,
                aligned,
                id,
                count,
                fold,
                pred,
            } => {
                if aligned {
                    warp.absorb(cur, |s| matches!(s, State::Join(_)));
                    if ctx.step.guard.is_none() && cur.mask != warp.alive {
                        return Ok(After::Wait(State::Join(warp.alive), false));
                    }
                }
                let mask = if ctx.step.guard.is_none() {
                    cur.mask
                } else {
                    ctx.mask
                };
                split(warp, cur, mask);
                let ctx = Ctx {
                    env: ctx.env,
                    b: ctx.b,
                    step: ctx.step,
                    mask,
                };
                let given = (
                    ctx.uniform(warp, ctx.slot(id)),
                    ctx.given(count).map(|s| ctx.uniform(warp, s)),
                );
                let bits = ctx.given(pred).map_or(0, |p| ctx.condition(warp, p));
                self.bar(&ctx, warp, cur, given, wait, (fold, bits))
            }
            Ask::ClusterArrive { .. } => {
                self.cluster_arrived += ctx.mask.count_ones();
                self.cluster_step(0);
                // A wait that follows waits for the phase that this arrival belongs to.
                warp.transfers.cluster = if self.cluster_arrived == 0 {
                    self.cluster_generation - 1
                } else {
                    self.cluster_generation
                };
                Ok(After::Next)
            }
            Ask::ClusterWait => {
                let generation = warp.transfers.cluster;
                if self.cluster_generation != generation {
                    self.tape_cluster_over(ctx.b, warp.index, generation);
                    Ok(After::Next)
                } else {
                    Ok(After::Wait(State::Cluster { generation }, true))
                }
            }
            Ask::CopyIssue => self.copy_issue(ctx, warp).map(|()| After::Next),
            Ask::CopyCommit => {
                self.copy_commit(ctx, warp);
                Ok(After::Next)
            }
            Ask::CopyWait => self.copy_wait(ctx, warp).map(|()| After::Next),
            Ask::MatrixLoad { num, trans } => {
                self.whole(ctx, warp, cur, |t, c, w| t.matrix_load(c, w, num, trans))
            }
            Ask::MatrixStore { num, trans } => {
                self.whole(ctx, warp, cur, |t, c, w| t.matrix_store(c, w, num, trans))
            }
            Ask::MatrixTranspose => self.whole(ctx, warp, cur, |_, c, w| {
                super::matrix::transpose(c, w);
                Ok(())
            }),
            Ask::Multiply(shape) => self.whole(ctx, warp, cur, |t, c, w| {
                super::matrix::multiply(&mut t.products, c, w, &shape);
                Ok(())
            }),
            Ask::MultiplySparse(shape) => self.whole(ctx, warp, cur, |_, c, w| {
                super::sparse::multiply(c, w, &shape);
                Ok(())
            }),
            Ask::WmmaLoad {
                which,
                row,
                shape,
                space,
            } => self.whole(ctx, warp, cur, |t, c, w| {
                t.wmma_load(c, w, which, row, shape, space)
            }),
            Ask::WmmaStore { row, shape, space } => self.whole(ctx, warp, cur, |t, c, w| {
                t.wmma_store(c, w, row, shape, space)
            }),
            Ask::Wmma { shape } => self.whole(ctx, warp, cur, |_, c, w| {
                super::wmma::multiply(c, w, shape);
                Ok(())
            }),
            Ask::MapEdit {
                field,
                space,
                index,
                value,
            } => self
                .map_edit(ctx, warp, (field, space), (index, value))
                .map(|()| After::Next),
            Ask::MapPublish => self.whole(ctx, warp, cur, |t, c, w| t.map_publish(c, w)),
            Ask::GroupCommit => {
                self.group_commit(ctx, warp);
                Ok(After::Next)
            }
            Ask::GroupWait => self.group_wait(ctx, warp).map(|()| After::Next),
            Ask::GroupMultiply { shape, registers } => {
                self.group_multiply(ctx, warp, cur, &shape, registers)
            }
            ref object @ (Ask::CopyArrive { .. }
            | Ask::ObjectInit
            | Ask::ObjectInval
            | Ask::ObjectArrive { .. }
            | Ask::ObjectBytes { .. }
            | Ask::ObjectWait { .. }
            | Ask::ObjectPending
            | Ask::StoreAsync(_)) => self.object(ctx, object, warp),
            ref bulk @ (Ask::BulkLoad { .. }
            | Ask::BulkPeer
            | Ask::BulkStore { .. }
            | Ask::BoxLoad { .. }
            | Ask::BoxStore { .. }
            | Ask::BulkCommit
            | Ask::BulkWait { .. }) => self.bulk(ctx, bulk, warp),
        }
    }

    /// Lanes leave the kernel; barriers that waited for all may now be complete.
    fn leave(&mut self, ctx: &Ctx<'_, '_>, warp: &mut Warp, cur: &mut Frag) -> Result<After> {
        cur.mask &= !ctx.mask;
        warp.alive &= !ctx.mask;
        cur.pc += 1;
        let gone = warp.alive == 0;
        if gone {
            self.settle_bars(ctx.b, warp.index);
        }
        self.cluster_step(ctx.mask.count_ones());
        Ok(After::Gone)
    }

    /// A request of lanes that a mask names: they must all be here.
    fn together(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &mut Warp,
        cur: &mut Frag,
        mask_at: u8,
        run: impl FnOnce(&mut Team, &Ctx<'_, '_>, &mut Warp) -> Result<()>,
    ) -> Result<After> {
        let wanted = member_mask(ctx, warp, mask_at);
        self.gathered(ctx, warp, cur, wanted, run)
    }

    /// A request of all lanes of a warp.
    fn whole(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &mut Warp,
        cur: &mut Frag,
        run: impl FnOnce(&mut Team, &Ctx<'_, '_>, &mut Warp) -> Result<()>,
    ) -> Result<After> {
        if warp.alive != u32::MAX || (ctx.step.guard.is_some() && ctx.mask != u32::MAX) {
            let missing = !ctx.mask;
            return Err(ctx.fault(
                self,
                warp,
                Code::Mask,
                missing,
                "an instruction of a whole warp is executed by a part of it",
            ));
        }
        self.gathered(ctx, warp, cur, u32::MAX, run)
    }

    fn gathered(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &mut Warp,
        cur: &mut Frag,
        wanted: u32,
        run: impl FnOnce(&mut Team, &Ctx<'_, '_>, &mut Warp) -> Result<()>,
    ) -> Result<After> {
        let needed = wanted & warp.alive;
        let mut mask = ctx.mask;
        if needed & !cur.mask != 0 {
            let had = cur.mask;
            warp.absorb(cur, |s| matches!(s, State::Join(_) | State::Ready));
            mask |= cur.mask & !had;
            if needed & !cur.mask != 0 {
                return Ok(After::Wait(State::Join(wanted), false));
            }
        }
        let ctx = Ctx {
            env: ctx.env,
            b: ctx.b,
            step: ctx.step,
            mask,
        };
        if ctx.env.options.checks != super::Checks::Run && mask & !wanted != 0 {
            let text = format!(
                "lanes {} execute it, its mask names {}",
                super::fault::lanes(mask),
                super::fault::lanes(wanted)
            );
            return Err(ctx.fault(self, warp, Code::Mask, mask & !wanted, text));
        }
        self.watch_meeting(&ctx, warp, cur.pc);
        run(self, &ctx, warp)?;
        Ok(After::Next)
    }
}

/// Keeps only the lanes of a mask; the others go on behind this step.
fn split(warp: &mut Warp, cur: &mut Frag, mask: u32) {
    let rest = cur.mask & !mask;
    if rest != 0 {
        warp.frags.push(Frag {
            pc: cur.pc + 1,
            mask: rest,
            calls: cur.calls.clone(),
            state: State::Ready,
        });
        cur.mask &= mask;
    }
}

/// The lanes that a mask operand names.
pub(super) fn member_mask(ctx: &Ctx<'_, '_>, warp: &Warp, at: u8) -> u32 {
    ctx.uniform(warp, ctx.slot(at))
}

fn switch(ctx: &Ctx<'_, '_>, warp: &mut Warp, cur: &mut Frag) -> After {
    let index = warp.file.words[ctx.slot(0) as usize].0;
    let mut left = ctx.mask;
    cur.mask &= !ctx.mask;
    while left != 0 {
        let first = index[left.trailing_zeros() as usize];
        let same = (0..32)
            .filter(|i| left >> i & 1 == 1 && index[*i as usize] == first)
            .fold(0, |m, i| m | 1u32 << i);
        left &= !same;
        // An index outside the table is undefined; the last label is as good as any.
        let to = ctx.step.targets[(first as usize).min(ctx.step.targets.len() - 1)];
        warp.frags.push(Frag {
            pc: to,
            mask: same,
            calls: cur.calls.clone(),
            state: State::Ready,
        });
    }
    cur.pc += 1;
    After::Gone
}
