//! Addresses of global tiles.
//!
//! The base is computed once: the origins' and the thread's coordinates times the strides, in 64 bits.
//! Offsets within the tile are immediates where strides are known; along an axis whose stride is a
//! run-time value, each distinct offset has a pointer, made from its neighbour's.

use super::Lower;
use crate::artifact::ParamKind;
use crate::ir::{Dist, GlobalView, Value};
use crate::isa::{self, Ty};
use crate::ptx::Operand;
use std::collections::BTreeMap;

/// The addresses of a tile.
#[derive(Clone)]
pub(super) struct Address {
    base: Operand,
    /// Bytes from one index to the next, per axis of the view.
    steps: Vec<Operand>,
    rows: BTreeMap<Vec<u32>, Operand>,
}

impl Lower<'_> {
    fn bytes_of(&self, param: usize) -> u32 {
        match self.kernel.params[param].kind {
            ParamKind::Tensor { dtype, .. } | ParamKind::Scalar(dtype) => dtype.bytes(),
        }
    }

    /// Bytes from one index to the next.
    fn pitch(&mut self, param: usize, axis: usize) -> Operand {
        let bytes = self.bytes_of(param);
        match self.stride(param, axis) {
            Operand::Imm(crate::ptx::Imm::Int(n)) => Operand::int(n * i64::from(bytes)),
            stride if bytes == 1 => stride,
            stride => {
                let name = format!("pitch of {}", self.kernel.params[param].name);
                self.once(super::emit::Once::Param(format!("{name} {axis}")), |l| {
                    l.holding(&name, |l| {
                        l.def(
                            Ty::B64,
                            isa::shl(Ty::B64),
                            [stride, Operand::int(bytes.ilog2())],
                        )
                    })
                })
            }
        }
    }

    /// The same, for a view of the argument or of a window of it, whose strides belong where the view does.
    fn pitch_in(&mut self, view: &GlobalView, axis: usize) -> Operand {
        match &view.window {
            Some(window) => self.bytes_from(window.strides[axis], view.param),
            None => self.pitch(view.param, axis),
        }
    }

    /// Where the view's tensor begins.
    fn pointer_in(&mut self, view: &GlobalView) -> Operand {
        let pointer = self.pointer(view.param);
        let Some(window) = &view.window else {
            return pointer;
        };
        match self.bytes_from(window.first, view.param) {
            Operand::Imm(crate::ptx::Imm::Int(0)) => pointer,
            first => self.def(Ty::B64, isa::add(Ty::U64), [pointer, first]),
        }
    }

    /// So many elements of a tensor, in bytes.
    fn bytes_from(&mut self, elements: Value, param: usize) -> Operand {
        let bytes = self.bytes_of(param);
        match self.scalar(elements) {
            Operand::Imm(crate::ptx::Imm::Int(n)) => Operand::int(n * i64::from(bytes)),
            elements if bytes == 1 => elements,
            elements => self.def(
                Ty::B64,
                isa::shl(Ty::B64),
                [elements, Operand::int(bytes.ilog2())],
            ),
        }
    }

    /// `sum + x * pitch`, in 64 bits.
    fn term(
        &mut self,
        sum: Option<Operand>,
        x: Operand,
        wide: bool,
        pitch: &Operand,
    ) -> Option<Operand> {
        let known = match pitch {
            Operand::Imm(crate::ptx::Imm::Int(n)) => Some(*n),
            _ => None,
        };
        if let (Operand::Imm(crate::ptx::Imm::Int(i)), Some(n)) = (&x, known) {
            if i * n == 0 {
                return sum;
            }
            let product = Operand::int(i * n);
            return Some(match sum {
                Some(s) => self.def(Ty::B64, isa::add(Ty::U64), [s, product]),
                None => self.def(Ty::B64, isa::mov(Ty::B64), [product]),
            });
        }
        let short = !wide && known.is_some_and(|n| (0..=i64::from(u32::MAX)).contains(&n));
        if short {
            return Some(match sum {
                Some(s) => self.def(Ty::B64, isa::mad_wide(Ty::U32), [x, pitch.clone(), s]),
                None => self.def(Ty::B64, isa::mul_wide(Ty::U32), [x, pitch.clone()]),
            });
        }
        let x = match x {
            x @ Operand::Imm(_) => x,
            x if wide => x,
            x => self.def(Ty::B64, isa::cvt(Ty::U64, Ty::U32), [x]),
        };
        Some(match sum {
            Some(s) => self.def(Ty::B64, isa::mad(Ty::U64), [x, pitch.clone(), s]),
            None => self.def(Ty::B64, isa::mul(Ty::U64), [x, pitch.clone()]),
        })
    }

    /// Origin plus the thread's offset, and whether it has 64 bits.
    pub(super) fn coordinate(&mut self, origin: Value, offset: Operand) -> (Operand, bool) {
        let wide = self.dtype(origin).bytes() == 8;
        let o = self.scalar(origin);
        let zero = |x: &Operand| *x == Operand::int(0);
        let sum = match (zero(&o), zero(&offset)) {
            (true, _) => return (offset, false),
            (_, true) => o,
            _ if wide => {
                let offset = self.def(Ty::B64, isa::cvt(Ty::U64, Ty::U32), [offset]);
                self.def(Ty::B64, isa::add(Ty::U64), [o, offset])
            }
            _ => self.def(Ty::B32, isa::add(Ty::U32), [o, offset]),
        };
        (sum, wide)
    }

    pub(super) fn address(&mut self, view: &GlobalView, dist: Option<&Dist>) -> Address {
        let name = format!("address of {}", self.kernel.params[view.param].name);
        self.holding(&name, |l| {
            let mut sum = None;
            for (axis, index, _) in &view.fixed {
                let pitch = l.pitch_in(view, *axis);
                let (x, wide) = l.coordinate(*index, Operand::int(0));
                sum = l.term(sum, x, wide, &pitch);
            }
            let mut steps = Vec::new();
            for (a, axis) in view.axes.iter().enumerate() {
                let pitch = l.pitch_in(view, axis.axis);
                let offset = match dist {
                    Some(dist) => l.thread_offset(dist, a),
                    None => Operand::int(0),
                };
                let (x, wide) = l.coordinate(axis.origin, offset);
                sum = l.term(sum, x, wide, &pitch);
                steps.push(pitch);
            }
            let pointer = l.pointer_in(view);
            let base = match sum {
                Some(s) => l.def(Ty::B64, isa::add(Ty::U64), [pointer, s]),
                None => pointer,
            };
            Address {
                base,
                steps,
                rows: BTreeMap::new(),
            }
        })
    }

    /// Register and immediate of the element at these offsets from the thread's first.
    pub(super) fn at(
        &mut self,
        view: &GlobalView,
        address: &mut Address,
        offsets: &[u32],
    ) -> Operand {
        let mut immediate = 0;
        let mut rows = vec![0; offsets.len()];
        for (a, &v) in offsets.iter().enumerate() {
            match &address.steps[a] {
                Operand::Imm(crate::ptx::Imm::Int(n)) => immediate += n * i64::from(v),
                _ => rows[a] = v,
            }
        }
        let name = format!("address of {}", self.kernel.params[view.param].name);
        let row = self.holding(&name, |l| l.row(address, &rows));
        let row = self.register(&row, Ty::B64);
        Operand::addr(row, immediate)
    }

    fn row(&mut self, address: &mut Address, at: &[u32]) -> Operand {
        if at.iter().all(|v| *v == 0) {
            return address.base.clone();
        }
        if let Some(o) = address.rows.get(at) {
            return o.clone();
        }
        // From the pointer that differs least, along one axis only; else from the base.
        let near = address
            .rows
            .iter()
            .filter_map(|(k, o)| {
                let mut moved = (0..at.len()).filter(|&a| k[a] != at[a]);
                let axis = moved.next()?;
                let step = at[axis].checked_sub(k[axis])?;
                moved.next().is_none().then(|| (step, axis, o.clone()))
            })
            .min_by_key(|(step, ..)| *step);
        let (mut from, moves): (Operand, Vec<(usize, u32)>) = match near {
            Some((step, axis, o)) => (o, vec![(axis, step)]),
            None => (
                address.base.clone(),
                at.iter().copied().enumerate().filter(|m| m.1 > 0).collect(),
            ),
        };
        for (axis, step) in moves {
            let pitch = address.steps[axis].clone();
            let bytes = if step == 1 {
                pitch
            } else if step.is_power_of_two() {
                self.def(
                    Ty::B64,
                    isa::shl(Ty::B64),
                    [pitch, Operand::int(step.ilog2())],
                )
            } else {
                self.def(Ty::B64, isa::mul(Ty::U64), [pitch, Operand::int(step)])
            };
            from = self.def(Ty::B64, isa::add(Ty::U64), [from, bytes]);
        }
        address.rows.insert(at.to_vec(), from.clone());
        from
    }
}
