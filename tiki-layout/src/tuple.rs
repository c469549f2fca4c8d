//! Nested integer tuples: the shapes, strides and coordinates of layouts.
//!
//! ```text
//!     (4,(2,3))      rank 2, depth 2, leaves 4 2 3, product 24
//!     7              rank 1, depth 0, one leaf
//!     (7)            rank 1, depth 1: a tuple of one, not the same profile as 7
//!     ()             rank 0, depth 1, no leaf, product 1
//! ```
//!
//! The *profile* of a tuple is its nesting with the numbers forgotten. Leaves are numbered from the left.

use crate::error::{Error, Result, add, mul};
use crate::inline::Inline;

/// An integer, or a tuple of tuples.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Tuple {
    /// A leaf.
    Int(i64),
    /// A (possibly empty) list of modes.
    Tuple(Vec<Tuple>),
}

impl From<i64> for Tuple {
    fn from(value: i64) -> Self {
        Tuple::Int(value)
    }
}

impl<T: Into<Tuple>, const N: usize> From<[T; N]> for Tuple {
    fn from(values: [T; N]) -> Self {
        Tuple::Tuple(values.into_iter().map(Into::into).collect())
    }
}

impl From<&[i64]> for Tuple {
    fn from(values: &[i64]) -> Self {
        values.iter().copied().collect()
    }
}

impl From<Vec<Tuple>> for Tuple {
    fn from(values: Vec<Tuple>) -> Self {
        Tuple::Tuple(values)
    }
}

impl From<&Tuple> for Tuple {
    fn from(value: &Tuple) -> Self {
        value.clone()
    }
}

impl FromIterator<i64> for Tuple {
    fn from_iter<I: IntoIterator<Item = i64>>(iter: I) -> Self {
        Tuple::Tuple(iter.into_iter().map(Tuple::Int).collect())
    }
}

impl FromIterator<Tuple> for Tuple {
    fn from_iter<I: IntoIterator<Item = Tuple>>(iter: I) -> Self {
        Tuple::Tuple(iter.into_iter().collect())
    }
}

impl Tuple {
    /// The empty tuple `()`: rank 0, product 1.
    pub fn unit() -> Self {
        Tuple::Tuple(Vec::new())
    }

