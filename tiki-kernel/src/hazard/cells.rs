//! The cells of a shared access: which thread touches which element.
//!
//! A tile has thousands, a loop is walked twice and each access is held against several others, so the elements are kept
//! as a set of bits too: most questions are answered by that alone.

use super::offsets::Offsets;
use crate::ir::{Coordinates, SharedView, Steps, Xor};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::rc::Rc;

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

/// Who is there, and how what they touch is moved.
#[derive(PartialEq)]
pub(super) struct Moves {
    pub(super) threads: Vec<bool>,
    /// Elements, for each thread.
    pub(super) by: Vec<i64>,
    pub(super) swizzle: Option<Xor>,
}

/// The cells that were made of each view last: a loop is walked twice, and they are the same as a rule.
#[derive(Default)]
pub(super) struct Made<'a> {
    last: HashMap<*const SharedView, (Moves, Rc<Cells>)>,
    views: PhantomData<&'a SharedView>,
}

impl<'a> Made<'a> {
    /// The cells of a view, which stays where it is; `cells` are those that are not moved yet.
    pub(super) fn of(
        &mut self,
        view: &'a SharedView,
        moves: Moves,
        cells: impl FnOnce() -> Vec<(u32, i64)>,
    ) -> Rc<Cells> {
        let last = self.last.get(&std::ptr::from_ref(view));
        if let Some((_, cells)) = last.filter(|(last, _)| *last == moves) {
            return Rc::clone(cells);
        }
        let mut list = cells();
        for (t, at) in &mut list {
            *at += moves.by[*t as usize];
            if let Some(x) = moves.swizzle {
                *at = x.apply(*at);
            }
        }
        let cells = Rc::new(Cells::of(list));
        self.last.insert(view, (moves, Rc::clone(&cells)));
        cells
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
    let mut sums = Vec::new();
    for (thread, part) in threads {
        all.sums(&steps, part, &mut sums);
        for at in sums.iter().flatten() {
            cells.push((thread as u32, view.offset + at));
        }
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
