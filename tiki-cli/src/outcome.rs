//! What a command says and how it ends.
//!
//! A command tells its result once, as a JSON value and as lines; [`Out`] prints the one that was asked
//! for. With `--json` a failure is a value too: `{"error": {"kind": .., "message": ..}}`.

use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;

/// Why a command ends without its result.
#[derive(Debug)]
pub struct Failure {
    pub kind: Kind,
    pub message: String,
}

/// Kinds of failures; each has an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Looked at, and found wrong.
    Wrong,
    /// The command line asks for what cannot be.
    Usage,
    /// What was named is not there.
    Missing,
    /// No GPU, or no driver.
    NoGpu,
    /// A file could not be read or written.
    File,
}

impl Kind {
    /// The code and the word of a kind.
    fn row(self) -> (u8, &'static str) {
        match self {
            Kind::Wrong => (1, "wrong"),
            Kind::Usage => (2, "usage"),
            Kind::Missing => (3, "missing"),
            Kind::NoGpu => (4, "no-gpu"),
            Kind::File => (5, "file"),
        }
    }

    /// A failure of this kind.
    pub fn because(self, message: impl Into<String>) -> Failure {
        Failure {
            kind: self,
            message: message.into(),
        }
    }
}

/// What commands return.
pub type Result<T> = std::result::Result<T, Failure>;

/// Standard output, in one of two forms.
#[derive(Debug)]
pub struct Out {
    json: bool,
    value: Option<Value>,
}

impl Out {
    pub fn new(json: bool) -> Out {
        Out { json, value: None }
    }

    /// The result: the value for programs, the lines for people.
    pub fn say(&mut self, value: Value, lines: impl FnOnce() -> String) {
        if self.json {
            self.value = Some(value);
        } else {
            print(&lines());
        }
    }

    /// Ends the command.
    pub fn finish(self, result: Result<()>) -> ExitCode {
        let code = match &result {
            Ok(()) => 0,
            Err(failure) => failure.kind.row().0,
        };
        let mut value = self.value;
        if let Err(Failure { kind, message }) = &result {
            if self.json && value.is_none() {
                value = Some(json!({ "error": { "kind": kind.row().1, "message": message } }));
            } else {
                eprintln!("error: {message}");
            }
        }
        if let Some(value) = value {
            print(&format!("{value:#}\n"));
        }
        ExitCode::from(code)
    }
}

/// A reader that has gone away (`| head`) is no failure.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}
