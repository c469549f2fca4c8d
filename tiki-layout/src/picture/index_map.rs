//! The index map: the offset of every coordinate.

use super::{Cell, Grid, Key, Legend, Picture, level, offsets_of, span};
use crate::{Error, IndexMap};

/// Mode 0 down, the other modes across; the number is the offset, the colour runs with it from dark to bright.
pub fn index_map(map: &impl IndexMap) -> Result<Picture, Error> {
    let offsets = offsets_of(map)?;
    let (low, high) = span(&offsets);
    let grid = Grid::of(map.domain())?;
    let cell = |i: i64| {
        let offset = offsets[i as usize];
        Ok(Cell::new(offset.to_string(), level(offset, low, high)))
    };
    Ok(Picture {
        title: map.notation(),
        notes: vec![format!("size {}, offsets {low}..={high}", offsets.len())],
        panels: vec![grid.panel(map.notation(), (0, 0), cell)?],
        legend: Legend {
            number: "offset".into(),
            colour: "offset".into(),
            key: Key::Ramp(low, high),
        },
    })
}
