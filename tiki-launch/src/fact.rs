//! What a kernel requires of its arguments, and what its launcher computes from them.
//!
//! The author's expressions, with the values they had: an error shows what was written and what it came to.

use std::fmt;

/// A fact the kernel requires, with the values that decide about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactError {
    /// The kernel's instance.
    pub kernel: String,
    /// The fact as its author wrote it.
    pub fact: String,
    /// Its operands as written, and what they are.
    pub values: Vec<(String, String)>,
}

impl fmt::Display for FactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FactError {
            kernel,
            fact,
            values,
        } = self;
        write!(f, "kernel `{kernel}` requires `{fact}`, ")?;
        if values.is_empty() {
            return f.write_str("which is false");
        }
        for (i, (operand, value)) in values.iter().enumerate() {
            let before = match i {
                0 => "but ",
                i if i + 1 == values.len() => " and ",
                _ => ", ",
            };
            write!(f, "{before}`{operand}` is {value}")?;
        }
        Ok(())
    }
}

impl std::error::Error for FactError {}

/// A computation of a launcher that has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArithmeticError {
    /// The kernel's instance.
    pub kernel: String,
    /// What was to be computed: `its grid`.
    pub place: String,
    /// The expression as its author wrote it.
    pub expression: String,
    /// The same with its numbers, and what is wrong with them: `2 - 3, which is negative`.
    pub numbers: String,
}

impl fmt::Display for ArithmeticError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ArithmeticError {
            kernel,
            place,
            expression,
            numbers,
        } = self;
        write!(
            f,
            "kernel `{kernel}`: `{expression}` in {place} is {numbers}"
        )
    }
}

impl std::error::Error for ArithmeticError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_told_with_whatever_values_it_has() {
        let told = |values: &[(&str, &str)]| {
            let values = values.iter().map(|&(o, v)| (o.into(), v.into())).collect();
            let (kernel, fact) = ("k".into(), "f".into());
            let error = FactError {
                kernel,
                fact,
                values,
            };
            error.to_string()
        };
        assert_eq!(told(&[]), "kernel `k` requires `f`, which is false");
        assert_eq!(
            told(&[("a", "1"), ("b", "0.5"), ("c", "[2]")]),
            "kernel `k` requires `f`, but `a` is 1, `b` is 0.5 and `c` is [2]"
        );
    }
}
