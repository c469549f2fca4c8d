//! Extremes, columns, transposes, scalars, single operations.

use super::*;

/// Where the greatest (or least) element of each row lies; `rows` rows a block, `per` threads a row.
pub fn arg(t: DType, op: ReduceOp, rows: u32, per: u32, width: u32) -> Kernel {
    let mut b = Builder::new("argmax", Target::default_target(), rows * per);
    let (x, out) = (
        b.tensor("x", t, 2, false),
        b.tensor("out", DType::U32, 1, true),
    );
    let block = b.special(Special::Block(0));
    let n = b.int(DType::U32, rows.into());
    let origin = b.binary(Binary::Mul, block, n);
    let zero = b.int(DType::U32, 0);
    let fill = if t.is_float() {
        b.float(t, 0.0)
    } else {
        b.int(t, 0)
    };
    let dist = Dist {
        threads: vec![Mode::along(1, per, 1), Mode::along(0, rows, 1)],
        values: vec![Mode::along(1, width.div_ceil(per), per)],
    };
    let view = GlobalView {
        window: None,
        param: x,
        fixed: vec![],
        axes: vec![axis(0, rows, origin, false), axis(1, width, zero, false)],
    };
    let tile = b.tile(
        t,
        &[rows, width],
        &dist,
        Op::Load {
            view,
            fill,
            access: plain(1, Edge::Whole),
        },
    );
    let bound = b.scalar(DType::U32, Op::Extent(x, 1));
    let at = reduce(&mut b, tile, 1, op, vec![None, Some(bound)]);
    let view = GlobalView {
        window: None,
        param: out,
        fixed: vec![],
        axes: vec![axis(0, rows, origin, false)],
    };
    b.push(StmtKind::Store {
        view,
        value: at,
        access: plain(1, Edge::Whole),
    });
    b.finish()
}

/// Sums of columns of a 64 x 32 tile.
pub fn column_sum(t: DType) -> Kernel {
    let mut b = Builder::new("column_sum", Target::default_target(), 128);
    let (x, out) = (b.tensor("x", t, 2, false), b.tensor("out", t, 1, true));
    let block = b.special(Special::Block(0));
    let n = b.int(DType::U32, 32);
    let origin = b.binary(Binary::Mul, block, n);
    let zero = b.int(DType::U32, 0);
    let fill = if t.is_float() {
        b.float(t, 0.0)
    } else {
        b.int(t, 0)
    };
    let dist = Dist {
        threads: vec![Mode::along(1, 8, 4), Mode::along(0, 16, 1)],
        values: vec![Mode::along(1, 4, 1), Mode::along(0, 4, 16)],
    };
    let view = GlobalView {
        window: None,
        param: x,
        fixed: vec![],
        axes: vec![axis(0, 64, zero, false), axis(1, 32, origin, false)],
    };
    let tile = b.tile(
        t,
        &[64, 32],
        &dist,
        Op::Load {
            view,
            fill,
            access: plain(4, Edge::Straddle),
        },
    );
    let rows = b.scalar(DType::U32, Op::Extent(x, 0));
    let sum = reduce(&mut b, tile, 0, ReduceOp::Sum, vec![Some(rows), None]);
    let view = GlobalView {
        window: None,
        param: out,
        fixed: vec![],
        axes: vec![axis(0, 32, origin, false)],
    };
    b.push(StmtKind::Store {
        view,
        value: sum,
        access: plain(4, Edge::Straddle),
    });
    b.finish()
}

