//! A swizzle before and after.

use super::{CLASSES, Cell, Grid, Legend, Picture, class, class_key};
use crate::{Composed, Error, Layout, Swizzle};

/// The same tile twice, first without and then with the swizzle, side by side or, if it is wide, one below the other. The number is the offset; the colour is the part of
/// the offset that the swizzle rewrites (its low field), so a column of one colour before is a column of all colours
/// after.
pub fn swizzle_compare(tile: &Layout, swizzle: Swizzle) -> Result<Picture, Error> {
    let after = Composed::new(swizzle, 0, tile.clone())?;
    let grid = Grid::of(tile.shape())?;
    let low = swizzle.z_mask().trailing_zeros().min(62);
    let fields = 1i64 << swizzle.bits().min(62);
    let paint = |offset: i64| class((offset >> low) % fields);
    let plain = |i: i64| tile.at(i).map(|o| Cell::new(o.to_string(), paint(o)));
    let moved = |i: i64| {
        let (before, after) = (tile.at(i)?, after.at(i)?);
        Ok(Cell {
            mark: before != after,
            ..Cell::new(after.to_string(), paint(after))
        })
    };
    let bits = |mask: i64| match mask {
        0 => "none".to_owned(),
        mask => format!("{}..={}", mask.trailing_zeros(), 63 - mask.leading_zeros()),
    };
    let field = format!("bits {} of the offset", bits(swizzle.z_mask()));
    let name = |i: i64| {
        if fields > i64::from(CLASSES) {
            format!("{i} mod 8")
        } else {
            i.to_string()
        }
    };
    Ok(Picture {
        title: format!("{swizzle} on {tile}"),
        notes: vec![format!(
            "bits {} are XORed onto bits {}",
            bits(swizzle.y_mask()),
            bits(swizzle.z_mask())
        )],
        panels: vec![
            grid.panel(format!("before: {tile}"), (0, 0), plain)?,
            grid.panel(
                format!("after: {after}"),
                if grid.columns > 2 * grid.rows {
                    (1, 0)
                } else {
                    (0, 1)
                },
                moved,
            )?,
        ],
        legend: Legend {
            number: "offset; outlined: moved".into(),
            colour: field,
            key: class_key(fields, name),
        },
    })
}
