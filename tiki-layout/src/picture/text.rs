//! Pictures for a terminal.
//!
//! While a line has at most [`WIDE`] characters a cell is its text, lines joined by slashes, and a star if it is
//! outlined; beyond, a cell is one character: a digit for a class, a shade for a level, a digit for a wavefront. With
//! `colours`, ANSI backgrounds are added.

use super::{Axis, Cell, Key, LEVELS, Paint, Panel, Picture};

/// Most characters of a line that shows full cells.
const WIDE: usize = 160;
/// Dark to bright.
const SHADES: &[u8] = b".:-=+*#%@";
/// Backgrounds of the eight classes in the 256 colours of a terminal.
const CLASS_COLOURS: [u8; 8] = [117, 214, 36, 227, 67, 166, 175, 183];

impl Picture {
    /// The picture as lines of text.
    pub fn to_text(&self, colours: bool) -> String {
        let mut out = format!("{}\n", self.title);
        for note in &self.notes {
            out.push_str(&format!("  {note}\n"));
        }
        for panel in &self.panels {
            out.push('\n');
            panel.write_text(&mut out, colours);
        }
        let marked = self
            .panels
            .iter()
            .flat_map(|p| p.cells.iter().flatten())
            .any(|c| c.mark);
        let star = if marked { " (*)" } else { "" };
        out.push_str(&format!(
            "\nnumber: {}{star}\ncolour: {}",
            self.legend.number, self.legend.colour
        ));
        match &self.legend.key {
            Key::Classes(list) => {
                for (class, name) in list {
                    out.push_str(&format!(
                        "  {} {name}",
                        swatch(Paint::Class(*class), colours)
                    ));
                }
            }
            Key::Ramp(low, high) => {
                let (dark, bright) = (Paint::Level(0), Paint::Level(LEVELS - 1));
                out.push_str(&format!(
                    "  {} {low} .. {} {high}",
                    swatch(dark, colours),
                    swatch(bright, colours)
                ));
            }
            Key::Waves(_) => out.push_str("  1 free, 2 and more: conflicts"),
        }
        out.push('\n');
        // No line ends in blanks: goldens and editors keep them that way.
        out.lines()
            .map(str::trim_end)
            .collect::<Vec<_>>()
            .join("\n")
            + "\n"
    }
}

fn swatch(paint: Paint, colours: bool) -> String {
    paint_text(&letter(paint).to_string(), paint, colours)
}

/// One character for a paint.
fn letter(paint: Paint) -> char {
    match paint {
        Paint::Empty => ' ',
        Paint::Class(class) => char::from(b'0' + class % 10),
        Paint::Level(level) => {
            let at = usize::from(level) * SHADES.len() / usize::from(LEVELS);
            char::from(SHADES[at.min(SHADES.len() - 1)])
        }
        Paint::Wave(wave) => char::from_digit(u32::from(wave + 1).min(35), 36).unwrap_or('z'),
    }
}

fn paint_text(text: &str, paint: Paint, colours: bool) -> String {
    let background = match paint {
        _ if !colours => None,
        Paint::Empty => None,
        Paint::Class(class) => Some(CLASS_COLOURS[usize::from(class) % CLASS_COLOURS.len()]),
        Paint::Level(level) => Some(236 + (u16::from(level) * 19 / u16::from(LEVELS - 1)) as u8),
        Paint::Wave(0) => Some(152),
        Paint::Wave(_) => Some(208),
    };
    let dark = matches!(paint, Paint::Level(level) if level < LEVELS / 2);
    match background {
        Some(code) => format!(
            "\x1b[48;5;{code};38;5;{}m{text}\x1b[0m",
            if dark { 231 } else { 16 }
        ),
        None => text.to_owned(),
    }
}

impl Panel {
    fn write_text(&self, out: &mut String, colours: bool) {
        let full = |cell: &Cell| cell.text.join("/") + if cell.mark { "*" } else { "" };
        let cell_width = self
            .cells
            .iter()
            .flatten()
            .map(|c| full(c).chars().count())
            .max()
            .unwrap_or(0);
        let label_width = self
            .columns
            .labels
            .iter()
            .map(|l| l.chars().count())
            .max()
            .unwrap_or(0);
        let wide = cell_width.max(label_width);
        let margin = self
            .rows
            .labels
            .iter()
            .map(|l| l.chars().count())
            .max()
            .unwrap_or(0);
        let count = self.columns.labels.len();
        let detailed = margin + 3 + count * (wide + 1) + self.columns.rules.len() * 2 <= WIDE;
        let width = if detailed { wide } else { 1 };
        let gap = if detailed { " " } else { "" };

        out.push_str(&format!("{}\n", self.caption));
        let axes: Vec<&str> = [&self.rows, &self.columns]
            .iter()
            .map(|a| a.name.as_str())
            .filter(|n| !n.is_empty())
            .collect();
        out.push_str(&match axes.as_slice() {
            [down, across] => format!("  {down} down, {across} across\n"),
            _ => String::new(),
        });
        let line = |cells: &mut dyn Iterator<Item = String>| {
            let mut text = String::new();
            for (i, cell) in cells.enumerate() {
                if self.columns.rules.contains(&i) {
                    text.push_str(gap);
                    text.push('|');
                }
                text.push_str(gap);
                text.push_str(&cell);
            }
            text
        };
        if detailed {
            let heads = line(&mut self.columns.labels.iter().map(|l| format!("{l:>width$}")));
            out.push_str(&format!("{:margin$}  {heads}\n", ""));
        } else {
            out.push_str(&format!("{:margin$}   {}\n", "", ticks(&self.columns)));
        }
        for (r, row) in self.cells.iter().enumerate() {
            if self.rows.rules.contains(&r) && detailed {
                out.push_str(&format!(
                    "{:margin$} +{}\n",
                    "",
                    "-".repeat(line(&mut row.iter().map(|_| " ".repeat(width))).len())
                ));
            }
            let body = line(&mut row.iter().map(|cell| {
                let text = if detailed {
                    format!("{:>width$}", full(cell))
                } else {
                    letter(cell.paint).to_string()
                };
                paint_text(&text, cell.paint, colours)
            }));
            out.push_str(&format!(
                "{:>margin$} |{}{body}\n",
                self.rows.labels[r],
                if detailed { "" } else { " " }
            ));
        }
    }
}

/// Column numbers above single characters: every eighth.
fn ticks(axis: &Axis) -> String {
    let mut text = String::new();
    let mut next = 0;
    for i in 0..axis.labels.len() {
        let at = i + axis.rules.iter().filter(|r| **r <= i).count();
        if i % 8 == 0 && at >= next {
            text.push_str(&" ".repeat(at.saturating_sub(text.len())));
            text.push_str(&i.to_string());
            next = text.len() + 1;
        }
    }
    text
}
