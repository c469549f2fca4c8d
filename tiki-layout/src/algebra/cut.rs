//! Division in one go: the case of nearly every kernel, without layouts in between.
//!
//! The law is that of [`divide`](super::divide): `A o (T, complement(T, size A))`. Written out it makes five layouts and
//! checks each; here the gaps of the tile are found among its leaves, both parts walk over the leaves of `A`, and only
//! the answer is made (and checked, by who asked). Whatever is out of the ordinary is declined with `None` and left to
//! the written-out way: empty modes, tiles that leave places out, walks that are not exact, numbers out of range. So no
//! refusal comes from here.

use super::coalesce::{coalesce_extended, coalesce_flat};
use super::complement::{gaps_between, live_modes};
use super::compose::{Walk, tuples};
use crate::error::div_up;
use crate::inline::{Mode, Modes};
use crate::layout::collect;
use crate::{Tiler, Tuple};

/// A shape and its stride.
pub(super) type Part = (Tuple, Tuple);

/// Two parts as the modes of one.
pub(super) fn pair(a: Part, b: Part) -> Part {
    (Tuple::Tuple(vec![a.0, b.0]), Tuple::Tuple(vec![a.1, b.1]))
}

/// The logical division.
pub(super) fn logical(shape: &Tuple, stride: &Tuple, tiler: &Tiler) -> Option<Part> {
    match tiler {
        Tiler::Keep => Some((shape.clone(), stride.clone())),
        Tiler::Layout(tile) => tile_and_rest(shape, stride, tile.shape(), tile.stride())
            .map(|(tile, rest)| pair(tile, rest)),
        Tiler::Modes(tilers) => {
            let rank = shape.rank();
            let (mut shapes, mut strides) = (Vec::with_capacity(rank), Vec::with_capacity(rank));
            for_modes(shape, stride, tilers, |shape, stride, tiler| {
                let (shape, stride) = match tiler {
                    Some(tiler) => logical(shape, stride, tiler)?,
                    None => (shape.clone(), stride.clone()),
                };
                shapes.push(shape);
                strides.push(stride);
                Some(())
            })?;
            Some((Tuple::Tuple(shapes), Tuple::Tuple(strides)))
        }
    }
}

/// The zipped division: tiles, and rests.
pub(super) fn zipped(shape: &Tuple, stride: &Tuple, tiler: &Tiler) -> Option<(Part, Part)> {
    match tiler {
        Tiler::Keep => Some((
            (Tuple::Int(1), Tuple::Int(0)),
            (shape.clone(), stride.clone()),
        )),
        Tiler::Layout(tile) => tile_and_rest(shape, stride, tile.shape(), tile.stride()),
        Tiler::Modes(tilers) => {
            let list = Vec::with_capacity;
            let (mut tile_shapes, mut tile_strides) = (list(tilers.len()), list(tilers.len()));
            let (mut rest_shapes, mut rest_strides) = (list(shape.rank()), list(shape.rank()));
            for_modes(shape, stride, tilers, |shape, stride, tiler| {
                let rest = match tiler {
                    Some(tiler) => {
                        let (tile, rest) = zipped(shape, stride, tiler)?;
                        tile_shapes.push(tile.0);
                        tile_strides.push(tile.1);
                        rest
                    }
                    None => (shape.clone(), stride.clone()),
                };
                rest_shapes.push(rest.0);
                rest_strides.push(rest.1);
                Some(())
            })?;
            Some((
                (Tuple::Tuple(tile_shapes), Tuple::Tuple(tile_strides)),
                (Tuple::Tuple(rest_shapes), Tuple::Tuple(rest_strides)),
            ))
        }
    }
}

/// Every mode with its tiler, if it has one.
fn for_modes(
    shape: &Tuple,
    stride: &Tuple,
    tilers: &[Tiler],
    mut f: impl FnMut(&Tuple, &Tuple, Option<&Tiler>) -> Option<()>,
) -> Option<()> {
    if tilers.len() > shape.rank() {
        return None;
    }
    let modes = shape.modes().iter().zip(stride.modes());
    modes
        .enumerate()
        .try_for_each(|(i, (shape, stride))| f(shape, stride, tilers.get(i)))
}

/// The elements of one tile, and the way from tile to tile.
fn tile_and_rest(
    shape: &Tuple,
    stride: &Tuple,
    tile_shape: &Tuple,
    tile_stride: &Tuple,
) -> Option<(Part, Part)> {
    let (mut all, mut tile) = (Modes::new(), Modes::new());
    collect(shape, stride, &mut all);
    collect(tile_shape, tile_stride, &mut tile);
    if all.iter().chain(tile.iter()).any(|mode| mode.extent == 0) {
        return None;
    }
    let rest = rest(&all, &tile)?;
    let over = coalesce_extended(&all).ok()?;
    let mut walk = Walk::over(&over);
    let tile = walk.tree(tile_shape, tile_stride).ok()?;
    let rest = match rest[..] {
        [] => walk.leaf(1, 0).map(|modes| tuples(&modes)).ok()?,
        [only] => walk
            .leaf(only.extent, only.stride)
            .map(|modes| tuples(&modes))
            .ok()?,
        _ => {
            let (mut shapes, mut strides) = (
                Vec::with_capacity(rest.len()),
                Vec::with_capacity(rest.len()),
            );
            for mode in rest.iter() {
                let (shape, stride) = tuples(&walk.leaf(mode.extent, mode.stride).ok()?);
                shapes.push(shape);
                strides.push(stride);
            }
            (Tuple::Tuple(shapes), Tuple::Tuple(strides))
        }
    };
    walk.holds().then_some((tile, rest))
}

