//! Layout notation, read and written.
//!
//! ```text
//!     tuple     4   (4,(2,3))   ()            a leading underscore marks C++'s static integers and is dropped: _4
//!     layout    (4,(2,3)):(1,(4,8))           a shape alone is a compact column-major layout
//!     coord     (3,_)                         `_` keeps the mode
//!     tiler     <3:4,8,_>   [3:4;8;_]         one entry per mode, nested as deep as needed
//!     swizzle   Sw<3,4,3>   S<3,4,3>
//!     composed  Sw<3,4,3> o 0 o (8,64):(64,1)
//! ```
//!
//! Blanks are allowed everywhere between tokens, and so is a comma before a closing parenthesis. Printing uses no
//! blanks, and parsing what was printed gives the same value back.

use crate::error::{Error, Result};
use crate::{ByteSwizzle, Composed, Coord, Layout, Swizzle, Tiler, Tuple};
use std::fmt;
use std::str::FromStr;

/// How deep a text may nest: far beyond any layout, and shallow enough for the stack.
const DEPTH: usize = 64;

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn fail<T>(&self, expected: &'static str) -> Result<T> {
        Err(Error::Parse {
            at: self.at,
            expected,
            text: self.text.to_string(),
        })
    }

    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<()> {
        if self.eat(byte) {
            Ok(())
        } else {
            self.fail(expected)
        }
    }

    fn int(&mut self) -> Result<i64> {
        self.peek();
        let bytes = &self.text.as_bytes()[self.at..];
        let skip = usize::from(
            bytes.first() == Some(&b'_') && bytes.get(1).is_some_and(u8::is_ascii_digit),
        );
        let bytes = &bytes[skip..];
        let sign = usize::from(bytes.first() == Some(&b'-'));
        let digits = bytes[sign..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let word = &self.text[self.at + skip..self.at + skip + sign + digits];
        match word.parse() {
            Ok(value) => {
                self.at += skip + sign + digits;
                Ok(value)
            }
            Err(_) => self.fail("an integer"),
        }
    }

    /// `open item sep item .. close`, with an optional separator before `close`.
    fn list<T>(
        &mut self,
        (separator, close): (u8, u8),
        depth: usize,
        item: &mut impl FnMut(&mut Self, usize) -> Result<T>,
    ) -> Result<Vec<T>> {
        if depth >= DEPTH {
            return self.fail("less nesting");
        }
        let mut items = Vec::new();
        loop {
            if self.eat(close) {
                return Ok(items);
            }
            if !items.is_empty() {
                self.expect(separator, "a separator or the closing bracket")?;
                if self.eat(close) {
                    return Ok(items);
                }
            }
            items.push(item(self, depth + 1)?);
        }
    }

    fn tuple(&mut self, depth: usize) -> Result<Tuple> {
        if self.eat(b'(') {
            return self
                .list((b',', b')'), depth, &mut |p, depth| p.tuple(depth))
                .map(Tuple::Tuple);
        }
        self.int().map(Tuple::Int)
    }

    fn layout(&mut self) -> Result<Layout> {
        let shape = self.tuple(0)?;
        if self.eat(b':') {
            return Layout::new(shape, self.tuple(0)?);
        }
        Layout::col_major(shape)
    }

    /// `_`, but not `_4`.
    fn skip(&mut self) -> bool {
        let found = self.peek() == Some(b'_')
            && !self
                .text
                .as_bytes()
                .get(self.at + 1)
                .is_some_and(u8::is_ascii_digit);
        self.at += usize::from(found);
        found
    }

    fn coord(&mut self, depth: usize) -> Result<Coord> {
        if self.eat(b'(') {
            return self
                .list((b',', b')'), depth, &mut |p, depth| p.coord(depth))
                .map(Coord::Tuple);
        }
        if self.skip() {
            Ok(Coord::All)
        } else {
            self.int().map(Coord::Int)
        }
    }

    fn tiler(&mut self, depth: usize) -> Result<Tiler> {
        let item = &mut |p: &mut Self, depth| p.tiler(depth);
        if self.eat(b'<') {
            return self.list((b',', b'>'), depth, item).map(Tiler::Modes);
        }
        if self.eat(b'[') {
            return self.list((b';', b']'), depth, item).map(Tiler::Modes);
        }
        if self.skip() {
            return Ok(Tiler::Keep);
        }
        let shape = self.tuple(0)?;
        if self.eat(b':') {
            return Layout::new(shape, self.tuple(0)?).map(Tiler::Layout);
        }
        match shape {
            Tuple::Int(extent) => Layout::new(extent, 1).map(Tiler::Layout),
            shape => Layout::col_major(shape).map(Tiler::Layout),
        }
    }

    fn swizzle(&mut self) -> Result<Swizzle> {
        self.expect(b'S', "a swizzle `Sw<bits,base,shift>`")?;
        if self.text.as_bytes().get(self.at) == Some(&b'w') {
            self.at += 1;
        }
        self.expect(b'<', "`<`")?;
        let bits = self.int()?;
        self.expect(b',', "`,`")?;
        let base = self.int()?;
        self.expect(b',', "`,`")?;
        let shift = self.int()?;
        self.expect(b'>', "`>`")?;
        Swizzle::new(bits, base, shift)
    }

    fn composed(&mut self) -> Result<Composed> {
        if self.peek() != Some(b'S') {
            return self.layout().map(Composed::from);
        }
        let swizzle = self.swizzle()?;
        self.expect(b'o', "`o`")?;
        let first = self.at;
        let offset = self.int();
        if let (Ok(offset), true) = (&offset, self.eat(b'o')) {
            return Composed::new(swizzle, *offset, self.layout()?);
        }
        self.at = first;
        Composed::new(swizzle, 0, self.layout()?)
    }
}

