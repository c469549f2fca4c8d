//! What each picture of the gallery must show, from the definitions and not from the code that draws: plain arithmetic on
//! rows and columns.

use std::collections::BTreeMap;
use tiki_layout::picture::{LEVELS, Paint};

/// What a cell shows.
pub type Shown = (Vec<String>, Paint);

/// One panel: its size and its cells.
pub struct Expected {
    pub rows: usize,
    pub columns: usize,
    pub cell: Box<dyn Fn(usize, usize) -> Shown>,
}

fn panel(rows: usize, columns: usize, cell: impl Fn(usize, usize) -> Shown + 'static) -> Expected {
    Expected {
        rows,
        columns,
        cell: Box::new(cell),
    }
}

/// A step of the ramp from 0 to `high`.
fn level(value: usize, high: usize) -> Paint {
    Paint::Level((value * usize::from(LEVELS - 1) / high.max(1)) as u8)
}

/// Offsets with a ramp up to the largest.
fn offsets(rows: usize, columns: usize, offset: fn(usize, usize) -> usize) -> Expected {
    let high = (0..rows)
        .flat_map(|i| (0..columns).map(move |j| offset(i, j)))
        .max()
        .unwrap_or(0);
    panel(rows, columns, move |i, j| {
        (vec![offset(i, j).to_string()], level(offset(i, j), high))
    })
}

/// Owners by a formula for the (thread, value) of a coordinate.
fn owners(rows: usize, columns: usize, owner: fn(usize, usize) -> (usize, usize)) -> Expected {
    panel(rows, columns, move |i, j| {
        let (t, v) = owner(i, j);
        (
            vec![format!("T{t}"), format!("V{v}")],
            Paint::Class((t % 8) as u8),
        )
    })
}

/// Three bits of the offset in colour.
fn bits(rows: usize, columns: usize, low: u32, offset: fn(usize, usize) -> usize) -> Expected {
    panel(rows, columns, move |i, j| {
        let o = offset(i, j);
        (vec![o.to_string()], Paint::Class((o >> low & 7) as u8))
    })
}

/// Lanes by banks: `address` gives the first byte of a lane. Words are served in ascending order within their bank.
fn banks(width: usize, per_phase: usize, address: fn(usize) -> usize) -> Expected {
    let mut shown: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for first in (0..32).step_by(per_phase) {
        let lanes = first..first + per_phase;
        for lane in lanes.clone() {
            for word in address(lane) / 4..(address(lane) + width) / 4 {
                let mut before: Vec<usize> = lanes
                    .clone()
                    .flat_map(|l| address(l) / 4..(address(l) + width) / 4)
                    .filter(|w| w % 32 == word % 32 && *w < word)
                    .collect();
                before.sort_unstable();
                before.dedup();
                shown.insert((lane, word % 32), before.len());
            }
        }
    }
    panel(32, 32, move |lane, bank| match shown.get(&(lane, bank)) {
        Some(wave) => (vec![(wave + 1).to_string()], Paint::Wave(*wave as u16)),
        None => (Vec::new(), Paint::Empty),
    })
}

/// Bits 6 to 8 of an element offset XORed onto bits 3 to 5.
fn sw333(x: usize) -> usize {
    x ^ (x >> 3 & 0b111_000)
}

/// m16n8 accumulators: lane = 4*(row mod 8) + column/2; values 0, 1 in row g, values 2, 3 in row g + 8.
fn accumulator16x8(i: usize, j: usize) -> (usize, usize) {
    (4 * (i % 8) + j / 2, 2 * (i / 8) + j % 2)
}

/// m64 accumulators of a warpgroup: a warp per 16 rows, then as above for each 8 columns.
fn accumulator64(i: usize, j: usize) -> (usize, usize) {
    (
        32 * (i / 16) + 4 * (i % 8) + j % 8 / 2,
        4 * (j / 8) + 2 * (i % 16 / 8) + j % 2,
    )
}

