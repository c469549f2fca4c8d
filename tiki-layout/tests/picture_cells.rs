//! Every cell of every picture of the gallery, read back from the SVG and the PNG, against formulas written out here.
//!
//! Invariant: a cell shows the text and the colour that the formula gives; no cell shows anything else.
//! Witness: the rectangles and texts of the SVG, and one pixel of each cell of the PNG.
#![cfg(feature = "plot")]

#[path = "picture_cells/formulas.rs"]
mod formulas;
#[path = "../../examples/layouts/gallery.rs"]
mod gallery;
#[path = "picture_cells/svg.rs"]
mod svg;

use formulas::Expected;
use svg::Drawing;
use tiki_layout::picture::{Paint, Picture};
use tiki_layout::plot::geometry::{Board, Detail};
use tiki_layout::plot::palette::{Colour, contrast};
use tiki_layout::plot::{self, Theme};

struct Pixels {
    width: usize,
    bytes: Vec<u8>,
}

impl Pixels {
    fn of(file: &[u8]) -> Pixels {
        let mut reader = png::Decoder::new(std::io::Cursor::new(file))
            .read_info()
            .expect("a PNG file");
        let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut bytes).expect("an image");
        Pixels {
            width: info.width as usize,
            bytes,
        }
    }

    fn at(&self, x: i32, y: i32) -> Colour {
        let at = (y as usize * self.width + x as usize) * 3;
        (self.bytes[at], self.bytes[at + 1], self.bytes[at + 2])
    }
}

fn check(name: &str, picture: &Picture, expected: &[Expected], theme: Theme) {
    let board = Board::of(picture);
    let drawing = Drawing::parse(&plot::svg(picture, theme).expect("an SVG"));
    let pixels = Pixels::of(&plot::png(picture, theme).expect("a PNG"));
    assert_eq!(picture.panels.len(), expected.len(), "{name}: panels");
    for (number, (placed, want)) in board.panels.iter().zip(expected).enumerate() {
        assert_eq!(
            picture.panels[number].cells.len(),
            want.rows,
            "{name}: rows of panel {number}"
        );
        for row in 0..want.rows {
            assert_eq!(
                picture.panels[number].cells[row].len(),
                want.columns,
                "{name}: columns of panel {number}"
            );
            for column in 0..want.columns {
                let at = format!("{name}, panel {number}, row {row}, column {column}");
                let (text, paint) = (want.cell)(row, column);
                let fill = theme.fill(paint);
                let rect = placed.cell_at(row, column);
                let (x, y) = (rect.x + rect.w / 2, rect.y + rect.h / 2);
                assert_eq!(
                    drawing.fill_at(rect.x + 3, rect.y + 3),
                    Some(fill),
                    "{at}: colour"
                );
                assert_eq!(pixels.at(rect.x + 3, rect.y + 3), fill, "{at}: pixel");
                let shown = drawing.texts_in(rect.x, rect.y, rect.w, rect.h);
                match board.detail {
                    Detail::Text(_) => {
                        assert_eq!(
                            shown.iter().map(|t| t.text.as_str()).collect::<Vec<_>>(),
                            text,
                            "{at}: text"
                        );
                        for t in &shown {
                            assert!(contrast(t.colour, fill) >= 4.5, "{at}: {t:?} on {fill:?}");
                            assert!(
                                (t.x - x).abs() <= 1 && (t.y - y).abs() <= rect.h / 2,
                                "{at}: {t:?}"
                            );
                        }
                    }
                    Detail::Colour => assert!(shown.is_empty(), "{at}: {shown:?}"),
                }
            }
        }
    }
}

#[test]
fn every_cell_of_every_picture() {
    for (name, picture) in gallery::gallery().expect("the gallery") {
        let expected = formulas::of(name).unwrap_or_else(|| panic!("{name} has no formula"));
        check(name, &picture, &expected, Theme::Light);
        if picture.panels[0].cells.len() <= 32 {
            check(name, &picture, &expected, Theme::Dark);
        }
    }
}

/// Invariant: a picture says what it shows: title, notes, captions, axis names, legend.
/// Witness: the texts of the SVG.
#[test]
fn every_picture_explains_itself() {
    for (name, picture) in gallery::gallery().expect("the gallery") {
        let drawing = Drawing::parse(&plot::svg(&picture, Theme::Light).expect("an SVG"));
        let all: String = drawing
            .texts
            .iter()
            .map(|t| t.text.replace(' ', ""))
            .collect::<Vec<_>>()
            .join("");
        let holds = |text: &str| all.contains(&text.replace(' ', ""));
        assert!(
            holds(&picture.title),
            "{name}: {} not in {all}",
            picture.title
        );
        assert!(picture.notes.iter().all(|n| holds(n)), "{name}: notes");
        assert!(holds(&picture.legend.colour), "{name}: legend");
        for panel in &picture.panels {
            assert!(holds(&panel.caption), "{name}: {}", panel.caption);
            assert!(
                holds(&panel.columns.name) && holds(&panel.rows.name),
                "{name}: axes"
            );
            assert!(
                holds(&panel.columns.labels[0]) && holds(&panel.rows.labels[0]),
                "{name}: coordinates"
            );
        }
        // Nothing is drawn outside of the picture.
        let (width, height) = Board::of(&picture).size;
        for t in &drawing.texts {
            let length = t.text.chars().count() as i32 * t.size * 6 / 10;
            let (left, right) = match t.anchor.as_str() {
                "start" => (t.x, t.x + length),
                "end" => (t.x - length, t.x),
                _ => (t.x - length / 2, t.x + length / 2),
            };
            assert!(
                left >= 0 && right <= width as i32 && t.y > 0 && t.y < height as i32,
                "{name}: {t:?} leaves {width}x{height}"
            );
        }
    }
}

