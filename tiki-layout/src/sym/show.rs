//! Terms and statements in the names of a store.
//!
//! Printing binds as Rust does: sums in parentheses inside of products, quotients as `floor(a / b)` and `ceil(a / b)`.

use super::{Expr, Facts, Predicate};

impl Facts {
    /// The term with the symbols' names.
    pub fn show(&self, term: &Expr) -> String {
        match term {
            Expr::Int(k) => k.to_string(),
            Expr::Symbol(s) => self.name(*s).unwrap_or("?").to_owned(),
            Expr::Sum(parts) => {
                let mut text = String::new();
                for part in parts {
                    let shown = self.show(part);
                    match shown.strip_prefix('-') {
                        Some(rest) if !text.is_empty() => {
                            text.push_str(" - ");
                            text.push_str(rest);
                        }
                        _ => {
                            if !text.is_empty() {
                                text.push_str(" + ");
                            }
                            text.push_str(&shown);
                        }
                    }
                }
                if text.is_empty() {
                    "0".to_owned()
                } else {
                    text
                }
            }
            Expr::Product(parts) => self.show_product(parts),
            Expr::FloorDiv(a, b) => format!("floor({} / {})", self.show(a), self.show_factor(b)),
            Expr::CeilDiv(a, b) => format!("ceil({} / {})", self.show(a), self.show_factor(b)),
            Expr::Mod(a, b) => format!("({} % {})", self.show_factor(a), self.show_factor(b)),
            Expr::Min(a, b) => format!("min({}, {})", self.show(a), self.show(b)),
            Expr::Max(a, b) => format!("max({}, {})", self.show(a), self.show(b)),
        }
    }

    fn show_product(&self, parts: &[Expr]) -> String {
        match parts {
            [] => "1".to_owned(),
            [Expr::Int(-1), Expr::Int(k)] => format!("-{k}"),
            [Expr::Int(-1), rest @ ..] if !rest.is_empty() => {
                format!("-{}", self.show_product(rest))
            }
            _ => parts
                .iter()
                .map(|p| self.show_factor(p))
                .collect::<Vec<_>>()
                .join("*"),
        }
    }

    fn show_factor(&self, term: &Expr) -> String {
        match term {
            Expr::Sum(parts) if parts.len() > 1 => format!("({})", self.show(term)),
            _ => self.show(term),
        }
    }

    /// The statement with the symbols' names.
    pub fn show_predicate(&self, statement: &Predicate) -> String {
        match statement {
            Predicate::Le(a, b) => format!("{} <= {}", self.show(a), self.show(b)),
            Predicate::Lt(a, b) => format!("{} < {}", self.show(a), self.show(b)),
            Predicate::Eq(a, b) => format!("{} == {}", self.show(a), self.show(b)),
            Predicate::Divides(e, k) => format!("{} % {k} == 0", self.show_factor(e)),
            Predicate::FitsU32(e) => format!("0 <= {} < 2^32", self.show(e)),
        }
    }
}
