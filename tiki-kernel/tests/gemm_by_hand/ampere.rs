//! Products by warps over a ring of asynchronous copies.

use super::{advance, div_ceil, get, k_major, moved, ring, tile, times, transposed, vectors};
use tiki_kernel::dtype::DType;
use tiki_kernel::ir::build::Builder;
use tiki_kernel::ir::{
    Access, Async, Barrier, Cache, Dist, Edge, Input, Kernel, Map, Mma, MmaKind, Mode, Op, Operand,
    Region, Round, Special, StmtKind, TensorType, Type, Uniform, Value,
};
use tiki_kernel::target::Target;

/// One instance.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub dtype: DType,
    pub sums: DType,
    pub out: DType,
    pub tile: [u32; 3],
    pub stages: u32,
    pub warps: (u32, u32),
    /// The operand's contiguous axis is not K.
    pub flipped: (bool, bool),
    /// Rows and columns of the tiles are proven to lie inside.
    pub whole: bool,
    /// The left operand goes through registers; all warps then lie along M.
    pub registers: bool,
}

impl Shape {
    pub fn half(tile: [u32; 3], stages: u32, warps: (u32, u32)) -> Shape {
        Shape {
            dtype: DType::F16,
            sums: DType::F32,
            out: DType::F16,
            tile,
            stages,
            warps,
            flipped: (false, false),
            whole: false,
            registers: false,
        }
    }
}

/// The accumulator's distribution.
pub fn accumulator(m: u32, n: u32, warps: (u32, u32)) -> Dist {
    let (wm, wn) = (m / warps.0, n / warps.1);
    Dist {
        threads: vec![
            Mode::along(1, 4, 2),
            Mode::along(0, 8, 1),
            Mode::along(0, warps.0, wm),
            Mode::along(1, warps.1, wn),
        ],
        values: vec![
            Mode::along(1, 2, 1),
            Mode::along(0, 2, 8),
            Mode::along(1, wn / 8, 8),
            Mode::along(0, wm / 16, 16),
        ],
    }
}

/// Each element cast.
pub fn cast(b: &mut Builder, value: Value, to: DType) -> Value {
    let t = b.kernel.values[value.0 as usize]
        .ty
        .tensor()
        .unwrap()
        .clone();
    if t.dtype == to {
        return value;
    }
    let param = b.value(Type::Scalar(t.dtype), Uniform::Thread);
    let (body, result) = b.block(|b| b.scalar(to, Op::Cast(param, Round::Default)));
    let map = Map {
        inputs: vec![Input {
            value,
            missing_axis: None,
        }],
        region: Region {
            params: vec![param],
            coords: vec![],
            body,
            result,
        },
    };
    b.tile(to, &t.shape, &t.dist, Op::Map(map))
}

pub fn gemm(name: &str, target: Target, s: Shape) -> Kernel {
    let [bm, bn, bk] = s.tile;
    let threads = 32 * s.warps.0 * s.warps.1;
    let mut b = Builder::new(name, target, threads);
    let pa = b.tensor("a", s.dtype, 2, false);
    let pb = b.tensor("b", s.dtype, 2, false);
    let pc = b.tensor("c", s.out, 2, true);
    let sa = b.shared("a_s", s.dtype, s.stages * bm * bk);
    let sb = b.shared("b_s", s.dtype, s.stages * bn * bk);
    for at in [sa, sb] {
        b.kernel.shared[at].align = 1024;
        b.kernel.shared[at].stages = s.stages;
    }
    let m = b.special(Special::Block(1));
    let n = b.special(Special::Block(0));
    let (m0, n0) = (times(&mut b, m, bm), times(&mut b, n, bn));
    let k_axis = usize::from(!s.flipped.0);
    let depth = b.scalar(DType::U32, Op::Extent(pa, k_axis));
    let steps = div_ceil(&mut b, depth, bk);
    let ty = TensorType {
        dtype: s.sums,
        shape: vec![bm, bn],
        dist: accumulator(bm, bn, s.warps),
    };
    let acc = b.var("acc", Type::Tensor(ty.clone()));
    let zero = if s.sums.is_float() {
        b.float(s.sums, 0.0)
    } else {
        b.int(s.sums, 0)
    };
    let zeros = b.tile(s.sums, &ty.shape, &ty.dist, Op::Splat(zero));
    b.push(StmtKind::Set(acc, zeros));
    let vector = 16 / s.dtype.bytes();
    let fetch = |b: &mut Builder, k: Value, stage: Value| {
        let k0 = times(b, k, bk);
        for (param, alloc, origin, rows, flipped) in
            [(pa, sa, m0, bm, s.flipped.0), (pb, sb, n0, bn, s.flipped.1)]
        {
            // Steps past the last lie outside.
            let (r, c, whole) = if flipped {
                ((k0, bk), (origin, rows), (false, s.whole))
            } else {
                ((origin, rows), (k0, bk), (s.whole, false))
            };
            let into = moved(k_major(b, alloc, r.1, c.1), stage, rows * bk);
            b.push(StmtKind::Async(Async::CopyTile {
                view: tile(param, r, c, whole),
                into,
                dist: vectors(r.1, c.1, vector, threads),
                vector,
                cache: Cache::Default,
            }));
        }
        b.push(StmtKind::Async(Async::CommitCopies));
    };
    for k in 0..s.stages - 1 {
        let k = b.int(DType::U32, k.into());
        fetch(&mut b, k, k);
    }
    let reads = ring(&mut b, "stage");
    let writes = ring(&mut b, "free stage");
    let last = b.int(DType::U32, (s.stages - 1).into());
    b.push(StmtKind::Set(writes, last));
    let (k, zero) = (
        b.value(Type::Scalar(DType::U32), Uniform::Block),
        b.int(DType::U32, 0),
    );
    let (body, ()) = b.block(|b| {
        b.push(StmtKind::Async(Async::WaitCopies(s.stages - 2)));
        b.push(StmtKind::Barrier(Barrier::Block));
        let stage = get(b, reads);
        let [left, right] =
            [(sa, bm, s.flipped.0), (sb, bn, s.flipped.1)].map(|(at, r, flipped)| {
                let view = if flipped {
                    transposed(k_major(b, at, bk, r))
                } else {
                    k_major(b, at, r, bk)
                };
                moved(view, stage, r * bk)
            });
        let a = if s.registers {
            let view = left;
            let dist = accumulator(bm, bk, s.warps);
            let load = Op::LoadShared { view, vector: 0 };
            Operand::Register(b.tile(s.dtype, &[bm, bk], &dist, load))
        } else {
            Operand::Shared(left)
        };
        b.push(StmtKind::Async(Async::Mma(Mma {
            acc,
            a,
            b: right,
            warps: s.warps,
            kind: MmaKind::Warp,
        })));
        advance(b, reads, stage, s.stages);
        let free = get(b, writes);
        let ahead = b.binary(tiki_kernel::ir::Binary::Add, k, last);
        fetch(b, ahead, free);
        advance(b, writes, free, s.stages);
    });
    b.push(StmtKind::For {
        index: k,
        lo: zero,
        hi: steps,
        step: 1,
        unroll: Some(1),
        body,
    });
    let sum = b.tile(s.sums, &ty.shape, &ty.dist, Op::Get(acc));
    let out = cast(&mut b, sum, s.out);
    b.push(StmtKind::Store {
        view: tile(pc, (m0, bm), (n0, bn), (s.whole, s.whole)),
        value: out,
        access: Access {
            vector: 2,
            edge: Edge::Straddle,
            cache: Cache::Default,
        },
    });
    b.finish()
}
