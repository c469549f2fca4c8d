//! Products by warps: `acc += a @ b.T`, done when the statement is.
//!
//! A warp's operand is cut into *units*: one tile of 16 rows of A, two tiles of 8 columns of B. The side that
//! takes fewer registers is *held* for a whole step of K, the other *streams* by. The text is a pipeline
//! without spare registers: the next unit of the stream is loaded before the products of this one; in the
//! last unit of a step, behind the last use of a held unit, the next step's takes its place:
//!
//! ```text
//! held(0..) stream(0) | stream(1) products(0) | stream(2) products(1) | ..
//! last unit of a step   stream(0 of the next)   held 0: products, held'(0)   held 1: products, held'(1) ..
//! ```
//!
//! So between any two instructions live the accumulator, one step of the held side and two units of the
//! other. The assembler keeps this order; it moves loads little by itself.
//!
//! The accumulator of warp (i, j) holds rows `i * WM ..` and columns `j * WN ..`; see [`layout`].

use super::Lower;
use super::fragments::Loader;
use crate::dtype::DType;
use crate::ir::{Dist, Mma, Mode, Operand as Left, TensorType, Value};
use crate::isa::{self, Ty};
use crate::ptx::{Operand, Reg};
use crate::schedule::fragments::{Part, Side, step};

