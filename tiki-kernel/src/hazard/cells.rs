//! The cells of a shared access: which thread touches which element.
//!
//! A tile has thousands, a loop is walked twice and each access is held against several others, so the elements are kept
//! as a set of bits too: most questions are answered by that alone.

use super::offsets::Offsets;
use crate::ir::{Coordinates, SharedView, Steps};

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

/// What each of these threads touches of a tensor that is dealt to them, and which of the dealt parts is theirs.
pub(super) fn dealt(
    view: &SharedView,
    shape: &[u32],
    all: &Coordinates,
    threads: impl Iterator<Item = (usize, usize)>,
) -> Vec<(u32, i64)> {
    let steps = Steps::new(shape, |axis, c| view.step(axis, c));
    let mut cells = Vec::with_capacity(threads.size_hint().1.unwrap_or(0) * all.values());
    for (thread, part) in threads {
        let offsets = (0..all.values()).filter_map(|value| all.sum(&steps, part, value));
        cells.extend(offsets.map(|at| (thread as u32, view.offset + at)));
    }
    cells
}

/// The offsets of all elements of a view, the last axis fastest.
pub(super) fn all_of(view: &SharedView) -> Vec<i64> {
    let steps = Steps::new(&view.shape(), |axis, c| view.step(axis, c));
    let mut offsets = vec![view.offset];
    for axis in steps.axes() {
        let along = |at: i64| axis.iter().map(move |step| at + step);
        offsets = offsets.into_iter().flat_map(along).collect();
    }
    offsets
}
