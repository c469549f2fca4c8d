//! Reading: whatever the text is, the answer is a tree or an error with its line.

use crate::ast::Span;
use std::fmt;

/// Why a text is no program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError {
    /// Line of the text, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of a kernel's text: {}", self.line, self.message)
    }
}

impl std::error::Error for TextError {}

/// Deeper than any kernel, shallower than the stack.
const DEPTH: usize = 400;

pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Result<Reader<'a>, TextError> {
        let first = text.lines().next().unwrap_or_default();
        let reader = Reader {
            text,
            at: first.len(),
            depth: 0,
        };
        if first != super::VERSION {
            let message = format!("it begins with `{first}`, not with `{}`", super::VERSION);
            return Err(TextError { line: 1, message });
        }
        Ok(reader)
    }

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Result<T, TextError> {
        Err(TextError {
            line: self.text[..self.at].matches('\n').count() + 1,
            message: message.into(),
        })
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\n']).len();
    }

    pub(super) fn peek(&mut self) -> Option<char> {
        self.skip();
        self.rest().chars().next()
    }

    fn take(&mut self, c: char) -> bool {
        let there = self.peek() == Some(c);
        if there {
            self.at += c.len_utf8();
        }
        there
    }

    fn must(&mut self, c: char) -> Result<(), TextError> {
        if self.take(c) {
            return Ok(());
        }
        let found: String = self.rest().chars().take(12).collect();
        self.fail(format!("expected `{c}`, found `{found}`"))
    }

    fn deeper(&mut self) -> Result<(), TextError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return self.fail("nested too deeply");
        }
        Ok(())
    }

    /// `(` and the tag behind it.
    pub(super) fn open(&mut self) -> Result<&'a str, TextError> {
        self.must('(')?;
        self.deeper()?;
        self.word()
    }

    pub(super) fn close(&mut self) -> Result<(), TextError> {
        self.depth -= 1;
        self.must(')')
    }

    pub(super) fn open_list(&mut self) -> Result<(), TextError> {
        self.must('[')?;
        self.deeper()
    }

    /// Whether the list ends here.
    pub(super) fn close_list(&mut self) -> bool {
        let closed = self.take(']');
        if closed {
            self.depth -= 1;
        }
        closed
    }

    /// Whether an absent part stands here.
    pub(super) fn absent(&mut self) -> bool {
        self.take('~')
    }

    /// Letters up to a blank, a bracket, a quote or a span.
    pub(super) fn word(&mut self) -> Result<&'a str, TextError> {
        self.skip();
        let rest = self.rest();
        let end = rest
            .find([' ', '\n', '(', ')', '[', ']', '"', '@', '~'])
            .unwrap_or(rest.len());
        if end == 0 {
            return self.fail("expected a word");
        }
        self.at += end;
        Ok(&rest[..end])
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self) -> Result<T, TextError> {
        let word = self.word()?;
        match word.parse() {
            Ok(number) => Ok(number),
            Err(_) => self.fail(format!("`{word}` is no number that fits")),
        }
    }

    pub(super) fn span(&mut self) -> Result<Span, TextError> {
        if !self.rest().starts_with('@') {
            return self.fail("a span is missing");
        }
        self.at += 1;
        Ok(Span(self.number()?))
    }

    pub(super) fn text(&mut self) -> Result<String, TextError> {
        self.must('"')?;
        let mut out = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += i + 1;
                    return Ok(out);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => out.push('\n'),
                    Some((_, 'u')) => {
                        let code: String = chars
                            .by_ref()
                            .map(|(_, c)| c)
                            .take_while(|c| *c != ';')
                            .take(8)
                            .collect();
                        match u32::from_str_radix(&code, 16).ok().and_then(char::from_u32) {
                            Some(c) => out.push(c),
                            None => return self.fail("an unknown escape in a string"),
                        }
                    }
                    Some((_, c @ ('"' | '\\'))) => out.push(c),
                    _ => return self.fail("an unknown escape in a string"),
                },
                c => out.push(c),
            }
        }
        self.fail("a string does not end")
    }

    pub(super) fn end(&mut self) -> Result<(), TextError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.fail("something follows the program"),
        }
    }
}
