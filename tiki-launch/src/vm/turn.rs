//! A warp's turn: which of its fragments runs, and the run loop.

use super::block::Team;
use super::exec::{After, Ctx, Result};
use super::fault::Code;
use super::launch::Env;
use super::program::{Act, Kernel};
use super::straight::Site;
use super::warp::{Frag, State, Warp};
use crate::vm::meaning::ask::Ask;

impl Team {
    /// Lets a warp run; whether it could.
    pub(super) fn turn(
        &mut self,
        env: &Env<'_>,
        b: usize,
        w: usize,
        mut budget: u32,
    ) -> Result<bool> {
        let mut warp = std::mem::take(&mut self.blocks[b].warps[w]);
        let r = self.turn_of(env, b, &mut warp, &mut budget);
        self.blocks[b].warps[w] = warp;
        r
    }

    fn turn_of(
        &mut self,
        env: &Env<'_>,
        b: usize,
        warp: &mut Warp,
        budget: &mut u32,
    ) -> Result<bool> {
        let before = *budget;
        if !self.wake(env, b, warp) {
            return self.force(env, b, warp).map(|()| false);
        }
        while *budget > 0 {
            let Some(cur) = warp.pick() else { break };
            self.run_frag(env, b, warp, cur, budget)?;
        }
        let used = u64::from(before - *budget);
        warp.steps += used;
        self.clock += used;
        if env.options.max_steps != 0 && warp.steps > env.options.max_steps {
            let f = &warp.frags.first();
            let at = f.map_or(0, |f| f.pc);
            let text = format!("a warp has run {} steps", warp.steps);
            return Err(env.fault_at(
                Code::Livelock,
                text,
                &env.kernel.code[at as usize],
                self.blocks[b].id,
                warp.index,
                0,
            ));
        }
        Ok(used > 0)
    }

    /// A warp of which every fragment waits for lanes that cannot come.
    fn force(&self, env: &Env<'_>, b: usize, warp: &Warp) -> Result<()> {
        let only_joins =
            !warp.frags.is_empty() && warp.frags.iter().all(|f| matches!(f.state, State::Join(_)));
        if !only_joins {
            return Ok(());
        }
        let f = &warp.frags[0];
        let State::Join(wanted) = f.state else {
            return Ok(());
        };
        let step = &env.kernel.code[f.pc as usize];
        let missing = super::fault::lanes(wanted & warp.alive & !f.mask);
        let (code, what) = match step.act {
            Act::Ask(Ask::Bar { .. }) => (
                Code::DivergentBarrier,
                "a barrier that whole warps must reach together",
            ),
            _ => (Code::Mask, "an instruction that needs other lanes"),
        };
        let text = format!("{what} is reached without lanes {missing}, which wait elsewhere");
        Err(env.fault_at(code, text, step, self.blocks[b].id, warp.index, f.mask))
    }

