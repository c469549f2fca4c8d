//! Pictures as SVG and PNG, drawn through plotters without any system font.
//!
//! 1. [`geometry`] gives every cell a rectangle and picks the level of detail: large text, small text, or colour only.
//! 2. [`palette`] gives every paint a colour, safe for colour-blind readers, and text a colour that stands out on it.
//! 3. `draw` walks the picture once and draws rectangles and text on a canvas; in an SVG, text stays text, in a
//!    PNG it is made of the built-in 5x7 glyphs.
//!
//! The bytes depend on the picture and the theme only.

mod canvas;
mod draw;
pub mod geometry;
mod glyphs;
pub mod palette;

pub use palette::Theme;

use crate::picture::Picture;
use std::fmt;

/// A picture that could not be drawn: the drawing library's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlotError(String);

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the picture could not be drawn: {}", self.0)
    }
}

impl std::error::Error for PlotError {}

/// The picture as an SVG document.
pub fn svg(picture: &Picture, theme: Theme) -> Result<String, PlotError> {
    let board = geometry::Board::of(picture);
    let mut text = String::new();
    {
        let mut canvas = canvas::Vector::new(&mut text, board.size);
        draw::draw(picture, &board, theme, &mut canvas)?;
        canvas.finish()?;
    }
    Ok(text)
}

/// The picture as a PNG file.
pub fn png(picture: &Picture, theme: Theme) -> Result<Vec<u8>, PlotError> {
    let board = geometry::Board::of(picture);
    let (width, height) = board.size;
    let mut pixels = vec![0; width as usize * height as usize * 3];
    {
        let mut canvas = canvas::Bitmap::new(&mut pixels, board.size);
        draw::draw(picture, &board, theme, &mut canvas)?;
        canvas.finish()?;
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let failed = |error: png::EncodingError| PlotError(error.to_string());
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&pixels))
        .map_err(failed)?;
    Ok(file)
}
