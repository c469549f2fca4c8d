//! Products by warpgroups: one warpgroup copies tiles, the others multiply, blocks go through tiles.

use super::ampere::cast;
use super::{advance, div_ceil, get, k_major, moved, plus, ring, tile, times, transposed};
use tiki_kernel::dtype::DType;
use tiki_kernel::ir::build::Builder;
use tiki_kernel::ir::{
    Async, Barrier, Binary, Cache, Compare, Const, Dist, Kernel, Mma, MmaKind, Mode, Op, Operand,
    SharedView, Special, StmtKind, TensorCopy, TensorCopyKind, TensorType, Transaction, Type,
    Value, Var,
};
use tiki_kernel::target::Target;

/// One instance.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub dtype: DType,
    pub sums: DType,
    /// Columns and depth of a tile; it has 64 rows for each warpgroup that multiplies.
    pub tile: (u32, u32),
    pub stages: u32,
    pub consumers: u32,
    /// The operand's contiguous axis is not K.
    pub flipped: (bool, bool),
    /// The left operand goes through registers.
    pub registers: bool,
    /// Registers of a copying and of a multiplying thread.
    pub split: Option<(u32, u32)>,
}

impl Shape {
    pub fn bf16(tile: (u32, u32), stages: u32, consumers: u32) -> Shape {
        Shape {
            dtype: DType::BF16,
            sums: DType::F32,
            tile,
            stages,
            consumers,
            flipped: (false, false),
            registers: false,
            split: None,
        }
    }
    pub fn rows(&self) -> u32 {
        64 * self.consumers
    }
    /// Type of the result.
    pub fn out(&self) -> DType {
        match self.dtype {
            t if t.bytes() == 2 => t,
            _ => self.sums,
        }
    }
}

/// The accumulator's distribution.
pub fn accumulator(n: u32) -> Dist {
    Dist {
        threads: vec![
            Mode::along(1, 4, 2),
            Mode::along(0, 8, 1),
            Mode::along(0, 4, 16),
        ],
        values: vec![
            Mode::along(1, 2, 1),
            Mode::along(0, 2, 8),
            Mode::along(1, n / 8, 8),
        ],
    }
}

struct Ring {
    stage: Var,
    phase: Var,
    stages: u32,
}

impl Ring {
    fn new(b: &mut Builder, name: &str, stages: u32) -> Ring {
        Ring {
            stage: ring(b, &format!("{name} stage")),
            phase: ring(b, &format!("{name} phase")),
            stages,
        }
    }
    fn now(&self, b: &mut Builder) -> (Value, Value) {
        (get(b, self.stage), get(b, self.phase))
    }
    fn advance(&self, b: &mut Builder, stage: Value, phase: Value) {
        let wraps = advance(b, self.stage, stage, self.stages);
        let one = b.int(DType::U32, 1);
        let other = b.binary(Binary::Xor, phase, one);
        let next = b.scalar(DType::U32, Op::Select(wraps, other, phase));
        b.push(StmtKind::Set(self.phase, next));
    }
}

fn barrier(alloc: usize, stage: Value) -> SharedView {
    SharedView {
        alloc,
        axes: vec![],
        swizzle: None,
        offset: 0,
        dynamic: vec![(stage, 1)],
        block: None,
    }
}

fn transaction(b: &mut Builder, barrier: SharedView, op: Transaction) {
    b.push(StmtKind::Async(Async::Transaction { barrier, op }));
}

fn when(b: &mut Builder, cond: Value, f: impl FnOnce(&mut Builder)) {
    let (then, ()) = b.block(f);
    b.push(StmtKind::If {
        cond,
        then,
        otherwise: vec![],
    });
}

fn is(b: &mut Builder, v: Value, n: u32) -> Value {
    let n = b.int(DType::U32, n.into());
    b.compare(Compare::Eq, v, n)
}

/// Parameters and allocations.
struct Kit {
    s: Shape,
    a: usize,
    b: usize,
    c: usize,
    a_s: usize,
    b_s: usize,
    out_s: usize,
    full: usize,
    empty: usize,
    steps: Value,
    tiles: Value,
    across: Value,
    down: Value,
}