    fn run_frag(
        &mut self,
        env: &Env<'_>,
        b: usize,
        warp: &mut Warp,
        mut cur: Frag,
        budget: &mut u32,
    ) -> Result<()> {
        let kernel: &Kernel = env.kernel;
        let watched = self.watch.is_some();
        let numbers = watched && env.options.numbers;
        let follow = numbers || (watched && kernel.multiplies);
        let looks = watched.then(|| kernel.looks()).filter(|l| !l.is_empty());
        let taped = self.tape.is_some();
        let mut limit = warp.limit(&cur);
        while *budget > 0 {
            if cur.pc >= limit {
                break;
            }
            if watched {
                self.watch_settle(b, warp);
            }
            let at = cur.pc as usize;
            let mut n = kernel.plain[at].length.min(*budget).min(limit - cur.pc);
            if follow {
                n = n.min(1);
                self.follow(env, b, warp, &cur);
            }
            if taped {
                n = n.min(1);
            }
            if let Some(looks) = looks {
                let step = &kernel.code[at];
                let mask = cur.mask & step.guard.map_or(u32::MAX, |g| guard(warp, g));
                let ctx = Ctx { env, b, step, mask };
                n = looks.look(self, &ctx, warp, cur.pc, n);
            }
            let finite = if numbers && n > 0 {
                super::race::finite(&kernel.uses[at], warp, false)
            } else {
                0
            };
            if n > 0 {
                let index = warp.index;
                let mut site = Site {
                    eye: self.watch.as_deref_mut().map(|watch| watch.at(b, index)),
                    env,
                    file: &mut warp.file,
                    local: &mut warp.local,
                    shared: &mut self.blocks[b].shared,
                };
                let piece = &kernel.plain[at..at + n as usize];
                let done = env.level.straight(piece, &mut site, cur.mask) as u32;
                if finite != 0 && done > 0 {
                    self.born(env, b, warp, &cur, finite);
                }
                *budget -= done;
                if taped && done > 0 {
                    self.tape_at(env, b, warp, &cur);
                }
                cur.pc += done;
                if done == n {
                    continue;
                }
            }
            let step = &kernel.code[cur.pc as usize];
            let mask = match step.guard {
                None => cur.mask,
                Some(g) => cur.mask & guard(warp, g),
            };
            *budget -= 1;
            if taped {
                self.tape_at(env, b, warp, &cur);
            }
            match &step.act {
                Act::Ask(Ask::Branch) => {
                    let to = step.targets[0];
                    if mask == cur.mask {
                        cur.pc = to;
                    } else if mask == 0 {
                        cur.pc += 1;
                    } else {
                        cur.mask &= !mask;
                        cur.pc += 1;
                        warp.frags.push(Frag {
                            pc: to,
                            mask,
                            calls: cur.calls.clone(),
                            state: State::Ready,
                        });
                        break;
                    }
                    if !warp.frags.is_empty() {
                        limit = warp.limit(&cur);
                    }
                }
                _ if mask == 0 => cur.pc += 1,
                act => {
                    let ctx = Ctx { env, b, step, mask };
                    let done = match self.act(&ctx, act, warp, &mut cur) {
                        Err(f) => self.recover(&ctx, act, warp, &mut cur, f)?,
                        Ok(after) => after,
                    };
                    match done {
                        After::Next => cur.pc += 1,
                        After::Jumped => break,
                        After::Wait(state, behind) => {
                            cur.pc += u32::from(behind);
                            cur.state = state;
                            break;
                        }
                        After::Gone => {
                            if cur.mask == 0 {
                                return Ok(());
                            }
                            break;
                        }
                    }
                }
            }
        }
        if cur.mask != 0 {
            warp.frags.push(cur);
        }
        Ok(())
    }

    /// Looks whether the step that a fragment has just done made what is not finite of finite numbers.
    fn born(&mut self, env: &Env<'_>, b: usize, warp: &Warp, cur: &Frag, finite: u32) {
        let step = &env.kernel.code[cur.pc as usize];
        let odd = !super::race::finite(&env.kernel.uses[cur.pc as usize], warp, true);
        // A guard that the step itself changed would be read wrongly: predicates are not numbers.
        let mask = cur.mask & finite & odd & step.guard.map_or(u32::MAX, |g| guard(warp, g));
        if mask != 0 {
            self.watch_number(&Ctx { env, b, step, mask }, warp);
        }
    }

    /// Notes the step that a fragment stands at. (A guard that the step itself has changed is read wrongly; steps
    /// that change guards only compute.)
    fn tape_at(&mut self, env: &Env<'_>, b: usize, warp: &Warp, cur: &Frag) {
        let step = &env.kernel.code[cur.pc as usize];
        let mask = cur.mask & step.guard.map_or(u32::MAX, |g| guard(warp, g));
        self.tape_step(&Ctx { env, b, step, mask }, warp, cur.pc);
    }

    /// Shows the step that a fragment stands at to what looks on.
    fn follow(&mut self, env: &Env<'_>, b: usize, warp: &Warp, cur: &Frag) {
        let step = &env.kernel.code[cur.pc as usize];
        let mask = cur.mask & step.guard.map_or(u32::MAX, |g| guard(warp, g));
        if mask != 0 {
            self.watch_step(&Ctx { env, b, step, mask }, warp, cur.pc);
        }
    }
}

/// Lanes for which a guard holds.
fn guard(warp: &Warp, (p, negated): (u32, bool)) -> u32 {
    warp.file.preds[p as usize] ^ if negated { u32::MAX } else { 0 }
}
