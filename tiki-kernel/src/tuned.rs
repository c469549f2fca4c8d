//! The record of a tuning: which instance was fastest, for which text of the kernel.
//!
//! ```text
//! tiki-tuned 1
//! kernel gemm
//! text 6c62272e07bb014262b821756295c58d
//! device NVIDIA H200
//! set E = f16
//! set BM = 128
//! ```
//!
//! It is a file beside the crate, read by people and committed. `kernel_set!` takes an instance from it, and
//! refuses a record of another text: what was fastest then need not be now, or even mean the same.

use crate::compile::{Arg, Instance};
use std::fmt;

/// First line of every record.
pub const VERSION: &str = "tiki-tuned 1";

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tuned {
    /// The kernel's name.
    pub kernel: String,
    /// Hash of its text ([`crate::instance::fingerprint`]).
    pub text: u128,
    /// Where it was measured, for people.
    pub device: String,
    /// What was fastest.
    pub instance: Instance,
}

/// Why a text is no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunedError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for TunedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {} of a record of tuning: {}",
            self.line, self.message
        )
    }
}

impl std::error::Error for TunedError {}

impl fmt::Display for Tuned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.device.replace('\n', " ");
        writeln!(f, "{VERSION}\nkernel {}", self.kernel)?;
        writeln!(f, "text {:032x}\ndevice {device}", self.text)?;
        let mut args = self.instance.args.iter();
        args.try_for_each(|(name, arg)| writeln!(f, "set {name} = {arg}"))
    }
}

impl std::str::FromStr for Tuned {
    type Err = TunedError;

    fn from_str(text: &str) -> Result<Tuned, TunedError> {
        let mut out = Tuned {
            kernel: String::new(),
            text: 0,
            device: String::new(),
            instance: Instance { args: Vec::new() },
        };
        let mut seen_text = false;
        for (i, line) in text.lines().enumerate() {
            let wrong = |message: String| TunedError {
                line: i + 1,
                message,
            };
            if i == 0 {
                if line != VERSION {
                    return Err(wrong(format!(
                        "it begins with `{line}`, not with `{VERSION}`"
                    )));
                }
                continue;
            }
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                "kernel" => value.clone_into(&mut out.kernel),
                "device" => value.clone_into(&mut out.device),
                "text" => {
                    let hash = u128::from_str_radix(value, 16);
                    out.text = hash.map_err(|_| wrong(format!("`{value}` is no hash")))?;
                    seen_text = true;
                }
                "set" => {
                    let parts = value.split_once('=');
                    let arg = parts.and_then(|(n, a)| Some((n.trim(), Arg::by_text(a.trim())?)));
                    let Some((name, arg)) = arg else {
                        return Err(wrong(format!("`{value}` is no parameter")));
                    };
                    if !is_name(name) {
                        return Err(wrong(format!("`{name}` is no parameter's name")));
                    }
                    if out.instance.args.iter().any(|(n, _)| n == name) {
                        return Err(wrong(format!("`{name}` is set twice")));
                    }
                    out.instance.args.push((name.to_owned(), arg));
                }
                "" => {}
                _ => return Err(wrong(format!("`{key}` is unknown"))),
            }
        }
        if out.kernel.is_empty() || !seen_text {
            return Err(TunedError {
                line: text.lines().count().max(1),
                message: "it names no kernel, or no text".to_owned(),
            });
        }
        Ok(out)
    }
}

/// Whether a build can write it as a name.
fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    let first = |c: char| c.is_alphabetic() || c == '_';
    chars.next().is_some_and(first) && chars.all(|c| first(c) || c.is_numeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn a_record_round_trips_and_says_what_is_wrong() {
        let tuned = Tuned {
            kernel: "gemm".into(),
            text: 7 << 100,
            device: "NVIDIA H200".into(),
            instance: Instance {
                args: vec![
                    ("E".into(), Arg::Type(DType::BF16)),
                    ("BM".into(), Arg::Int(128)),
                    ("CAUSAL".into(), Arg::Bool(true)),
                ],
            },
        };
        let text = tuned.to_string();
        assert_eq!(text.parse(), Ok(tuned));
        let said = |text: &str| text.parse::<Tuned>().expect_err("refused").to_string();
        assert!(said("tiki-tuned 0\n").contains("begins with `tiki-tuned 0`"));
        assert!(said(&text.replace("set BM = 128", "set BM = wide")).starts_with("line 6"));
        assert!(said(&text.replace("kernel", "kernal")).contains("`kernal` is unknown"));
        assert!(said(VERSION).contains("no kernel"));
        for name in ["B;M", "9", "", "B M"] {
            let text = text.replace("set BM", &format!("set {name}"));
            assert!(said(&text).contains("is no parameter"), "{name}");
        }
        let twice = text.replace("set E = bf16", "set E = bf16\nset E = f16");
        assert!(said(&twice).contains("`E` is set twice"));
    }
}
