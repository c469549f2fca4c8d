//! A timeline as a drawing.
//!
//! Time runs to the right. Each warp has a broad band with what it did itself, and below it narrow ones with the work
//! that ran beside it, as many as overlapped at once. A band is cut into at most [`COLUMNS`] columns; a column that has
//! several phases shows the one that took most of it. Pointing at a bar shows its ticks and its source line.

use super::{Phase, Row, Span, Timeline};
use std::fmt::Write;

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 84.0;
const TOP: f64 = 46.0;
const COLUMNS: u64 = 2400;
const BAND: f64 = 13.0;
const BESIDE: f64 = 6.0;
const GAP: f64 = 5.0;
/// Narrow bands of a warp; what overlaps beyond that is drawn over the last.
const MOST: usize = 8;

/// Colours that are told apart without red and green.
fn colour(phase: Phase) -> &'static str {
    match phase {
        Phase::Load => "#56b4e9",
        Phase::Wait => "#d9d9d9",
        Phase::Product => "#d55e00",
        Phase::Compute => "#009e73",
        Phase::Store => "#cc79a7",
    }
}

/// A bar of a band, and the span that speaks for it.
struct Bar<'a> {
    from: u64,
    to: u64,
    span: &'a Span,
}

impl Timeline {
    /// An SVG.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let end = self.end().max(1);
        let x = |t: u64| LEFT + WIDTH * t as f64 / end as f64;
        let mut of_row: Vec<Vec<&Span>> = vec![vec![]; self.rows.len()];
        for s in &self.spans {
            of_row[s.row].push(s);
        }
        let mut body = String::new();
        let mut y = TOP;
        let mut block = None;
        for (row, spans) in self.rows.iter().zip(&of_row) {
            if block != Some(row.block) {
                block = Some(row.block);
                let [bx, by, bz] = row.block;
                y += 4.0;
                let text = format!("{}, block ({bx}, {by}, {bz})", self.kernel);
                label(&mut body, 4.0, y + 9.0, &text);
                y += 14.0;
            }
            label(&mut body, 4.0, y + 10.0, &format!("warp {}", row.warp));
            let mut bar = |bar: &Bar<'_>, y: f64, height: f64| {
                let (from, to) = (x(bar.from), x(bar.to));
                let _ = writeln!(
                    body,
                    r#"<rect x="{from:.2}" y="{y:.1}" width="{:.2}" height="{height:.1}" fill="{}"><title>{}</title></rect>"#,
                    (to - from).max(0.4),
                    colour(bar.span.phase),
                    escaped(&about(bar))
                );
            };
            for b in own(row, spans, end) {
                bar(&b, y, BAND);
            }
            y += BAND + 1.0;
            let bands = beside(spans);
            for band in &bands {
                for b in band {
                    bar(b, y, BESIDE - 1.0);
                }
                y += BESIDE;
            }
            y += GAP;
        }
        let height = y + 22.0;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {height:.0}\" font-family=\"sans-serif\" \
             font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
            LEFT + WIDTH + 16.0
        );
        let mut at = LEFT;
        for phase in Phase::ALL {
            let _ = writeln!(
                out,
                r#"<rect x="{at:.0}" y="10" width="12" height="10" fill="{}"/>"#,
                colour(phase)
            );
            label(&mut out, at + 16.0, 19.0, phase.text());
            at += 80.0;
        }
        label(
            &mut out,
            at,
            19.0,
            "time in warp instructions; narrow bars run beside their warp",
        );
        for i in 0..=4 {
            let t = end * i / 4;
            let _ = writeln!(
                out,
                r##"<line x1="{0:.1}" x2="{0:.1}" y1="38" y2="{1:.1}" stroke="#bbbbbb" stroke-width="0.5"/>"##,
                x(t),
                y
            );
            label(&mut out, x(t) - 8.0, 35.0, &t.to_string());
        }
        out += &body;
        if self.left_out > 0 {
            let text = format!("{} spans more are left out", self.left_out);
            label(&mut out, LEFT, y + 12.0, &text);
        }
        out + "</svg>\n"
    }
}

fn label(out: &mut String, x: f64, y: f64, text: &str) {
    let text = escaped(text);
    let _ = writeln!(
        out,
        r##"<text x="{x:.1}" y="{y:.1}" fill="#222222">{text}</text>"##
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn about(bar: &Bar<'_>) -> String {
    let s = bar.span;
    let mut text = format!("{} {} to {}", s.phase.text(), bar.from, bar.to);
    if let Some(on) = s.on {
        let _ = write!(text, ", {on}");
    }
    match &s.source {
        Some(at) => {
            let _ = write!(text, ", {}:{}", at.file, at.line);
        }
        None => {
            let _ = write!(text, ", PTX line {}", s.ptx_line);
        }
    }
    text
}

/// What a warp did itself, column by column, with columns of one phase joined.
fn own<'a>(row: &Row, spans: &[&'a Span], end: u64) -> Vec<Bar<'a>> {
    let column = end.div_ceil(COLUMNS).max(1);
    let mut out: Vec<Bar<'a>> = vec![];
    let mut spans = spans.iter().filter(|s| !s.beside).peekable();
    for from in (0..row.end).step_by(column as usize) {
        let to = (from + column).min(row.end);
        let mut share = [(0u64, None); Phase::ALL.len()];
        while let Some(s) = spans.peek() {
            let part = s.to.min(to).saturating_sub(s.from.max(from));
            let of = &mut share[s.phase as usize];
            (of.0, of.1) = (of.0 + part, of.1.or((part > 0).then_some(**s)));
            if s.to > to {
                break;
            }
            spans.next();
        }
        let Some(span) = share.iter().max_by_key(|s| s.0).and_then(|s| s.1) else {
            continue;
        };
        match out.last_mut() {
            Some(b) if b.to == from && b.span.phase == span.phase => b.to = to,
            _ => out.push(Bar { from, to, span }),
        }
    }
    out
}

/// Work beside a warp in bands without overlap; pieces of one line that end together are one bar.
fn beside<'a>(spans: &[&'a Span]) -> Vec<Vec<Bar<'a>>> {
    let mut bars: Vec<Bar<'a>> = vec![];
    for &s in spans.iter().filter(|s| s.beside) {
        let same = |b: &&mut Bar<'a>| {
            (b.to, b.span.phase, &b.span.source) == (s.to, s.phase, &s.source)
                && (s.source.is_some() || b.span.ptx_line == s.ptx_line)
        };
        match bars.iter_mut().rev().take(16).find(same) {
            Some(b) => b.from = b.from.min(s.from),
            None => bars.push(Bar {
                from: s.from,
                to: s.to,
                span: s,
            }),
        }
    }
    bars.sort_by_key(|b| (b.from, b.to));
    let mut bands: Vec<Vec<Bar<'a>>> = vec![];
    for b in bars {
        let free = bands
            .iter()
            .position(|band| band.last().is_none_or(|l| l.to <= b.from));
        match free {
            Some(n) => bands[n].push(b),
            None if bands.len() < MOST => bands.push(vec![b]),
            None => bands[MOST - 1].push(b),
        }
    }
    bands
}
