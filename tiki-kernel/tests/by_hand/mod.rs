//! Kernels written by hand as typed programs, for tests of the passes behind the checker.
#![allow(dead_code)]

use tiki_kernel::dtype::DType;
use tiki_kernel::ir::build::Builder;
use tiki_kernel::ir::{
    Access, AtomOp, Barrier, Binary, Block, Cache, Compare, Digit, Dist, Edge, GlobalView, Input,
    Kernel, Map, MemoryOrder, Mode, Op, Order, Place, Reduce, ReduceOp, Region, Round, Scope,
    SharedView, Special, StmtKind, Type, Unary, Uniform, Value, ViewAxis, Xor,
};
use tiki_kernel::target::Target;

/// Threads along the last axis in vectors of `v`, as often as the width needs.
pub fn linear(rank: usize, threads: u32, v: u32, width: u32) -> Dist {
    let axis = rank - 1;
    let rounds = width.div_ceil(threads * v);
    Dist {
        threads: vec![Mode::along(axis, threads, v)],
        values: vec![
            Mode::along(axis, v, 1),
            Mode::along(axis, rounds, threads * v),
        ],
    }
    .merged()
}

pub fn plain(vector: u32, edge: Edge) -> Access {
    Access {
        vector,
        edge,
        cache: Cache::Default,
    }
}

pub fn axis(axis: usize, extent: u32, origin: Value, whole: bool) -> ViewAxis {
    ViewAxis {
        axis,
        extent,
        origin,
        whole,
    }
}

/// A map of one element of each input.
pub fn map(
    b: &mut Builder,
    dtype: DType,
    inputs: &[(Value, Option<u8>)],
    f: impl FnOnce(&mut Builder, &[Value]) -> Value,
) -> Value {
    map_at(b, dtype, inputs, 0, |b, p, _| f(b, p))
}

/// A map that sees coordinates.
pub fn map_at(
    b: &mut Builder,
    dtype: DType,
    inputs: &[(Value, Option<u8>)],
    rank: usize,
    f: impl FnOnce(&mut Builder, &[Value], &[Value]) -> Value,
) -> Value {
    let like = inputs
        .iter()
        .find(|i| i.1.is_none())
        .expect("an input of full shape")
        .0;
    let ty = b.kernel.values[like.0 as usize]
        .ty
        .tensor()
        .unwrap()
        .clone();
    let params: Vec<Value> = inputs
        .iter()
        .map(|(v, _)| {
            let t = b.dtype(*v);
            b.value(Type::Scalar(t), Uniform::Thread)
        })
        .collect();
    let coords: Vec<Value> = (0..rank)
        .map(|_| b.value(Type::Scalar(DType::U32), Uniform::Thread))
        .collect();
    let (body, result) = b.block(|b| f(b, &params, &coords));
    let inputs = inputs
        .iter()
        .map(|(value, missing_axis)| Input {
            value: *value,
            missing_axis: *missing_axis,
        })
        .collect();
    b.tile(
        dtype,
        &ty.shape,
        &ty.dist,
        Op::Map(Map {
            inputs,
            region: Region {
                params,
                coords,
                body,
                result,
            },
        }),
    )
}

pub fn reduce(
    b: &mut Builder,
    value: Value,
    axis: u8,
    op: ReduceOp,
    bounds: Vec<Option<Value>>,
) -> Value {
    let ty = b.kernel.values[value.0 as usize]
        .ty
        .tensor()
        .unwrap()
        .clone();
    let mut shape = ty.shape.clone();
    shape.remove(axis as usize);
    let dtype = if matches!(op, ReduceOp::ArgMax | ReduceOp::ArgMin) {
        DType::U32
    } else {
        ty.dtype
    };
    b.tile(
        dtype,
        &shape,
        &ty.dist.without(axis as usize),
        Op::Reduce(Reduce {
            value,
            axis,
            op,
            bounds,
            scratch: None,
            barrier_before: false,
        }),
    )
}