/// What repeats `tile` until it fills the places that `all` numbers.
fn rest(all: &[Mode], tile: &[Mode]) -> Option<Modes> {
    let bounds = coalesce_flat(all).ok()?;
    let mut gaps = gaps_between(&live_modes("divide", tile).ok()?).ok()?;
    if gaps.unreached.is_some() {
        return None;
    }
    // The bound divided by what one copy fills, each mode rounded up: what is left of the divisor goes on to the next.
    let (mut copies, mut left) = (1_i64, gaps.below);
    for mode in bounds.iter() {
        copies = copies.checked_mul(div_up(mode.extent, left))?;
        left = div_up(left, mode.extent);
    }
    if bounds.is_empty() {
        copies = div_up(1, gaps.below);
    }
    gaps.modes.push(Mode {
        extent: copies,
        stride: gaps.below,
    });
    let rest = coalesce_flat(&gaps.modes).ok()?;
    if bounds.len() > 1 {
        // Rounding up mode by mode can come out short.
        let want = bounds
            .iter()
            .try_fold(1_i64, |size, mode| size.checked_mul(mode.extent))?;
        let got = tile
            .iter()
            .chain(rest.iter())
            .try_fold(1_i64, |reach, mode| {
                reach.checked_add((mode.extent - 1).checked_mul(mode.stride.checked_abs()?)?)
            })?;
        if got < want {
            return None;
        }
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;
    use crate::algebra::divide::unzip;
    use arbtest::arbitrary::{Result, Unstructured};

    fn layout(u: &mut Unstructured<'_>, rank: usize) -> Result<Layout> {
        let mut modes = Vec::new();
        let mut step = 1;
        for _ in 0..u.int_in_range(1..=rank)? {
            let extent = *u.choose(&[0, 1, 1, 2, 2, 3, 4, 4, 6, 8, 64])?;
            let wild = *u.choose(&[0, 1, 2, 3, 8, 24, -1, i64::MAX])?;
            let stride = if u.ratio(1, 4)? { wild } else { step };
            step *= extent.max(1);
            modes.push((extent, stride));
        }
        let leaf = |(extent, stride): (i64, i64)| Layout::new(extent, stride);
        let modes: Vec<Layout> = modes
            .into_iter()
            .filter_map(|mode| leaf(mode).ok())
            .collect();
        let cut = u.int_in_range(0..=modes.len())?;
        let flat = Layout::concat(&modes);
        let nested = Layout::concat(&modes[..cut])
            .and_then(|front| Layout::concat(std::iter::once(&front).chain(&modes[cut..])));
        let either = if u.arbitrary()? { flat } else { nested };
        Ok(either.unwrap_or_else(|_| Layout::new(8, 1).expect("a layout")))
    }

    fn tiler(u: &mut Unstructured<'_>, depth: usize) -> Result<Tiler> {
        Ok(match u.int_in_range(0..=6)? {
            0 => Tiler::Keep,
            1 => Tiler::Layout(layout(u, 3)?),
            2..=4 if depth > 0 => Tiler::Modes(
                (0..u.int_in_range(0..=3)?)
                    .map(|_| tiler(u, depth - 1))
                    .collect::<Result<_>>()?,
            ),
            _ => Tiler::Layout(Layout::new(*u.choose(&[1, 2, 3, 4, 16])?, 1).expect("a tile")),
        })
    }

    /// Invariant: what is answered in one go is what the written-out law answers; it is declined at most where that
    /// refuses, has no layout to walk over, or visits indices. Witness: the layout and the tiler.
    #[test]
    fn in_one_go_as_written_out() {
        let (answered, refused) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        arbtest::arbtest(|u| {
            let (a, by) = (layout(u, 4)?, tiler(u, 2)?);
            let slow = a.divide_by(&by);
            let quick = logical(a.shape(), a.stride(), &by)
                .and_then(|(shape, stride)| Layout::from_parts(shape, stride).ok());
            let zipped = zipped(a.shape(), a.stride(), &by).map(|(tile, rest)| pair(tile, rest));
            match (quick, slow) {
                (Some(quick), Ok(slow)) => {
                    assert_eq!(quick, slow, "{a} / {by}");
                    let (shape, stride) = zipped.unwrap_or_else(|| panic!("{a} / {by} unzipped"));
                    let (tile, rest) = unzip(slow, &by).expect("two parts");
                    let want = Layout::regroup(vec![tile, rest]);
                    assert_eq!(
                        (&shape, &stride),
                        (want.shape(), want.stride()),
                        "{a} / {by}"
                    );
                    answered.set(answered.get() + 1);
                }
                (Some(quick), Err(error)) => panic!("{a} / {by} = {quick}, but {error}"),
                (None, _) => refused.set(refused.get() + 1),
            }
            Ok(())
        })
        .budget_ms(1_000);
        let (answered, refused) = (answered.get(), refused.get());
        assert!(
            answered > refused / 2,
            "{answered} answered, {refused} declined"
        );
    }
}
