//! Diagnostics: what went wrong, where, with which numbers, and what would cure it.
//!
//! A diagnostic has a code (a row of [`codes`]), a message in the user's names and numbers, a primary
//! span with a label, further labelled spans, notes and helps. Passes push into one [`Sink`], which
//! panics if it is dropped with unread errors, so that none is lost. A message never names a type of
//! the compiler.

pub mod codes;

use crate::ast::{Places, Span};
pub use codes::Code;

/// How grave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// No code is emitted.
    Error,
    /// Told, and code is emitted.
    Warning,
}

/// One diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Diag {
    /// Its code.
    pub code: Code,
    /// How grave.
    pub severity: Severity,
    /// One sentence, lower case, without a full stop.
    pub message: String,
    /// The smallest token it is about.
    pub span: Span,
    /// Said beneath that token.
    pub label: String,
    /// Further places, each with what to see there.
    pub also: Vec<(Span, String)>,
    /// Facts that explain.
    pub notes: Vec<String>,
    /// What would cure it, checked before it is offered.
    pub helps: Vec<String>,
    /// The instance it arose in, if the kernel has several.
    pub instance: Option<String>,
}

impl Diag {
    /// An error at a place.
    #[must_use]
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Diag {
        Diag {
            code,
            severity: Severity::Error,
            message: message.into(),
            span,
            label: String::new(),
            also: Vec::new(),
            notes: Vec::new(),
            helps: Vec::new(),
            instance: None,
        }
    }
    /// A warning at a place.
    #[must_use]
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Diag {
        Diag {
            severity: Severity::Warning,
            ..Diag::error(code, span, message)
        }
    }
    /// Said beneath the primary span.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Diag {
        self.label = text.into();
        self
    }
    /// A further place.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Diag {
        self.also.push((span, text.into()));
        self
    }
    /// A fact.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Diag {
        self.notes.push(text.into());
        self
    }
    /// Several facts.
    #[must_use]
    pub fn notes(mut self, texts: impl IntoIterator<Item = String>) -> Diag {
        self.notes.extend(texts);
        self
    }
    /// A cure.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Diag {
        self.helps.push(text.into());
        self
    }

    /// The whole message as text, one line a label, note and help: what stable Rust can show on one
    /// span.
    #[must_use]
    pub fn text(&self, places: &Places) -> String {
        let mut out = format!("[{}] {}", self.code.name(), self.message);
        let mut line = |s: String| {
            out.push_str("\n  ");
            out.push_str(&s);
        };
        if !self.label.is_empty() {
            line(format!("= here: {}", self.label));
        }
        for (span, text) in &self.also {
            let place = places.at(*span);
            let file = places
                .files
                .get(place.file as usize)
                .map_or("", String::as_str);
            let own = places.at(self.span).file == place.file;
            if own || file.is_empty() {
                line(format!("= line {}: {text}", place.line));
            } else {
                line(format!("= {file}:{}: {text}", place.line));
            }
        }
        for note in &self.notes {
            line(format!("= note: {note}"));
        }
        for help in &self.helps {
            line(format!("= help: {help}"));
        }
        if self.helps.is_empty() && self.severity == Severity::Error {
            line(format!("= help: {}", self.code.cure()));
        }
        if let Some(instance) = &self.instance {
            line(format!("= in: {instance}"));
        }
        out
    }
}

/// Where passes put diagnostics.
#[derive(Debug, Default)]
pub struct Sink {
    diags: Vec<Diag>,
    read: bool,
}

impl Sink {
    /// An empty one.
    #[must_use]
    pub fn new() -> Sink {
        Sink::default()
    }
    /// Adds one; the same message at the same place is told once.
    pub fn push(&mut self, diag: Diag) {
        self.read = false;
        let same =
            |d: &Diag| d.span == diag.span && d.code == diag.code && d.message == diag.message;
        if !self.diags.iter().any(same) {
            self.diags.push(diag);
        }
    }
    /// Whether an error is in it.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diags.iter().any(|d| d.severity == Severity::Error)
    }
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.diags.len()
    }
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.diags.is_empty()
    }
    /// Changes those pushed since there were `from`.
    pub fn relocate(&mut self, from: usize, f: impl FnMut(&mut Diag)) {
        self.diags[from..].iter_mut().for_each(f);
    }
    /// Takes all, in the order of their places.
    #[must_use]
    pub fn take(&mut self) -> Vec<Diag> {
        self.read = true;
        let mut diags = std::mem::take(&mut self.diags);
        diags.sort_by_key(|d| d.span);
        diags
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if !self.read && self.has_errors() && !std::thread::panicking() {
            panic!("diagnostics dropped unread: {:?}", self.diags);
        }
    }
}
