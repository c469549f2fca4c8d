//! Shared access widths, proven by enumeration: a group of `n` values is one access if, for every
//! thread, the values are all present or all absent, their offsets (after the swizzle) are consecutive,
//! and the first is a multiple of `n` elements. Run-time offsets keep this if each step is a multiple of
//! `n` and the swizzle leaves the low bits alone.

use crate::ir::visit::blocks_mut;
use crate::ir::{
    Block, Coordinates, Kernel, Op, SharedView, Steps, StmtKind, TensorType, Value, Xor,
};
use crate::report::Report;

/// Chooses every width.
pub fn run(kernel: &mut Kernel, report: &mut Report) {
    let mut body = std::mem::take(&mut kernel.body);
    block(kernel, &mut body, report);
    kernel.body = body;
}

fn block(kernel: &Kernel, stmts: &mut Block, report: &mut Report) {
    for stmt in stmts {
        let span = stmt.span;
        let found = match &mut stmt.kind {
            StmtKind::Let(v, Op::LoadShared { view, vector }) => Some(("load", *v, view, vector)),
            StmtKind::StoreShared {
                view,
                value,
                vector,
            } => Some(("store", *value, view, vector)),
            _ => None,
        };
        if let Some((verb, value, view, vector)) = found
            && let Some(tensor) = tensor_of(kernel, value)
        {
            let limit = if *vector > 1 { *vector } else { u32::MAX };
            *vector = width(kernel, tensor, view, limit);
            let bytes = *vector * tensor.dtype.bytes();
            report
                .add(
                    "shared access",
                    span,
                    &kernel.shared[view.alloc].name,
                    format!("{verb} of {} {}, {bytes} bytes", *vector, tensor.dtype),
                )
                .number("vector", (*vector).into())
                .number("bytes", bytes.into());
        }
        for inner in blocks_mut(&mut stmt.kind) {
            block(kernel, inner, report);
        }
    }
}

fn tensor_of(kernel: &Kernel, value: Value) -> Option<&TensorType> {
    kernel.values[value.0 as usize].ty.tensor()
}

/// Lowest bit a swizzle changes.
fn lowest_bit(x: Xor) -> u32 {
    if x.shift >= 0 {
        x.base
    } else {
        x.base + x.shift.unsigned_abs()
    }
}

/// Widest proven access, in elements, at most `limit`.
#[must_use]
pub fn width(kernel: &Kernel, tensor: &TensorType, view: &SharedView, limit: u32) -> u32 {
    let alloc = &kernel.shared[view.alloc];
    let bytes = tensor.dtype.bytes();
    let all = Coordinates::new(&tensor.dist, tensor.shape.len());
    let mut n = (16 / bytes).min(limit).max(1);
    n = 1 << n.ilog2();
    while n > 1 && !(alloc.align.is_multiple_of(n * bytes) && fits(tensor, &all, view, n)) {
        n /= 2;
    }
    n
}

fn fits(tensor: &TensorType, all: &Coordinates, view: &SharedView, n: u32) -> bool {
    if !all.values().is_multiple_of(n as usize) {
        return false;
    }
    let fixed = view.dynamic.is_empty();
    if !fixed {
        let steps = view
            .dynamic
            .iter()
            .all(|(_, step)| step % i64::from(n) == 0);
        let low = view
            .swizzle
            .is_none_or(|x| x.bits == 0 || 1 << lowest_bit(x) >= n);
        if !steps || !low {
            return false;
        }
    }
    let steps = Steps::new(&tensor.shape, |axis, c| view.step(axis, c));
    let place = |sum: i64| match view.swizzle {
        Some(x) if fixed => x.apply(view.offset + sum),
        _ => view.offset + sum,
    };
    let mut sums = Vec::new();
    (0..all.threads()).all(|t| {
        all.sums(&steps, t, &mut sums);
        sums.chunks(n as usize).all(|group| {
            // Where its elements are; `None` if one is not there.
            let mut places = group.iter().map(|sum| sum.map(place));
            match places.next().flatten() {
                Some(base) => {
                    let wanted = (base + 1..base + i64::from(n)).map(Some);
                    base % i64::from(n) == 0 && places.eq(wanted)
                }
                None => places.all(|p| p.is_none()),
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::ir::build::Builder;
    use crate::ir::{Digit, Dist, Mode};
    use crate::target::Target;

    fn rows(swizzle: Option<Xor>) -> (Kernel, TensorType, SharedView) {
        let mut b = Builder::new("k", Target::default_target(), 256);
        let alloc = b.shared("tile", DType::F32, 32 * 32);
        let digit = |stride| vec![Digit { extent: 32, stride }];
        let view = SharedView {
            alloc,
            axes: vec![digit(32), digit(1)],
            swizzle,
            offset: 0,
            dynamic: vec![],
            block: None,
        };
        let tensor = TensorType {
            dtype: DType::F32,
            shape: vec![32, 32],
            dist: Dist {
                threads: vec![Mode::along(1, 8, 4), Mode::along(0, 32, 1)],
                values: vec![Mode::along(1, 4, 1)],
            },
        };
        (b.finish(), tensor, view)
    }

    #[test]
    fn a_swizzle_of_single_words_breaks_vectors_and_one_of_groups_does_not() {
        let (k, t, v) = rows(None);
        assert_eq!(width(&k, &t, &v, u32::MAX), 4);
        let (k, t, v) = rows(Some(Xor {
            bits: 5,
            base: 0,
            shift: 5,
        }));
        assert_eq!(width(&k, &t, &v, u32::MAX), 1);
        let (k, t, v) = rows(Some(Xor {
            bits: 3,
            base: 2,
            shift: 3,
        }));
        assert_eq!(width(&k, &t, &v, u32::MAX), 4);
    }
}
