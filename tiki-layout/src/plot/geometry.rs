//! Where everything stands, in pixels.
//!
//! ```text
//!     title
//!     notes
//!     caption
//!           0  1  2      column coordinates
//!       0  [ ][ ][ ]
//!       1  [ ][ ][ ]     row coordinates at the left
//!     legend
//! ```
//!
//! A character of text is 6 by 8 pixels times its scale. The level of detail is the largest that keeps the board within
//! its width: text at scale 3, 2 or 1, colour only.

use crate::picture::{Panel, Picture};

/// Widest and highest board with text at scale 3.
const HUGE_WIDTH: i32 = 520;
/// Widest and highest board with text at scale 2.
const LARGE_WIDTH: i32 = 1000;
/// Widest and highest board with text at scale 1.
const SMALL_WIDTH: i32 = 2000;
/// Longest side of a panel without text.
const COLOUR_SIDE: i32 = 1024;
const MARGIN: i32 = 16;
/// Width of a character at scale 1.
pub const CHAR_WIDTH: i32 = 6;
/// Height of a line at scale 1.
pub const LINE_HEIGHT: i32 = 10;

/// What is drawn in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Text at this scale.
    Text(i32),
    /// Colour only.
    Colour,
}

/// A rectangle: left, top, width, height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rect {
    /// Left edge.
    pub x: i32,
    /// Top edge.
    pub y: i32,
    /// Width.
    pub w: i32,
    /// Height.
    pub h: i32,
}

/// Where a panel stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Left end of the caption's first line.
    pub caption_at: (i32, i32),
    /// The caption, wrapped.
    pub caption: Vec<String>,
    /// The top left corner of cell (0, 0).
    pub origin: (i32, i32),
    /// Width and height of a cell.
    pub cell: (i32, i32),
    /// Rows between two labelled rows, columns between two labelled columns.
    pub label_steps: (usize, usize),
}

impl Placed {
    /// The whole of a cell, borders included.
    pub fn cell_at(&self, row: usize, column: usize) -> Rect {
        let (w, h) = self.cell;
        Rect {
            x: self.origin.0 + column as i32 * w,
            y: self.origin.1 + row as i32 * h,
            w,
            h,
        }
    }
}

/// The whole picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    /// Width and height.
    pub size: (u32, u32),
    /// The level of detail of all panels.
    pub detail: Detail,
    /// The title, wrapped, and its scale.
    pub title: (Vec<String>, i32),
    /// The notes, wrapped.
    pub notes: Vec<String>,
    /// The panels, in the order of the picture.
    pub panels: Vec<Placed>,
    /// The first line of the legend.
    pub legend_y: i32,
    /// Left edge of everything.
    pub left: i32,
}

impl Board {
    /// The board of a picture.
    pub fn of(picture: &Picture) -> Board {
        for (scale, limit) in [(3, HUGE_WIDTH), (2, LARGE_WIDTH), (1, SMALL_WIDTH)] {
            let detail = Detail::Text(scale);
            let board = Board::at(picture, detail);
            if board.panels_fit(picture, limit) {
                return board;
            }
        }
        Board::at(picture, Detail::Colour)
    }

    fn panels_fit(&self, picture: &Picture, limit: i32) -> bool {
        let end = |(placed, panel): (&Placed, &Panel)| {
            let (w, h) = placed.cell;
            (placed.origin.0 + columns(panel) * w)
                .max(placed.origin.1 + panel.cells.len() as i32 * h)
        };
        self.panels
            .iter()
            .zip(&picture.panels)
            .map(end)
            .max()
            .unwrap_or(0)
            <= limit
    }

