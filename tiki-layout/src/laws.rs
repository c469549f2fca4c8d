//! The law of each operation, as a check of every index: what the tests assert, for tests of yours.
//!
//! Each function answers `Ok(())` or the first violation.

use crate::error::{Error, Result, add};
use crate::{ENUMERATION_LIMIT, Layout, Tuple};
use std::collections::HashSet;

fn visit(op: &'static str, layout: &Layout) -> Result<()> {
    let size = layout.size();
    if size > ENUMERATION_LIMIT {
        Err(Error::TooLarge {
            op,
            size,
            limit: ENUMERATION_LIMIT,
        })
    } else {
        Ok(())
    }
}

fn equal(op: &'static str, index: i64, got: i64, want: i64) -> Result<()> {
    if got == want {
        Ok(())
    } else {
        Err(Error::NotRepresentable {
            op,
            index,
            got,
            want,
        })
    }
}

/// Same size, same offsets.
pub fn same_function(a: &Layout, r: &Layout) -> Result<()> {
    const OP: &str = "same function";
    visit(OP, a)?;
    equal(OP, 0, r.size(), a.size())?;
    (0..)
        .zip(r.offsets().zip(a.offsets()))
        .try_for_each(|(i, (got, want))| equal(OP, i, got, want))
}

/// [`Layout::coalesce`]: the same function, at most one level deep, no two neighbours that could merge.
pub fn coalesce(a: &Layout, r: &Layout) -> Result<()> {
    same_function(a, r)?;
    equal("coalesce", 0, i64::from(r.depth() <= 1), 1)?;
    let leaves = r.leaves();
    let merges = leaves
        .windows(2)
        .any(|pair| pair[0].0.checked_mul(pair[0].1) == Some(pair[1].1));
    equal("coalesce", 0, i64::from(merges), 0)
}

/// [`Layout::compose`]: the domain of `b`, and `r(c) = a(b(c))`.
pub fn composition(a: &Layout, b: &Layout, r: &Layout) -> Result<()> {
    const OP: &str = "composition";
    if !b.shape().is_compatible(r.shape()) {
        return Err(Error::Mismatch {
            op: OP,
            got: r.shape().clone(),
            shape: b.shape().clone(),
        });
    }
    visit(OP, b)?;
    (0..)
        .zip(r.offsets().zip(b.offsets()))
        .try_for_each(|(i, (got, at))| equal(OP, i, got, a.at(at)?))
}

/// [`Layout::complement`]: increasing, and apart from 0 no offset of `a`; together injective.
pub fn complement(a: &Layout, r: &Layout) -> Result<()> {
    const OP: &str = "complement";
    visit(OP, r)?;
    let mut last = -1;
    for (i, offset) in (0..).zip(r.offsets()) {
        if offset <= last {
            return Err(Error::NotRepresentable {
                op: OP,
                index: i,
                got: offset,
                want: last + 1,
            });
        }
        last = offset;
    }
    let a = a.filter()?;
    visit(OP, &a)?;
    let taken: HashSet<i64> = a.offsets().collect();
    for (i, offset) in (0..).zip(r.offsets()) {
        equal(OP, i, i64::from(offset != 0 && taken.contains(&offset)), 0)?;
    }
    let both = Layout::concat([&a, r])?;
    equal(
        OP,
        0,
        i64::from(!a.is_injective()? || both.is_injective()?),
        1,
    )
}

/// [`Layout::complement_in`]: also, whole periods of `a` reach the bound, and at most one of them beyond it. (The last
/// period may end in a gap, if strides do not divide each other.)
pub fn complement_in(a: &Layout, bound: i64, r: &Layout) -> Result<()> {
    const OP: &str = "complement";
    complement(a, r)?;
    let a = a.filter()?;
    let period = a
        .leaves()
        .iter()
        .map(|(extent, stride)| (extent * stride).max(1))
        .max()
        .unwrap_or(1);
    let reach = Layout::concat([&a, r])?.cosize();
    if add(OP, reach, period - 1)? < bound {
        return Err(Error::NotRepresentable {
            op: OP,
            index: bound,
            got: reach,
            want: bound,
        });
    }
    let limit = add(OP, bound, period)?;
    equal(OP, bound, i64::from(r.cosize() <= limit), 1)
}

/// [`Layout::right_inverse`]: `a(r(k)) = k`.
pub fn right_inverse(a: &Layout, r: &Layout) -> Result<()> {
    const OP: &str = "right inverse";
    visit(OP, r)?;
    (0..)
        .zip(r.offsets())
        .try_for_each(|(k, i)| equal(OP, k, a.at(i)?, k))
}

/// [`Layout::left_inverse`]: `a(r(a(i))) = a(i)`, and `r(a(i)) = i` if nothing is broadcast.
pub fn left_inverse(a: &Layout, r: &Layout) -> Result<()> {
    const OP: &str = "left inverse";
    visit(OP, a)?;
    let broadcast = a.filter()?.size() != a.size();
    for (i, offset) in (0..).zip(a.offsets()) {
        let back = r.at(offset)?;
        equal(OP, i, a.at(back)?, offset)?;
        if !broadcast {
            equal(OP, i, back, i)?;
        }
    }
    Ok(())
}

/// Any division: the result visits every offset of `a`, and as often if nothing was rounded up.
pub fn covers(a: &Layout, r: &Layout) -> Result<()> {
    const OP: &str = "divide";
    visit(OP, a)?;
    visit(OP, r)?;
    let (mut want, mut got): (Vec<i64>, Vec<i64>) = (a.offsets().collect(), r.offsets().collect());
    want.sort_unstable();
    got.sort_unstable();
    if want.len() == got.len() {
        return (0..)
            .zip(got.iter().zip(&want))
            .try_for_each(|(i, (got, want))| equal(OP, i, *got, *want));
    }
    let seen: HashSet<i64> = got.into_iter().collect();
    match want.iter().find(|offset| !seen.contains(offset)) {
        Some(want) => Err(Error::Unreached {
            op: OP,
            place: *want,
        }),
        None => Ok(()),
    }
}

/// Any product: copies of `a` that do not touch, if the result has as many offsets as elements.
pub fn repeats(a: &Layout, r: &Layout) -> Result<()> {
    const OP: &str = "product";
    visit(OP, r)?;
    if a.size() > 0 {
        equal(OP, 0, r.size() % a.size(), 0)?;
    }
    let offsets: HashSet<i64> = r.offsets().collect();
    match a.offsets().find(|offset| !offsets.contains(offset)) {
        Some(want) if !r.is_empty() => Err(Error::Unreached {
            op: OP,
            place: want,
        }),
        _ => Ok(()),
    }
}

/// [`Layout::logical_product`] of one mode: mode 0 is `a`, and no copy touches another.
pub fn product(a: &Layout, tiler: &Layout, r: &Layout) -> Result<()> {
    const OP: &str = "product";
    repeats(a, r)?;
    same_function(a, &r.mode(0)?)?;
    let live = |layout: &Layout| layout.filter().and_then(|layout| layout.is_injective());
    if live(a)? && live(tiler)? {
        equal(OP, 0, i64::from(r.filter()?.is_injective()?), 1)?;
    }
    Ok(())
}

/// [`Layout::tile_to_shape`]: any coordinate of the target is one of the result.
pub fn tiled_to(target: &Tuple, r: &Layout) -> Result<()> {
    if target.product_each()?.is_compatible(&r.shape().wrap()) {
        return Ok(());
    }
    Err(Error::Mismatch {
        op: "tile to shape",
        got: r.shape().clone(),
        shape: target.clone(),
    })
}
