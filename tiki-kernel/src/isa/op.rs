//! An instruction without its operands: a row and what was chosen of it.

use super::row::{Count, Row, TyRef};
use super::{Ty, modifiers::Modifier};
use crate::target::Target;
use std::fmt;

/// Most words a row has.
pub const WORDS: usize = 20;
const ABSENT: u8 = u8::MAX;

/// A row with its modifiers and types chosen.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Op {
    /// The row.
    pub row: &'static Row,
    picks: [u8; WORDS],
}

impl Op {
    /// The row with nothing optional chosen; every mandatory modifier has its first value.
    #[must_use]
    pub fn new(row: &'static Row) -> Op {
        let mut picks = [ABSENT; WORDS];
        for (i, s) in row.form().slots.iter().enumerate() {
            if !s.optional {
                picks[i] = 0;
            }
        }
        Op { row, picks }
    }
    /// Whether a target has the instruction.
    #[must_use]
    pub fn exists_on(&self, target: Target) -> bool {
        let since = self.row.since;
        target.arch().has(since.capability, since.exact) && target.row().ptx_version >= since.ptx
    }
    /// Reads the dotted text of an instruction as this row.
    #[must_use]
    pub fn read(row: &'static Row, words: &[&str]) -> Option<Op> {
        let mut picks = [ABSENT; WORDS];
        matches(&row.form().slots, words, &mut picks, 0).then_some(Op { row, picks })
    }
    /// Chooses a modifier; `None` if the row does not have it or not with this value.
    #[must_use]
    pub fn try_set(mut self, name: &str, value: &str) -> Option<Op> {
        let i = self.row.slot(name)?;
        let v = self.row.form().slots[i]
            .values
            .iter()
            .position(|x| *x == value)?;
        self.picks[i] = v as u8;
        Some(self)
    }
    /// Chooses a modifier.
    ///
    /// # Panics
    /// If the row does not have it: a mistake of the caller, not of a user.
    #[must_use]
    pub fn set(self, name: &str, value: &str) -> Op {
        self.try_set(name, value).unwrap_or_else(|| {
            panic!(
                "bug: row {} has no modifier {name} = {value} ({})",
                self.row.name, self.row.text
            )
        })
    }
    /// Leaves an optional modifier out.
    #[must_use]
    pub fn unset(mut self, name: &str) -> Op {
        if let Some(i) = self.row.slot(name)
            && self.row.form().slots[i].optional
        {
            self.picks[i] = ABSENT;
        }
        self
    }
    /// Chooses a typed modifier ([`super::Rounding`], [`super::Scope`], [`super::Cache`]...).
    ///
    /// # Panics
    /// If the row does not have it.
    #[must_use]
    pub fn with(self, modifier: impl Modifier) -> Op {
        self.set(modifier.slot(), modifier.text())
    }
    /// Chooses a typed modifier if the row has it.
    #[must_use]
    pub fn try_with(self, modifier: impl Modifier) -> Option<Op> {
        self.try_set(modifier.slot(), modifier.text())
    }
    /// Subnormal inputs and results become zero.
    #[must_use]
    pub fn ftz(self) -> Op {
        self.set("ftz", "ftz")
    }
    /// The result is clamped to the type's range (integers) or to 0..1 (floats).
    #[must_use]
    pub fn sat(self) -> Op {
        self.set("sat", "sat")
    }
    /// A NaN operand gives NaN.
    #[must_use]
    pub fn nan(self) -> Op {
        self.set("NaN", "NaN")
    }
    /// Negative results become zero.
    #[must_use]
    pub fn relu(self) -> Op {
        self.set("relu", "relu")
    }
    /// The value chosen for a modifier.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'static str> {
        let i = self.row.slot(name)?;
        self.row.form().slots[i]
            .values
            .get(self.picks[i] as usize)
            .copied()
    }
    /// Whether an optional word is present.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
    /// The type chosen for a modifier.
    #[must_use]
    pub fn ty(&self, name: &str) -> Option<Ty> {
        self.get(name).and_then(Ty::by_name)
    }
    /// The space it accesses, as its modifier says; generic without one.
    #[must_use]
    pub fn space(&self) -> super::Space {
        self.get("space")
            .and_then(super::Space::by_text)
            .unwrap_or(super::Space::Generic)
    }
    /// The type an operand has under this choice.
    #[must_use]
    pub fn resolve(&self, ty: TyRef) -> Option<Ty> {
        match ty {
            TyRef::Fixed(t) => Some(t),
            TyRef::Slot(name) => self.ty(name),
            TyRef::Double(name) => {
                let t = self.ty(name)?;
                Ty::all().find(|u| u.class() == t.class() && u.bits() == 2 * t.bits())
            }
            TyRef::None => None,
        }
    }
    /// How many registers an operand has under this choice; `None` means one without braces.
    #[must_use]
    pub fn count(&self, count: Count) -> Option<u32> {
        match count {
            Count::One => None,
            Count::Fixed(n) => Some(n),
            Count::Slot(name, d) => self.get(name).map(|v| number(v) / d),
        }
    }
}

/// The number in a modifier's value: `v4` is 4, `x2` is 2, of `m64n128k16` the n, 128.
#[must_use]
pub fn number(value: &str) -> u32 {
    let digits = match (value.starts_with('m'), value.find('n')) {
        (true, Some(i)) => &value[i + 1..],
        _ => value.trim_start_matches(|c: char| !c.is_ascii_digit()),
    };
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().unwrap_or(1)
}

fn matches(slots: &[super::row::Slot], words: &[&str], picks: &mut [u8; WORDS], at: usize) -> bool {
    let Some(slot) = slots.first() else {
        return words.is_empty();
    };
    if let Some(word) = words.first()
        && let Some(v) = slot.values.iter().position(|x| x == word)
    {
        picks[at] = v as u8;
        if matches(&slots[1..], &words[1..], picks, at + 1) {
            return true;
        }
    }
    picks[at] = ABSENT;
    slot.optional && matches(&slots[1..], words, picks, at + 1)
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (slot, pick) in self.row.form().slots.iter().zip(self.picks) {
            if let Some(v) = slot.values.get(pick as usize) {
                if !first {
                    f.write_str(".")?;
                }
                f.write_str(v)?;
                first = false;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