impl Kit {
    /// Tiles of this block, in groups of eight rows of tiles.
    fn each_tile(&self, b: &mut Builder, f: impl FnOnce(&mut Builder, Value, Value)) {
        let var = b.var("tile", Type::Scalar(DType::U32));
        let first = b.special(Special::Block(0));
        b.push(StmtKind::Set(var, first));
        let (head, (t, cond)) = b.block(|b| {
            let t = get(b, var);
            (t, b.compare(Compare::Lt, t, self.tiles))
        });
        // A value of the head is visible in the body: both are the loop's.
        let (body, ()) = b.block(|b| {
            let group = times(b, self.across, 8);
            let g = b.binary(Binary::Div, t, group);
            let inside = b.binary(Binary::Rem, t, group);
            let first = times(b, g, 8);
            let left = b.binary(Binary::Sub, self.down, first);
            let eight = b.int(DType::U32, 8);
            let rows = b.binary(Binary::Min, left, eight);
            let n = b.binary(Binary::Div, inside, rows);
            let m = b.binary(Binary::Rem, inside, rows);
            let m = b.binary(Binary::Add, first, m);
            f(b, m, n);
            let step = b.special(Special::Grid(0));
            let next = b.binary(Binary::Add, t, step);
            b.push(StmtKind::Set(var, next));
        });
        b.push(StmtKind::While { head, cond, body });
    }

    fn operands(&self, stage: Value) -> [SharedView; 2] {
        let (n, k) = self.s.tile;
        let m = self.s.rows();
        [
            (self.a_s, m, self.s.flipped.0),
            (self.b_s, n, self.s.flipped.1),
        ]
        .map(|(at, rows, flipped)| {
            // Only the layout is asked of the builder.
            let view = |r, c| k_major_of(self.s.dtype, at, r, c);
            let view = if flipped {
                transposed(view(k, rows))
            } else {
                view(rows, k)
            };
            moved(view, stage, rows * k)
        })
    }

    fn produce(&self, b: &mut Builder) {
        let ring = Ring::new(b, "free", self.s.stages);
        let (n, k) = self.s.tile;
        let m = self.s.rows();
        self.each_tile(b, |b, tm, tn| {
            let (m0, n0) = (times(b, tm, m), times(b, tn, n));
            counted(b, self.steps, |b, step| {
                let (stage, phase) = ring.now(b);
                let one = b.int(DType::U32, 1);
                let before = b.binary(Binary::Xor, phase, one);
                transaction(b, barrier(self.empty, stage), Transaction::Wait(before));
                let bytes = (m + n) * k * self.s.dtype.bytes();
                transaction(
                    b,
                    barrier(self.full, stage),
                    Transaction::ArriveExpect(bytes),
                );
                let k0 = times(b, step, k);
                let views = self.operands(stage);
                for (param, origin, rows, flipped, shared) in [
                    (self.a, m0, m, self.s.flipped.0, &views[0]),
                    (self.b, n0, n, self.s.flipped.1, &views[1]),
                ] {
                    let (r, c) = if flipped {
                        ((k0, k), (origin, rows))
                    } else {
                        ((origin, rows), (k0, k))
                    };
                    let shared = if flipped {
                        transposed(shared.clone())
                    } else {
                        shared.clone()
                    };
                    b.push(StmtKind::Async(Async::TensorCopy(TensorCopy {
                        kind: TensorCopyKind::Load,
                        view: tile(param, r, c, (false, false)),
                        shared,
                        barrier: Some(barrier(self.full, stage)),
                        multicast: None,
                        cache: Cache::Default,
                    })));
                }
                ring.advance(b, stage, phase);
            });
        });
    }

    fn product(&self, b: &mut Builder, acc: Var, half: Value, stage: Value, zero: bool) {
        let [left, right] = self.operands(stage);
        let (_, k) = self.s.tile;
        let rows = self.half(left, half);
        let a = if self.s.registers {
            let ty = TensorType {
                dtype: self.s.dtype,
                shape: vec![64, k],
                dist: accumulator(k),
            };
            let op = Op::LoadShared {
                view: rows,
                vector: 0,
            };
            Operand::Register(b.tile(ty.dtype, &ty.shape, &ty.dist, op))
        } else {
            Operand::Shared(rows)
        };
        b.push(StmtKind::Async(Async::Mma(Mma {
            acc,
            a,
            b: right,
            warps: (4, 1),
            kind: MmaKind::Warpgroup { zero },
        })));
    }

    /// The 64 rows of a warpgroup.
    fn half(&self, mut view: SharedView, half: Value) -> SharedView {
        let shape = view.shape();
        let apart = if shape[0] > 64 {
            view.linear(&[64, 0]) - view.linear(&[0, 0])
        } else {
            0
        };
        view.dynamic.push((half, apart));
        let mut left = 64;
        for d in &mut view.axes[0] {
            d.extent = d.extent.min(left);
            left /= d.extent;
        }
        view
    }

