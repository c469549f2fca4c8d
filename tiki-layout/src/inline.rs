//! A list that lives on the stack while it is short.
//!
//! The flat lists of modes that the algebra works on have one to eight entries nearly always; [`Inline`] keeps those
//! without touching the heap, and moves to a `Vec` beyond.

use std::ops::{Deref, DerefMut};

#[derive(Clone, Debug)]
pub(crate) enum Inline<T, const N: usize> {
    Short([T; N], usize),
    Long(Vec<T>),
}

impl<T: Copy + Default, const N: usize> Inline<T, N> {
    pub(crate) fn new() -> Self {
        Inline::Short([T::default(); N], 0)
    }

    pub(crate) fn push(&mut self, value: T) {
        match self {
            Inline::Short(items, len) if *len < N => {
                items[*len] = value;
                *len += 1;
            }
            Inline::Short(items, _) => {
                let mut long = Vec::with_capacity(2 * N);
                long.extend_from_slice(&items[..]);
                long.push(value);
                *self = Inline::Long(long);
            }
            Inline::Long(items) => items.push(value),
        }
    }
}

impl<T, const N: usize> Deref for Inline<T, N> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        match self {
            Inline::Short(items, len) => &items[..*len],
            Inline::Long(items) => items,
        }
    }
}

impl<T, const N: usize> DerefMut for Inline<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Inline::Short(items, len) => &mut items[..*len],
            Inline::Long(items) => items,
        }
    }
}

impl<T: Copy + Default, const N: usize> FromIterator<T> for Inline<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        let mut list = Self::new();
        for value in iter {
            list.push(value);
        }
        list
    }
}

/// One flat mode: an extent and its stride.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) extent: i64,
    pub(crate) stride: i64,
}

/// The leaves of a layout, leftmost (fastest) first.
pub(crate) type Modes = Inline<Mode, 8>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_past_the_stack() {
        let mut list: Inline<i64, 4> = (0..4).collect();
        assert!(matches!(list, Inline::Short(..)));
        list.push(4);
        assert!(matches!(list, Inline::Long(_)));
        assert_eq!(&list[..], &[0, 1, 2, 3, 4]);
    }
}
