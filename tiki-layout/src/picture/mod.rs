//! Pictures of layouts: what is in each cell, before any pixel.
//!
//! # Semantics
//! A [`Picture`] is a title, notes in layout notation, one or more [`Panel`]s placed on a small board, and a [`Legend`].
//! A panel is a grid of cells with a coordinate for every row and column; a cell has lines of text, a [`Paint`] and
//! a mark. Every picture says what its numbers are and what its colours mean.
//!
//! The functions below make pictures from the algebra; [`Picture::to_text`] prints one for a terminal, and the feature
//! `plot` draws it as SVG or PNG. The same cells are behind all three, so a test that holds the cells against the algebra
//! holds all three.
//!
//! ```
//! # use tiki_layout::{Layout, picture};
//! let rows = Layout::parse("(2,4):(4,1)").unwrap();
//! let text = picture::index_map(&rows).unwrap().to_text(false);
//! assert!(text.contains("0 | 0 1 2 3"));
//! assert!(text.contains("1 | 4 5 6 7"));
//! ```

mod bank_map;
mod fragment;
mod index_map;
mod steps;
mod swizzle;
mod text;
mod thread_value;

pub use bank_map::bank_map;
pub use fragment::{fragments, warpgroup_accumulator};
pub use index_map::index_map;
pub use steps::{composition, tiling};
pub use swizzle::swizzle_compare;
pub use thread_value::{thread_value, value_table};

use crate::coord::index_to_coord;
use crate::{Error, IndexMap, Tuple};

/// Most cells of one panel.
pub const MAX_CELLS: i64 = 1 << 16;
/// Distinct class colours.
pub const CLASSES: u8 = 8;
/// Steps of the ramp.
pub const LEVELS: u8 = 64;

/// What a cell's colour stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Paint {
    /// Nothing is there.
    Empty,
    /// One of [`CLASSES`] kinds.
    Class(u8),
    /// A step of a ramp, `0..LEVELS`, dark to bright.
    Level(u8),
    /// Served in this wavefront: 0 is free of conflicts, later ones are conflicts.
    Wave(u16),
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Lines of text: most important first.
    pub text: Vec<String>,
    /// The colour.
    pub paint: Paint,
    /// Whether it is outlined.
    pub mark: bool,
}

impl Cell {
    fn new(text: impl Into<String>, paint: Paint) -> Cell {
        Cell {
            text: vec![text.into()],
            paint,
            mark: false,
        }
    }

    fn empty() -> Cell {
        Cell {
            text: Vec::new(),
            paint: Paint::Empty,
            mark: false,
        }
    }
}

/// The rows or the columns of a panel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What the coordinate is.
    pub name: String,
    /// The coordinate of each row or column.
    pub labels: Vec<String>,
    /// Rows or columns before which a heavy line stands: the borders of inner modes or tiles.
    pub rules: Vec<usize>,
}

/// A grid of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panel {
    /// What is shown, in layout notation where it is a layout.
    pub caption: String,
    /// Down.
    pub rows: Axis,
    /// Across.
    pub columns: Axis,
    /// Row after row.
    pub cells: Vec<Vec<Cell>>,
    /// Row and column of the board.
    pub place: (usize, usize),
}

/// What colours mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// Kinds with names.
    Classes(Vec<(u8, String)>),
    /// A ramp between two values.
    Ramp(i64, i64),
    /// Wavefronts up to this number.
    Waves(u16),
}

/// What numbers and colours mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Legend {
    /// What the text of a cell is.
    pub number: String,
    /// What the colour of a cell is.
    pub colour: String,
    /// The colours.
    pub key: Key,
}

/// Panels with a title and a legend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// One line.
    pub title: String,
    /// Further lines: layouts, counts, verdicts.
    pub notes: Vec<String>,
    /// The grids.
    pub panels: Vec<Panel>,
    /// The meaning of numbers and colours.
    pub legend: Legend,
}

/// How a domain is spread over a grid: mode 0 down, all other modes across; a single mode across.
struct Grid {
    rows: i64,
    columns: i64,
    row_axis: Axis,
    column_axis: Axis,
}

