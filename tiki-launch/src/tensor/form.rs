//! Shapes and strides as plain slices: sizes, row-major order, and which views can share an element.
//!
//! Strides are in elements and never negative. Axis 0 is the outermost.

/// Elements of a shape, if they can be counted.
pub(crate) fn count(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))
}

/// Row-major strides.
pub(crate) fn row_major<const R: usize>(shape: &[usize; R]) -> [usize; R] {
    let mut strides = [1usize; R];
    for i in (0..R.saturating_sub(1)).rev() {
        strides[i] = strides[i + 1].wrapping_mul(shape[i + 1].max(1));
    }
    strides
}

/// Whether elements lie in row-major order without gaps; the stride of an axis of extent 1 does not matter.
#[inline]
pub(crate) fn is_row_major(shape: &[usize], strides: &[usize]) -> bool {
    let mut expected = 1;
    for (&extent, &stride) in shape.iter().zip(strides).rev() {
        if extent != 1 {
            if stride != expected {
                return shape.contains(&0);
            }
            expected *= extent;
        }
    }
    true
}

/// Elements from the first to the last, both included; 0 if there are none.
#[inline]
pub(crate) fn span(shape: &[usize], strides: &[usize]) -> usize {
    let mut last = 0;
    for (&extent, &stride) in shape.iter().zip(strides) {
        if extent == 0 {
            return 0;
        }
        last += (extent - 1) * stride;
    }
    last + 1
}

/// Where a view lies in its buffer, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent<'a> {
    pub offset: u64,
    pub element: u64,
    pub shape: &'a [usize],
    pub strides: &'a [usize],
}

impl Extent<'_> {
    /// Bytes from the first to the last.
    pub fn bytes(&self) -> u64 {
        span(self.shape, self.strides) as u64 * self.element
    }
    fn axes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.shape
            .iter()
            .zip(self.strides)
            .filter(|&(&extent, _)| extent > 1)
            .map(|(&extent, &stride)| (extent as u64, stride as u64 * self.element))
    }
}

/// Whether two views of one buffer provably share no byte.
///
/// They do if their ranges are apart, or if there is a pitch P such that every longer step of either
/// is a multiple of P, and the shorter steps keep each inside its own part of the pitch. That covers
/// column slices of one matrix and packed projections; what it cannot prove counts as shared.
pub(crate) fn disjoint(a: Extent<'_>, b: Extent<'_>) -> bool {
    let (a_bytes, b_bytes) = (a.bytes(), b.bytes());
    if a_bytes == 0
        || b_bytes == 0
        || a.offset + a_bytes <= b.offset
        || b.offset + b_bytes <= a.offset
    {
        return true;
    }
    let mut pitches = a
        .axes()
        .chain(b.axes())
        .map(|(_, step)| step)
        .filter(|&step| step > 0);
    pitches.any(|pitch| {
        let part = |view: Extent<'_>| {
            let mut inner = view.element;
            for (extent, step) in view.axes() {
                if step < pitch {
                    inner += (extent - 1) * step;
                } else if step % pitch != 0 {
                    return None;
                }
            }
            let start = view.offset % pitch;
            (start + inner <= pitch).then_some((start, start + inner))
        };
        match (part(a), part(b)) {
            (Some(a), Some(b)) => a.1 <= b.0 || b.1 <= a.0,
            _ => false,
        }
    })
}

/// Whether two coordinates of one view can reach the same element (conservatively).
#[inline]
pub(crate) fn reaches_twice(shape: &[usize], strides: &[usize]) -> bool {
    if is_row_major(shape, strides) {
        return false;
    }
    // In order of stride, each step must clear everything the smaller ones span.
    let mut cleared = 0;
    let mut reach = 0;
    for _ in 0..shape.len() {
        let next = shape
            .iter()
            .zip(strides)
            .enumerate()
            .filter(|&(i, (&extent, _))| extent > 1 && cleared & (1u64 << i) == 0)
            .min_by_key(|&(_, (_, &stride))| stride);
        let Some((i, (&extent, &stride))) = next else {
            break;
        };
        if stride <= reach {
            return true;
        }
        cleared |= 1 << i;
        reach += (extent - 1) * stride;
    }
    false
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn offsets(shape: &[usize], strides: &[usize]) -> Vec<usize> {
        let mut all = vec![0];
        for (&extent, &stride) in shape.iter().zip(strides) {
            all = all
                .iter()
                .flat_map(|&at| (0..extent).map(move |i| at + i * stride))
                .collect();
        }
        all
    }

    /// Invariant: what is called disjoint shares no byte, and what is said not to reach twice does not.
    /// Witness: brute force over small views; the cases below show that useful ones are proven.
    #[test]
    fn proofs_agree_with_brute_force() {
        let mut seed = 1u64;
        let mut draw = |n: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        let mut proven = 0;
        for _ in 0..20_000 {
            let mut view = || {
                let shape: Vec<usize> = (0..2).map(|_| draw(4) as usize).collect();
                let strides: Vec<usize> = (0..2).map(|_| draw(9) as usize).collect();
                (draw(20), shape, strides)
            };
            let ((ao, a, at), (bo, b, bt)) = (view(), view());
            let bytes = |o: u64, shape: &[usize], strides: &[usize]| -> HashSet<u64> {
                offsets(shape, strides)
                    .into_iter()
                    .flat_map(|i| [o + 2 * i as u64, o + 2 * i as u64 + 1])
                    .collect()
            };
            let x = Extent {
                offset: ao,
                element: 2,
                shape: &a,
                strides: &at,
            };
            let y = Extent {
                offset: bo,
                element: 2,
                shape: &b,
                strides: &bt,
            };
            if disjoint(x, y) {
                proven += 1;
                assert!(
                    bytes(ao, &a, &at).is_disjoint(&bytes(bo, &b, &bt)),
                    "{x:?} {y:?}"
                );
            }
            let all = offsets(&a, &at);
            let distinct: HashSet<_> = all.iter().collect();
            if !reaches_twice(&a, &at) {
                assert_eq!(distinct.len(), all.len(), "{x:?}");
            }
        }
        assert!(proven > 1000);
    }

    #[test]
    fn column_slices_and_packed_projections_are_apart() {
        let half = |offset| Extent {
            offset,
            element: 4,
            shape: &[8, 16],
            strides: &[32, 1],
        };
        assert!(disjoint(half(0), half(64)) && !disjoint(half(0), half(60)));
        // [batch, token, head, dim] inside [batch, token, 3, head, dim]
        let part = |i: u64| Extent {
            offset: i * 512,
            element: 2,
            shape: &[2, 5, 4, 64],
            strides: &[3840, 768, 64, 1],
        };
        assert!(
            disjoint(part(0), part(1)) && disjoint(part(1), part(2)) && !disjoint(part(1), part(1))
        );
    }

    #[test]
    fn row_major_ignores_axes_of_one() {
        assert!(is_row_major(&[4, 1, 3], &[3, 99, 1]) && !is_row_major(&[4, 3], &[1, 4]));
        assert!(is_row_major(&[0, 3], &[7, 7]) && is_row_major(&[], &[]));
        assert_eq!(row_major(&[2, 3, 4]), [12, 4, 1]);
        assert!(reaches_twice(&[4, 3], &[0, 1]) && !reaches_twice(&[4, 3], &[1, 4]));
    }
}
