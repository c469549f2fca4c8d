//! Products by warpgroups: `acc (+)= a @ b.T`, under way until the wait that ends its group.
//!
//! ```text
//! fence            registers written before are seen by the products
//! rows 0, step 0   sums begin at zero if asked
//! rows 0, step 1 ..
//! commit           one group a statement
//! ```
//!
//! Each warpgroup of the role has 64 rows (or several times 64); every one reads all of B. The accumulator
//! is one list of registers in one order in every product, from its first to its last.

use super::Lower;
use super::descriptors::Matrix;
use crate::dtype::DType;
use crate::ir::{Dist, Mma, Mode, Operand as Left};
use crate::isa::{self, Ty};
use crate::ptx::{Operand, Reg};

/// Rows of one instruction.
const ROWS: u32 = 64;
/// Most columns of one instruction.
const COLUMNS: u32 = 256;

/// The distribution of an accumulator (M, N) over warpgroups along M.
#[must_use]
pub fn layout(m: u32, n: u32, groups: u32) -> Dist {
    let apart = ROWS * groups;
    Dist {
        threads: vec![
            Mode::along(1, 4, 2),
            Mode::along(0, 8, 1),
            Mode::along(0, 4, 16),
            Mode::along(0, groups, ROWS),
        ],
        values: vec![
            Mode::along(1, 2, 1),
            Mode::along(0, 2, 8),
            Mode::along(1, n / 8, 8),
            Mode::along(0, m / apart, apart),
        ],
    }
}

impl<'a> Lower<'a> {
    /// A product by warpgroups.
    pub(super) fn warpgroup_product(&mut self, mma: &'a Mma, zero: bool) {
        let acc = self.accumulator(mma);
        let (m, n, groups) = (acc.shape[0], acc.shape[1], mma.warps.0 / 4);
        let expected = layout(m, n, groups.max(1));
        assert!(
            acc.dist.clone().merged() == expected.merged(),
            "bug: the accumulator of a warpgroup's product lies as {}",
            acc.dist
        );
        let right = self.kernel.shared[mma.b.alloc].dtype;
        let left = match &mma.a {
            Left::Shared(view) => self.kernel.shared[view.alloc].dtype,
            Left::Register(value) => self.dtype(*value),
        };
        let registers = matches!(mma.a, Left::Register(_));
        let [a, b] = [left, right].map(isa::core_type);
        let sums = Ty::of_arithmetic(acc.dtype);
        let op = isa::wgmma(n, a, b, sums, registers).filter(|op| op.exists_on(self.kernel.target));
        let narrow = !left.is_int() || n <= 32 || n.is_multiple_of(16);
        let (Some(op), true) = (op, narrow && n <= COLUMNS) else {
            return self.refuse(format!(
                "{} has no product of {left} and {right} summed in {} by warpgroups, {n} columns wide",
                self.kernel.target, acc.dtype
            ));
        };
        if registers && left.bytes() != 2 {
            return self.refuse(format!(
                "a left operand in registers is f16 or bf16, not {left}"
            ));
        }
        let Some(right) = self.matrix(&mma.b, n, right) else {
            return;
        };
        let tiles = m / (ROWS * groups);
        let mut sides = Vec::new();
        for i in 0..tiles {
            let Left::Shared(view) = &mma.a else { break };
            let mut rows = view.clone();
            rows.offset = view.linear(&[i * ROWS * groups, 0]);
            let Some(matrix) = self.matrix(&rows, ROWS, left) else {
                return;
            };
            let apart = (view.linear(&[ROWS * (groups - 1).min(1), 0]) - view.linear(&[0, 0]))
                * i64::from(left.bytes());
            let transposed = matrix.transposed;
            let base = self.descriptor(&rows, &matrix, Some((groups, apart)));
            sides.push((base, matrix, transposed));
        }
        let b = self.descriptor(&mma.b, &right, None);
        let regs = self.variable(mma.acc);
        let fragments: Vec<Vec<Vec<Reg>>> = match &mma.a {
            Left::Shared(_) => Vec::new(),
            Left::Register(v) => {
                let columns = right.steps.len() as u32 * 2;
                let steps = 0..right.steps.len() as u32;
                (0..tiles)
                    .map(|i| {
                        steps
                            .clone()
                            .map(|s| self.packed_left(*v, columns, s, i))
                            .collect()
                    })
                    .collect()
            }
        };
        self.ins(None, isa::wgmma_fence(), vec![]);
        let each = regs.len() / tiles as usize;
        for i in 0..tiles as usize {
            let d = Operand::vec(regs[each * i..each * (i + 1)].iter().copied());
            for (s, start) in right.steps.iter().enumerate() {
                let a = match sides.get(i) {
                    Some((base, matrix, _)) => self.stepped(base, matrix.steps[s]),
                    None => Operand::vec(fragments[i][s].iter().copied()),
                };
                let b = self.stepped(&b, *start);
                let keep = Operand::int(i32::from(!(zero && s == 0)));
                let mut operands = vec![d.clone(), a, b, keep];
                if isa::negates(op) {
                    operands.extend([Operand::int(1), Operand::int(1)]);
                }
                if isa::transposes(op) {
                    let left = sides.get(i).map(|(_, _, t)| *t);
                    operands.extend(left.map(|t| Operand::int(i32::from(t))));
                    operands.push(Operand::int(i32::from(right.transposed)));
                }
                self.ins(None, op, operands);
            }
        }
        self.ins(None, isa::wgmma_commit(), vec![]);
    }

    /// An operand's matrix, or a refusal.
    fn matrix(&mut self, view: &crate::ir::SharedView, rows: u32, t: DType) -> Option<Matrix> {
        let shared = &self.kernel.shared[view.alloc];
        let matrix = Matrix::of(view, rows, t.bytes())
            .filter(|m| i64::from(shared.align) % m.pattern() == 0);
        if matrix.is_none() {
            self.refuse(format!(
                "`{}` does not lie as a warpgroup's product reads an operand of {t}: rows of 32, 64 or 128 bytes, \
                 swizzled over as many and aligned to eight rows",
                shared.name
            ));
        }
        matrix
    }

    /// A descriptor some bytes on.
    fn stepped(&mut self, base: &Operand, bytes: i64) -> Operand {
        if bytes == 0 {
            return base.clone();
        }
        self.def(
            Ty::B64,
            isa::add(Ty::U64),
            [base.clone(), Operand::int(bytes >> 4)],
        )
    }
}