/// Transposes tiles of 32 x 32 through swizzled shared memory.
pub fn transpose(t: DType, swizzle: Option<Xor>, barrier: bool) -> Kernel {
    let mut b = Builder::new("transpose", Target::default_target(), 256);
    let (x, out) = (b.tensor("x", t, 2, false), b.tensor("out", t, 2, true));
    let tile = b.shared("tile", t, 32 * 32);
    let (bx, by) = (b.special(Special::Block(0)), b.special(Special::Block(1)));
    let size = b.int(DType::U32, 32);
    let (ox, oy) = (
        b.binary(Binary::Mul, bx, size),
        b.binary(Binary::Mul, by, size),
    );
    let fill = if t.is_float() {
        b.float(t, 0.0)
    } else {
        b.int(t, 0)
    };
    let dist = Dist {
        threads: vec![Mode::along(1, 32, 1), Mode::along(0, 8, 1)],
        values: vec![Mode::along(0, 4, 8)],
    };
    let view = |p, r, c| GlobalView {
        window: None,
        param: p,
        fixed: vec![],
        axes: vec![axis(0, 32, r, false), axis(1, 32, c, false)],
    };
    let shared = |rows, cols| SharedView {
        alloc: tile,
        axes: vec![
            vec![Digit {
                extent: 32,
                stride: rows,
            }],
            vec![Digit {
                extent: 32,
                stride: cols,
            }],
        ],
        swizzle,
        offset: 0,
        dynamic: vec![],
        block: None,
    };
    let v = b.tile(
        t,
        &[32, 32],
        &dist,
        Op::Load {
            view: view(x, oy, ox),
            fill,
            access: plain(1, Edge::Whole),
        },
    );
    b.name(v, "v");
    b.push(StmtKind::StoreShared {
        view: shared(32, 1),
        value: v,
        vector: 0,
    });
    if barrier {
        b.push(StmtKind::Barrier(Barrier::Block));
    }
    let w = b.tile(
        t,
        &[32, 32],
        &dist,
        Op::LoadShared {
            view: shared(1, 32),
            vector: 0,
        },
    );
    b.push(StmtKind::Store {
        view: view(out, ox, oy),
        value: w,
        access: plain(1, Edge::Whole),
    });
    b.finish()
}

/// Loops, branches, variables, atomics, shuffles and shared scalars.
pub fn scalars() -> Kernel {
    let mut b = Builder::new("scalars", Target::default_target(), 64);
    let (x, out, hits) = (
        b.tensor("x", DType::I32, 1, false),
        b.tensor("out", DType::I32, 1, true),
        b.tensor("hits", DType::U32, 1, true),
    );
    let total = b.shared("total", DType::I32, 64);
    let acc = b.var("acc", Type::Scalar(DType::I32));
    let zero = b.int(DType::I32, 0);
    b.push(StmtKind::Set(acc, zero));
    let t = b.special(Special::Thread);
    let n = b.scalar(DType::U32, Op::Extent(x, 0));
    let index = b.value(Type::Scalar(DType::U32), Uniform::Thread);
    let relaxed = Order {
        order: MemoryOrder::Relaxed,
        scope: Scope::Device,
    };
    let weak = Order {
        order: MemoryOrder::Weak,
        scope: Scope::Block,
    };
    let (body, ()) = b.block(|b| {
        let view = GlobalView {
            window: None,
            param: x,
            fixed: vec![],
            axes: vec![axis(0, 1, index, true)],
        };
        let v = b.scalar(
            DType::I32,
            Op::LoadElement {
                place: Place::Global(view),
                order: weak,
            },
        );
        let odd = b.int(DType::I32, 1);
        let low = b.binary(Binary::And, v, odd);
        let is = b.compare(Compare::Eq, low, odd);
        let (then, ()) = b.block(|b| {
            let old = b.scalar(DType::I32, Op::Get(acc));
            let new = b.binary(Binary::Add, old, v);
            b.push(StmtKind::Set(acc, new));
        });
        let (otherwise, ()) = b.block(|b| b.push(StmtKind::Continue(0)));
        b.push(StmtKind::If {
            cond: is,
            then,
            otherwise,
        });
        let first = b.int(DType::U32, 0);
        let one = b.int(DType::U32, 1);
        let place = Place::Global(GlobalView {
            window: None,
            param: hits,
            fixed: vec![],
            axes: vec![axis(0, 1, first, false)],
        });
        b.push(StmtKind::Red {
            op: AtomOp::Add,
            place,
            value: one,
            order: relaxed,
        });
    });
    b.push(StmtKind::For {
        index,
        lo: t,
        hi: n,
        step: 64,
        unroll: Some(1),
        body,
    });
    let sum = b.scalar(DType::I32, Op::Get(acc));
    let mine = SharedView {
        alloc: total,
        axes: vec![],
        swizzle: None,
        offset: 0,
        dynamic: vec![(t, 1)],
        block: None,
    };
    b.push(StmtKind::StoreSharedElement {
        view: mine,
        value: sum,
    });
    b.push(StmtKind::Barrier(Barrier::Block));
    let all = b.var("all", Type::Scalar(DType::I32));
    b.push(StmtKind::Set(all, zero));
    let (lo, hi) = (b.int(DType::U32, 0), b.int(DType::U32, 64));
    let k = b.value(Type::Scalar(DType::U32), Uniform::Block);
    let (body, ()) = b.block(|b| {
        let view = SharedView {
            alloc: total,
            axes: vec![],
            swizzle: None,
            offset: 0,
            dynamic: vec![(k, 1)],
            block: None,
        };
        let v = b.scalar(
            DType::I32,
            Op::LoadElement {
                place: Place::Shared(view),
                order: weak,
            },
        );
        let old = b.scalar(DType::I32, Op::Get(all));
        let new = b.binary(Binary::Add, old, v);
        b.push(StmtKind::Set(all, new));
    });
    b.push(StmtKind::For {
        index: k,
        lo,
        hi,
        step: 1,
        unroll: None,
        body,
    });
    let first = b.compare(Compare::Eq, t, lo);
    let (then, ()): (Block, ()) = b.block(|b| {
        let sum = b.scalar(DType::I32, Op::Get(all));
        let view = GlobalView {
            window: None,
            param: out,
            fixed: vec![],
            axes: vec![axis(0, 1, lo, false)],
        };
        b.push(StmtKind::StoreElement {
            view,
            value: sum,
            order: weak,
        });
    });
    b.push(StmtKind::If {
        cond: first,
        then,
        otherwise: vec![],
    });
    b.finish()
}

