//! Operands, and how they are made from Rust values.

use crate::isa::Special;

/// A register of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u32);

/// A label of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Label(pub u32);

/// An immediate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Imm {
    /// An integer; its low bits count.
    Int(i64),
    /// Bits of an f32.
    F32(u32),
    /// Bits of an f64; also of a decimal fraction in the text of others, whatever its type.
    F64(u64),
}

/// What an address starts from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Base {
    /// A register.
    Reg(Reg),
    /// A variable or parameter.
    Var(String),
    /// Nothing: the offset is the address.
    None,
}

/// An operand.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// A predicate, negated.
    Not(Reg),
    /// An immediate.
    Imm(Imm),
    /// A special register.
    Special(Special),
    /// The address of a variable, plus an offset; also the name of a function or parameter.
    Var(String, i64),
    /// Registers or immediates in braces.
    Vec(Vec<Operand>),
    /// A value and a predicate: `d|p`.
    Pair(Box<Operand>, Box<Operand>),
    /// Nothing wanted: `_`.
    Sink,
    /// An address, with the coordinates of a tensor copy.
    Addr {
        /// Start.
        base: Base,
        /// Bytes added.
        offset: i64,
        /// Coordinates, innermost first; empty for ordinary addresses.
        coords: Vec<Operand>,
    },
    /// A label.
    Label(Label),
    /// A table of labels.
    Table(u32),
    /// Call parameters.
    Params(Vec<Operand>),
}

impl Operand {
    /// An integer.
    #[must_use]
    pub fn int(value: impl Into<i128>) -> Operand {
        Operand::Imm(Imm::Int(value.into() as i64))
    }
    /// A 32-bit float.
    #[must_use]
    pub fn f32(value: f32) -> Operand {
        Operand::Imm(Imm::F32(value.to_bits()))
    }
    /// A 64-bit float.
    #[must_use]
    pub fn f64(value: f64) -> Operand {
        Operand::Imm(Imm::F64(value.to_bits()))
    }
    /// Registers in braces.
    #[must_use]
    pub fn vec<T: Into<Operand>>(parts: impl IntoIterator<Item = T>) -> Operand {
        Operand::Vec(parts.into_iter().map(Into::into).collect())
    }
    /// `d|p`.
    #[must_use]
    pub fn pair(d: impl Into<Operand>, p: impl Into<Operand>) -> Operand {
        Operand::Pair(Box::new(d.into()), Box::new(p.into()))
    }
    /// The address in a register, plus bytes.
    #[must_use]
    pub fn addr(base: Reg, offset: i64) -> Operand {
        Operand::Addr {
            base: Base::Reg(base),
            offset,
            coords: vec![],
        }
    }
    /// The address of a variable or parameter, plus bytes.
    #[must_use]
    pub fn addr_of(name: &str, offset: i64) -> Operand {
        Operand::Addr {
            base: Base::Var(name.to_string()),
            offset,
            coords: vec![],
        }
    }
    /// A tensor map's address and coordinates, innermost first.
    #[must_use]
    pub fn tensor<T: Into<Operand>>(map: Reg, coords: impl IntoIterator<Item = T>) -> Operand {
        Operand::Addr {
            base: Base::Reg(map),
            offset: 0,
            coords: coords.into_iter().map(Into::into).collect(),
        }
    }
    /// The address of a variable, as a value.
    #[must_use]
    pub fn var(name: &str) -> Operand {
        Operand::Var(name.to_string(), 0)
    }
    /// Calls `f` with every register of it, and whether that register is an address part (which is read
    /// even where the operand is written).
    pub fn visit(&self, f: &mut impl FnMut(Reg, bool)) {
        match self {
            Operand::Reg(r) | Operand::Not(r) => f(*r, false),
            Operand::Vec(v) | Operand::Params(v) => v.iter().for_each(|o| o.visit(f)),
            Operand::Pair(a, b) => {
                a.visit(f);
                b.visit(f);
            }
            Operand::Addr { base, coords, .. } => {
                if let Base::Reg(r) = base {
                    f(*r, true);
                }
                for c in coords {
                    if let Operand::Reg(r) = c {
                        f(*r, true);
                    }
                }
            }
            _ => {}
        }
    }
    /// Replaces every register of it.
    pub fn map(&mut self, f: &mut impl FnMut(Reg) -> Reg) {
        match self {
            Operand::Reg(r) | Operand::Not(r) => *r = f(*r),
            Operand::Vec(v) | Operand::Params(v) => v.iter_mut().for_each(|o| o.map(f)),
            Operand::Pair(a, b) => {
                a.map(f);
                b.map(f);
            }
            Operand::Addr { base, coords, .. } => {
                if let Base::Reg(r) = base {
                    *r = f(*r);
                }
                for c in coords {
                    if let Operand::Reg(r) = c {
                        *r = f(*r);
                    }
                }
            }
            _ => {}
        }
    }
}

impl From<Reg> for Operand {
    fn from(r: Reg) -> Operand {
        Operand::Reg(r)
    }
}
impl From<Label> for Operand {
    fn from(l: Label) -> Operand {
        Operand::Label(l)
    }
}
impl From<Special> for Operand {
    fn from(s: Special) -> Operand {
        Operand::Special(s)
    }
}
impl From<&Operand> for Operand {
    fn from(o: &Operand) -> Operand {
        o.clone()
    }
}
