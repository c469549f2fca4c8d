//! The canonical text of a program: what a kernel travels as, and what the `ast` stage shows.
//!
//! ```text
//! tiki-ast 2
//! (program (kernel add@0 [(option threads@1 (lit@2 (int 256 "")) [])] [] [..] ..) [])
//! (places ["src/add.rs"] [0:4:8 0:3:16 ..])
//! ```
//!
//! A node is `(tag fields..)`, a list `[..]`, an absent part `~`, a string quoted; a name or an
//! expression's tag carries its span as `@n`, an entry of `places`. One row of [`nodes`] is both how a
//! node is written and how it is read.
//!
//! Invariant: the same tree gives the same text, and [`parse`]`(`[`print()`]`(p)) == p`. A text of another
//! version is refused. [`print_unplaced`] leaves spans and places out: the text that stays the same when
//! lines move, for goldens and keys.

mod nodes;
mod read;
mod write;

pub use read::TextError;

use super::Program;
use read::Reader;
use write::Writer;

/// First line of every text. The number changes with the tree.
pub const VERSION: &str = "tiki-ast 2";

/// A part of the tree that can be written and read.
trait Node: Sized {
    fn put(&self, to: &mut Writer);
    fn get(from: &mut Reader<'_>) -> Result<Self, TextError>;
    /// Any value, for tests: `deep` is how many levels may still follow.
    #[cfg(test)]
    fn any(from: &mut arbtest::arbitrary::Unstructured<'_>, deep: u32) -> Self;
}

/// Prints a program with its places.
#[must_use]
pub fn print(program: &Program) -> String {
    let mut to = Writer::new(true);
    program.put(&mut to);
    program.places.put(&mut to);
    to.finish()
}

/// Prints a program without saying where it stands.
#[must_use]
pub fn print_unplaced(program: &Program) -> String {
    let mut to = Writer::new(false);
    program.put(&mut to);
    to.finish()
}

/// Reads what [`print()`] wrote.
///
/// # Errors
/// If the text is of another version, or no program.
pub fn parse(text: &str) -> Result<Program, TextError> {
    let mut from = Reader::new(text)?;
    let mut program = Program::get(&mut from)?;
    program.places = Node::get(&mut from)?;
    from.end()?;
    Ok(program)
}

#[cfg(test)]
mod tests;
