//! Registers that a warpgroup's multiplies hold.
//!
//! From its issue until the wait that completes it, a multiply owns its sums and, where A lies in registers,
//! those too: another instruction may not touch them. And ordinary uses of them come before a multiply only if
//! a fence for registers lies in between. Followed only in kernels that have such multiplies.

use super::super::block::Team;
use super::super::exec::Ctx;
use super::super::fault::Code;
use super::super::launch::Env;
use super::super::program::{Act, Step, Use};
use super::super::warp::Warp;
use super::Watch;
use crate::vm::meaning::Ask;
use crate::vm::meaning::ask::Multiply;

/// Registers of a warp, by plane.
#[derive(Debug, Default)]
pub(super) struct Registers {
    /// Multiplies under way: number, planes of the sums, planes of A.
    held: Vec<(u32, Vec<u32>, Vec<u32>)>,
    /// How many of them hold a plane.
    holds: Vec<u16>,
    /// Touched by ordinary instructions since the last fence for registers; all, before the first.
    touched: Vec<bool>,
}

impl Registers {
    pub(super) fn new(planes: usize) -> Registers {
        Registers {
            held: vec![],
            holds: vec![0; planes],
            touched: vec![true; planes],
        }
    }
    pub(super) fn fence(&mut self) {
        self.touched.fill(false);
    }
    /// Multiplies up to a number are over.
    pub(super) fn release(&mut self, over: u32) {
        let holds = &mut self.holds;
        self.held.retain(|(number, sums, a)| {
            let keep = *number > over;
            if !keep {
                for s in sums.iter().chain(a) {
                    holds[*s as usize] -= 1;
                }
            }
            keep
        });
    }
}

/// Planes of a multiply's sums and of its A, if that is in registers.
fn planes(step: &Step, x: &Multiply, a: bool) -> (Vec<u32>, Vec<u32>) {
    let list = &step.args.list;
    let part = |k: usize, n: usize| {
        let at = step.args.s[k] as usize;
        list.get(at..(at + n).min(list.len()))
            .unwrap_or(&[])
            .to_vec()
    };
    let sums = x.n as usize / 2 / if x.sums.bits() == 16 { 2 } else { 1 };
    (part(0, sums), if a { part(1, 4) } else { vec![] })
}

impl Watch {
    /// Whether registers are followed in this launch.
    pub(in crate::vm) fn follows_registers(env: &Env<'_>) -> bool {
        env.kernel.multiplies
    }

    /// A step of a warp, before it runs.
    fn step(&mut self, team: &Team, ctx: &Ctx<'_, '_>, warp: &Warp, uses: &[Use]) {
        let w = self.number(ctx, warp);
        let registers = &mut self.sides[w].registers;
        let mut touched = None;
        for u in uses {
            for plane in u.slot..u.slot + u32::from(u.planes) {
                let at = plane as usize;
                if registers.holds.get(at).is_some_and(|n| *n > 0) {
                    touched.get_or_insert(u.write);
                }
                if let Some(t) = registers.touched.get_mut(at) {
                    *t = true;
                }
            }
        }
        if let Some(write) = touched {
            let what = if write { "writes" } else { "reads" };
            let text = format!(
                "{what} a register of a multiply that is under way: nothing waits for the multiply before"
            );
            self.complain(team, ctx, warp, Code::Warpgroup, ctx.mask, text);
        }
    }

    /// A multiply takes its registers.
    pub(super) fn hold(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        x: &Multiply,
        a_in_registers: bool,
        number: u32,
    ) {
        let w = self.number(ctx, warp);
        let registers = &mut self.sides[w].registers;
        if registers.holds.is_empty() {
            return;
        }
        let (sums, a) = planes(ctx.step, x, a_in_registers);
        let unfenced = sums
            .iter()
            .chain(&a)
            .any(|s| registers.touched[*s as usize]);
        // Multiplies that follow one another may share sums, if they share them all.
        let torn = registers.held.iter().any(|(_, s, r)| {
            (*s != sums && s.iter().any(|p| sums.contains(p) || a.contains(p)))
                || r.iter().any(|p| sums.contains(p))
        });
        for s in sums.iter().chain(&a) {
            registers.holds[*s as usize] += 1;
        }
        registers.held.push((number, sums, a));
        if unfenced {
            let text =
                "its registers were used by others, and no fence for registers comes in between";
            self.complain(team, ctx, warp, Code::Warpgroup, ctx.mask, text.into());
        } else if torn {
            let text = "it takes registers of another multiply that is under way";
            self.complain(team, ctx, warp, Code::Warpgroup, ctx.mask, text.into());
        }
    }
}

impl Team {
    /// Before a step of a kernel whose registers are followed.
    pub(in crate::vm) fn watch_step(&mut self, ctx: &Ctx<'_, '_>, warp: &Warp, pc: u32) {
        let uses = match ctx.env.kernel.uses.get(pc as usize) {
            Some(uses) if !uses.is_empty() => uses,
            _ => return,
        };
        if matches!(ctx.step.act, Act::Ask(Ask::GroupMultiply { .. })) {
            return;
        }
        if let Some(mut watch) = self.watch.take() {
            watch.step(self, ctx, warp, uses);
            self.watch = Some(watch);
        }
    }
}
