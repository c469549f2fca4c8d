//! One walk over a picture: background, title, notes, panels, legend.

use super::PlotError;
use super::canvas::{Anchor, Canvas};
use super::geometry::{Board, CHAR_WIDTH, Detail, LINE_HEIGHT, Placed, Rect, text_width};
use super::palette::{Colour, Theme, WAVE_NAMES};
use crate::picture::{Cell, Key, LEVELS, Paint, Panel, Picture};

const SWATCH: i32 = 12;

pub(super) fn draw(
    picture: &Picture,
    board: &Board,
    theme: Theme,
    canvas: &mut dyn Canvas,
) -> Result<(), PlotError> {
    let (width, height) = board.size;
    canvas.fill(
        Rect {
            x: 0,
            y: 0,
            w: width as i32,
            h: height as i32,
        },
        theme.background(),
    )?;
    let (lines, scale) = &board.title;
    let mut y = 16;
    for line in lines {
        canvas.text(
            (board.left, y + 5 * scale),
            line,
            *scale,
            theme.ink(),
            Anchor::Left,
        )?;
        y += LINE_HEIGHT * scale + 2;
    }
    y += 4;
    for note in &board.notes {
        canvas.text((board.left, y + 5), note, 1, theme.faint(), Anchor::Left)?;
        y += LINE_HEIGHT + 2;
    }
    for (panel, placed) in picture.panels.iter().zip(&board.panels) {
        draw_panel(panel, placed, board.detail, theme, canvas)?;
    }
    draw_legend(picture, board, theme, canvas)
}

fn draw_panel(
    panel: &Panel,
    placed: &Placed,
    detail: Detail,
    theme: Theme,
    canvas: &mut dyn Canvas,
) -> Result<(), PlotError> {
    for (i, line) in placed.caption.iter().enumerate() {
        let at = (
            placed.caption_at.0,
            placed.caption_at.1 + 5 + i as i32 * LINE_HEIGHT,
        );
        canvas.text(at, line, 1, theme.ink(), Anchor::Left)?;
    }
    draw_axes(panel, placed, theme, canvas)?;
    match detail {
        Detail::Text(scale) => {
            for (r, row) in panel.cells.iter().enumerate() {
                for (c, cell) in row.iter().enumerate() {
                    draw_cell(cell, placed.cell_at(r, c), scale, theme, canvas)?;
                }
            }
        }
        Detail::Colour => {
            for (r, row) in panel.cells.iter().enumerate() {
                draw_runs(row, r, placed, theme, canvas)?;
            }
        }
    }
    let end = placed.cell_at(panel.cells.len(), panel.columns.labels.len());
    for rule in &panel.rows.rules {
        let y = placed.cell_at(*rule, 0).y;
        canvas.fill(
            Rect {
                x: placed.origin.0 - 2,
                y: y - 1,
                w: end.x - placed.origin.0 + 4,
                h: 2,
            },
            theme.ink(),
        )?;
    }
    for rule in &panel.columns.rules {
        let x = placed.cell_at(0, *rule).x;
        canvas.fill(
            Rect {
                x: x - 1,
                y: placed.origin.1 - 2,
                w: 2,
                h: end.y - placed.origin.1 + 4,
            },
            theme.ink(),
        )?;
    }
    Ok(())
}

fn draw_axes(
    panel: &Panel,
    placed: &Placed,
    theme: Theme,
    canvas: &mut dyn Canvas,
) -> Result<(), PlotError> {
    let (row_step, column_step) = placed.label_steps;
    let (x, y) = placed.origin;
    for (c, label) in panel.columns.labels.iter().enumerate().step_by(column_step) {
        let cell = placed.cell_at(0, c);
        canvas.text(
            (cell.x + cell.w / 2, y - 8),
            label,
            1,
            theme.faint(),
            Anchor::Middle,
        )?;
    }
    for (r, label) in panel.rows.labels.iter().enumerate().step_by(row_step) {
        let cell = placed.cell_at(r, 0);
        canvas.text(
            (x - 6, cell.y + cell.h / 2),
            label,
            1,
            theme.faint(),
            Anchor::Right,
        )?;
    }
    // Axis names above the coordinates: wide column coordinates reach over the row coordinates.
    canvas.text(
        (x, y - 18),
        &panel.columns.name,
        1,
        theme.ink(),
        Anchor::Left,
    )?;
    let rows = if panel.rows.name.is_empty() {
        String::new()
    } else {
        format!("{} \\", panel.rows.name)
    };
    canvas.text((x - 4, y - 18), &rows, 1, theme.ink(), Anchor::Right)
}

