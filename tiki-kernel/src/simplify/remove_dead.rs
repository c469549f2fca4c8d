//! What nobody reads is not computed: pure instructions and plain loads whose results are dead.

use crate::isa::effects::{PURE, Where};
use crate::ptx::liveness::{self, each_read, each_write};
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
                Stmt::Inst(i) if removable(i) => {
                    let mut wanted = false;
                    each_write(i, |r| wanted |= live.wanted_after(here, r));
                    wanted
                }
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
    for s in body.iter() {
        if let Stmt::Inst(i) = s {
            each_read(i, |r| count[r.0 as usize] += 1);
        }
    }
    let (mut writers, mut look) = (Vec::new(), Vec::new());
    for (at, s) in body.iter().enumerate() {
        if let Stmt::Inst(i) = s
            && removable(i)
        {
            let before = writers.len();
            each_write(i, |r| writers.push((r, at)));
            let mut own = writers[before..].iter();
            if writers.len() > before && own.all(|(r, _)| count[r.0 as usize] == 0) {
                look.push(at);
            }
        }
    }
    if look.is_empty() {
        return false;
    }
    writers.sort_unstable();
    let mut dead = vec![false; body.len()];
    while let Some(at) = look.pop() {
        let Stmt::Inst(i) = &body[at] else { continue };
        let mut wanted = dead[at];
        each_write(i, |r| wanted |= count[r.0 as usize] > 0);
        if wanted {
            continue;
        }
        dead[at] = true;
        each_read(i, |r| {
            let left = &mut count[r.0 as usize];
            *left -= 1;
            if *left == 0 {
                let first = writers.partition_point(|(w, _)| *w < r);
                let of_it = writers[first..].iter().take_while(|(w, _)| *w == r);
                look.extend(of_it.map(|(_, at)| at));
            }
        });
    }
    let mut at = 0;
    body.retain(|_| {
        at += 1;
        !dead[at - 1]
    });
    true
}

fn removable(i: &Inst) -> bool {
    let e = i.op.row.effects;
    let loads = e.reads != Where::Nothing && e.reads(Where::Nothing) == PURE;
    let ordered = i.op.get("order").is_some_and(|o| o != "weak");
    e.is_pure() && !i.op.row.carries() || (loads && !ordered)
}