    fn at(picture: &Picture, detail: Detail) -> Board {
        let cells: Vec<(i32, i32)> = cell_sizes(picture, detail);
        let margins: Vec<i32> = picture.panels.iter().map(row_label_width).collect();
        let grid_width = |i: usize| margins[i] + columns(&picture.panels[i]) * cells[i].0;
        // Columns of the board are as wide as their widest panel, and wide enough for a readable caption.
        let board_columns = 1 + picture.panels.iter().map(|p| p.place.1).max().unwrap_or(0);
        let board_rows = 1 + picture.panels.iter().map(|p| p.place.0).max().unwrap_or(0);
        let mut widths = vec![0; board_columns];
        // A panel alone in its row of the board may span the columns of the others.
        let alone = |i: usize| {
            picture
                .panels
                .iter()
                .filter(|p| p.place.0 == picture.panels[i].place.0)
                .count()
                == 1
        };
        let spans = |i: usize| alone(i) && board_columns > 1 && picture.panels[i].place.1 == 0;
        for (i, panel) in picture
            .panels
            .iter()
            .enumerate()
            .filter(|(i, _)| !spans(*i))
        {
            let caption = (panel.caption.chars().count() as i32 * CHAR_WIDTH).min(260);
            let slot = &mut widths[panel.place.1];
            *slot = (*slot).max(grid_width(i)).max(caption);
        }
        let gap = 24;
        let inner = widths.iter().sum::<i32>() + gap * (board_columns as i32 - 1);
        let spanning = (0..picture.panels.len())
            .filter(|i| spans(*i))
            .map(grid_width)
            .max()
            .unwrap_or(0);
        let width = inner.max(420).max(spanning);
        let title_scale = if text_width(&picture.title, 2) <= width {
            2
        } else {
            1
        };
        let title = wrap(
            &picture.title,
            (width / (CHAR_WIDTH * title_scale)) as usize,
        );
        let notes: Vec<String> = picture
            .notes
            .iter()
            .flat_map(|n| wrap(n, (width / CHAR_WIDTH) as usize))
            .collect();
        let mut y = MARGIN + title.len() as i32 * (LINE_HEIGHT * title_scale + 2) + 4;
        y += notes.len() as i32 * (LINE_HEIGHT + 2) + 8;
        let mut panels: Vec<Option<Placed>> = vec![None; picture.panels.len()];
        for board_row in 0..board_rows {
            let members: Vec<usize> = (0..picture.panels.len())
                .filter(|i| picture.panels[*i].place.0 == board_row)
                .collect();
            let captions: Vec<Vec<String>> = members
                .iter()
                .map(|i| {
                    let room = if spans(*i) {
                        width
                    } else {
                        widths[picture.panels[*i].place.1]
                    };
                    wrap(&picture.panels[*i].caption, (room / CHAR_WIDTH) as usize)
                })
                .collect();
            let caption_lines = captions.iter().map(Vec::len).max().unwrap_or(0) as i32;
            let head = caption_lines * LINE_HEIGHT + 4 + 2 * LINE_HEIGHT + 4;
            let mut bottom = y;
            for (i, caption) in members.into_iter().zip(captions) {
                let panel = &picture.panels[i];
                let x = MARGIN
                    + widths[..panel.place.1].iter().sum::<i32>()
                    + gap * panel.place.1 as i32;
                // Panels below one another share the left edge of their cells: operands line up with the result.
                let margin = (0..margins.len())
                    .filter(|j| picture.panels[*j].place.1 == panel.place.1)
                    .map(|j| margins[j])
                    .max()
                    .unwrap_or(0);
                let origin = (x + margin, y + head);
                panels[i] = Some(Placed {
                    caption_at: (x, y),
                    caption,
                    origin,
                    cell: cells[i],
                    label_steps: label_steps(panel, cells[i]),
                });
                bottom = bottom.max(origin.1 + panel.cells.len() as i32 * cells[i].1);
            }
            y = bottom + 16;
        }
        let width = width.max(
            widths.iter().sum::<i32>()
                + gap * (board_columns as i32 - 1)
                + margins.iter().max().unwrap_or(&0),
        );
        let legend_lines = super::draw::legend_rows(picture, width);
        let height = y + legend_lines * (LINE_HEIGHT + 6) + MARGIN;
        Board {
            size: ((width + 2 * MARGIN) as u32, height as u32),
            detail,
            title: (title, title_scale),
            notes,
            panels: panels.into_iter().flatten().collect(),
            legend_y: y,
            left: MARGIN,
        }
    }
}

fn columns(panel: &Panel) -> i32 {
    panel.columns.labels.len() as i32
}

/// The width of a text.
pub fn text_width(text: &str, scale: i32) -> i32 {
    text.chars().count() as i32 * CHAR_WIDTH * scale
}

/// Room for row coordinates, and for the axis name if there are rows to name.
fn row_label_width(panel: &Panel) -> i32 {
    let longest = panel
        .rows
        .labels
        .iter()
        .map(|l| text_width(l, 1))
        .max()
        .unwrap_or(0);
    longest.max(text_width(&panel.rows.name, 1) + 2 * CHAR_WIDTH) + 6
}

/// One cell size for all panels: what the longest text needs; square if there is no text.
fn cell_sizes(picture: &Picture, detail: Detail) -> Vec<(i32, i32)> {
    let Detail::Text(scale) = detail else {
        let board_columns = picture
            .panels
            .iter()
            .map(|p| p.place.1 + 1)
            .max()
            .unwrap_or(1) as i32;
        let side = picture
            .panels
            .iter()
            .map(|p| (columns(p) * board_columns).max(p.cells.len() as i32));
        let side = side.max().unwrap_or(1);
        let side = (COLOUR_SIDE / side.max(1)).clamp(4, 16);
        return vec![(side, side); picture.panels.len()];
    };
    let cells = || picture.panels.iter().flat_map(|p| p.cells.iter().flatten());
    let longest = cells()
        .flat_map(|c| &c.text)
        .map(|t| text_width(t, scale))
        .max()
        .unwrap_or(0);
    let lines = cells().map(|c| c.text.len()).max().unwrap_or(1).max(1) as i32;
    let labels = picture
        .panels
        .iter()
        .flat_map(|p| &p.columns.labels)
        .map(|l| text_width(l, 1))
        .max()
        .unwrap_or(0);
    let height = lines * 10 * scale + 4 + 2 * scale;
    let width = (longest + 4 + 2 * scale)
        .max((labels + 4).min(44))
        .max(height);
    vec![(width, height); picture.panels.len()]
}

/// Every how many rows and columns a coordinate fits.
fn label_steps(panel: &Panel, (w, h): (i32, i32)) -> (usize, usize) {
    let longest = panel
        .columns
        .labels
        .iter()
        .map(|l| text_width(l, 1))
        .max()
        .unwrap_or(0);
    let step = |room: i32, need: i32| {
        (0..16)
            .map(|p| 1usize << p)
            .find(|s| room * *s as i32 >= need)
            .unwrap_or(1 << 16)
    };
    (step(h, LINE_HEIGHT), step(w, longest + 4))
}

/// Breaks a text at blanks, or after commas if it has none, to lines of at most `limit` characters.
pub fn wrap(text: &str, limit: usize) -> Vec<String> {
    let limit = limit.max(16);
    let mut lines = Vec::new();
    let mut rest: Vec<char> = text.chars().collect();
    while rest.len() > limit {
        let cut = (limit / 2..limit)
            .rev()
            .find(|i| rest[*i] == ' ')
            .or_else(|| (limit / 2..limit).rev().find(|i| rest[*i] == ','))
            .map_or(limit, |i| i + 1);
        lines.push(rest.drain(..cut).collect::<String>().trim_end().to_owned());
    }
    lines.push(rest.into_iter().collect());
    lines
}