impl Grid {
    fn of(shape: &Tuple) -> Result<Grid, Error> {
        let size = shape.product()?;
        if size > MAX_CELLS {
            return Err(Error::TooLarge {
                op: "picture",
                size,
                limit: MAX_CELLS,
            });
        }
        let (down, across): (Option<Tuple>, Tuple) = match shape.modes() {
            [_] | [] => (None, shape.clone()),
            [first, second] => (Some(first.clone()), second.clone()),
            [first, rest @ ..] => (Some(first.clone()), Tuple::Tuple(rest.to_vec())),
        };
        let (row_name, column_name) = match shape.modes().len() {
            0 | 1 => ("", "mode 0"),
            2 => ("mode 0", "mode 1"),
            _ => ("mode 0", "modes 1.."),
        };
        let row_axis = match &down {
            Some(mode) => axis(row_name, mode)?,
            None => Axis {
                name: String::new(),
                labels: vec![String::new()],
                rules: Vec::new(),
            },
        };
        let column_axis = axis(column_name, &across)?;
        Ok(Grid {
            rows: row_axis.labels.len() as i64,
            columns: column_axis.labels.len() as i64,
            row_axis,
            column_axis,
        })
    }

    /// Fills a panel; `cell` gets the 1-D index.
    fn panel(
        &self,
        caption: String,
        place: (usize, usize),
        cell: impl Fn(i64) -> Result<Cell, Error>,
    ) -> Result<Panel, Error> {
        let row = |r: i64| (0..self.columns).map(|c| cell(r + self.rows * c)).collect();
        let cells = (0..self.rows).map(row).collect::<Result<_, Error>>()?;
        Ok(Panel {
            caption,
            rows: self.row_axis.clone(),
            columns: self.column_axis.clone(),
            cells,
            place,
        })
    }
}

/// Names the axes of a panel.
fn named(mut panel: Panel, rows: &str, columns: &str) -> Panel {
    panel.rows.name = rows.to_owned();
    panel.columns.name = columns.to_owned();
    panel
}

/// Coordinates of one mode in its own nesting, with rules between the blocks of its innermost leaf.
fn axis(name: &str, mode: &Tuple) -> Result<Axis, Error> {
    let size = mode.product()?;
    let labels = (0..size)
        .map(|i| Ok(index_to_coord(i, mode)?.to_string()))
        .collect::<Result<Vec<_>, Error>>()?;
    let leaves = mode.leaves();
    let inner = leaves
        .first()
        .copied()
        .filter(|inner| leaves.len() > 1 && *inner > 1 && *inner < size);
    let rules = inner.map_or(Vec::new(), |inner| {
        (1..size / inner).map(|i| (i * inner) as usize).collect()
    });
    Ok(Axis {
        name: name.to_owned(),
        labels,
        rules,
    })
}

/// Plain numbers as coordinates.
fn count_axis(name: &str, size: i64, step: i64) -> Axis {
    let rules = if step > 0 {
        (1..size)
            .filter(|i| i % step == 0)
            .map(|i| i as usize)
            .collect()
    } else {
        Vec::new()
    };
    Axis {
        name: name.to_owned(),
        labels: (0..size).map(|i| i.to_string()).collect(),
        rules,
    }
}

/// The step of a ramp for a value between two others.
fn level(value: i64, low: i64, high: i64) -> Paint {
    let span = i128::from(high) - i128::from(low);
    let at = i128::from(value) - i128::from(low);
    let step = if span <= 0 {
        0
    } else {
        at * i128::from(LEVELS - 1) / span
    };
    Paint::Level(step.clamp(0, i128::from(LEVELS - 1)) as u8)
}

/// One of the class colours, for a number of any size.
fn class(number: i64) -> Paint {
    Paint::Class(number.rem_euclid(i64::from(CLASSES)) as u8)
}

/// Names of all class colours that a number takes: at most `count` of them.
fn class_key(count: i64, name: impl Fn(i64) -> String) -> Key {
    Key::Classes(
        (0..count.clamp(1, i64::from(CLASSES)))
            .map(|i| (i as u8, name(i)))
            .collect(),
    )
}

/// Smallest and largest offset.
fn span(offsets: &[i64]) -> (i64, i64) {
    (
        offsets.iter().min().copied().unwrap_or(0),
        offsets.iter().max().copied().unwrap_or(0),
    )
}

/// All offsets of a map whose size a picture can hold.
fn offsets_of(map: &impl IndexMap) -> Result<Vec<i64>, Error> {
    let size = map.count()?;
    if size > MAX_CELLS {
        return Err(Error::TooLarge {
            op: "picture",
            size,
            limit: MAX_CELLS,
        });
    }
    map.all_offsets()
}