fn draw_cell(
    cell: &Cell,
    rect: Rect,
    scale: i32,
    theme: Theme,
    canvas: &mut dyn Canvas,
) -> Result<(), PlotError> {
    let fill = theme.fill(cell.paint);
    let inner = Rect {
        x: rect.x + 1,
        y: rect.y + 1,
        w: rect.w - 2,
        h: rect.h - 2,
    };
    canvas.fill(inner, fill)?;
    let ink = if cell.paint == Paint::Empty {
        theme.ink()
    } else {
        theme.text_on(fill)
    };
    if cell.mark {
        // Over the gap between cells, and into large cells: seen on any fill.
        outline(rect, theme.ink(), canvas)?;
        if scale > 1 {
            outline(inner, theme.ink(), canvas)?;
        }
    }
    let lines = cell.text.len() as i32;
    let step = LINE_HEIGHT * scale;
    let first = rect.y + rect.h / 2 - (lines - 1) * step / 2;
    for (i, line) in cell.text.iter().enumerate() {
        canvas.text(
            (rect.x + rect.w / 2, first + i as i32 * step),
            line,
            scale,
            ink,
            Anchor::Middle,
        )?;
    }
    Ok(())
}

fn outline(r: Rect, colour: Colour, canvas: &mut dyn Canvas) -> Result<(), PlotError> {
    for edge in [
        Rect { h: 1, ..r },
        Rect {
            y: r.y + r.h - 1,
            h: 1,
            ..r
        },
        Rect { w: 1, ..r },
        Rect {
            x: r.x + r.w - 1,
            w: 1,
            ..r
        },
    ] {
        canvas.fill(edge, colour)?;
    }
    Ok(())
}

/// Cells without text: neighbours of one colour are one rectangle.
fn draw_runs(
    row: &[Cell],
    r: usize,
    placed: &Placed,
    theme: Theme,
    canvas: &mut dyn Canvas,
) -> Result<(), PlotError> {
    let mut start = 0;
    for c in 1..=row.len() {
        if c == row.len() || row[c].paint != row[start].paint {
            let first = placed.cell_at(r, start);
            let rect = Rect {
                w: first.w * (c - start) as i32,
                ..first
            };
            canvas.fill(rect, theme.fill(row[start].paint))?;
            start = c;
        }
    }
    Ok(())
}

/// The swatches of a key with their names.
fn swatches(key: &Key) -> Vec<(Vec<Paint>, String)> {
    match key {
        Key::Classes(list) => list
            .iter()
            .map(|(class, name)| (vec![Paint::Class(*class)], name.clone()))
            .collect(),
        Key::Ramp(low, high) => {
            let steps = (0..LEVELS)
                .step_by(4)
                .map(Paint::Level)
                .chain([Paint::Level(LEVELS - 1)]);
            vec![(steps.collect(), format!("{low} .. {high}"))]
        }
        Key::Waves(count) => WAVE_NAMES
            .iter()
            .filter(|(first, _)| *first < (*count).max(1))
            .map(|(first, name)| (vec![Paint::Wave(*first)], (*name).to_owned()))
            .collect(),
    }
}

fn swatch_width((paints, name): &(Vec<Paint>, String)) -> i32 {
    paints.len() as i32 * SWATCH + 4 + text_width(name, 1) + 14
}

/// How many lines the legend takes.
pub(super) fn legend_rows(picture: &Picture, width: i32) -> i32 {
    let (mut rows, mut x) = (1, 0);
    for swatch in swatches(&picture.legend.key) {
        let w = swatch_width(&swatch);
        if x > 0 && x + w > width {
            (rows, x) = (rows + 1, 0);
        }
        x += w;
    }
    rows + 2
}

fn draw_legend(
    picture: &Picture,
    board: &Board,
    theme: Theme,
    canvas: &mut dyn Canvas,
) -> Result<(), PlotError> {
    let width = board.size.0 as i32 - 2 * board.left;
    let line = LINE_HEIGHT + 6;
    let mut y = board.legend_y;
    let number = match board.detail {
        Detail::Text(_) => format!("number: {}", picture.legend.number),
        Detail::Colour => "too many cells for numbers: colour only".to_owned(),
    };
    canvas.text((board.left, y + 6), &number, 1, theme.ink(), Anchor::Left)?;
    y += line;
    canvas.text(
        (board.left, y + 6),
        &format!("colour: {}", picture.legend.colour),
        1,
        theme.ink(),
        Anchor::Left,
    )?;
    y += line;
    let mut x = 0;
    for swatch in swatches(&picture.legend.key) {
        let w = swatch_width(&swatch);
        if x > 0 && x + w > width {
            (x, y) = (0, y + line);
        }
        let (paints, name) = swatch;
        for (i, paint) in paints.iter().enumerate() {
            let rect = Rect {
                x: board.left + x + i as i32 * SWATCH,
                y,
                w: SWATCH,
                h: SWATCH,
            };
            canvas.fill(rect, theme.fill(*paint))?;
        }
        let at = board.left + x + paints.len() as i32 * SWATCH + CHAR_WIDTH - 2;
        canvas.text((at, y + 6), &name, 1, theme.ink(), Anchor::Left)?;
        x += w;
    }
    Ok(())
}