    fn release(&self, b: &mut Builder, stage: Value) {
        let lane = b.special(Special::Lane);
        let first = is(b, lane, 0);
        when(b, first, |b| {
            transaction(b, barrier(self.empty, stage), Transaction::Arrive);
        });
    }

    fn consume(&self, b: &mut Builder, half: Value) {
        let ring = Ring::new(b, "full", self.s.stages);
        let held = super::ring(b, "held stage");
        let (n, _) = self.s.tile;
        let ty = TensorType {
            dtype: self.s.sums,
            shape: vec![64, n],
            dist: accumulator(n),
        };
        let acc = b.var("acc", Type::Tensor(ty.clone()));
        let thread = b.special(Special::Thread);
        let in_group = {
            let mask = b.int(DType::U32, 127);
            b.binary(Binary::And, thread, mask)
        };
        let leads = is(b, in_group, 0);
        self.each_tile(b, |b, tm, tn| {
            let (stage, phase) = ring.now(b);
            transaction(b, barrier(self.full, stage), Transaction::Wait(phase));
            self.product(b, acc, half, stage, true);
            if self.s.registers {
                b.push(StmtKind::Async(Async::WaitProducts(0)));
            }
            b.push(StmtKind::Set(held, stage));
            ring.advance(b, stage, phase);
            let one = b.int(DType::U32, 1);
            let rest = b.binary(Binary::Sub, self.steps, one);
            counted(b, rest, |b, _| {
                let (stage, phase) = ring.now(b);
                transaction(b, barrier(self.full, stage), Transaction::Wait(phase));
                self.product(b, acc, half, stage, false);
                // Registers of a left operand are read until its product is done.
                let pending = u32::from(!self.s.registers);
                b.push(StmtKind::Async(Async::WaitProducts(pending)));
                let old = get(b, held);
                self.release(b, old);
                b.push(StmtKind::Set(held, stage));
                ring.advance(b, stage, phase);
            });
            b.push(StmtKind::Async(Async::WaitProducts(0)));
            let old = get(b, held);
            self.release(b, old);
            let sum = b.tile(ty.dtype, &ty.shape, &ty.dist, Op::Get(acc));
            let out = cast(b, sum, self.s.out());
            self.store(b, out, half, leads, (tm, tn));
        });
        when(b, leads, |b| {
            b.push(StmtKind::Async(Async::WaitStores {
                newest: 0,
                read: false,
            }));
        });
    }

    /// A barrier of this warpgroup.
    fn meet(&self, b: &mut Builder, half: Value) {
        let named = |id| {
            StmtKind::Barrier(Barrier::Named {
                id,
                threads: 128,
                arrive: false,
            })
        };
        if self.s.consumers == 1 {
            b.push(named(1));
            return;
        }
        let first = is(b, half, 0);
        let (then, ()) = b.block(|b| b.push(named(1)));
        let (otherwise, ()) = b.block(|b| b.push(named(2)));
        b.push(StmtKind::If {
            cond: first,
            then,
            otherwise,
        });
    }

    fn store(&self, b: &mut Builder, out: Value, half: Value, leads: Value, at: (Value, Value)) {
        let (n, _) = self.s.tile;
        let width = 128 / self.s.out().bytes();
        let m0 = times(b, at.0, self.s.rows());
        let mine = times(b, half, 64);
        let m0 = b.binary(Binary::Add, m0, mine);
        let n0 = times(b, at.1, n);
        let slabs = n / width;
        // Two buffers take turns only if every tile uses both.
        let newest = u32::from(slabs.is_multiple_of(2));
        for slab in 0..slabs {
            when(b, leads, |b| {
                b.push(StmtKind::Async(Async::WaitStores { newest, read: true }));
            });
            self.meet(b, half);
            let mut staged = k_major_of(self.s.out(), self.out_s, 64, width);
            staged.dynamic.push((half, i64::from(2 * 64 * width)));
            staged.offset = i64::from(slab % 2 * 64 * width);
            let values = width / 2;
            let picked = b.tile(
                self.s.out(),
                &[64, width],
                &accumulator(width),
                Op::Pick(out, (slab * values..(slab + 1) * values).collect()),
            );
            b.push(StmtKind::StoreShared {
                view: staged.clone(),
                value: picked,
                vector: 0,
            });
            b.push(StmtKind::Async(Async::FenceAsync));
            self.meet(b, half);
            when(b, leads, |b| {
                let n0 = plus(b, n0, slab * width);
                b.push(StmtKind::Async(Async::TensorCopy(TensorCopy {
                    kind: TensorCopyKind::Store,
                    view: tile(self.c, (m0, 64), (n0, width), (false, false)),
                    shared: staged,
                    barrier: None,
                    multicast: None,
                    cache: Cache::Default,
                })));
                b.push(StmtKind::Async(Async::CommitStores));
            });
        }
    }
}