pub fn of(name: &str) -> Option<Vec<Expected>> {
    Some(match name {
        "index_2x2" => vec![offsets(2, 2, |i, j| i + 2 * j)],
        "index_row_major_8x8" => vec![offsets(8, 8, |i, j| 8 * i + j)],
        "index_nested_8x8" => vec![offsets(8, 8, |i, j| {
            i % 2 + 8 * (i / 2) + 2 * (j % 2) + 16 * (j / 2)
        })],
        "index_swizzled_8x64" => vec![offsets(8, 64, |i, j| sw333(64 * i + j))],
        "index_32x32" => vec![offsets(32, 32, |i, j| 32 * i + (j ^ i))],
        "index_tiled_64x64" => vec![offsets(64, 64, |i, j| {
            8 * (i % 8) + 512 * (i / 8) + j % 8 + 64 * (j / 8)
        })],
        "index_128x128" => vec![offsets(128, 128, |i, j| {
            i % 16 + 2048 * (i / 16) + 16 * (j % 16) + 256 * (j / 16)
        })],
        "swizzle_8x8" => vec![
            bits(8, 8, 0, |i, j| 8 * i + j),
            bits(8, 8, 0, |i, j| 8 * i + (j ^ i)),
        ],
        "swizzle_units_8x64" => vec![
            bits(8, 64, 3, |i, j| 64 * i + j),
            bits(8, 64, 3, |i, j| sw333(64 * i + j)),
        ],
        // Rows of 128: the row's low three bits onto the 16-element unit.
        "swizzle_128x128" => vec![
            bits(128, 128, 4, |i, j| 128 * i + j),
            bits(128, 128, 4, |i, j| 128 * i + (j ^ (i % 8 * 16))),
        ],
        "banks_column" => vec![banks(4, 32, |lane| 128 * lane)],
        "banks_padded" => vec![banks(4, 32, |lane| 132 * lane)],
        "banks_matrix_plain" => vec![banks(16, 8, |lane| 2 * (64 * (lane % 8) + 8 * (lane / 8)))],
        "banks_matrix_swizzled" => vec![banks(16, 8, |lane| {
            2 * sw333(64 * (lane % 8) + 8 * (lane / 8))
        })],
        "owners_accumulator" => vec![owners(16, 8, accumulator16x8)],
        "values_accumulator" => vec![panel(32, 4, |t, v| {
            let (row, column) = (t / 4 + 8 * (v / 2), 2 * (t % 4) + v % 2);
            (
                vec![format!("({row},{column})")],
                Paint::Class((t % 8) as u8),
            )
        })],
        // Eight elements of a row per thread, eight threads per row.
        "owners_copy_32x64" => vec![owners(32, 64, |i, j| (8 * i + j / 8, j % 8))],
        "fragments_m16n8k16" => vec![
            owners(16, 8, |k, n| (4 * n + k % 8 / 2, 2 * (k / 8) + k % 2)),
            owners(16, 16, |m, k| {
                (4 * (m % 8) + k % 8 / 2, 4 * (k / 8) + 2 * (m / 8) + k % 2)
            }),
            owners(16, 8, accumulator16x8),
        ],
        "fragments_m16n8k8_tf32" => vec![
            owners(8, 8, |k, n| (4 * n + k % 4, k / 4)),
            owners(16, 8, |m, k| (4 * (m % 8) + k % 4, m / 8 + 2 * (k / 4))),
            owners(16, 8, accumulator16x8),
        ],
        "accumulator_m64n32" => vec![owners(64, 32, accumulator64)],
        "accumulator_m64n128" => vec![owners(64, 128, accumulator64)],
        "composition_steps" => composition(),
        "tiling_8x16" => tiling(
            8,
            16,
            |i, j| (i / 4 + 2 * (j / 8), i % 4 + 4 * (j % 8)),
            4,
            32,
        ),
        "tiling_strided_6x8" => tiling(
            6,
            8,
            |i, j| (i % 3 + 3 * (j % 2), i / 3 + 2 * (j / 2)),
            6,
            8,
        ),
        _ => return None,
    })
}

/// A = (6,4):(4,1) and B = (3,4):(2,6): B(i,j) = 2i + 6j is row 2i of column j of A, whose offset is 8i + j.
fn composition() -> Vec<Expected> {
    let order = |i: usize, j: usize| level(i + 3 * j, 11);
    vec![
        panel(3, 4, move |i, j| {
            (vec![(2 * i + 6 * j).to_string()], order(i, j))
        }),
        panel(6, 4, move |i, j| {
            (
                vec![(4 * i + j).to_string()],
                if i % 2 == 0 {
                    order(i / 2, j)
                } else {
                    Paint::Empty
                },
            )
        }),
        panel(3, 4, move |i, j| {
            (vec![(8 * i + j).to_string()], order(i, j))
        }),
    ]
}

/// A row-major tile whose coordinates lie in `(tile, place)`.
fn tiling(
    rows: usize,
    columns: usize,
    home: fn(usize, usize) -> (usize, usize),
    tiles: usize,
    tile: usize,
) -> Vec<Expected> {
    let paint = move |i, j| Paint::Class((home(i, j).0 % 8) as u8);
    let mut by_home = BTreeMap::new();
    for i in 0..rows {
        for j in 0..columns {
            assert!(
                by_home.insert(home(i, j), columns * i + j).is_none(),
                "two elements in one place"
            );
        }
    }
    vec![
        panel(rows, columns, move |i, j| {
            (vec![(columns * i + j).to_string()], paint(i, j))
        }),
        panel(rows, columns, move |i, j| {
            let (t, p) = home(i, j);
            (vec![t.to_string(), format!(".{p}")], paint(i, j))
        }),
        panel(tiles, tile, move |t, p| {
            (
                vec![by_home[&(t, p)].to_string()],
                Paint::Class((t % 8) as u8),
            )
        }),
    ]
}
