//! The rectangles and texts of an SVG document as plotters writes it.

use tiki_layout::plot::palette::Colour;

#[derive(Debug)]
pub struct Text {
    pub x: i32,
    pub y: i32,
    pub anchor: String,
    pub size: i32,
    pub colour: Colour,
    pub text: String,
}

#[derive(Debug)]
struct Rect {
    x: i32,
    y: i32,
    w: i32,
    h: i32,
    fill: Colour,
}

#[derive(Debug, Default)]
pub struct Drawing {
    rects: Vec<Rect>,
    /// The rectangles over each row of pixels, in the order of drawing.
    by_row: Vec<Vec<usize>>,
    pub texts: Vec<Text>,
}

fn attribute<'a>(tag: &'a str, name: &str) -> &'a str {
    let key = format!(" {name}=\"");
    let start = tag
        .find(&key)
        .unwrap_or_else(|| panic!("no {name} in {tag}"))
        + key.len();
    let end = tag[start..].find('"').expect("a closing quote");
    &tag[start..start + end]
}

fn number(tag: &str, name: &str) -> i32 {
    attribute(tag, name)
        .parse::<f64>()
        .expect("a number")
        .round() as i32
}

fn colour(tag: &str) -> Colour {
    let hex = u32::from_str_radix(&attribute(tag, "fill")[1..], 16).expect("a colour");
    ((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

impl Drawing {
    pub fn parse(document: &str) -> Drawing {
        let mut drawing = Drawing::default();
        let mut rest = document;
        while let Some(start) = rest.find('<') {
            let end = start + rest[start..].find('>').expect("a closing bracket");
            let tag = &rest[start..end];
            rest = &rest[end + 1..];
            if tag.starts_with("<rect ") {
                let rect = |name| number(tag, name);
                drawing.rects.push(Rect {
                    x: rect("x"),
                    y: rect("y"),
                    w: rect("width"),
                    h: rect("height"),
                    fill: colour(tag),
                });
            } else if tag.starts_with("<text ") {
                let close = rest.find("</text>").expect("a closing tag");
                let text = rest[..close]
                    .trim()
                    .replace("&lt;", "<")
                    .replace("&gt;", ">")
                    .replace("&amp;", "&");
                drawing.texts.push(Text {
                    x: number(tag, "x"),
                    y: number(tag, "y"),
                    anchor: attribute(tag, "text-anchor").to_owned(),
                    size: number(tag, "font-size"),
                    colour: colour(tag),
                    text,
                });
            }
        }
        let height = drawing
            .rects
            .iter()
            .map(|r| r.y + r.h)
            .max()
            .unwrap_or(0)
            .max(0) as usize;
        drawing.by_row = vec![Vec::new(); height];
        for (i, r) in drawing.rects.iter().enumerate() {
            for y in r.y.max(0)..(r.y + r.h).max(0) {
                drawing.by_row[y as usize].push(i);
            }
        }
        drawing
    }

    /// The colour of the last rectangle over a point.
    pub fn fill_at(&self, x: i32, y: i32) -> Option<Colour> {
        let over = self
            .by_row
            .get(y as usize)?
            .iter()
            .rev()
            .map(|i| &self.rects[*i]);
        over.filter(|r| (r.x..r.x + r.w).contains(&x))
            .map(|r| r.fill)
            .next()
    }

    /// The texts whose point lies in a rectangle, from the top.
    pub fn texts_in(&self, x: i32, y: i32, w: i32, h: i32) -> Vec<&Text> {
        let inside = |t: &&Text| (x..x + w).contains(&t.x) && (y..y + h).contains(&t.y);
        let mut found: Vec<&Text> = self.texts.iter().filter(inside).collect();
        found.sort_by_key(|t| t.y);
        found
    }
}
