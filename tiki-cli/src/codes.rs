//! What a code means: `tiki explain TK601`. The words are those of the tables that the messages come from.

use serde_json::{Value, json};
use tiki_kernel::diag;
use tiki_launch::{codes, vm};

/// A code and its words.
#[derive(Debug)]
pub struct Meaning {
    code: &'static str,
    title: &'static str,
    /// Empty where the title says it all.
    explanation: &'static str,
}

/// What the code of this name means: of a build (`TK`), of a launch (`TL`), of the virtual machine (`V`).
pub fn meaning(name: &str) -> Option<Meaning> {
    let build = diag::codes::ROWS.iter().map(|r| Meaning {
        code: r.name,
        title: r.title,
        explanation: r.explain,
    });
    let launch = codes::ROWS.iter().map(|r| Meaning {
        code: r.code,
        title: r.title,
        explanation: r.explanation,
    });
    let machine = vm::Code::ALL.iter().map(|c| Meaning {
        code: c.text(),
        title: c.title(),
        explanation: "",
    });
    let mut all = build.chain(launch).chain(machine);
    all.find(|m| m.code.eq_ignore_ascii_case(name))
}

impl Meaning {
    pub fn value(&self) -> Value {
        json!({ "code": self.code, "title": self.title, "explanation": self.explanation })
    }

    pub fn lines(&self) -> String {
        let mut text = format!("{}: {}\n", self.code, self.title);
        if !self.explanation.is_empty() {
            text.push_str("  ");
            text.push_str(self.explanation);
            text.push('\n');
        }
        text
    }
}
