//! Element types: one row each.
//!
//! A row says what a type is called in a kernel, how wide it is in memory, which PTX type names its
//! bits and how it takes part in arithmetic. Everything that depends on an element type (tensor
//! checks, conversions, vector widths, the machine's buffers) reads the row.

use std::fmt;

/// How values of a type behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// IEEE-like floating point.
    Float,
    /// Two's complement.
    Signed,
    /// Unsigned integer.
    Unsigned,
    /// True or false; a byte in memory, a predicate in a register.
    Bool,
}

/// One element type.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// Name in a kernel and in Rust.
    pub name: &'static str,
    /// Bytes of one element in memory.
    pub bytes: u32,
    /// Behaviour.
    pub class: Class,
    /// PTX type of arithmetic on it (`f32`, `s32`, `bf16`...).
    pub ptx: &'static str,
    /// PTX bit type of its storage (`b16`...).
    pub bits: &'static str,
    /// Explicit significand bits (floats), else 0.
    pub significand: u32,
    /// The type sums and products of it accumulate in unless the author says otherwise.
    pub accumulate: usize,
    /// The kernel language computes with it directly; otherwise it is only stored and converted.
    pub arithmetic: bool,
}

macro_rules! dtypes {
    ($($konst:ident = $name:literal, $bytes:literal, $class:ident, $ptx:literal, $bits:literal, $sig:literal, $acc:ident, $arith:literal;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy)]
        enum Index { $($konst),* }
        /// All element types.
        pub static ROWS: &[Row] = &[$(Row {
            name: $name, bytes: $bytes, class: Class::$class, ptx: $ptx, bits: $bits,
            significand: $sig, accumulate: Index::$acc as usize, arithmetic: $arith,
        }),*];
        impl DType { $(
            #[doc = concat!("`", $name, "`")]
            pub const $konst: DType = DType(Index::$konst as u8);
        )* }
    };
}

/// An element type: a row of [`ROWS`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DType(u8);

dtypes! {
    F32  = "f32",  4, Float,    "f32",  "b32", 23, F32, true;
    F16  = "f16",  2, Float,    "f16",  "b16", 10, F32, true;
    BF16 = "bf16", 2, Float,    "bf16", "b16",  7, F32, true;
    F64  = "f64",  8, Float,    "f64",  "b64", 52, F64, true;
    I32  = "i32",  4, Signed,   "s32",  "b32",  0, I32, true;
    U32  = "u32",  4, Unsigned, "u32",  "b32",  0, U32, true;
    I64  = "i64",  8, Signed,   "s64",  "b64",  0, I64, true;
    U64  = "u64",  8, Unsigned, "u64",  "b64",  0, U64, true;
    BOOL = "bool", 1, Bool,     "pred", "b8",   0, U32, true;
    I8   = "i8",   1, Signed,   "s8",   "b8",   0, I32, false;
    U8   = "u8",   1, Unsigned, "u8",   "b8",   0, U32, false;
    I16  = "i16",  2, Signed,   "s16",  "b16",  0, I32, false;
    U16  = "u16",  2, Unsigned, "u16",  "b16",  0, U32, false;
    TF32 = "tf32", 4, Float,    "tf32", "b32", 10, F32, false;
    E4M3 = "e4m3", 1, Float,    "e4m3", "b8",   3, F32, false;
    E5M2 = "e5m2", 1, Float,    "e5m2", "b8",   2, F32, false;
}

impl DType {
    /// Its row.
    #[must_use]
    pub fn row(self) -> &'static Row {
        &ROWS[self.0 as usize]
    }
    /// Name in a kernel.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }
    /// Bytes of one element.
    #[must_use]
    pub fn bytes(self) -> u32 {
        self.row().bytes
    }
    /// Whether it is a floating-point type.
    #[must_use]
    pub fn is_float(self) -> bool {
        self.row().class == Class::Float
    }
    /// Whether it is an integer type.
    #[must_use]
    pub fn is_int(self) -> bool {
        matches!(self.row().class, Class::Signed | Class::Unsigned)
    }
    /// Least and greatest number of an integer type.
    #[must_use]
    pub fn integers(self) -> Option<(i128, i128)> {
        let bits = self.bytes() * 8;
        match self.row().class {
            Class::Signed => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
            Class::Unsigned => Some((0, (1 << bits) - 1)),
            Class::Float | Class::Bool => None,
        }
    }
    /// The type its sums accumulate in.
    #[must_use]
    pub fn accumulator(self) -> DType {
        DType(self.row().accumulate as u8)
    }
    /// The type of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<DType> {
        ROWS.iter()
            .position(|r| r.name == name)
            .map(|i| DType(i as u8))
    }
    /// Names of the types that kernels compute with.
    pub fn arithmetic() -> impl Iterator<Item = &'static str> {
        ROWS.iter().filter(|r| r.arithmetic).map(|r| r.name)
    }
    /// All, in the order of the table.
    pub fn all() -> impl Iterator<Item = DType> {
        (0..ROWS.len()).map(|i| DType(i as u8))
    }
}

/// A bound that a kernel's type parameter can have: a trait of the prelude.
#[derive(Debug)]
pub struct Bound {
    /// The trait.
    pub name: &'static str,
    /// What a type must be.
    pub what: &'static str,
    holds: fn(&Row) -> bool,
}

/// The bounds that the compiler knows; a trait of somebody else's is rustc's to judge.
pub static BOUNDS: &[Bound] = &[
    Bound {
        name: "Element",
        what: "an element type",
        holds: |r| r.is_element(),
    },
    Bound {
        name: "Word",
        what: "what a shuffle carries",
        holds: |r| r.is_element(),
    },
    Bound {
        name: "Number",
        what: "a type with arithmetic",
        holds: |r| r.is_number(),
    },
    Bound {
        name: "Float",
        what: "a floating-point type",
        holds: |r| r.is_number() && r.class == Class::Float,
    },
    Bound {
        name: "Half",
        what: "a 16-bit floating-point type",
        holds: |r| r.is_number() && r.class == Class::Float && r.bytes == 2,
    },
    Bound {
        name: "Integer",
        what: "an integer type",
        holds: |r| r.is_integer(),
    },
    Bound {
        name: "Int32",
        what: "`i32` or `u32`",
        holds: |r| r.is_integer() && r.bytes == 4,
    },
];

impl Row {
    fn is_integer(&self) -> bool {
        matches!(self.class, Class::Signed | Class::Unsigned)
    }
    /// Narrow integers have the operators too; that kernels do not compute with them is told where they try.
    fn is_number(&self) -> bool {
        self.is_integer() || (self.class == Class::Float && self.arithmetic)
    }
    /// What tensors hold. `tf32` is only how products read `f32`.
    fn is_element(&self) -> bool {
        self.name != "tf32"
    }
}

impl PartialEq for Bound {
    fn eq(&self, other: &Bound) -> bool {
        self.name == other.name
    }
}

impl Eq for Bound {}

impl Bound {
    /// The bound of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Bound> {
        BOUNDS.iter().find(|b| b.name == name)
    }
    /// Whether a type satisfies it.
    #[must_use]
    pub fn holds(&self, t: DType) -> bool {
        (self.holds)(t.row())
    }
    /// Names of the types that satisfy it.
    pub fn types(&self) -> impl Iterator<Item = &'static str> {
        let holds = self.holds;
        ROWS.iter().filter(move |r| holds(r)).map(|r| r.name)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for t in DType::all() {
            assert_eq!(DType::by_name(t.name()), Some(t));
            assert!(t.accumulator().bytes() >= t.bytes().min(4));
        }
    }
}
