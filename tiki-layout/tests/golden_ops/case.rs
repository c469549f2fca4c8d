//! A recorded case, an answer of ours, and the judge between them.

use serde_json::Value;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Mutex;
use tiki_layout::{Composed, Error, Layout, Tuple};

/// One recorded case.
pub struct Case {
    pub id: String,
    pub op: String,
    pub input: Value,
    pub expect: Value,
}

/// What this crate answers.
pub enum Answer {
    Layout(Layout),
    /// A layout and where it starts.
    At(Layout, i64),
    /// A swizzled layout: only the function is compared.
    Composed(Composed),
    /// Text compared with `expect.value`.
    Value(String),
    /// Named parts, each compared with the field of that name.
    Record(Vec<(&'static str, Part)>),
}

/// A part of a record.
pub enum Part {
    Layout(Layout),
    Tiler(tiki_layout::Tiler),
    Text(String),
    Json(Value),
}

pub type Outcome = Result<Answer, Error>;

/// Whether an answer keeps the operation's post-condition.
pub type Law = fn(&Case, &Answer) -> Result<(), String>;

/// How an operation is run, and the law its answer must keep where CuTe gives none.
pub struct Row {
    pub op: &'static str,
    pub run: fn(&Case) -> Outcome,
    pub law: Option<Law>,
}

impl Row {
    pub const fn new(op: &'static str, run: fn(&Case) -> Outcome) -> Self {
        Row { op, run, law: None }
    }

    pub const fn law(self, law: Law) -> Self {
        Row {
            law: Some(law),
            ..self
        }
    }
}

impl Case {
    /// The argument as text, whether it was written as text or as a number.
    pub fn text(&self, name: &str) -> String {
        match &self.input[name] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// The argument, parsed; a malformed case is the case's fault, not an answer.
    pub fn get<T: FromStr<Err = Error>>(&self, name: &str) -> T {
        let text = self.text(name);
        text.parse()
            .unwrap_or_else(|error| panic!("{}: argument {name} = {text}: {error}", self.id))
    }

    pub fn has(&self, name: &str) -> bool {
        !self.input[name].is_null()
    }

    pub fn int(&self, name: &str) -> i64 {
        let text = self.text(name);
        text.parse()
            .unwrap_or_else(|_| panic!("{}: argument {name} = {text} is no integer", self.id))
    }

    /// Compares an outcome with what is expected.
    pub fn judge(&self, row: &Row, outcome: &Outcome) -> Result<(), String> {
        let kind = self.expect["kind"].as_str().unwrap_or("");
        match (kind, outcome) {
            ("reject" | "either" | "error", Err(_)) => Ok(()),
            ("layout" | "value" | "record", Err(error)) => Err(format!("refused: {error}")),
            ("layout", Ok(answer)) => self.same(answer, true),
            ("either", Ok(answer)) => self.same(answer, false),
            ("value", Ok(Answer::Value(text))) => {
                let want = plain(&self.expect["value"]);
                if *text == want {
                    Ok(())
                } else {
                    Err(format!("want {want}"))
                }
            }
            ("record" | "value", Ok(Answer::Record(parts))) => {
                parts.iter().try_for_each(|(name, part)| {
                    same_part(part, &self.expect[*name]).map_err(|e| format!("{name}: {e}"))
                })
            }
            ("reject", Ok(_)) => Err("answered, but must refuse".to_string()),
            ("error", Ok(answer)) => match row.law {
                Some(law) => {
                    law(self, answer).map_err(|e| format!("answered where CuTe refuses, but {e}"))
                }
                None => Err(
                    "answered where CuTe refuses, and no law says whether it is right".to_string(),
                ),
            },
            _ => Err(format!("an answer of the wrong sort for kind `{kind}`")),
        }
    }

    fn same(&self, answer: &Answer, structure: bool) -> Result<(), String> {
        let (want, shift) = (&self.expect, self.expect["offset"].as_i64());
        match answer {
            Answer::Layout(layout) => same_layout(layout, want, structure),
            Answer::At(layout, offset) => {
                if shift != Some(*offset) {
                    return Err(format!("the offset is {offset}"));
                }
                same_layout(layout, want, structure)
            }
            Answer::Composed(composed) => {
                let shift = shift.unwrap_or(0);
                same_number("size", composed.size(), want)?;
                same_number("rank", composed.rank() as i64, want)?;
                // The shape is the same up to what a decayed slice needs to write signed strides.
                same_map(
                    composed.size(),
                    &mut composed.offsets().map(|x| x - shift),
                    want,
                )
            }
            _ => Err("an answer of the wrong sort".to_string()),
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn same_part(part: &Part, want: &Value) -> Result<(), String> {
    match part {
        Part::Layout(layout) if want.is_object() => same_layout(layout, want, true),
        Part::Layout(layout) => same_text(layout, &plain(want)),
        Part::Tiler(tiler) => super::atoms::same_tiler(tiler, &plain(want)),
        Part::Text(text) if *text == plain(want) => Ok(()),
        Part::Text(text) => Err(format!("{text}, want {want}")),
        Part::Json(json) if json == want => Ok(()),
        Part::Json(json) => Err(format!("{json}, want {want}")),
    }
}

fn same_text(layout: &Layout, want: &str) -> Result<(), String> {
    let wanted: Layout = want
        .parse()
        .map_err(|error| format!("want {want}: {error}"))?;
    if layout.normalized() == wanted.normalized() {
        Ok(())
    } else {
        Err(format!("{layout}, want {want}"))
    }
}

fn same_number(name: &str, got: i64, want: &Value) -> Result<(), String> {
    match want[name].as_i64() {
        Some(want) if want != got => Err(format!("{name} {got}, want {want}")),
        _ => Ok(()),
    }
}

/// Structure (for a unique answer), numbers, and the value at every index.
pub fn same_layout(layout: &Layout, want: &Value, structure: bool) -> Result<(), String> {
    if structure {
        let text = want["norm"].as_str().or(want["out"].as_str()).unwrap_or("");
        same_text(layout, text)?;
        same_number("rank", layout.rank() as i64, want)?;
        same_number("depth", layout.depth() as i64, want)?;
        same_number("cosize", layout.normalized().cosize(), want)?;
    }
    same_number("size", layout.size(), want)?;
    match want["map_fnv1a64"].as_str() {
        Some(hash) if want["map"].is_null() => same_hash(hash_of(layout), layout.size(), hash),
        _ => same_map(layout.size(), &mut layout.offsets(), want),
    }
}

fn same_map(size: i64, offsets: &mut dyn Iterator<Item = i64>, want: &Value) -> Result<(), String> {
    if let Some(map) = want["map"].as_array() {
        for (index, value) in map.iter().enumerate() {
            let (got, value) = (offsets.next(), value.as_i64());
            if got != value {
                return Err(format!("at index {index} got {got:?}, want {value:?}"));
            }
        }
        return Ok(());
    }
    match want["map_fnv1a64"].as_str() {
        Some(hash) => {
            let got = format!("{:016x}", fnv(offsets));
            if got == hash {
                Ok(())
            } else {
                Err(format!("hash {got} of {size} values, want {hash}"))
            }
        }
        None => Ok(()),
    }
}

fn same_hash(got: u64, size: i64, want: &str) -> Result<(), String> {
    let got = format!("{got:016x}");
    if got == want {
        Ok(())
    } else {
        Err(format!("hash {got} of {size} values, want {want}"))
    }
}

/// The hash of all offsets. The memory sides of copy atoms have millions and recur: a layout is hashed once.
fn hash_of(layout: &Layout) -> u64 {
    static SEEN: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());
    let mut seen = SEEN.lock().expect("no test panics while hashing");
    *seen
        .entry(layout.to_string())
        .or_insert_with(|| fnv(&mut layout.offsets()))
}

/// FNV-1a over the values as little-endian `i64`.
pub fn fnv(values: &mut dyn Iterator<Item = i64>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for value in values {
        for byte in value.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    hash
}

/// Shows an outcome.
pub fn show(outcome: &Outcome) -> String {
    match outcome {
        Err(error) => format!("error: {error}"),
        Ok(Answer::Layout(layout)) => layout.to_string(),
        Ok(Answer::At(layout, offset)) => format!("{layout} at {offset}"),
        Ok(Answer::Composed(composed)) => composed.to_string(),
        Ok(Answer::Value(text)) => text.clone(),
        Ok(Answer::Record(parts)) => {
            let show = |(name, part): &(&str, Part)| match part {
                Part::Layout(layout) => format!("{name} = {layout}"),
                Part::Tiler(tiler) => format!("{name} = {tiler}"),
                Part::Text(text) => format!("{name} = {text}"),
                Part::Json(json) => format!("{name} = {json}"),
            };
            parts.iter().map(show).collect::<Vec<_>>().join(", ")
        }
    }
}

pub fn layout(value: Result<Layout, Error>) -> Outcome {
    value.map(Answer::Layout)
}

pub fn composed(value: Result<Composed, Error>) -> Outcome {
    value.map(Answer::Composed)
}

pub fn at(value: Result<(Layout, i64), Error>) -> Outcome {
    value.map(|(layout, offset)| Answer::At(layout, offset))
}

pub fn value<T: std::fmt::Display>(value: Result<T, Error>) -> Outcome {
    value.map(|value| Answer::Value(value.to_string()))
}

/// `_` and integers of a mode list such as `(3,1,2)`.
pub fn mode_list(tuple: &Tuple) -> Vec<usize> {
    tuple
        .leaves()
        .into_iter()
        .map(|mode| usize::try_from(mode).unwrap_or(usize::MAX))
        .collect()
}
