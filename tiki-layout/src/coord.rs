//! Coordinates, indices, and the three ways to say where an element is.
//!
//! ```text
//!     shape (4,(2,3)):   1-D 13   =   flat (1,3)   =   natural (1,(1,1))
//! ```
//!
//! An integer over a sub-tree counts its elements with the leftmost leaf fastest (colexicographic). The last leaf of a
//! sub-tree is not reduced, so that an index past the end still means something: composition and division with an
//! overhang rest on it. A negative index is read as the mirror image: `L(-i) = -L(i)`.

use crate::Tuple;
use crate::error::{Error, Result, add, mul};

/// A coordinate some of whose entries keep their mode (`_`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Coord {
    /// Keep this whole mode.
    All,
    /// One place of this mode.
    Int(i64),
    /// One entry per mode.
    Tuple(Vec<Coord>),
}

impl From<i64> for Coord {
    fn from(value: i64) -> Self {
        Coord::Int(value)
    }
}

impl From<&Tuple> for Coord {
    fn from(value: &Tuple) -> Self {
        match value {
            Tuple::Int(value) => Coord::Int(*value),
            Tuple::Tuple(modes) => Coord::Tuple(modes.iter().map(Coord::from).collect()),
        }
    }
}

impl<T: Into<Coord>, const N: usize> From<[T; N]> for Coord {
    fn from(values: [T; N]) -> Self {
        Coord::Tuple(values.into_iter().map(Into::into).collect())
    }
}

impl From<Vec<Coord>> for Coord {
    fn from(values: Vec<Coord>) -> Self {
        Coord::Tuple(values)
    }
}

impl Coord {
    /// The coordinate with every kept mode at its origin.
    pub fn origin(&self) -> Tuple {
        match self {
            Coord::All => Tuple::Int(0),
            Coord::Int(value) => Tuple::Int(*value),
            Coord::Tuple(modes) => modes.iter().map(Coord::origin).collect(),
        }
    }

    /// The entries: a single one unless this is a tuple.
    pub fn modes(&self) -> &[Coord] {
        match self {
            Coord::Tuple(modes) => modes,
            _ => std::slice::from_ref(self),
        }
    }

    fn lift(&self, tuple: &Tuple, kept: bool, out: &mut Vec<Tuple>) -> Result<()> {
        match self {
            Coord::Tuple(coords) => {
                let modes = match tuple {
                    Tuple::Tuple(modes) if modes.len() == coords.len() => modes,
                    _ => {
                        return Err(Error::Rank {
                            op: "slice",
                            got: coords.len(),
                            want: tuple.rank(),
                        });
                    }
                };
                coords
                    .iter()
                    .zip(modes)
                    .try_for_each(|(coord, mode)| coord.lift(mode, kept, out))
            }
            _ => {
                if (*self == Coord::All) == kept {
                    out.push(tuple.clone());
                }
                Ok(())
            }
        }
    }

    fn cut(&self, tuple: &Tuple, kept: bool) -> Result<Tuple> {
        match self {
            Coord::Tuple(_) => {
                let mut out = Vec::new();
                self.lift(tuple, kept, &mut out)?;
                Ok(Tuple::Tuple(out))
            }
            _ if (*self == Coord::All) == kept => Ok(tuple.clone()),
            _ => Ok(Tuple::unit()),
        }
    }

    /// The entries of `tuple` that stand over `_`, as one flat list of modes.
    pub fn slice(&self, tuple: &Tuple) -> Result<Tuple> {
        self.cut(tuple, true)
    }

    /// The entries of `tuple` that stand over an integer, as one flat list of modes.
    pub fn dice(&self, tuple: &Tuple) -> Result<Tuple> {
        self.cut(tuple, false)
    }
}

/// The offset of a coordinate: `sum of coordinate * stride` over the leaves.
pub fn coord_to_offset(coord: &Tuple, shape: &Tuple, stride: &Tuple) -> Result<i64> {
    const OP: &str = "coordinate to offset";
    match (coord, shape, stride) {
        (Tuple::Int(c), Tuple::Int(_), Tuple::Int(d)) => mul(OP, *c, *d),
        (Tuple::Int(c), Tuple::Tuple(s), Tuple::Tuple(d)) if s.len() == d.len() => {
            let (mut rest, mut offset) = (*c, 0);
            for (i, (s, d)) in s.iter().zip(d).enumerate() {
                let place = if i + 1 == shape.rank() {
                    rest
                } else {
                    split(OP, &mut rest, s.product()?)?
                };
                offset = add(OP, offset, coord_to_offset(&Tuple::Int(place), s, d)?)?;
            }
            Ok(offset)
        }
        (Tuple::Tuple(c), Tuple::Tuple(s), Tuple::Tuple(d))
            if c.len() == s.len() && s.len() == d.len() =>
        {
            let modes = c.iter().zip(s).zip(d);
            modes
                .map(|((c, s), d)| coord_to_offset(c, s, d))
                .try_fold(0, |sum, x| add(OP, sum, x?))
        }
        _ => Err(Error::Mismatch {
            op: OP,
            got: coord.clone(),
            shape: shape.clone(),
        }),
    }
}

