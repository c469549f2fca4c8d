//! Strided index maps whose extents and strides may be run-time values: global tensors as a kernel sees them.
//!
//! Semantics: coordinate `(c0, c1, ..)` with `0 <= ci < extent i` has the offset `c0*stride0 + c1*stride1 + ..` in
//! elements. Modes are flat; a mode of a nested layout is one row here per leaf.
//!
//! What the compiler asks, and what it rests on:
//! - in bounds: each coordinate against its own extent;
//! - 32-bit offsets: the least and the largest offset of the whole map fit 32 bits unsigned;
//! - vector width: `n` elements along one mode start at a multiple of `n` and stay in one row. That needs a stride of
//!   1 along the mode, `n` dividing the mode's extent, every other stride, and the offset where the view starts.

use super::{Answer, Expr, Facts, Precondition, Predicate, SymError};

/// Extents and strides, one per mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strided {
    shape: Vec<Expr>,
    stride: Vec<Expr>,
}

/// The widest access that was proven, and what stopped the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorWidth {
    /// Elements per access: a power of two, at least 1.
    pub elements: u64,
    /// The first condition of the next wider access that does not hold, and its state. `None`: the limit was reached.
    pub blocked_by: Option<(Predicate, Precondition)>,
}

impl Strided {
    /// A map with the given extents and strides.
    pub fn new(shape: Vec<Expr>, stride: Vec<Expr>) -> Result<Strided, SymError> {
        if shape.len() != stride.len() {
            return Err(SymError::Rank {
                left: shape.len(),
                right: stride.len(),
            });
        }
        Ok(Strided { shape, stride })
    }

    /// The map of a dense tensor whose last mode is contiguous.
    pub fn row_major(shape: Vec<Expr>) -> Strided {
        let mut stride = vec![Expr::Int(1); shape.len()];
        for mode in (1..shape.len()).rev() {
            stride[mode - 1] = stride[mode].clone() * shape[mode].clone();
        }
        Strided { shape, stride }
    }

    /// The extents.
    pub fn shape(&self) -> &[Expr] {
        &self.shape
    }

    /// The strides.
    pub fn stride(&self) -> &[Expr] {
        &self.stride
    }

    /// The number of coordinates.
    pub fn size(&self) -> Expr {
        Expr::Product(self.shape.clone())
    }

    /// The offset of a coordinate.
    pub fn offset(&self, coordinate: &[Expr]) -> Result<Expr, SymError> {
        if coordinate.len() != self.stride.len() {
            return Err(SymError::Rank {
                left: self.stride.len(),
                right: coordinate.len(),
            });
        }
        Ok(Expr::Sum(
            coordinate
                .iter()
                .zip(&self.stride)
                .map(|(c, d)| c.clone() * d.clone())
                .collect(),
        ))
    }

    /// The offset of the last coordinate: the largest one when no stride is negative.
    pub fn last_offset(&self) -> Expr {
        Expr::Sum(
            self.shape
                .iter()
                .zip(&self.stride)
                .map(|(s, d)| (s.clone() - 1) * d.clone())
                .collect(),
        )
    }

    /// Whether the coordinate is inside of the shape at all admissible assignments.
    pub fn in_bounds(&self, facts: &Facts, coordinate: &[Expr]) -> Result<Answer, SymError> {
        if coordinate.len() != self.shape.len() {
            return Err(SymError::Rank {
                left: self.shape.len(),
                right: coordinate.len(),
            });
        }
        Ok(coordinate
            .iter()
            .zip(&self.shape)
            .fold(Answer::Proven, |all, (c, s)| {
                all.and(facts.le(0, c.clone()))
                    .and(facts.lt(c.clone(), s.clone()))
            }))
    }

    /// Whether every offset, times `scale` (bytes per element, or 1), fits 32 bits unsigned. Empty maps fit.
    pub fn fits_u32(&self, facts: &Facts, scale: i64) -> Answer {
        let empty = self
            .shape
            .iter()
            .any(|s| facts.le(s.clone(), 0).is_proven());
        if empty {
            return Answer::Proven;
        }
        let forward = self
            .stride
            .iter()
            .fold(Answer::Proven, |all, d| all.and(facts.le(0, d.clone())));
        if forward != Answer::Proven {
            return Answer::Open;
        }
        // With extents that may be 0 the last offset may be negative although no element exists: ask the upper end.
        match facts.le(self.last_offset() * scale, i64::from(u32::MAX)) {
            // Too large is certain only if there is an element.
            Answer::Refuted
                if self
                    .shape
                    .iter()
                    .any(|s| !facts.le(1, s.clone()).is_proven()) =>
            {
                Answer::Open
            }
            answer => answer,
        }
    }

    /// The widest power-of-two access along `mode`, up to `limit` elements, for a view that starts at `start`.
    pub fn vector_width(
        &self,
        facts: &Facts,
        mode: usize,
        start: &Expr,
        limit: u64,
    ) -> Result<VectorWidth, SymError> {
        if mode >= self.shape.len() {
            return Err(SymError::Rank {
                left: self.shape.len(),
                right: mode,
            });
        }
        let mut elements: u64 = 1;
        while let Some(next) = elements.checked_mul(2).filter(|n| *n <= limit) {
            if let Some(blocked_by) = self.first_obstacle(facts, mode, start, next) {
                return Ok(VectorWidth {
                    elements,
                    blocked_by: Some(blocked_by),
                });
            }
            elements = next;
        }
        Ok(VectorWidth {
            elements,
            blocked_by: None,
        })
    }

    fn first_obstacle(
        &self,
        facts: &Facts,
        mode: usize,
        start: &Expr,
        n: u64,
    ) -> Option<(Predicate, Precondition)> {
        let contiguous = Predicate::Eq(self.stride[mode].clone(), Expr::Int(1));
        let extent = Predicate::Divides(self.shape[mode].clone(), n);
        let others = self.stride.iter().enumerate().filter(|(m, _)| *m != mode);
        let aligned = others.map(|(_, d)| Predicate::Divides(d.clone(), n));
        let start = Predicate::Divides(start.clone(), n);
        [contiguous, extent]
            .into_iter()
            .chain(aligned)
            .chain([start])
            .find_map(|condition| {
                let state = facts.require(&condition);
                (state != Precondition::Holds).then_some((condition, state))
            })
    }
}
