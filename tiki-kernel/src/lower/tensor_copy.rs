//! Copies by the tensor memory accelerator.
//!
//! One instruction copies a *box*: at most 256 elements along each axis, rows of it side by side in shared
//! memory, each row within the span of the swizzle. A tile is cut into boxes of one shape: along each axis
//! of the view, the longest run whose elements lie in shared memory as a box lays them. What a box covers of
//! the tensor comes with the launch as a *tensor map*: one argument for each tensor, box and swizzle.
//!
//! ```text
//! tile (128 rows, 128 columns of f16, two slabs)      boxes: 128 x 64 at column 0 and 64
//! ```
//!
//! Coordinates count elements, innermost axis first; outside the tensor, loads bring zeros and stores write
//! nothing.

use super::{Lower, ascii_name};
use crate::artifact::{Hidden, ParamKind};
use crate::dtype::DType;
use crate::ir::{GlobalView, SharedView, TensorCopy, TensorCopyKind};
use crate::isa::{self, Cmp, Space, Ty};
use crate::ptx::{Guard, Operand, Reg};

fn address(map: &Operand) -> Operand {
    match map {
        Operand::Reg(r) => Operand::addr(*r, 0),
        other => other.clone(),
    }
}

/// Most elements of a box along an axis.
const LONGEST: u32 = 256;
/// Axes a tensor map can have.
const AXES: usize = 5;

/// How a tile is cut.
#[derive(Debug, PartialEq, Eq)]
struct Boxes {
    /// Extent of a box along each axis of the view.
    extent: Vec<u32>,
    /// Bytes of the swizzle, 0 for none.
    swizzle: u32,
}

impl Boxes {
    /// Cuts a tile; `order` lists the view's axes as the tensor has them, innermost first.
    fn of(shared: &SharedView, order: &[usize], size: u32) -> Option<Boxes> {
        let shape = shared.shape();
        let swizzle = match shared.swizzle.filter(|x| x.bits > 0) {
            None => 0,
            Some(x) if x.base + size.ilog2() == 4 && x.shift == 3 && x.bits <= 3 => 16 << x.bits,
            Some(_) => return None,
        };
        let mut extent = vec![1; shape.len()];
        let mut pitch = 1_i64;
        for (i, &axis) in order.iter().enumerate() {
            let most = match (i, swizzle) {
                (0, n) if n > 0 => (n / size).min(LONGEST),
                _ => LONGEST,
            };
            let origin = shared.linear(&vec![0; shape.len()]);
            let run = |n: u32| {
                (0..shape[axis]).all(|c| {
                    let mut at = vec![0; shape.len()];
                    at[axis] = c;
                    let there = shared.linear(&at) - origin;
                    at[axis] = c - c % n;
                    there - (shared.linear(&at) - origin) == i64::from(c % n) * pitch
                })
            };
            let n = (1..=shape[axis].min(most))
                .rev()
                .find(|n| shape[axis].is_multiple_of(*n) && run(*n))?;
            extent[axis] = n;
            pitch *= i64::from(n);
        }
        let row = extent[*order.first()?] * size;
        // A row of a swizzled box fills the span: the pattern goes by rows of the box.
        ((swizzle == 0 || row == swizzle) && row.is_multiple_of(16))
            .then_some(Boxes { extent, swizzle })
    }
}