/// `out = x + y`, a block of `threads * 4` elements each.
pub fn add(t: DType, threads: u32, edge: Edge) -> Kernel {
    let mut b = Builder::new("add", Target::default_target(), threads);
    let (x, y, out) = (
        b.tensor("x", t, 1, false),
        b.tensor("y", t, 1, false),
        b.tensor("out", t, 1, true),
    );
    let v = 16 / t.bytes();
    let n = threads * v;
    let block = b.special(Special::Block(0));
    let size = b.int(DType::U32, n.into());
    let origin = b.binary(Binary::Mul, block, size);
    let fill = b.float(t, 0.0);
    let dist = linear(1, threads, v, n);
    let view = |param| GlobalView {
        param,
        fixed: vec![],
        axes: vec![axis(0, n, origin, false)],
    };
    let load = |b: &mut Builder, p| {
        b.tile(
            t,
            &[n],
            &dist,
            Op::Load {
                view: view(p),
                fill,
                access: plain(v, edge),
            },
        )
    };
    let (vx, vy) = (load(&mut b, x), load(&mut b, y));
    b.name(vx, "x");
    b.name(vy, "y");
    let sum = map(&mut b, t, &[(vx, None), (vy, None)], |b, p| {
        b.binary(Binary::Add, p[0], p[1])
    });
    b.push(StmtKind::Store {
        view: view(out),
        value: sum,
        access: plain(v, edge),
    });
    b.finish()
}

/// A row a block: loads, casts to f32 and hands on (row origin, columns origin, tile).
struct Row {
    row: Value,
    zero: Value,
    tile: Value,
    bound: Option<Value>,
    access: Access,
}

fn row(
    b: &mut Builder,
    x: usize,
    t: DType,
    width: u32,
    threads: u32,
    known: bool,
    fill: f64,
) -> Row {
    let v = if width.is_multiple_of(16 / t.bytes()) {
        16 / t.bytes()
    } else {
        1
    };
    if known {
        b.kernel.params[x].extents = vec![None, Some(width)];
    }
    let row = b.special(Special::Block(0));
    let zero = b.int(DType::U32, 0);
    let fill = b.float(t, fill);
    let dist = linear(2, threads, v, width);
    let access = plain(v, if known { Edge::Inside } else { Edge::Whole });
    let view = GlobalView {
        param: x,
        fixed: vec![],
        axes: vec![axis(0, 1, row, true), axis(1, width, zero, known)],
    };
    let raw = b.tile(t, &[1, width], &dist, Op::Load { view, fill, access });
    b.name(raw, "v");
    let tile = if t == DType::F32 {
        raw
    } else {
        cast(b, raw, DType::F32)
    };
    let bound = if known {
        None
    } else {
        Some(b.scalar(DType::U32, Op::Extent(x, 1)))
    };
    Row {
        row,
        zero,
        tile,
        bound,
        access,
    }
}

pub fn cast(b: &mut Builder, v: Value, t: DType) -> Value {
    map(b, t, &[(v, None)], |b, p| {
        b.scalar(t, Op::Cast(p[0], Round::Default))
    })
}

