//! Straight pieces of code: steps after which the next one runs, whatever they find.
//!
//! A step is *plain* if it computes in registers or reaches memory in a way that [`super::reach`] has a
//! quick path for. Plain steps that follow one another are a piece; the run loop hands a whole piece to a
//! loop compiled for the CPU level ([`super::dispatch`]), which stops early only at a step whose quick path
//! declines. Such a step, and every step that is not plain, goes through [`super::exec`], which knows all
//! cases and says what is wrong.

use super::program::{Act, Step};
use super::reach::Reach;
use crate::vm::meaning::{Args, File, Plane, Run};

/// A plain step.
#[derive(Debug)]
pub(super) struct Plain {
    pub(super) what: What,
    pub(super) args: Args,
    /// The predicate that guards it, turned round by the next field; one that is always true without.
    pub(super) guard: u32,
    pub(super) turn: u32,
    /// Plain steps from here on, this one included.
    pub(super) length: u32,
}

/// What a plain step does.
#[derive(Debug)]
pub(super) enum What {
    Lanes(Run),
    Reach(Reach),
    /// Nothing: the step is not plain.
    Other,
}

/// What plain steps work on.
#[derive(Debug)]
pub(super) struct Site<'a, 'e> {
    pub(super) env: &'a super::launch::Env<'e>,
    /// Who looks on at what reaches memory that others see.
    pub(super) eye: Option<super::race::Eye<'a>>,
    pub(super) file: &'a mut File,
    pub(super) local: &'a mut [Plane],
    pub(super) shared: &'a mut super::shared::Shared,
}

/// The plain steps of a program, one for each of its steps. `own` is what the address of a shared variable has above its
/// offset.
pub(super) fn pieces(code: &[Step], always: u32, own: i64) -> Vec<Plain> {
    let mut out: Vec<Plain> = (0..)
        .zip(code)
        .map(|(pc, step)| {
            let what = match &step.act {
                Act::Lanes(run) => What::Lanes(*run),
                Act::Ask(ask) => Reach::of(step, ask, pc, own).map_or(What::Other, What::Reach),
                _ => What::Other,
            };
            let (guard, negated) = step.guard.unwrap_or((always, false));
            Plain {
                what,
                args: step.args.clone(),
                guard,
                turn: if negated { u32::MAX } else { 0 },
                length: 0,
            }
        })
        .collect();
    let mut length = 0;
    for p in out.iter_mut().rev() {
        length = match p.what {
            What::Other => 0,
            _ => length + 1,
        };
        p.length = length;
    }
    out
}
