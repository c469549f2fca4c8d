//! PTX types: one row each.
//!
//! A type says how many bits a register of it has, how its bits behave, and what its registers are
//! called in printed text. Some types exist only inside instructions (`tf32`, `e4m3x2`, `b1024`...):
//! a value of such a type lives in a bit-type register of its width.

use crate::dtype::DType;
use std::fmt;

/// How a type's bits behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// One truth value a lane.
    Pred,
    /// Bits without meaning: agrees with every type of its width.
    Bits,
    /// Unsigned integer.
    Unsigned,
    /// Two's complement integer.
    Signed,
    /// Floating point.
    Float,
    /// Several small values in one register; agrees with bits only.
    Packed,
}

/// One type.
#[derive(Debug)]
pub struct TyRow {
    /// Name without the dot.
    pub name: &'static str,
    /// Bits of one value.
    pub bits: u32,
    /// Behaviour.
    pub class: Class,
    /// Prefix of its registers in printed text; empty where no register has this type.
    pub prefix: &'static str,
}

macro_rules! types {
    ($($id:ident = $name:literal, $bits:literal, $class:ident, $prefix:literal;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy)]
        enum Index { $($id),* }
        /// All types.
        pub static TYPES: &[TyRow] = &[$(TyRow { name: $name, bits: $bits, class: Class::$class, prefix: $prefix }),*];
        #[allow(non_upper_case_globals)]
        impl Ty { $(
            #[doc = concat!("`.", $name, "`")]
            pub const $id: Ty = Ty(Index::$id as u8);
        )* }
    };
}

/// A PTX type: a row of [`TYPES`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ty(u8);

types! {
    Pred    = "pred",    1,   Pred,     "%p";
    B8      = "b8",      8,   Bits,     "%b";
    U8      = "u8",      8,   Unsigned, "%ub";
    S8      = "s8",      8,   Signed,   "%sb";
    B16     = "b16",     16,  Bits,     "%h";
    U16     = "u16",     16,  Unsigned, "%uh";
    S16     = "s16",     16,  Signed,   "%sh";
    F16     = "f16",     16,  Float,    "%fh";
    BF16    = "bf16",    16,  Float,    "%bh";
    B32     = "b32",     32,  Bits,     "%r";
    U32     = "u32",     32,  Unsigned, "%u";
    S32     = "s32",     32,  Signed,   "%s";
    F32     = "f32",     32,  Float,    "%f";
    F16x2   = "f16x2",   32,  Packed,   "%hh";
    BF16x2  = "bf16x2",  32,  Packed,   "%bb";
    B64     = "b64",     64,  Bits,     "%rd";
    U64     = "u64",     64,  Unsigned, "%ud";
    S64     = "s64",     64,  Signed,   "%sd";
    F64     = "f64",     64,  Float,    "%fd";
    B128    = "b128",    128, Bits,     "%q";
    U16x2   = "u16x2",   32,  Packed,   "";
    S16x2   = "s16x2",   32,  Packed,   "";
    F32x2   = "f32x2",   64,  Packed,   "";
    TF32    = "tf32",    32,  Packed,   "";
    E4M3    = "e4m3",    8,   Packed,   "";
    E5M2    = "e5m2",    8,   Packed,   "";
    E4M3x2  = "e4m3x2",  16,  Packed,   "";
    E5M2x2  = "e5m2x2",  16,  Packed,   "";
    B1      = "b1",      1,   Packed,   "";
    S4      = "s4",      4,   Packed,   "";
    U4      = "u4",      4,   Packed,   "";
    B1024   = "b1024",   1024, Packed,  "";
}

impl Ty {
    /// Its row.
    #[must_use]
    pub fn row(self) -> &'static TyRow {
        &TYPES[self.0 as usize]
    }
    /// Name without the dot.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }
    /// Bits of one value.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.row().bits
    }
    /// Bytes of one value in memory; a predicate has none.
    #[must_use]
    pub fn bytes(self) -> u32 {
        self.row().bits / 8
    }
    /// Behaviour.
    #[must_use]
    pub fn class(self) -> Class {
        self.row().class
    }
    /// Whether it is a floating-point type, packed pairs included.
    #[must_use]
    pub fn is_float(self) -> bool {
        self.class() == Class::Float
    }
    /// Whether it is a signed integer.
    #[must_use]
    pub fn is_signed(self) -> bool {
        self.class() == Class::Signed
    }
    /// Whether it is a signed or unsigned integer.
    #[must_use]
    pub fn is_int(self) -> bool {
        matches!(self.class(), Class::Signed | Class::Unsigned)
    }
    /// The type of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Ty> {
        TYPES
            .iter()
            .position(|r| r.name == name)
            .map(|i| Ty(i as u8))
    }
    /// All types.
    pub fn all() -> impl Iterator<Item = Ty> {
        (0..TYPES.len()).map(|i| Ty(i as u8))
    }
    /// The bit type of the same width.
    #[must_use]
    pub fn untyped(self) -> Ty {
        match self.bits() {
            8 => Ty::B8,
            16 => Ty::B16,
            32 => Ty::B32,
            64 => Ty::B64,
            128 => Ty::B128,
            _ => self,
        }
    }
    /// The type of a register that holds one value of an element type: floats and integers as
    /// themselves, 16-bit floats as bits, bytes widened to 16 bits, truth values as predicates.
    #[must_use]
    pub fn of_register(t: DType) -> Ty {
        let r = t.row();
        match (r.ptx, r.bytes) {
            ("pred", _) => Ty::Pred,
            (_, 1) => Ty::B16,
            (_, 2) => Ty::B16,
            ("f32", _) => Ty::F32,
            ("f64", _) => Ty::F64,
            (_, 8) => Ty::B64,
            _ => Ty::B32,
        }
    }
    /// The type an instruction names to compute with an element type.
    #[must_use]
    pub fn of_arithmetic(t: DType) -> Ty {
        Ty::by_name(t.row().ptx).expect("every element type names a PTX type")
    }
    /// Whether a register of type `self` may stand where an instruction says `wanted`. With `wide`
    /// (loads, stores, conversions) a wider register may too.
    #[must_use]
    pub fn fits(self, wanted: Ty, wide: bool) -> bool {
        if self == Ty::Pred || wanted == Ty::Pred {
            return self == wanted;
        }
        let (have, want) = (self.bits(), wanted.bits().max(8));
        if have != want && !(wide && have > want) {
            return false;
        }
        let (a, b) = (self.class(), wanted.class());
        a == Class::Bits
            || b == Class::Bits
            || self == wanted
            || (self.is_int() && wanted.is_int())
            || (b == Class::Packed && have > want && wide)
            || (b == Class::Packed && self.is_int())
            || (wanted == Ty::TF32 && self == Ty::F32)
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