/// Takes the digit of extent `extent` off `rest`. A negative index has the digits of its absolute value, negated.
pub(crate) fn split(op: &'static str, rest: &mut i64, extent: i64) -> Result<i64> {
    if *rest == 0 {
        return Ok(0);
    }
    if extent <= 0 {
        return Err(Error::Coordinate {
            op,
            coordinate: *rest,
            extent,
        });
    }
    let digit = *rest % extent;
    *rest /= extent;
    Ok(digit)
}

/// The 1-D index of a coordinate: its colexicographic rank in `shape`. An integer passes through unreduced.
pub fn coord_to_index(coord: &Tuple, shape: &Tuple) -> Result<i64> {
    const OP: &str = "coordinate to index";
    match (coord, shape) {
        (Tuple::Int(c), _) => Ok(*c),
        (Tuple::Tuple(c), Tuple::Tuple(s)) if c.len() == s.len() => {
            let mut index = 0;
            for (c, s) in c.iter().zip(s).rev() {
                index = add(OP, mul(OP, index, s.product()?)?, coord_to_index(c, s)?)?;
            }
            Ok(index)
        }
        _ => Err(Error::Mismatch {
            op: OP,
            got: coord.clone(),
            shape: shape.clone(),
        }),
    }
}

/// The natural coordinate of a 1-D index; the last leaf is not reduced.
pub fn index_to_coord(index: i64, shape: &Tuple) -> Result<Tuple> {
    const OP: &str = "index to coordinate";
    match shape {
        Tuple::Int(_) => Ok(Tuple::Int(index)),
        Tuple::Tuple(modes) => {
            let mut rest = index;
            let mut out = Vec::with_capacity(modes.len());
            for (i, mode) in modes.iter().enumerate() {
                let place = if i + 1 == modes.len() {
                    rest
                } else {
                    split(OP, &mut rest, mode.product()?)?
                };
                out.push(index_to_coord(place, mode)?);
            }
            Ok(Tuple::Tuple(out))
        }
    }
}

/// The coordinate of an *offset* in a compact layout: `(offset / stride) % extent` at each leaf, 0 where the extent is 1.
pub fn offset_to_coord(offset: i64, shape: &Tuple, stride: &Tuple) -> Result<Tuple> {
    const OP: &str = "offset to coordinate";
    match (shape, stride) {
        (Tuple::Int(1), Tuple::Int(_)) => Ok(Tuple::Int(0)),
        (Tuple::Int(s), Tuple::Int(d)) => {
            if *d == 0 || *s <= 0 {
                return Err(Error::NotPositive {
                    op: OP,
                    what: "an extent or stride",
                    got: (*d).min(*s),
                });
            }
            let place = offset.checked_div(*d).ok_or(Error::Overflow {
                op: OP,
                left: offset,
                right: *d,
            })?;
            Ok(Tuple::Int(place % s))
        }
        (Tuple::Tuple(s), Tuple::Tuple(d)) if s.len() == d.len() => s
            .iter()
            .zip(d)
            .map(|(s, d)| offset_to_coord(offset, s, d))
            .collect(),
        (Tuple::Tuple(s), Tuple::Int(_)) => {
            let mut step = stride.clone();
            let mut out = Vec::with_capacity(s.len());
            for mode in s {
                out.push(offset_to_coord(offset, mode, &step)?);
                step = Tuple::Int(mul(OP, step.product()?, mode.product()?)?);
            }
            Ok(Tuple::Tuple(out))
        }
        _ => Err(Error::Incongruent {
            op: OP,
            left: shape.clone(),
            right: stride.clone(),
        }),
    }
}

/// The same place in another shape of the same size.
pub fn coord_to_coord(coord: &Tuple, from: &Tuple, to: &Tuple) -> Result<Tuple> {
    match (coord, from, to) {
        (Tuple::Tuple(c), Tuple::Tuple(f), Tuple::Tuple(t))
            if c.len() == f.len() && f.len() == t.len() =>
        {
            c.iter()
                .zip(f)
                .zip(t)
                .map(|((c, f), t)| coord_to_coord(c, f, t))
                .collect()
        }
        _ => {
            if from.product()? != to.product()? {
                return Err(Error::Mismatch {
                    op: "coordinate to coordinate",
                    got: from.clone(),
                    shape: to.clone(),
                });
            }
            index_to_coord(coord_to_index(coord, from)?, to)
        }
    }
}