/// One function of one f32 element a thread.
pub fn unary(f: Unary, t: DType) -> Kernel {
    let mut b = Builder::new("unary", Target::default_target(), 128);
    let (x, out) = (b.tensor("x", t, 1, false), b.tensor("out", t, 1, true));
    let block = b.special(Special::Block(0));
    let n = b.int(DType::U32, 128);
    let origin = b.binary(Binary::Mul, block, n);
    let fill = b.float(t, 0.0);
    let dist = linear(1, 128, 1, 128);
    let view = |p| GlobalView {
        window: None,
        param: p,
        fixed: vec![],
        axes: vec![axis(0, 128, origin, false)],
    };
    let v = b.tile(
        t,
        &[128],
        &dist,
        Op::Load {
            view: view(x),
            fill,
            access: plain(1, Edge::Whole),
        },
    );
    let y = map(&mut b, t, &[(v, None)], |b, p| b.unary(f, p[0]));
    b.push(StmtKind::Store {
        view: view(out),
        value: y,
        access: plain(1, Edge::Whole),
    });
    b.finish()
}

/// Two operands of one type, element by element.
pub fn binary(f: Binary, t: DType) -> Kernel {
    let mut b = Builder::new("binary", Target::default_target(), 128);
    let (x, y, out) = (
        b.tensor("x", t, 1, false),
        b.tensor("y", t, 1, false),
        b.tensor("out", t, 1, true),
    );
    let block = b.special(Special::Block(0));
    let n = b.int(DType::U32, 128);
    let origin = b.binary(Binary::Mul, block, n);
    let fill = if t.is_float() {
        b.float(t, 0.0)
    } else {
        b.int(t, 0)
    };
    let dist = linear(1, 128, 1, 128);
    let view = |p| GlobalView {
        window: None,
        param: p,
        fixed: vec![],
        axes: vec![axis(0, 128, origin, false)],
    };
    let v = b.tile(
        t,
        &[128],
        &dist,
        Op::Load {
            view: view(x),
            fill,
            access: plain(1, Edge::Whole),
        },
    );
    let w = b.tile(
        t,
        &[128],
        &dist,
        Op::Load {
            view: view(y),
            fill,
            access: plain(1, Edge::Whole),
        },
    );
    let z = map(&mut b, t, &[(v, None), (w, None)], |b, p| {
        b.binary(f, p[0], p[1])
    });
    b.push(StmtKind::Store {
        view: view(out),
        value: z,
        access: plain(1, Edge::Whole),
    });
    b.finish()
}

/// A conversion, element by element.
pub fn convert(from: DType, to: DType) -> Kernel {
    let mut b = Builder::new("convert", Target::default_target(), 128);
    let (x, out) = (b.tensor("x", from, 1, false), b.tensor("out", to, 1, true));
    let block = b.special(Special::Block(0));
    let n = b.int(DType::U32, 128);
    let origin = b.binary(Binary::Mul, block, n);
    let fill = if from.is_float() {
        b.float(from, 0.0)
    } else {
        b.int(from, 0)
    };
    let dist = linear(1, 128, 1, 128);
    let view = |p| GlobalView {
        window: None,
        param: p,
        fixed: vec![],
        axes: vec![axis(0, 128, origin, false)],
    };
    let v = b.tile(
        from,
        &[128],
        &dist,
        Op::Load {
            view: view(x),
            fill,
            access: plain(1, Edge::Whole),
        },
    );
    let y = cast(&mut b, v, to);
    b.push(StmtKind::Store {
        view: view(out),
        value: y,
        access: plain(1, Edge::Whole),
    });
    b.finish()
}
