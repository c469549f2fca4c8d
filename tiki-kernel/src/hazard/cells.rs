//! The cells of a shared access: which thread touches which element.
//!
//! A tile has thousands, a loop is walked twice and each access is held against several others, so the elements are kept
//! as a set of bits too: most questions are answered by that alone.

use super::offsets::Offsets;
use crate::ir::{Coordinates, SharedView};

/// Pairs of a thread and an element's offset.
pub(super) struct Cells {
    list: Vec<(u32, i64)>,
    elements: Offsets,
}

impl Cells {
    pub(super) fn of(list: Vec<(u32, i64)>) -> Cells {
        let elements = list.iter().map(|c| c.1).collect();
        Cells { list, elements }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, i64)> {
        self.list.iter().copied()
    }

    /// The elements.
    pub(super) fn elements(&self) -> &Offsets {
        &self.elements
    }
}

/// What each index along each axis adds to the offset of an element of a view, for a tensor of this shape.
fn steps(view: &SharedView, shape: &[u32]) -> Vec<Vec<i64>> {
    let of = |axis: usize, n: u32| (0..n).map(move |c| view.step(axis, c)).collect();
    let axes = shape.iter().enumerate();
    axes.map(|(axis, n)| of(axis, *n)).collect()
}

/// What each of these threads touches of a tensor that is dealt to them.
pub(super) fn dealt(
    view: &SharedView,
    shape: &[u32],
    all: &Coordinates,
    threads: impl Iterator<Item = (usize, usize)>,
) -> Vec<(u32, i64)> {
    let steps = steps(view, shape);
    let mut cells = Vec::with_capacity(threads.size_hint().1.unwrap_or(0) * all.values());
    for (thread, dealt_as) in threads {
        let base = all.of_thread(dealt_as);
        for value in 0..all.values() {
            let mut axes = steps.iter().zip(base).zip(all.of_value(value));
            // Past the end along an axis there is nothing.
            let offset = axes.try_fold(view.offset, |sum, ((steps, a), b)| {
                Some(sum + steps.get((a + b) as usize)?)
            });
            cells.extend(offset.map(|at| (thread as u32, at)));
        }
    }
    cells
}

/// The offsets of all elements of a view, the last axis fastest.
pub(super) fn all_of(view: &SharedView) -> Vec<i64> {
    let mut offsets = vec![view.offset];
    for axis in steps(view, &view.shape()) {
        let along = |at: i64| axis.iter().map(move |step| at + step);
        offsets = offsets.into_iter().flat_map(along).collect();
    }
    offsets
}