/// `x * rsqrt(mean(x * x) + eps) * weight`.
pub fn rms_norm(t: DType, width: u32, threads: u32) -> Kernel {
    let mut b = Builder::new("rms_norm", Target::default_target(), threads);
    let (x, w, out) = (
        b.tensor("x", t, 2, false),
        b.tensor("weight", t, 1, false),
        b.tensor("out", t, 2, true),
    );
    let eps = b.param("eps", tiki_kernel::artifact::ParamKind::Scalar(DType::F32));
    b.kernel.params[w].extents = vec![Some(width)];
    b.kernel.params[out].extents = vec![None, Some(width)];
    let r = row(&mut b, x, t, width, threads, true, 0.0);
    let dist = linear(1, threads, r.access.vector, width);
    let fill = b.float(t, 0.0);
    let view = GlobalView {
        param: w,
        fixed: vec![],
        axes: vec![axis(0, width, r.zero, true)],
    };
    let weight = b.tile(
        t,
        &[width],
        &dist,
        Op::Load {
            view,
            fill,
            access: r.access,
        },
    );
    b.name(weight, "w");
    let weight = if t == DType::F32 {
        weight
    } else {
        cast(&mut b, weight, DType::F32)
    };
    let square = map(
        &mut b,
        DType::F32,
        &[(r.tile, None), (r.tile, None)],
        |b, p| b.binary(Binary::Mul, p[0], p[1]),
    );
    let sum = reduce(&mut b, square, 1, ReduceOp::Sum, vec![None, None]);
    let eps = b.scalar(DType::F32, Op::Param(eps));
    let n = b.float(DType::F32, width.into());
    let inv = map(&mut b, DType::F32, &[(sum, None)], |b, p| {
        let mean = b.binary(Binary::Div, p[0], n);
        let s = b.binary(Binary::Add, mean, eps);
        b.unary(Unary::Rsqrt, s)
    });
    b.name(inv, "inv_rms");
    let scaled = map(
        &mut b,
        DType::F32,
        &[(r.tile, None), (inv, Some(1))],
        |b, p| b.binary(Binary::Mul, p[0], p[1]),
    );
    let y = map(
        &mut b,
        DType::F32,
        &[(scaled, None), (weight, Some(0))],
        |b, p| b.binary(Binary::Mul, p[0], p[1]),
    );
    let y = if t == DType::F32 {
        y
    } else {
        cast(&mut b, y, t)
    };
    let view = GlobalView {
        param: out,
        fixed: vec![],
        axes: vec![axis(0, 1, r.row, true), axis(1, width, r.zero, true)],
    };
    b.push(StmtKind::Store {
        view,
        value: y,
        access: r.access,
    });
    b.finish()
}

/// Softmax of rows up to `width` wide; fully masked rows give zeros.
pub fn softmax(t: DType, width: u32, threads: u32, known: bool) -> Kernel {
    let mut b = Builder::new("softmax", Target::default_target(), threads);
    let (x, out) = (b.tensor("x", t, 2, false), b.tensor("out", t, 2, true));
    if known {
        b.kernel.params[out].extents = vec![None, Some(width)];
    }
    let r = row(&mut b, x, t, width, threads, known, f64::NEG_INFINITY);
    let top = reduce(
        &mut b,
        r.tile,
        1,
        ReduceOp::Max { nan: true },
        vec![None, r.bound],
    );
    b.name(top, "top");
    let low = b.float(DType::F32, f64::NEG_INFINITY);
    let zero = b.float(DType::F32, 0.0);
    let e = map(
        &mut b,
        DType::F32,
        &[(r.tile, None), (top, Some(1))],
        |b, p| {
            let d = b.binary(Binary::Sub, p[0], p[1]);
            let e = b.unary(Unary::Exp, d);
            let masked = b.compare(Compare::Eq, p[0], low);
            b.scalar(DType::F32, Op::Select(masked, zero, e))
        },
    );
    b.name(e, "e");
    let sum = reduce(&mut b, e, 1, ReduceOp::Sum, vec![None, r.bound]);
    let one = b.float(DType::F32, 1.0);
    let inv = map(&mut b, DType::F32, &[(sum, None)], |b, p| {
        let q = b.binary(Binary::Div, one, p[0]);
        let none = b.compare(Compare::Eq, p[0], zero);
        b.scalar(DType::F32, Op::Select(none, zero, q))
    });
    let y = map(&mut b, DType::F32, &[(e, None), (inv, Some(1))], |b, p| {
        b.binary(Binary::Mul, p[0], p[1])
    });
    let y = if t == DType::F32 {
        y
    } else {
        cast(&mut b, y, t)
    };
    let view = GlobalView {
        param: out,
        fixed: vec![],
        axes: vec![axis(0, 1, r.row, true), axis(1, width, r.zero, known)],
    };
    b.push(StmtKind::Store {
        view,
        value: y,
        access: r.access,
    });
    b.finish()
}

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

