//! Sums, normalised rows, probabilities.

use super::*;

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
        window: None,
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
        window: None,
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
        window: None,
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
        window: None,
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
        window: None,
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
