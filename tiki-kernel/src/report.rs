//! What the compiler chose and why: collected while it chooses, printed as text for people and as
//! JSON for programs.
//!
//! An item has a theme (`global access`, `reduction`...), a name of the author's, a sentence, and the
//! numbers in it. Items of one theme stand together, in the order in which they were found.

use crate::ast::{Places, Span};
use std::borrow::Cow;
use std::fmt::Write;

/// The report of one instance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Everything told.
    pub items: Vec<Item>,
}

/// One choice or fact.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What it is about.
    pub theme: Cow<'static, str>,
    /// Where.
    pub span: Span,
    /// The author's name for it, or empty.
    pub name: String,
    /// One sentence.
    pub text: String,
    /// Its numbers, named.
    pub numbers: Vec<(Cow<'static, str>, i64)>,
}

impl Item {
    /// Adds a number.
    pub fn number(&mut self, name: &'static str, value: i64) -> &mut Item {
        self.numbers.push((name.into(), value));
        self
    }
}

impl Report {
    /// Adds an item; numbers can be added to what it returns.
    pub fn add(
        &mut self,
        theme: &'static str,
        span: Span,
        name: &str,
        text: impl Into<String>,
    ) -> &mut Item {
        self.items.push(Item {
            theme: theme.into(),
            span,
            name: name.into(),
            text: text.into(),
            numbers: Vec::new(),
        });
        self.items.last_mut().expect("pushed above")
    }

    fn themes(&self) -> Vec<&str> {
        let mut themes = Vec::new();
        for item in &self.items {
            if !themes.contains(&&*item.theme) {
                themes.push(&*item.theme);
            }
        }
        themes
    }

    /// For people.
    #[must_use]
    pub fn text(&self, places: &Places) -> String {
        let mut out = String::new();
        for theme in self.themes() {
            let _ = writeln!(out, "{theme}");
            for item in self.items.iter().filter(|i| i.theme == theme) {
                let line = places.at(item.span).line;
                let at = if line > 0 {
                    format!("line {line}: ")
                } else {
                    String::new()
                };
                let name = if item.name.is_empty() {
                    String::new()
                } else {
                    format!("`{}`: ", item.name)
                };
                let _ = writeln!(out, "  {at}{name}{}", item.text);
            }
        }
        out
    }

    /// For programs: an array of objects.
    #[must_use]
    pub fn json(&self, places: &Places) -> String {
        let mut out = String::from("[");
        for (i, item) in self.items.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(
                out,
                "{comma}{{\"theme\":{},\"line\":{},\"name\":{},\"text\":{}",
                quoted(&item.theme),
                places.at(item.span).line,
                quoted(&item.name),
                quoted(&item.text)
            );
            for (name, value) in &item.numbers {
                let _ = write!(out, ",{}:{value}", quoted(name));
            }
            out.push('}');
        }
        out.push(']');
        out
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_escapes_and_text_groups() {
        let mut r = Report::default();
        r.add("a", Span(0), "x\"y", "one").number("n", 3);
        r.add("b", Span(0), "", "two");
        r.add("a", Span(0), "", "three");
        let places = Places::default();
        assert_eq!(r.text(&places), "a\n  `x\"y`: one\n  three\nb\n  two\n");
        assert!(r.json(&places).starts_with(
            "[{\"theme\":\"a\",\"line\":0,\"name\":\"x\\\"y\",\"text\":\"one\",\"n\":3},"
        ));
    }
}