    /// The integer, if this is a leaf.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Tuple::Int(value) => Some(*value),
            Tuple::Tuple(_) => None,
        }
    }

    /// Whether this is a leaf.
    pub fn is_int(&self) -> bool {
        matches!(self, Tuple::Int(_))
    }

    /// The modes. An integer is its own single mode.
    pub fn modes(&self) -> &[Tuple] {
        match self {
            Tuple::Int(_) => std::slice::from_ref(self),
            Tuple::Tuple(modes) => modes,
        }
    }

    /// Mode `index`, if there is one.
    pub fn get(&self, index: usize) -> Option<&Tuple> {
        self.modes().get(index)
    }

    /// How many modes: 1 for an integer.
    pub fn rank(&self) -> usize {
        self.modes().len()
    }

    /// How deep the nesting goes: 0 for an integer, 1 for `()`.
    pub fn depth(&self) -> usize {
        match self {
            Tuple::Int(_) => 0,
            Tuple::Tuple(modes) => 1 + modes.iter().map(Tuple::depth).max().unwrap_or(0),
        }
    }

    /// Calls `f` on every leaf from the left.
    pub fn for_each_leaf(&self, f: &mut impl FnMut(i64)) {
        match self {
            Tuple::Int(value) => f(*value),
            Tuple::Tuple(modes) => modes.iter().for_each(|mode| mode.for_each_leaf(f)),
        }
    }

    /// Whether some leaf fulfils `f`.
    pub(crate) fn any_leaf(&self, f: &mut impl FnMut(i64) -> bool) -> bool {
        match self {
            Tuple::Int(value) => f(*value),
            Tuple::Tuple(modes) => modes.iter().any(|mode| mode.any_leaf(f)),
        }
    }

    /// The leaves from the left.
    pub fn leaves(&self) -> Vec<i64> {
        let mut out = Vec::new();
        self.for_each_leaf(&mut |leaf| out.push(leaf));
        out
    }

    pub(crate) fn short_leaves(&self) -> Inline<i64, 8> {
        let mut out = Inline::new();
        self.for_each_leaf(&mut |leaf| out.push(leaf));
        out
    }

    /// How many leaves.
    pub fn leaf_count(&self) -> usize {
        match self {
            Tuple::Int(_) => 1,
            Tuple::Tuple(modes) => modes.iter().map(Tuple::leaf_count).sum(),
        }
    }

    /// The product of the leaves; 1 for `()`, 0 as soon as one leaf is 0.
    pub fn product(&self) -> Result<i64> {
        let leaves = self.short_leaves();
        if leaves.contains(&0) {
            return Ok(0);
        }
        leaves
            .iter()
            .try_fold(1, |product, leaf| mul("product", product, *leaf))
    }

    /// The sum of the leaves.
    pub fn sum(&self) -> Result<i64> {
        self.short_leaves()
            .iter()
            .try_fold(0, |sum, leaf| add("sum", sum, *leaf))
    }

    /// The largest leaf; `None` for a tuple without leaves.
    pub fn max_leaf(&self) -> Option<i64> {
        self.short_leaves().iter().copied().max()
    }

    /// The smallest leaf; `None` for a tuple without leaves.
    pub fn min_leaf(&self) -> Option<i64> {
        self.short_leaves().iter().copied().min()
    }

    /// The same profile with every leaf replaced.
    pub fn map(&self, f: &mut impl FnMut(i64) -> i64) -> Tuple {
        match self {
            Tuple::Int(value) => Tuple::Int(f(*value)),
            Tuple::Tuple(modes) => Tuple::Tuple(modes.iter().map(|mode| mode.map(f)).collect()),
        }
    }

    pub(crate) fn try_map(&self, f: &mut impl FnMut(i64) -> Result<i64>) -> Result<Tuple> {
        match self {
            Tuple::Int(value) => f(*value).map(Tuple::Int),
            Tuple::Tuple(modes) => modes.iter().map(|mode| mode.try_map(f)).collect(),
        }
    }

    /// The product of each mode as a flat tuple: `(4,(2,3))` gives `(4,6)`, `4` gives `(4)`.
    pub fn product_each(&self) -> Result<Tuple> {
        self.modes()
            .iter()
            .map(Tuple::product)
            .collect::<Result<_>>()
    }

    /// Collapses this tuple by products until it has the profile of `guide`.
    pub fn product_like(&self, guide: &Tuple) -> Result<Tuple> {
        match (self, guide) {
            (_, Tuple::Int(_)) => self.product().map(Tuple::Int),
            (Tuple::Tuple(a), Tuple::Tuple(g)) if a.len() == g.len() => {
                a.iter().zip(g).map(|(a, g)| a.product_like(g)).collect()
            }
            _ => Err(Error::Incongruent {
                op: "product_like",
                left: self.clone(),
                right: guide.clone(),
            }),
        }
    }

    /// All leaves in one tuple; an integer stays an integer.
    pub fn flatten(&self) -> Tuple {
        match self {
            Tuple::Int(_) => self.clone(),
            Tuple::Tuple(_) => self.leaves().into_iter().collect(),
        }
    }

    /// Gives the leaves of this tuple the profile of another with as many leaves.
    pub fn unflatten(&self, profile: &Tuple) -> Result<Tuple> {
        let leaves = self.short_leaves();
        if leaves.len() != profile.leaf_count() {
            return Err(Error::Mismatch {
                op: "unflatten",
                got: self.clone(),
                shape: profile.clone(),
            });
        }
        let mut next = 0;
        Ok(profile.map(&mut |_| {
            next += 1;
            leaves[next - 1]
        }))
    }

    /// An integer becomes a tuple of one.
    pub fn wrap(&self) -> Tuple {
        match self {
            Tuple::Int(_) => Tuple::Tuple(vec![self.clone()]),
            Tuple::Tuple(_) => self.clone(),
        }
    }

    /// Strips tuples of one: `((4))` gives `4`.
    pub fn unwrap(&self) -> &Tuple {
        match self {
            Tuple::Tuple(modes) if modes.len() == 1 => modes[0].unwrap(),
            _ => self,
        }
    }

    /// The same profile.
    pub fn is_congruent(&self, other: &Tuple) -> bool {
        match (self, other) {
            (Tuple::Int(_), Tuple::Int(_)) => true,
            (Tuple::Tuple(a), Tuple::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_congruent(b))
            }
            _ => false,
        }
    }

    /// The profile of `other` refines this one: every leaf of `self` stands over a sub-tree of `other`.
    pub fn is_weakly_congruent(&self, other: &Tuple) -> bool {
        match (self, other) {
            (Tuple::Int(_), _) => true,
            (Tuple::Tuple(a), Tuple::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_weakly_congruent(b))
            }
            _ => false,
        }
    }

    /// Every leaf of `self` is the size of the sub-tree of `other` under it: any coordinate of `self` is one of `other`.
    pub fn is_compatible(&self, other: &Tuple) -> bool {
        match (self, other) {
            (Tuple::Int(a), _) => other.product() == Ok(*a),
            (Tuple::Tuple(a), Tuple::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_compatible(b))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds() {
        let t = Tuple::from(vec![Tuple::Int(4), Tuple::from([2, 3])]);
        assert_eq!(
            (t.rank(), t.depth(), t.leaf_count(), t.product()),
            (2, 2, 3, Ok(24))
        );
        assert_eq!(t.product_each().unwrap(), Tuple::from([4, 6]));
        assert_eq!(t.flatten().unflatten(&t).unwrap(), t);
        assert_eq!(Tuple::unit().product(), Ok(1));
        assert_eq!(Tuple::from([i64::MAX, 3, 0]).product(), Ok(0));
        assert!(matches!(
            Tuple::from([i64::MAX, 3]).product(),
            Err(Error::Overflow { .. })
        ));
        assert_eq!(size_of::<Tuple>(), 24);
    }
}
