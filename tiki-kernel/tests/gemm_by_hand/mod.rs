//! Matrix products written by hand as typed programs: `c = a @ b.T` (or of transposed operands).
#![allow(dead_code)]

pub mod ampere;
pub mod cluster;
pub mod hopper;

use tiki_kernel::dtype::DType;
use tiki_kernel::ir::build::Builder;
use tiki_kernel::ir::{
    Binary, Compare, Digit, Dist, GlobalView, Mode, Op, SharedView, StmtKind, Type, Uniform, Value,
    Var, ViewAxis, Xor,
};

/// A tile of rows whose elements lie side by side, swizzled over 128 (64, 32) bytes; wider rows are cut
/// into slabs.
pub fn k_major(b: &Builder, alloc: usize, rows: u32, width: u32) -> SharedView {
    let bytes = b.kernel.shared[alloc].dtype.bytes();
    let span = (128 / bytes).min(width);
    let row_bytes = span * bytes;
    let bits = row_bytes.ilog2().saturating_sub(4);
    let digit = |extent, stride: u32| Digit {
        extent,
        stride: stride.into(),
    };
    SharedView {
        alloc,
        axes: vec![
            vec![digit(rows, span)],
            vec![digit(span, 1), digit(width / span, rows * span)],
        ],
        swizzle: (bits > 0).then_some(Xor {
            bits,
            base: 4 - bytes.ilog2(),
            shift: 3,
        }),
        offset: 0,
        dynamic: vec![],
        block: None,
    }
}

/// The same elements with the axes exchanged.
pub fn transposed(mut view: SharedView) -> SharedView {
    view.axes.swap(0, 1);
    view
}

/// Moved by a run-time value.
pub fn moved(mut view: SharedView, by: Value, step: u32) -> SharedView {
    view.dynamic.push((by, step.into()));
    view
}

/// All threads in vectors along the last axis of a tile.
pub fn vectors(rows: u32, width: u32, vector: u32, threads: u32) -> Dist {
    let across = width / vector;
    if across >= threads {
        return Dist {
            threads: vec![Mode::along(1, threads, vector)],
            values: vec![
                Mode::along(1, vector, 1),
                Mode::along(1, across / threads, vector * threads),
                Mode::along(0, rows, 1),
            ],
        };
    }
    let down = threads / across;
    Dist {
        threads: vec![Mode::along(1, across, vector), Mode::along(0, down, 1)],
        values: vec![
            Mode::along(1, vector, 1),
            Mode::along(0, rows.div_ceil(down), down),
        ],
    }
}

/// A tile of a matrix, and along which axes it is proven to lie inside.
pub fn tile(
    param: usize,
    rows: (Value, u32),
    columns: (Value, u32),
    whole: (bool, bool),
) -> GlobalView {
    let axis = |axis, (origin, extent), whole| ViewAxis {
        axis,
        extent,
        origin,
        whole,
    };
    GlobalView {
        param,
        window: None,
        fixed: vec![],
        axes: vec![axis(0, rows, whole.0), axis(1, columns, whole.1)],
    }
}

pub fn times(b: &mut Builder, v: Value, n: u32) -> Value {
    let n = b.int(DType::U32, n.into());
    b.binary(Binary::Mul, v, n)
}

pub fn plus(b: &mut Builder, v: Value, n: u32) -> Value {
    let n = b.int(DType::U32, n.into());
    b.binary(Binary::Add, v, n)
}

pub fn div_ceil(b: &mut Builder, v: Value, n: u32) -> Value {
    let up = plus(b, v, n - 1);
    let n = b.int(DType::U32, n.into());
    b.binary(Binary::Div, up, n)
}

/// A variable that counts stages around a ring, the same for the whole block.
pub fn ring(b: &mut Builder, name: &str) -> Var {
    let var = b.var(name, Type::Scalar(DType::U32));
    let zero = b.int(DType::U32, 0);
    b.push(StmtKind::Set(var, zero));
    var
}

pub fn get(b: &mut Builder, var: Var) -> Value {
    let v = b.scalar(DType::U32, Op::Get(var));
    b.kernel.values[v.0 as usize].uniform = Uniform::Block;
    v
}

/// Moves a ring on.
pub fn advance(b: &mut Builder, var: Var, at: Value, stages: u32) -> Value {
    let next = plus(b, at, 1);
    let end = b.int(DType::U32, stages.into());
    let zero = b.int(DType::U32, 0);
    let wraps = b.compare(Compare::Eq, next, end);
    let next = b.scalar(DType::U32, Op::Select(wraps, zero, next));
    b.push(StmtKind::Set(var, next));
    wraps
}
