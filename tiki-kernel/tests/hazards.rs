//! Hazards of hand-written kernels: what must be refused is refused with its code, what is right is not.

mod by_hand;

use by_hand::*;
use tiki_kernel::diag::Sink;
use tiki_kernel::dtype::DType;
use tiki_kernel::hazard;
use tiki_kernel::ir::build::Builder;
use tiki_kernel::ir::*;
use tiki_kernel::report::Report;
use tiki_kernel::schedule;
use tiki_kernel::target::Target;

fn codes(mut kernel: Kernel) -> (Vec<&'static str>, Report) {
    let mut report = Report::default();
    let mut sink = Sink::new();
    schedule::run(&mut kernel, &mut report);
    hazard::run(&kernel, &mut sink, &mut report);
    (
        sink.take().into_iter().map(|d| d.code.name()).collect(),
        report,
    )
}

fn unproven(report: &Report) -> usize {
    report
        .items
        .iter()
        .filter(|i| i.theme == "unproven")
        .count()
}

#[test]
fn what_is_right_passes() {
    for (name, kernel) in all() {
        let (found, _) = codes(kernel);
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

#[test]
fn a_transpose_needs_its_barrier() {
    let x = Some(Xor {
        bits: 5,
        base: 0,
        shift: 5,
    });
    assert_eq!(codes(transpose(DType::F32, x, false)).0, ["TK601"]);
    assert!(codes(transpose(DType::F32, x, true)).0.is_empty());
}

#[test]
fn bank_conflicts_are_counted_and_denied() {
    let deny = |x| {
        let mut k = transpose(DType::F32, x, true);
        k.deny.push(Deny::BankConflicts);
        codes(k).0
    };
    assert_eq!(deny(None), ["TK603"]);
    assert!(
        deny(Some(Xor {
            bits: 5,
            base: 0,
            shift: 5
        }))
        .is_empty()
    );
}

/// Invariant: the swizzle that the message offers is a cure.
#[test]
fn the_swizzle_that_is_offered_cures() {
    for dtype in [DType::F32, DType::F16] {
        let denied = |x| {
            let mut k = transpose(dtype, x, true);
            k.deny.push(Deny::BankConflicts);
            let mut sink = Sink::new();
            let mut report = Report::default();
            schedule::run(&mut k, &mut report);
            hazard::run(&k, &mut sink, &mut report);
            sink.take()
        };
        let diags = denied(None);
        assert!(!diags.is_empty(), "{dtype:?}: no conflict");
        for diag in diags {
            let help = diag.helps.first().expect("a way out");
            let within = help.split("Swizzle::new(").nth(1).expect("a swizzle");
            let of: Vec<u32> = within
                .split(')')
                .next()
                .unwrap()
                .split(", ")
                .map(|n| n.parse().unwrap())
                .collect();
            let x = Xor {
                bits: of[0],
                base: of[1],
                shift: of[2] as i32,
            };
            assert!(denied(Some(x)).is_empty(), "{dtype:?}: {help}");
        }
    }
}

/// `s[t] = x; if barrier { sync }; y = s[t + shift]`, in a loop if asked.
fn exchange(shift: i64, barrier: bool, looped: bool, last: bool) -> Kernel {
    let mut b = Builder::new("exchange", Target::default_target(), 64);
    let s = b.shared("s", DType::I32, 128);
    let t = b.special(Special::Thread);
    let one = b.int(DType::I32, 1);
    let weak = Order {
        order: MemoryOrder::Weak,
        scope: Scope::Block,
    };
    let body = |b: &mut Builder| {
        let view = |offset| SharedView {
            alloc: s,
            axes: vec![],
            swizzle: None,
            offset,
            dynamic: vec![(t, 1)],
            block: None,
        };
        b.push(StmtKind::StoreSharedElement {
            view: view(0),
            value: one,
        });
        if shift != 0 {
            b.push(StmtKind::StoreSharedElement {
                view: view(64),
                value: one,
            });
        }
        if barrier {
            b.push(StmtKind::Barrier(Barrier::Block));
        }
        b.scalar(
            DType::I32,
            Op::LoadElement {
                place: Place::Shared(view(shift)),
                order: weak,
            },
        );
        if last {
            b.push(StmtKind::Barrier(Barrier::Block));
        }
    };
    if looped {
        let (lo, hi) = (b.int(DType::U32, 0), b.int(DType::U32, 4));
        let index = b.value(Type::Scalar(DType::U32), Uniform::Block);
        let (inner, ()) = b.block(body);
        b.push(StmtKind::For {
            index,
            lo,
            hi,
            step: 1,
            unroll: None,
            body: inner,
        });
    } else {
        body(&mut b);
    }
    b.finish()
}

#[test]
fn a_thread_may_read_what_it_wrote_itself() {
    assert!(codes(exchange(0, false, false, false)).0.is_empty());
    assert_eq!(codes(exchange(1, false, false, false)).0, ["TK601"]);
    assert!(codes(exchange(1, true, false, false)).0.is_empty());
}

#[test]
fn a_loop_needs_a_barrier_at_its_end_too() {
    // Two stores of the next round meet the read of this one.
    assert_eq!(
        codes(exchange(1, true, true, false)).0.first(),
        Some(&"TK601")
    );
    assert!(codes(exchange(1, true, true, true)).0.is_empty());
}

#[test]
fn reading_what_nobody_wrote_is_refused() {
    let mut b = Builder::new("undefined", Target::default_target(), 64);
    let s = b.shared("s", DType::I32, 128);
    let t = b.special(Special::Thread);
    let one = b.int(DType::I32, 1);
    let weak = Order {
        order: MemoryOrder::Weak,
        scope: Scope::Block,
    };
    let view = |offset| SharedView {
        alloc: s,
        axes: vec![],
        swizzle: None,
        offset,
        dynamic: vec![(t, 1)],
        block: None,
    };
    b.push(StmtKind::StoreSharedElement {
        view: view(0),
        value: one,
    });
    b.push(StmtKind::Barrier(Barrier::Block));
    b.scalar(
        DType::I32,
        Op::LoadElement {
            place: Place::Shared(view(1)),
            order: weak,
        },
    );
    assert_eq!(codes(b.finish()).0, ["TK605"]);
}

/// Something under `if cond`.
fn under(limit: i128, inner: impl FnOnce(&mut Builder)) -> Kernel {
    let mut b = Builder::new("under", Target::default_target(), 128);
    let t = b.special(Special::Thread);
    let n = b.int(DType::U32, limit);
    let cond = b.compare(Compare::Lt, t, n);
    let (then, ()) = b.block(inner);
    b.push(StmtKind::If {
        cond,
        then,
        otherwise: vec![],
    });
    b.finish()
}

#[test]
fn barriers_and_shuffles_need_their_threads() {
    let barrier = |b: &mut Builder| b.push(StmtKind::Barrier(Barrier::Block));
    let shuffle = |b: &mut Builder| {
        let x = b.int(DType::U32, 7);
        let lane = b.int(DType::U32, 1);
        b.scalar(
            DType::U32,
            Op::Shuffle {
                mode: Shuffle::Xor,
                value: x,
                lane,
            },
        );
    };
    assert_eq!(codes(under(64, barrier)).0, ["TK602"]);
    assert_eq!(codes(under(128, barrier)).0, [] as [&str; 0]);
    assert_eq!(codes(under(64, shuffle)).0, [] as [&str; 0]);
    assert_eq!(codes(under(65, shuffle)).0, ["TK606"]);
    let mut gone = under(5, |b| b.push(StmtKind::Return));
    gone.body.push(Stmt {
        kind: StmtKind::Barrier(Barrier::Block),
        span: gone.span,
    });
    assert_eq!(codes(gone).0, ["TK006"]);
}

#[test]
fn two_threads_must_not_write_one_element() {
    let store = |one: bool| {
        let mut b = Builder::new("store", Target::default_target(), 64);
        let out = b.tensor("out", DType::U32, 1, true);
        let t = b.special(Special::Thread);
        let at = b.special(Special::Block(0));
        let weak = Order {
            order: MemoryOrder::Weak,
            scope: Scope::Block,
        };
        let view = GlobalView {
            window: None,
            param: out,
            fixed: vec![],
            axes: vec![axis(0, 1, at, false)],
        };
        let zero = b.int(DType::U32, 0);
        let cond = b.compare(Compare::Eq, t, zero);
        let (then, ()) = b.block(|b| {
            b.push(StmtKind::StoreElement {
                view,
                value: t,
                order: weak,
            })
        });
        if one {
            b.push(StmtKind::If {
                cond,
                then,
                otherwise: vec![],
            });
        } else {
            for s in then {
                b.push(s.kind);
            }
        }
        codes(b.finish())
    };
    assert_eq!(store(false).0, ["TK607"]);
    let (found, report) = store(true);
    assert!(found.is_empty());
    assert_eq!(unproven(&report), 0);
}

#[test]
fn what_cannot_be_followed_is_listed_and_can_be_denied() {
    let kernel = || {
        let mut b = Builder::new("gather", Target::default_target(), 64);
        let s = b.shared("s", DType::I32, 64);
        let x = b.tensor("x", DType::U32, 1, false);
        let t = b.special(Special::Thread);
        let weak = Order {
            order: MemoryOrder::Weak,
            scope: Scope::Block,
        };
        let view = GlobalView {
            window: None,
            param: x,
            fixed: vec![],
            axes: vec![axis(0, 1, t, false)],
        };
        let i = b.scalar(
            DType::U32,
            Op::LoadElement {
                place: Place::Global(view),
                order: weak,
            },
        );
        b.kernel.values[i.0 as usize].uniform = Uniform::Thread;
        let one = b.int(DType::I32, 1);
        let at = |v| SharedView {
            alloc: s,
            axes: vec![],
            swizzle: None,
            offset: 0,
            dynamic: vec![(v, 1)],
            block: None,
        };
        b.push(StmtKind::StoreSharedElement {
            view: at(t),
            value: one,
        });
        b.scalar(
            DType::I32,
            Op::LoadElement {
                place: Place::Shared(at(i)),
                order: weak,
            },
        );
        b.finish()
    };
    let (found, report) = codes(kernel());
    assert!(found.is_empty() && unproven(&report) > 0);
    let mut k = kernel();
    k.deny.push(Deny::Unproven);
    assert_eq!(codes(k).0.first(), Some(&"TK604"));
}

/// A tile copied in, waited for or not, met or not, and read by others.
fn copied(wait: bool, barrier: bool) -> Kernel {
    let mut b = Builder::new("copied", Target::default_target(), 64);
    let x = b.tensor("x", DType::F32, 1, false);
    let s = b.shared("s", DType::F32, 256);
    let zero = b.int(DType::U32, 0);
    let dist = linear(1, 64, 4, 256);
    let digits = |n| {
        vec![vec![Digit {
            extent: n,
            stride: 1,
        }]]
    };
    let into = SharedView {
        alloc: s,
        axes: digits(256),
        swizzle: None,
        offset: 0,
        dynamic: vec![],
        block: None,
    };
    b.push(StmtKind::Async(Async::CopyTile {
        view: GlobalView {
            window: None,
            param: x,
            fixed: vec![],
            axes: vec![axis(0, 256, zero, true)],
        },
        into: into.clone(),
        dist,
        vector: 4,
        cache: Cache::Default,
    }));
    b.push(StmtKind::Async(Async::CommitCopies));
    if wait {
        b.push(StmtKind::Async(Async::WaitCopies(0)));
    }
    if barrier {
        b.push(StmtKind::Barrier(Barrier::Block));
    }
    let dist = linear(1, 64, 1, 256);
    b.tile(
        DType::F32,
        &[256],
        &dist,
        Op::LoadShared {
            view: into,
            vector: 0,
        },
    );
    b.finish()
}

#[test]
fn a_copy_is_done_after_its_wait_and_seen_after_the_barrier() {
    assert_eq!(codes(copied(false, true)).0, ["TK601"]);
    assert_eq!(codes(copied(true, false)).0, ["TK601"]);
    let (found, report) = codes(copied(true, true));
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(unproven(&report), 0);
}