fn k_major_of(dtype: DType, alloc: usize, rows: u32, width: u32) -> SharedView {
    let mut b = Builder::new("layout", Target::default_target(), 32);
    let at = b.shared("tile", dtype, 1);
    let mut view = k_major(&b, at, rows, width);
    view.alloc = alloc;
    view
}

fn counted(b: &mut Builder, hi: Value, f: impl FnOnce(&mut Builder, Value)) {
    let index = b.value(Type::Scalar(DType::U32), tiki_kernel::ir::Uniform::Block);
    let lo = b.int(DType::U32, 0);
    let (body, ()) = b.block(|b| f(b, index));
    b.push(StmtKind::For {
        index,
        lo,
        hi,
        step: 1,
        unroll: Some(1),
        body,
    });
}

pub fn gemm(name: &str, target: Target, s: Shape) -> Kernel {
    let (n, k) = s.tile;
    let m = s.rows();
    let mut b = Builder::new(name, target, 128 * (1 + s.consumers));
    b.kernel.blocks_per_sm = Some(1);
    let [pa, pb] = ["a", "b"].map(|name| b.tensor(name, s.dtype, 2, false));
    let pc = b.tensor("c", s.out(), 2, true);
    let a_s = b.shared("a_s", s.dtype, s.stages * m * k);
    let b_s = b.shared("b_s", s.dtype, s.stages * n * k);
    let width = 128 / s.out().bytes();
    let out_s = b.shared("out_s", s.out(), 2 * s.consumers * 64 * width);
    for at in [a_s, b_s, out_s] {
        b.kernel.shared[at].align = 1024;
    }
    let full = b.shared("full", DType::U64, s.stages);
    let empty = b.shared("empty", DType::U64, s.stages);
    let thread = b.special(Special::Thread);
    let first = is(&mut b, thread, 0);
    when(&mut b, first, |b| {
        for i in 0..s.stages {
            let at = b.scalar(DType::U32, Op::Const(Const::Int(i.into())));
            transaction(b, barrier(full, at), Transaction::Init(1));
            transaction(b, barrier(empty, at), Transaction::Init(4 * s.consumers));
        }
    });
    b.push(StmtKind::Async(Async::FenceBarriers));
    b.push(StmtKind::Barrier(Barrier::Block));
    let extent = |b: &mut Builder, p, axis| b.scalar(DType::U32, Op::Extent(p, axis));
    let depth = extent(&mut b, pa, usize::from(!s.flipped.0));
    let steps = div_ceil(&mut b, depth, k);
    let rows = extent(&mut b, pc, 0);
    let columns = extent(&mut b, pc, 1);
    let down = div_ceil(&mut b, rows, m);
    let across = div_ceil(&mut b, columns, n);
    let tiles = b.binary(Binary::Mul, down, across);
    let kit = Kit {
        s,
        a: pa,
        b: pb,
        c: pc,
        a_s,
        b_s,
        out_s,
        full,
        empty,
        steps,
        tiles,
        across,
        down,
    };
    let group = b.special(Special::Warpgroup);
    let copies = is(&mut b, group, 0);
    let set = |b: &mut Builder, count, more| {
        b.push(StmtKind::Async(Async::SetRegisters { count, more }));
    };
    let (then, ()) = b.block(|b| {
        if let Some((fewer, _)) = s.split {
            set(b, fewer, false);
        }
        let warp = b.special(Special::Warp);
        let first = is(b, warp, 0);
        when(b, first, |b| {
            let one = b.scalar(DType::BOOL, Op::Elect);
            b.kernel.values[one.0 as usize].uniform = tiki_kernel::ir::Uniform::Thread;
            when(b, one, |b| kit.produce(b));
        });
    });
    let (otherwise, ()) = b.block(|b| {
        if let Some((_, more)) = s.split {
            set(b, more, true);
        }
        let one = b.int(DType::U32, 1);
        let half = b.binary(Binary::Sub, group, one);
        kit.consume(b, half);
    });
    b.push(StmtKind::If {
        cond: copies,
        then,
        otherwise,
    });
    b.finish()
}