/// Invariant: paints that must be told apart differ in colour for the three kinds of colour blindness and in grey.
/// Witness: distances of all pairs after the dichromat projections of Viénot, Brettel and Mollon (1999).
#[test]
fn colours_survive_colour_blindness() {
    let linear = |c: Colour| [c.0, c.1, c.2].map(|v| (f64::from(v) / 255.0).powf(2.2));
    let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let protan = [
        [0.11238, 0.88762, 0.0],
        [0.11238, 0.88762, 0.0],
        [0.00401, -0.00401, 1.0],
    ];
    let deutan = [
        [0.29275, 0.70725, 0.0],
        [0.29275, 0.70725, 0.0],
        [-0.02234, 0.02234, 1.0],
    ];
    let see = |m: [[f64; 3]; 3], c: Colour| {
        let v = linear(c);
        m.map(|row| {
            row.iter()
                .zip(v)
                .map(|(a, b)| a * b)
                .sum::<f64>()
                .clamp(0.0, 1.0)
                .powf(1.0 / 2.2)
        })
    };
    let distance = |a: [f64; 3], b: [f64; 3]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| (a - b).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    let classes: Vec<Paint> = (0..8).map(Paint::Class).collect();
    let waves: Vec<Paint> = [0, 1, 2, 4, 8].map(Paint::Wave).to_vec();
    for group in [classes, waves] {
        for matrix in [identity, protan, deutan] {
            for (i, a) in group.iter().enumerate() {
                for b in &group[i + 1..] {
                    let d = distance(
                        see(matrix, Theme::Light.fill(*a)),
                        see(matrix, Theme::Light.fill(*b)),
                    );
                    assert!(d > 0.14, "{a:?} and {b:?} are {d:.3} apart");
                }
            }
        }
    }
    let grey = |c: Colour| contrast(c, (0, 0, 0));
    let ramp: Vec<f64> = (0..tiki_layout::picture::LEVELS)
        .map(|l| grey(Theme::Light.fill(Paint::Level(l))))
        .collect();
    assert!(
        ramp.windows(2).all(|w| w[0] < w[1]),
        "the ramp does not rise in lightness: {ramp:?}"
    );
}

/// Invariant: sizes from 2 x 2 to 128 x 128 stay within a screenful, with text as long as it is legible.
/// Witness: the boards of compact layouts of all sizes.
#[test]
fn levels_of_detail() {
    let mut last = 4;
    for side in [2i64, 3, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128] {
        let layout = tiki_layout::Layout::row_major([side, side]).expect("small");
        let board = Board::of(&tiki_layout::picture::index_map(&layout).expect("small"));
        let scale = match board.detail {
            Detail::Text(scale) => scale,
            Detail::Colour => 0,
        };
        assert!(scale <= last, "{side}: a larger layout has larger text");
        assert!(
            board.size.0 <= 2100 && board.size.1 <= 2100,
            "{side}: {:?}",
            board.size
        );
        assert!(scale >= 1 || side > 48, "{side} x {side} has no numbers");
        assert!(scale >= 2 || side > 12, "{side} x {side} has small numbers");
        let (w, h) = board.panels[0].cell;
        assert!(w >= 4 && h >= 4);
        last = scale;
    }
}

/// Invariant: small, empty, flat and odd layouts can be drawn; what cannot is refused.
/// Witness: all three renderings of each.
#[test]
fn odd_shapes_are_drawn_or_refused() {
    use tiki_layout::{Error, Layout, picture};
    for text in [
        "1:0",
        "7:3",
        "(1,1):(0,0)",
        "(0,4):(1,1)",
        "(3,5,2):(10,2,1)",
        "(4,4):(0,-1)",
        "((2,3),(1,5)):((1,30),(7,-6))",
    ] {
        let drawn = picture::index_map(&Layout::parse(text).expect("notation")).expect("small");
        for theme in [Theme::Light, Theme::Dark] {
            let board = Board::of(&drawn);
            let pixels = Pixels::of(&plot::png(&drawn, theme).expect("a PNG"));
            let (width, height) = (board.size.0 as i32, board.size.1 as i32);
            assert_eq!(
                pixels.at(width - 1, height - 1),
                theme.background(),
                "{text}"
            );
            assert!(
                plot::svg(&drawn, theme).expect("an SVG").contains("</svg>"),
                "{text}"
            );
        }
        assert!(drawn.to_text(true).contains(text), "{text}");
    }
    let large = Layout::row_major([512, 512]).expect("a layout");
    assert!(matches!(
        picture::index_map(&large),
        Err(Error::TooLarge { .. })
    ));
    let beyond = Layout::parse("(4,2):(1,4)").expect("notation");
    assert!(matches!(
        picture::thread_value(&beyond, [2, 2]),
        Err(Error::Coordinate { .. })
    ));
    assert!(matches!(
        picture::thread_value(&Layout::parse("8:1").expect("notation"), [2, 4]),
        Err(Error::Rank { .. })
    ));
}