impl Lower<'_> {
    /// A copy of a tile.
    pub(super) fn tensor_copy(&mut self, copy: &TensorCopy) {
        let ParamKind::Tensor { dtype, rank, .. } = self.kernel.params[copy.view.param].kind else {
            unreachable!("bug: a tile is copied out of a scalar");
        };
        let (rank, size) = (rank as usize, dtype.bytes());
        let axes = &copy.view.axes;
        let mut order: Vec<usize> = (0..axes.len()).collect();
        order.sort_by_key(|a| std::cmp::Reverse(axes[*a].axis));
        let inner = order.first().is_some_and(|a| axes[*a].axis + 1 == rank);
        let boxes = Boxes::of(&copy.shared, &order, size).filter(|b| self.lies_well(copy, b, size));
        let (Some(boxes), true, true) = (boxes, inner, rank <= AXES) else {
            return self.refuse(format!(
                "`{}` does not lie in `{}` as the tensor memory accelerator lays a tile: rows of at most 256 elements \
                 (of the span, if swizzled) side by side, aligned to eight rows",
                self.kernel.params[copy.view.param].name, self.kernel.shared[copy.shared.alloc].name,
            ));
        };
        let map = self.tensor_map(&copy.view, &boxes);
        let coordinates = self.box_coordinates(&copy.view, rank);
        let shared = self.linear_address(&copy.shared, dtype);
        let barrier = copy.barrier.as_ref().map(|b| self.shared_place(b));
        let policy = self.policy(copy.cache);
        let mask = copy.multicast.map(|m| {
            let o = self.scalar(m);
            Operand::Reg(self.register(&o, Ty::B16))
        });
        let counts: Vec<u32> = (copy.view.shape().iter().zip(&boxes.extent))
            .map(|(n, b)| n / b)
            .collect();
        let total: u32 = counts.iter().product();
        for mut n in 0..total {
            let mut at = vec![0; counts.len()];
            for (a, c) in counts.iter().enumerate().rev() {
                at[a] = n % c * boxes.extent[a];
                n /= c;
            }
            let offset = copy.shared.linear(&at) - copy.shared.offset;
            let place = Operand::addr(shared, offset * i64::from(size));
            let mut moved = Vec::new();
            for (axis, origin) in coordinates.iter().enumerate().rev() {
                let by = axes
                    .iter()
                    .position(|v| v.axis == axis)
                    .map_or(0, |v| at[v]);
                moved.push(self.add_const(origin.clone(), by.into()));
            }
            let from = Operand::tensor(map, moved);
            let (op, mut operands) = match copy.kind {
                TensorCopyKind::Load => {
                    let op = isa::load_box(rank, mask.is_some(), policy.is_some());
                    let mut operands = vec![place, from];
                    operands.extend(barrier.clone());
                    operands.extend(mask.clone());
                    (op, operands)
                }
                TensorCopyKind::Store => {
                    (isa::store_box(rank, policy.is_some()), vec![from, place])
                }
                TensorCopyKind::ReduceAdd => {
                    (isa::add_box(rank, policy.is_some()), vec![from, place])
                }
            };
            operands.extend(policy.clone());
            self.ins(None, op, operands);
        }
    }

    /// Whether every box starts where its pattern does.
    fn lies_well(&self, copy: &TensorCopy, boxes: &Boxes, size: u32) -> bool {
        let pattern = i64::from((8 * boxes.swizzle).max(128));
        let shared = &copy.shared;
        let bytes = i64::from(size);
        let align = i64::from(self.kernel.shared[shared.alloc].align);
        let mut steps: Vec<i64> = shared.dynamic.iter().map(|(_, s)| *s).collect();
        let shape = copy.view.shape();
        for (a, n) in shape.iter().enumerate() {
            for c in (0..*n).step_by(boxes.extent[a] as usize) {
                let mut at = vec![0; shape.len()];
                at[a] = c;
                steps.push(shared.linear(&at));
            }
        }
        align % pattern == 0 && steps.iter().all(|s| (s * bytes) % pattern == 0)
    }

    /// Address of the launcher's map of the view's tensor in boxes of this shape.
    fn tensor_map(&mut self, view: &GlobalView, boxes: &Boxes) -> Reg {
        let mut tile = [1; AXES];
        for (axis, n) in view.axes.iter().zip(&boxes.extent) {
            tile[axis.axis] = *n;
        }
        let map = Hidden::TensorMap {
            param: view.param as u32,
            tile,
            swizzle: boxes.swizzle,
        };
        let known = self.hidden.iter().position(|h| *h == map);
        let at = known.unwrap_or(self.hidden.len());
        let name = format!(
            "{}_map{at}",
            ascii_name(&self.kernel.params[view.param].name)
        );
        if known.is_none() {
            self.hidden.push(map);
            self.b.param_bytes(&name, 128, 64);
        }
        let key = super::emit::Once::Param(name.clone());
        let map = self.once(key, |l| {
            l.holding("address of tensor maps", |l| {
                let here = l.def(Ty::B64, isa::mov(Ty::U64), [Operand::var(&name)]);
                let map = l.def(Ty::B64, isa::cvta(Space::Param), [here]);
                // Fetched while barriers are made: the first copy would wait for it.
                let first = l.first_thread();
                l.ins(first, isa::prefetch_map(), vec![address(&map)]);
                map
            })
        });
        self.register(&map, Ty::B64)
    }

    /// A guard: thread 0 of the block.
    fn first_thread(&mut self) -> Option<Guard> {
        let first = self.once(super::emit::Once::Special("first thread"), |l| {
            let thread = l.thread();
            l.def(
                Ty::Pred,
                isa::setp(Cmp::Eq, Ty::U32),
                [thread, Operand::int(0)],
            )
        });
        match first {
            Operand::Reg(reg) => Some(Guard {
                reg,
                negated: false,
            }),
            _ => None,
        }
    }

    /// The tile's first coordinate along each axis of the tensor, outermost first.
    fn box_coordinates(&mut self, view: &GlobalView, rank: usize) -> Vec<Operand> {
        let origins = view.axes.iter().map(|a| (a.axis, a.origin));
        let fixed = view.fixed.iter().map(|(axis, v, _)| (*axis, *v));
        let all: Vec<_> = origins.chain(fixed).collect();
        let name = format!("coordinates of {}", self.kernel.params[view.param].name);
        self.holding(&name, |l| {
            (0..rank)
                .map(|axis| {
                    let Some((_, v)) = all.iter().find(|(a, _)| *a == axis) else {
                        return Operand::int(0);
                    };
                    let o = l.scalar(*v);
                    match o {
                        o @ Operand::Imm(_) => o,
                        o if l.dtype(*v).bytes() == 8 => {
                            l.def(Ty::B32, isa::cvt(Ty::U32, Ty::U64), [o])
                        }
                        o => o,
                    }
                })
                .collect()
        })
    }

    /// Address of a view's first element, before the swizzle.
    fn linear_address(&mut self, view: &SharedView, dtype: DType) -> Reg {
        let bytes = i64::from(dtype.bytes());
        let start = i64::from(self.shared_offsets[view.alloc]) + view.offset * bytes;
        let name = format!("address of {}", self.kernel.shared[view.alloc].name);
        self.holding(&name, |l| {
            let base = l.shared_symbol();
            let base = l.moving(view, Some(base), bytes);
            let at = base
                .map(|b| l.add_const(b, start))
                .unwrap_or(Operand::int(start));
            l.register(&at, Ty::B32)
        })
    }
}
