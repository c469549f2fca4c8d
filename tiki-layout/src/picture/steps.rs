//! Compositions and tilings, step by step.

use super::{
    Cell, Grid, Key, Legend, Paint, Picture, class, class_key, level, named, offsets_of, span,
};
use crate::{Error, Layout, Tiler};
use std::collections::BTreeMap;

/// `R = A o B`: B, then A with the elements that B picks, then R. An element has one colour through all three: its
/// place in the order of B.
pub fn composition(a: &Layout, b: &Layout) -> Result<Picture, Error> {
    let result = a.compose(b)?;
    let picks = offsets_of(b)?;
    let count = picks.len() as i64;
    let mut by_index: BTreeMap<i64, i64> = BTreeMap::new();
    for (index, order) in picks.iter().zip(0..) {
        by_index.entry(*index).or_insert(order);
    }
    let shade = |order: i64| level(order, 0, (count - 1).max(1));
    let inner = Grid::of(b.shape())?.panel(format!("B = {b}"), (0, 0), |i| {
        Ok(Cell::new(b.at(i)?.to_string(), shade(i)))
    })?;
    let outer = Grid::of(a.shape())?.panel(format!("A = {a}"), (0, 1), |i| {
        let paint = by_index.get(&i).map_or(Paint::Empty, |order| shade(*order));
        Ok(Cell {
            mark: paint != Paint::Empty,
            ..Cell::new(a.at(i)?.to_string(), paint)
        })
    })?;
    let composed = Grid::of(result.shape())?.panel(format!("A o B = {result}"), (0, 2), |i| {
        Ok(Cell::new(result.at(i)?.to_string(), shade(i)))
    })?;
    Ok(Picture {
        title: format!("{a} o {b} = {result}"),
        notes: vec!["B gives an index of A, A gives the offset at that index".into()],
        panels: vec![inner, outer, composed],
        legend: Legend {
            number: "B: index of A; A and A o B: offset; outlined: picked by B".into(),
            colour: "place in the order of B".into(),
            key: Key::Ramp(0, (count - 1).max(0)),
        },
    })
}

/// A layout cut into tiles: the layout, the number of the tile that each element is in, and the zipped division with
/// the rest down and the tile across. An element keeps the colour of its tile.
pub fn tiling(a: &Layout, tiler: impl Into<Tiler>) -> Result<Picture, Error> {
    let tiler = tiler.into();
    let divided = a.zipped_divide(&tiler)?;
    // The same division of the indices says which tile an index of A is in.
    let indices = Layout::col_major(a.shape().clone())?.zipped_divide(&tiler)?;
    let tile = indices.mode(0)?.size();
    let mut home = BTreeMap::new();
    for (i, index) in offsets_of(&indices)?.into_iter().enumerate() {
        home.entry(index)
            .or_insert((i as i64 / tile, i as i64 % tile));
    }
    let tiles = divided.mode(1)?.size();
    let offsets = offsets_of(a)?;
    let (low, high) = span(&offsets);
    let grid = Grid::of(a.shape())?;
    let paint = |index: i64| {
        home.get(&index)
            .map_or(Paint::Empty, |(tile, _)| class(*tile))
    };
    let first = grid.panel(format!("A = {a}"), (0, 0), |i| {
        Ok(Cell::new(a.at(i)?.to_string(), paint(i)))
    })?;
    let second = grid.panel(format!("tile and place in it, by {tiler}"), (0, 1), |i| {
        let Some((tile, place)) = home.get(&i) else {
            return Ok(Cell::empty());
        };
        Ok(Cell {
            text: vec![tile.to_string(), format!(".{place}")],
            paint: class(*tile),
            mark: false,
        })
    })?;
    // The rest down and the tile across: there are usually more elements in a tile than tiles.
    let third = divided.transpose()?;
    let third =
        Grid::of(third.shape())?.panel(format!("(tile,rest) = {divided}"), (1, 0), |i| {
            Ok(Cell::new(third.at(i)?.to_string(), class(i % tiles)))
        })?;
    let third = named(third, "rest", "tile");
    Ok(Picture {
        title: format!("{a} divided by {tiler}"),
        notes: vec![format!(
            "{tiles} tiles of {tile} elements, offsets {low}..={high}"
        )],
        panels: vec![first, second, third],
        legend: Legend {
            number: "offset; in the second panel: tile .place".into(),
            colour: "tile".into(),
            key: class_key(tiles, |i| {
                if tiles > 8 {
                    format!("tile mod 8 = {i}")
                } else {
                    format!("tile {i}")
                }
            }),
        },
    })
}
