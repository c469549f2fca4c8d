//! The canonical text of a program (placeholder order: kernel, then items).

use super::Program;

/// Prints a program.
#[must_use]
pub fn print(program: &Program) -> String {
    format!("{program:#?}\n")
}