/// All of them, with names.
pub fn all() -> Vec<(String, Kernel)> {
    let mut out: Vec<(String, Kernel)> = Vec::new();
    for t in [DType::F32, DType::F16, DType::BF16] {
        for edge in [Edge::Straddle, Edge::Whole] {
            out.push((
                format!("add_{t}_{edge:?}").to_lowercase(),
                add(t, 256, edge),
            ));
        }
        for (width, threads) in [
            (1, 32),
            (31, 32),
            (129, 64),
            (576, 96),
            (1024, 128),
            (4096, 256),
            (4096, 128),
            (4096, 64),
            (4096, 32),
            (5120, 64),
        ] {
            out.push((
                format!("rms_norm_{t}_{width}_{threads}"),
                rms_norm(t, width, threads),
            ));
            for known in [true, false] {
                let name = format!(
                    "softmax_{t}_{width}_{threads}_{}",
                    if known { "known" } else { "partial" }
                );
                out.push((name, softmax(t, width, threads, known)));
            }
        }
        for f in [
            Unary::Neg,
            Unary::Abs,
            Unary::Floor,
            Unary::Ceil,
            Unary::Round,
            Unary::Trunc,
            Unary::Sqrt,
            Unary::SqrtFast,
            Unary::Rsqrt,
            Unary::Recip,
            Unary::Exp2,
            Unary::Exp,
            Unary::ExpFast,
            Unary::Log2,
            Unary::Log,
            Unary::Tanh,
            Unary::TanhFast,
            Unary::Sin,
            Unary::Cos,
        ] {
            out.push((format!("unary_{f:?}_{t}").to_lowercase(), unary(f, t)));
        }
        for f in [
            Binary::Add,
            Binary::Sub,
            Binary::Mul,
            Binary::Div,
            Binary::DivFast,
            Binary::Min,
            Binary::Max,
            Binary::MinNan,
            Binary::MaxNan,
        ] {
            out.push((format!("binary_{f:?}_{t}").to_lowercase(), binary(f, t)));
        }
    }
    for t in [DType::I32, DType::U32, DType::I64, DType::U64] {
        for f in [
            Binary::Add,
            Binary::Sub,
            Binary::Mul,
            Binary::Div,
            Binary::Rem,
            Binary::Min,
            Binary::Max,
            Binary::And,
            Binary::Or,
            Binary::Xor,
            Binary::Shl,
            Binary::Shr,
        ] {
            out.push((format!("binary_{f:?}_{t}").to_lowercase(), binary(f, t)));
        }
    }
    for f in [Binary::Add, Binary::Div, Binary::MinNan, Binary::MaxNan] {
        out.push((
            format!("binary_{f:?}_f64").to_lowercase(),
            binary(f, DType::F64),
        ));
    }
    let number = [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::F64,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::U64,
        DType::BOOL,
        DType::I8,
        DType::U8,
        DType::I16,
        DType::U16,
    ];
    for from in number {
        for to in number {
            if from != to {
                out.push((format!("convert_{from}_{to}"), convert(from, to)));
            }
        }
    }
    for t in [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::I32,
        DType::U32,
        DType::F64,
        DType::I64,
    ] {
        for op in [ReduceOp::ArgMax, ReduceOp::ArgMin] {
            for (rows, per, width) in [(4, 32, 100), (1, 128, 1000), (4, 24, 100), (8, 8, 64)] {
                out.push((
                    format!("{op:?}_{t}_{rows}_{per}").to_lowercase(),
                    arg(t, op, rows, per, width),
                ));
            }
        }
        out.push((format!("column_sum_{t}"), column_sum(t)));
    }
    for (name, x) in [
        ("plain", None),
        (
            "words",
            Some(Xor {
                bits: 5,
                base: 0,
                shift: 5,
            }),
        ),
        (
            "groups",
            Some(Xor {
                bits: 3,
                base: 2,
                shift: 3,
            }),
        ),
    ] {
        for t in [DType::F32, DType::F16] {
            out.push((format!("transpose_{t}_{name}"), transpose(t, x, true)));
        }
    }
    out.push(("scalars".into(), scalars()));
    out
}
