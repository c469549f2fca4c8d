//! The instruction table: what every PTX instruction prints, takes, does and means.
//!
//! An instruction is a [`Row`]; a row with its modifiers and types chosen is an [`Op`]. There is no
//! list of opcodes and no second place that knows an instruction by name: the printer, the parser, the
//! verifier, liveness and the machine loop over rows.
//!
//! # Writing instructions from Rust
//!
//! Constructors in [`make`] (re-exported here) give an [`Op`]; [`crate::ptx::FnBuilder`] puts it into a
//! function with its operands, in the order of the PTX text (destinations first):
//!
//! ```
//! use tiki_kernel::isa::{self, Cmp, Order, Rounding, Scope, Space, Ty, Vec};
//! use tiki_kernel::ptx::{FnBuilder, Operand};
//!
//! let mut b = FnBuilder::entry("scale");
//! let x = b.param("x", Ty::U64);
//! let n = b.param("n", Ty::U32);
//! let address = b.load_param(x);                        // ld.param.u64
//! let count = b.load_param(n);
//! let global = b.reg(Ty::B64);
//! b.emit(isa::cvta_to(Space::Global), [global, address]);
//! let i = b.reg(Ty::B32);
//! b.emit(isa::mov(Ty::U32), [Operand::from(i), isa::Special::TID_X.into()]);
//! let outside = b.reg(Ty::Pred);
//! b.emit(isa::setp(Cmp::Ge, Ty::U32), [outside, i, count]);
//! let end = b.label("end");
//! b.emit_if(outside, isa::bra(), [end]);                 // @%p bra
//! let at = b.reg(Ty::B64);
//! b.emit(isa::mad_wide(Ty::U32), [at.into(), i.into(), Operand::int(16), global.into()]);
//! let v = b.regs::<4>(Ty::F32);
//! b.emit(isa::ld(Space::Global, Ty::F32).with(Vec::V4), [Operand::vec(v), Operand::addr(at, 0)]);
//! for r in v {
//!     b.emit(isa::mul(Ty::F32), [r.into(), r.into(), Operand::f32(2.0)]);   // mul.rn.f32
//! }
//! b.emit(isa::st(Space::Global, Ty::F32).with(Vec::V4), [Operand::addr(at, 0), Operand::vec(v)]);
//! b.place(end);
//! b.emit0(isa::ret());
//! assert!(b.finish().to_string().contains("ld.global.v4.f32"));
//! ```
//!
//! - Floating-point arithmetic carries `.rn` unless [`Op::with`] changes it.
//! - [`Op::with`] takes any typed modifier: [`Vec`], [`Cache`], [`L1`], [`L2`], [`Order`], [`Scope`]...;
//!   [`Op::ftz`], [`Op::sat`], [`Op::nan`], [`Op::relu`] are flags. A modifier that the row does not have
//!   is a bug of the caller (panics); [`Op::try_with`] asks first.
//! - [`Row::effects`] tells what an instruction does beyond its registers.
//! - [`Row::since`] tells where it exists; [`crate::ptx::verify`] holds a module against its target.
//!
//! # Adding an instruction
//! One row on a page of [`rows`] (notation: [`row`]), one meaning, and, if it is written from Rust, one
//! constructor in [`make`].

pub mod descriptor;
pub mod effects;
pub mod make;
pub mod make_async;
mod modifiers;
mod op;
pub mod row;
pub mod rows;
pub mod special;
mod ty;

pub use effects::Effects;
pub use make::*;
pub use make_async::*;
pub use modifiers::{
    Atom, Bool, Cache, Cmp, FenceSpace, Half, L1, L2, Match, Matrices, Modifier, Order, Rounding,
    Scope, Shfl, Space, Vec, Vote,
};
pub use op::{Op, number};
pub use row::{Row, Since};
pub use special::{SPECIALS, Special};
pub use ty::{Class, TYPES, Ty};

use std::collections::HashMap;
use std::sync::LazyLock;

static BY_HEAD: LazyLock<HashMap<&'static str, std::vec::Vec<&'static Row>>> =
    LazyLock::new(|| {
        let mut map: HashMap<&'static str, std::vec::Vec<&'static Row>> = HashMap::new();
        for row in all() {
            map.entry(row.head()).or_default().push(row);
        }
        map
    });

/// All rows.
pub fn all() -> impl Iterator<Item = &'static Row> {
    rows::PAGES.iter().flat_map(|p| p.iter().copied())
}

/// All readings of the dotted text of an instruction; none if no row has it.
#[must_use]
pub fn read(text: &str) -> std::vec::Vec<Op> {
    let words: std::vec::Vec<&str> = text.split('.').collect();
    BY_HEAD
        .get(words[0])
        .into_iter()
        .flatten()
        .filter_map(|row| Op::read(row, &words))
        .collect()
}

/// Rows whose first word is this.
#[must_use]
pub fn named(head: &str) -> &'static [&'static Row] {
    BY_HEAD.get(head).map_or(&[], |v| v.as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_reads_what_it_prints() {
        for row in all() {
            let op = Op::new(row);
            let text = op.to_string();
            assert!(
                read(&text).contains(&op),
                "{text} does not come back as {}",
                row.name
            );
            assert!(row.form().slots.len() <= op::WORDS, "{}", row.name);
        }
    }

    #[test]
    fn every_operand_has_a_type_under_some_choice() {
        for row in all() {
            let op = Op::new(row);
            for p in &row.form().pats {
                match p.ty {
                    row::TyRef::None => {}
                    t => assert!(
                        op.resolve(t).is_some(),
                        "{}: operand {} has no type",
                        row.name,
                        p.name
                    ),
                }
                if let row::Count::Slot(name, _) = p.count {
                    assert!(row.slot(name).is_some(), "{}: no modifier {name}", row.name);
                }
            }
        }
    }

    #[test]
    fn every_choice_of_a_space_is_known() {
        for row in all() {
            for s in row
                .form()
                .slots
                .iter()
                .filter(|s| s.name == "space" && s.modifier)
            {
                for v in &s.values {
                    assert!(Space::by_text(v).is_some(), "{}: {v}", row.name);
                }
            }
        }
    }
}