/// The distribution of an accumulator (M, N) over warps.
#[must_use]
pub fn layout(m: u32, n: u32, warps: (u32, u32)) -> Dist {
    let (wm, wn) = (m / warps.0.max(1), n / warps.1.max(1));
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

/// Fragments of a unit; of f32 as two tf32, what the first leaves over.
#[derive(Default)]
struct Unit {
    regs: Vec<Reg>,
    rest: Vec<Reg>,
}

/// Bits of an f32 that a tf32 has.
const TF32: i64 = 0xffff_e000;

/// The left operand's source.
enum Source<'v> {
    Shared(Box<Loader<'v>>),
    /// A register tensor (M, K) laid out as an accumulator; tiles of 8 columns.
    Register {
        value: Value,
        columns: u32,
    },
}

impl<'a> Lower<'a> {
    /// A product by warps.
    pub(super) fn warp_product(&mut self, mma: &'a Mma, thrice: bool) {
        let acc = self.accumulator(mma);
        let (m, n) = (acc.shape[0], acc.shape[1]);
        let (wm, wn) = (m / mma.warps.0, n / mma.warps.1);
        let expected = layout(m, n, mma.warps);
        assert!(
            acc.dist.clone().merged() == expected.merged(),
            "bug: the accumulator of a product lies as {}",
            acc.dist
        );
        let right = self.kernel.shared[mma.b.alloc].dtype;
        let left = match &mma.a {
            Left::Shared(view) => self.kernel.shared[view.alloc].dtype,
            Left::Register(value) => self.dtype(*value),
        };
        let depth = mma.b.shape()[1];
        let Some(op) = self.product(left, right, acc.dtype) else {
            return;
        };
        let whole = depth.is_multiple_of(step(left)) && left.bytes() == right.bytes();
        if !whole || !wm.is_multiple_of(16) || !wn.is_multiple_of(8) {
            return self.refuse(format!(
                "a product of {left} by warps takes 16 rows, 8 columns and {} of depth at a time; \
                 a warp has {wm} x {wn} x {depth}",
                step(left)
            ));
        }
        let part = |side, rows| Part {
            side,
            warps: mma.warps,
            rows,
            depth,
        };
        let source = match &mma.a {
            Left::Shared(view) => self
                .loader(view, part(Side::A, wm))
                .map(|l| Source::Shared(Box::new(l))),
            Left::Register(value) if left.bytes() == 2 => Some(Source::Register {
                value: *value,
                columns: depth / 8,
            }),
            Left::Register(_) => {
                return self.refuse(format!(
                    "a left operand in registers is f16 or bf16, not {left}"
                ));
            }
        };
        let loader = self.loader(&mma.b, part(Side::B, wn));
        let (Some(source), Some(loader)) = (source, loader) else {
            return self.refuse(format!(
                "no way from this layout into the tensor core: {left} operands need words of 4 bytes along K"
            ));
        };
        let regs = self.variable(mma.acc);
        let (rows, columns) = (wm / 16, wn / 8);
        let steps = depth / step(left);
        let units = [rows, columns.div_ceil(2)];
        // 0: the left side is held, 1: the right one.
        let held = usize::from(units[1] < units[0]);
        let load = |l: &mut Self, side: usize, at: u32, unit: u32| {
            let regs = match side {
                0 => l.left_fragment(&source, at, unit),
                _ => l.fragment(&loader, at, 2 * unit),
            };
            let rest = if thrice { l.split(&regs) } else { Vec::new() };
            Unit { regs, rest }
        };
        // The products of a held and a streamed unit.
        let product = |l: &mut Self, kept: (u32, &Unit), passing: (u32, &Unit), j: usize| {
            let sides = if held == 0 {
                [kept, passing]
            } else {
                [passing, kept]
            };
            let [(i, a), (pair, b)] = sides;
            let half = |regs: &[Reg]| regs.chunks(2).nth(j).map(<[Reg]>::to_vec);
            let Some(right) = half(&b.regs) else { return };
            let first = 4 * (2 * pair + j as u32 + columns * i) as usize;
            let c = Operand::vec(regs[first..first + 4].iter().copied());
            let mut terms = vec![(a.regs.clone(), right.clone())];
            if let Some(rest) = half(&b.rest) {
                terms.push((a.regs.clone(), rest));
                terms.push((a.rest.clone(), right));
            }
            for (a, b) in terms.into_iter().rev() {
                l.ins(
                    None,
                    op,
                    vec![c.clone(), Operand::vec(a), Operand::vec(b), c.clone()],
                );
            }
        };
        let (stream, count) = (1 - held, units[1 - held]);
        let mut keep: Vec<Unit> = (0..units[held]).map(|u| load(self, held, 0, u)).collect();
        let mut next = load(self, stream, 0, 0);
        for (at, unit) in (0..steps).flat_map(|at| (0..count).map(move |u| (at, u))) {
            let (last, ends) = (unit + 1 == count, at + 1 == steps);
            let now = next;
            next = match (last, ends) {
                (false, _) => load(self, stream, at, unit + 1),
                (true, false) => load(self, stream, at + 1, 0),
                (true, true) => Unit::default(),
            };
            if last && !ends {
                for (u, regs) in (0..).zip(&mut keep) {
                    product(self, (u, regs), (unit, &now), 0);
                    product(self, (u, regs), (unit, &now), 1);
                    *regs = load(self, held, at + 1, u);
                }
                continue;
            }
            for j in 0..2 {
                for (u, regs) in (0..).zip(&keep) {
                    product(self, (u, regs), (unit, &now), j);
                }
            }
        }
    }

    /// Type of a product's accumulator.
    pub(super) fn accumulator(&self, mma: &Mma) -> &'a TensorType {
        let ty = &self.kernel.vars[mma.acc.0 as usize].ty;
        ty.tensor()
            .expect("bug: an accumulator is a register tensor")
    }

    /// The instruction; none if the target has no such product.
    fn product(&mut self, left: DType, right: DType, sums: DType) -> Option<isa::Op> {
        let [a, b] = [left, right].map(isa::core_type);
        let op = isa::mma(step(left), a, b, Ty::of_arithmetic(sums));
        match op.filter(|op| op.exists_on(self.kernel.target)) {
            Some(op) => Some(op),
            None => {
                self.refuse(format!(
                    "{} has no product of {left} and {right} summed in {sums} by warps",
                    self.kernel.target
                ));
                None
            }
        }
    }

    /// Cuts f32 fragments to tf32; gives what is left over.
    fn split(&mut self, regs: &[Reg]) -> Vec<Reg> {
        let mut rest = Vec::new();
        for r in regs {
            self.holding("rests of f32 as tf32", |l| {
                let high = l.def(
                    Ty::B32,
                    isa::and(Ty::B32),
                    [(*r).into(), Operand::int(TF32)],
                );
                let low = l.def(Ty::B32, isa::sub(Ty::F32), [(*r).into(), high]);
                rest.push(l.register(&low, Ty::B32));
            });
        }
        rest
    }

    fn left_fragment(&mut self, source: &Source<'_>, at: u32, i: u32) -> Vec<Reg> {
        match source {
            Source::Shared(loader) => self.fragment(loader, at, i),
            Source::Register { value, columns } => self.packed_left(*value, *columns, at, i),
        }
    }

    /// The left fragment of a step out of an accumulator's registers: two neighbouring tiles of 8 columns
    /// are one of 16.
    pub(super) fn packed_left(&mut self, v: Value, columns: u32, at: u32, i: u32) -> Vec<Reg> {
        let tile = 2 * at + columns * i;
        self.holding("left fragments", |l| {
            (0..4)
                .map(|j| {
                    let first = 4 * (tile + j / 2) + 2 * (j % 2);
                    let word = l.gather(v, first as usize, 2).remove(0);
                    l.register(&word, Ty::B32)
                })
                .collect()
        })
    }
}
