//! Kernels written by hand as typed programs, for tests of the passes behind the checker.
#![allow(dead_code)]

mod list;
mod rows;
mod tiles;

#[allow(unused_imports, reason = "each test binary uses its part")]
pub use list::all;
pub use rows::*;
pub use tiles::*;

pub use tiki_kernel::dtype::DType;
pub use tiki_kernel::ir::build::Builder;
pub use tiki_kernel::ir::{
    Access, AtomOp, Barrier, Binary, Block, Cache, Compare, Digit, Dist, Edge, GlobalView, Input,
    Kernel, Map, MemoryOrder, Mode, Op, Order, Place, Reduce, ReduceOp, Region, Round, Scope,
    SharedView, Special, StmtKind, Type, Unary, Uniform, Value, ViewAxis, Xor,
};
pub use tiki_kernel::target::Target;

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
            meet: Barrier::Block,
        }),
    )
}
