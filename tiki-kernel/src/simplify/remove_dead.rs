//! What nobody reads is not computed: pure instructions and plain loads whose results are dead.

use crate::isa::effects::{PURE, Where};
use crate::ptx::liveness::{self, reads_and_writes};
use crate::ptx::{Function, Inst, Stmt};

/// Removes; whether anything changed.
pub fn run(f: &mut Function) -> bool {
    let mut any = false;
    loop {
        let live = liveness::run(f);
        let Some(body) = f.body.as_mut() else {
            return false;
        };
        let before = body.len();
        let mut at = 0;
        body.retain(|s| {
            let here = at;
            at += 1;
            match s {
                Stmt::Inst(i) if removable(i) => reads_and_writes(i)
                    .1
                    .iter()
                    .any(|r| live.wanted_after(here, *r)),
                _ => true,
            }
        });
        if body.len() == before {
            return any;
        }
        any = true;
    }
}

fn removable(i: &Inst) -> bool {
    let e = i.op.row.effects;
    let loads = e.reads != Where::Nothing && e.reads(Where::Nothing) == PURE;
    let ordered = i.op.get("order").is_some_and(|o| o != "weak");
    e.is_pure() && !i.op.row.carries() || (loads && !ordered)
}