/// Parses a whole text with one of the rules above.
fn whole<T>(text: &str, rule: impl FnOnce(&mut Parser<'_>) -> Result<T>) -> Result<T> {
    let mut parser = Parser { text, at: 0 };
    let value = rule(&mut parser)?;
    if parser.peek().is_some() {
        parser.fail("the end of the text")
    } else {
        Ok(value)
    }
}

macro_rules! from_str {
    ($($type:ty: $rule:expr;)*) => {$(
        impl FromStr for $type {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self> {
                whole(text, $rule)
            }
        }
        impl $type {
            /// Reads layout notation; see the [crate's notation](crate#notation).
            pub fn parse(text: &str) -> Result<Self> {
                text.parse()
            }
        }
    )*};
}

from_str! {
    Tuple: |p| p.tuple(0);
    Layout: |p| p.layout();
    Coord: |p| p.coord(0);
    Tiler: |p| p.tiler(0);
    Swizzle: |p| p.swizzle();
    ByteSwizzle: |p| p.swizzle().map(ByteSwizzle::from_raw);
    Composed: |p| p.composed();
}

fn write_list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    ends: (&str, &str),
) -> fmt::Result {
    f.write_str(ends.0)?;
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(",")?;
        }
        write!(f, "{item}")?;
    }
    f.write_str(ends.1)
}

impl fmt::Display for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tuple::Int(value) => write!(f, "{value}"),
            Tuple::Tuple(modes) => write_list(f, modes, ("(", ")")),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.shape(), self.stride())
    }
}

impl fmt::Display for Coord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Coord::All => f.write_str("_"),
            Coord::Int(value) => write!(f, "{value}"),
            Coord::Tuple(modes) => write_list(f, modes, ("(", ")")),
        }
    }
}

impl fmt::Display for Tiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tiler::Keep => f.write_str("_"),
            Tiler::Layout(layout) => write!(f, "{layout}"),
            Tiler::Modes(modes) => write_list(f, modes, ("<", ">")),
        }
    }
}

impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sw<{},{},{}>", self.bits(), self.base(), self.shift())
    }
}

impl fmt::Display for ByteSwizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.raw())
    }
}

impl fmt::Display for Composed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} o {} o {}",
            self.swizzle(),
            self.offset(),
            self.layout()
        )
    }
}
