//! Two canvases over plotters' backends: rectangles are theirs, text is `<text>` in an SVG and glyphs in a bitmap.

use super::PlotError;
use super::geometry::{CHAR_WIDTH, Rect};
use super::glyphs;
use super::palette::Colour;
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontFamily, IntoFont, RGBColor, TextStyle};

/// Where a text's point lies: its left end, its middle, or its right end. Vertically it is always the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Left,
    Middle,
    Right,
}

/// What `draw` needs.
pub(super) trait Canvas {
    fn fill(&mut self, rect: Rect, colour: Colour) -> Result<(), PlotError>;
    fn text(
        &mut self,
        at: (i32, i32),
        text: &str,
        scale: i32,
        colour: Colour,
        anchor: Anchor,
    ) -> Result<(), PlotError>;
}

fn failed(error: impl std::fmt::Display) -> PlotError {
    PlotError(error.to_string())
}

fn rgb(colour: Colour) -> RGBColor {
    RGBColor(colour.0, colour.1, colour.2)
}

pub(super) struct Vector<'a> {
    backend: SVGBackend<'a>,
}

impl<'a> Vector<'a> {
    pub fn new(text: &'a mut String, size: (u32, u32)) -> Self {
        Vector {
            backend: SVGBackend::with_string(text, size),
        }
    }

    pub fn finish(mut self) -> Result<(), PlotError> {
        self.backend.present().map_err(failed)
    }
}

impl Canvas for Vector<'_> {
    fn fill(&mut self, r: Rect, colour: Colour) -> Result<(), PlotError> {
        self.backend
            .draw_rect((r.x, r.y), (r.x + r.w, r.y + r.h), &rgb(colour), true)
            .map_err(failed)
    }

    fn text(
        &mut self,
        at: (i32, i32),
        text: &str,
        scale: i32,
        colour: Colour,
        anchor: Anchor,
    ) -> Result<(), PlotError> {
        let horizontal = match anchor {
            Anchor::Left => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::Right => HPos::Right,
        };
        // A monospaced character is 0.6 of its size wide: 10 for 6 pixels. The backend divides a size by 1.24.
        let font = (FontFamily::Monospace, 12.4 * f64::from(scale)).into_font();
        let ink = rgb(colour);
        let style = TextStyle::from(font)
            .color(&ink)
            .pos(Pos::new(horizontal, VPos::Center));
        self.backend.draw_text(text, &style, at).map_err(failed)
    }
}

pub(super) struct Bitmap<'a> {
    backend: BitMapBackend<'a>,
}

impl<'a> Bitmap<'a> {
    pub fn new(pixels: &'a mut [u8], size: (u32, u32)) -> Self {
        Bitmap {
            backend: BitMapBackend::with_buffer(pixels, size),
        }
    }

    pub fn finish(mut self) -> Result<(), PlotError> {
        self.backend.present().map_err(failed)
    }
}

impl Canvas for Bitmap<'_> {
    fn fill(&mut self, r: Rect, colour: Colour) -> Result<(), PlotError> {
        if r.w <= 0 || r.h <= 0 {
            return Ok(());
        }
        self.backend
            .draw_rect((r.x, r.y), (r.x + r.w, r.y + r.h), &rgb(colour), true)
            .map_err(failed)
    }

    fn text(
        &mut self,
        at: (i32, i32),
        text: &str,
        scale: i32,
        colour: Colour,
        anchor: Anchor,
    ) -> Result<(), PlotError> {
        let width = text.chars().count() as i32 * CHAR_WIDTH * scale - scale;
        let left = match anchor {
            Anchor::Left => at.0,
            Anchor::Middle => at.0 - width / 2,
            Anchor::Right => at.0 - width,
        };
        let top = at.1 - 7 * scale / 2;
        for (i, character) in text.chars().enumerate() {
            let x = left + i as i32 * CHAR_WIDTH * scale;
            for (row, bits) in glyphs::rows(character).into_iter().enumerate() {
                for column in (0..5).filter(|column| bits >> (4 - column) & 1 == 1) {
                    let pixel = Rect {
                        x: x + column * scale,
                        y: top + row as i32 * scale,
                        w: scale,
                        h: scale,
                    };
                    self.fill(pixel, colour)?;
                }
            }
        }
        Ok(())
    }
}
