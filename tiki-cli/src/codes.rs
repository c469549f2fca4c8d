//! What a code means: `tiki explain TK601`. The words are those of the tables that the messages come from.

use crate::outcome::{Failure, Kind};
use serde_json::{Value, json};
use tiki_kernel::{diag, near};
use tiki_launch::{codes, vm};

/// A code and its words.
#[derive(Debug)]
pub struct Meaning {
    code: &'static str,
    title: &'static str,
    /// Empty where the title says it all.
    explanation: &'static str,
    /// What to do; empty where the explanation says it.
    cure: &'static str,
}

/// Whether a word is written as codes are: letters, then digits.
pub fn is_code(word: &str) -> bool {
    let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let letters = word.len() - digits.len();
    (1..=2).contains(&letters)
        && (1..=4).contains(&digits.len())
        && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Why such a word says nothing.
pub fn no_code(word: &str) -> Failure {
    let all = all().map(|m| m.code).collect::<Vec<_>>();
    let question = near::question(word, all).map_or(String::new(), |q| format!("; {q}"));
    Kind::Missing.because(format!(
        "there is no code and no kernel `{word}`: codes are those of a build (TK101), of a launch (TL020) and of the \
         virtual machine (V01){question}"
    ))
}

/// What the code of this name means: of a build (`TK`), of a launch (`TL`), of the virtual machine (`V`).
pub fn meaning(name: &str) -> Option<Meaning> {
    all().find(|m| m.code.eq_ignore_ascii_case(name))
}

fn all() -> impl Iterator<Item = Meaning> {
    let build = diag::codes::ROWS.iter().map(|r| Meaning {
        code: r.name,
        title: r.title,
        explanation: r.explain,
        cure: r.cure,
    });
    let launch = codes::ROWS.iter().map(|r| Meaning {
        code: r.code,
        title: r.title,
        explanation: r.explanation,
        cure: "",
    });
    let machine = vm::Code::ALL.iter().map(|c| Meaning {
        code: c.text(),
        title: c.title(),
        explanation: "",
        cure: "",
    });
    build.chain(launch).chain(machine)
}

impl Meaning {
    pub fn value(&self) -> Value {
        json!({ "code": self.code, "title": self.title, "explanation": self.explanation, "cure": self.cure })
    }

    pub fn lines(&self) -> String {
        let mut text = format!("{}: {}\n", self.code, self.title);
        for (before, words) in [("", self.explanation), ("What to do: ", self.cure)] {
            if !words.is_empty() {
                text += &format!("  {before}{words}\n");
            }
        }
        text
    }
}
