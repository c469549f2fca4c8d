//! Writing: tokens with blanks between them, a line a statement.

use crate::ast::Span;
use std::fmt::Write;

pub(super) struct Writer {
    out: String,
    /// Spans are written.
    placed: bool,
    depth: usize,
    /// No blank before the next token.
    tight: bool,
}

impl Writer {
    pub(super) fn new(placed: bool) -> Writer {
        Writer {
            out: format!("{}\n", super::VERSION),
            placed,
            depth: 0,
            tight: true,
        }
    }

    fn blank(&mut self) {
        if !std::mem::take(&mut self.tight) {
            self.out.push(' ');
        }
    }

    pub(super) fn open(&mut self, tag: &str) {
        self.blank();
        self.out.push('(');
        self.out.push_str(tag);
        self.depth += 1;
    }

    pub(super) fn close(&mut self) {
        self.out.push(')');
        self.depth = self.depth.saturating_sub(1);
        if self.depth == 0 {
            self.line();
        }
    }

    pub(super) fn open_list(&mut self) {
        self.blank();
        self.out.push('[');
        self.tight = true;
        self.depth += 1;
    }

    pub(super) fn close_list(&mut self) {
        self.out.push(']');
        self.tight = false;
        self.depth -= 1;
    }

    /// Begins a line, indented by how deep it is.
    pub(super) fn line(&mut self) {
        self.out.push('\n');
        for _ in 0..self.depth.min(40) {
            self.out.push(' ');
        }
        self.tight = true;
    }

    pub(super) fn word(&mut self, word: &str) {
        self.blank();
        self.out.push_str(word);
    }

    /// A span right behind the token it belongs to.
    pub(super) fn span(&mut self, span: Span) {
        if self.placed {
            let _ = write!(self.out, "@{}", span.0);
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        self.blank();
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                c if c.is_control() => {
                    let _ = write!(self.out, "\\u{:x};", u32::from(c));
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }

    pub(super) fn finish(mut self) -> String {
        while self.out.ends_with(['\n', ' ']) {
            self.out.pop();
        }
        self.out.push('\n');
        self.out
    }
}
