//! Ownership: which thread holds which element, and the inverse.

use super::{Axis, Cell, Grid, Legend, Panel, Picture, class, class_key, count_axis, offsets_of};
use crate::coord::index_to_coord;
use crate::{Error, IndexMap, Layout, Tuple};
use std::collections::BTreeMap;

/// Threads and values of a map of rank 2.
pub(super) fn sides(map: &impl IndexMap) -> Result<(i64, i64), Error> {
    match map.domain().modes() {
        [threads, values] => Ok((threads.product()?, values.product()?)),
        modes => Err(Error::Rank {
            op: "ownership picture",
            got: modes.len(),
            want: 2,
        }),
    }
}

/// The owners of each offset, as `(thread, value)`.
pub(super) fn owners(map: &impl IndexMap) -> Result<BTreeMap<i64, Vec<(i64, i64)>>, Error> {
    let (threads, _) = sides(map)?;
    let mut owners: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
    for (index, offset) in offsets_of(map)?.into_iter().enumerate() {
        let index = index as i64;
        owners
            .entry(offset)
            .or_default()
            .push((index % threads, index / threads));
    }
    Ok(owners)
}

/// The cells of a tile by owner. An element that several own names the first and how many more there are.
pub(super) fn ownership_panel(
    map: &impl IndexMap,
    tile: &Tuple,
    caption: String,
    place: (usize, usize),
) -> Result<Panel, Error> {
    let owners = owners(map)?;
    let size = tile.product()?;
    if let Some((&offset, _)) = owners.iter().find(|(o, _)| !(0..size).contains(*o)) {
        return Err(Error::Coordinate {
            op: "ownership picture",
            coordinate: offset,
            extent: size,
        });
    }
    let cell = |index: i64| {
        let Some(list) = owners.get(&index) else {
            return Ok(Cell::empty());
        };
        let (thread, value) = list[0];
        let more = if list.len() > 1 {
            format!("+{}", list.len() - 1)
        } else {
            String::new()
        };
        Ok(Cell {
            text: vec![format!("T{thread}{more}"), format!("V{value}")],
            paint: class(thread),
            mark: false,
        })
    };
    Grid::of(tile)?.panel(caption, place, cell)
}

/// A thread-value map onto a tile: `map` sends (thread, value) to the 1-D index of `tile`, leftmost mode fastest.
pub fn thread_value(map: &impl IndexMap, tile: impl Into<Tuple>) -> Result<Picture, Error> {
    let tile = tile.into();
    let (threads, values) = sides(map)?;
    let panel = ownership_panel(map, &tile, format!("tile {tile}"), (0, 0))?;
    Ok(Picture {
        title: format!("owners of the elements of {tile}"),
        notes: vec![
            format!("(thread, value) -> index: {}", map.notation()),
            format!("{threads} threads, {values} values each"),
        ],
        panels: vec![panel],
        legend: thread_legend(threads),
    })
}

pub(super) fn thread_legend(threads: i64) -> Legend {
    let name = |i: i64| {
        if threads > 8 {
            format!("T mod 8 = {i}")
        } else {
            format!("T{i}")
        }
    };
    Legend {
        number: "T thread, V value of that thread; +n: n more owners".into(),
        colour: "thread".into(),
        key: class_key(threads, name),
    }
}

/// The inverse view: a row per thread, a column per value, the element's coordinate in each cell.
pub fn value_table(map: &impl IndexMap, tile: impl Into<Tuple>) -> Result<Picture, Error> {
    let tile = tile.into();
    let (threads, values) = sides(map)?;
    let offsets = offsets_of(map)?;
    let flat = Layout::col_major([threads, values])?;
    let mut cells = Vec::new();
    for thread in 0..threads {
        let mut row = Vec::new();
        for value in 0..values {
            let offset = offsets[flat.at_coord([thread, value])? as usize];
            row.push(Cell::new(
                index_to_coord(offset, &tile)?.to_string(),
                class(thread),
            ));
        }
        cells.push(row);
    }
    let panel = Panel {
        caption: map.notation(),
        rows: count_axis("thread", threads, if threads > 32 { 32 } else { 0 }),
        columns: Axis {
            rules: Vec::new(),
            ..count_axis("value", values, 0)
        },
        cells,
        place: (0, 0),
    };
    Ok(Picture {
        title: format!("elements of {tile} that each thread holds"),
        notes: vec![format!("(thread, value) -> index: {}", map.notation())],
        panels: vec![panel],
        legend: Legend {
            number: "coordinate in the tile".into(),
            ..thread_legend(threads)
        },
    })
}
