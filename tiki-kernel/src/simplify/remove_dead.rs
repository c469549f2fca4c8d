//! What nobody reads is not computed: pure instructions and plain loads whose results are dead.

use crate::isa::effects::{PURE, Where};
use crate::ptx::liveness::{self, reads_and_writes};
use crate::ptx::{Function, Inst, Stmt};

/// Removes; whether anything changed.
pub fn run(f: &mut Function) -> bool {
    let mut any = unread(f);
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

/// Removes what nothing reads anywhere, and what only that was read by: chains in one go, which a look at what lives
/// would take a link at a time.
fn unread(f: &mut Function) -> bool {
    let Some(body) = f.body.as_mut() else {
        return false;
    };
    let mut count = vec![0_u32; f.regs.len()];
    let facts: Vec<_> = body
        .iter()
        .map(|s| match s {
            Stmt::Inst(i) => {
                let (reads, writes) = reads_and_writes(i);
                reads.iter().for_each(|r| count[r.0 as usize] += 1);
                let can = removable(i) && !writes.is_empty();
                (reads, writes, can)
            }
            _ => Default::default(),
        })
        .collect();
    let mut writers: Vec<Vec<usize>> = vec![Vec::new(); f.regs.len()];
    for (at, (_, writes, can)) in facts.iter().enumerate() {
        if *can {
            writes.iter().for_each(|r| writers[r.0 as usize].push(at));
        }
    }
    let mut dead = vec![false; body.len()];
    let mut look: Vec<usize> = (0..body.len()).filter(|at| facts[*at].2).collect();
    while let Some(at) = look.pop() {
        let (reads, writes, _) = &facts[at];
        if dead[at] || writes.iter().any(|r| count[r.0 as usize] > 0) {
            continue;
        }
        dead[at] = true;
        for r in reads {
            count[r.0 as usize] -= 1;
            if count[r.0 as usize] == 0 {
                look.extend(&writers[r.0 as usize]);
            }
        }
    }
    let mut at = 0;
    body.retain(|_| {
        at += 1;
        !dead[at - 1]
    });
    dead.contains(&true)
}

fn removable(i: &Inst) -> bool {
    let e = i.op.row.effects;
    let loads = e.reads != Where::Nothing && e.reads(Where::Nothing) == PURE;
    let ordered = i.op.get("order").is_some_and(|o| o != "weak");
    e.is_pure() && !i.op.row.carries() || (loads && !ordered)
}
