//! Which monomials' bounds have changed while they are propagated, and when: changes are counted.

use std::collections::BTreeMap;

use super::poly::{Atom, Monomial, Poly};

/// Of each monomial, the number of its last change.
#[derive(Default)]
pub(super) struct Changes {
    pub count: usize,
    variables: Vec<usize>,
    others: BTreeMap<Monomial, usize>,
}

impl Changes {
    pub fn note(&mut self, m: &Monomial) {
        self.count += 1;
        if let [Atom::Var(v)] = m.as_slice() {
            let v = *v as usize;
            if self.variables.len() <= v {
                self.variables.resize(v + 1, 0);
            }
            self.variables[v] = self.count;
        } else {
            self.others.insert(m.clone(), self.count);
        }
    }

    /// Whether anything that the bounds of the terms are made of has changed in this turn or later.
    pub fn since(&self, p: &Poly, turn: usize) -> bool {
        p.terms.keys().any(|m| {
            let other = || self.others.get(m).is_some_and(|at| *at >= turn);
            m.iter().any(|atom| self.since_atom(atom, turn)) || !self.others.is_empty() && other()
        })
    }

    fn since_atom(&self, atom: &Atom, turn: usize) -> bool {
        let itself = || {
            let alone = core::slice::from_ref(atom);
            self.others.get(alone).is_some_and(|at| *at >= turn)
        };
        match atom {
            Atom::Var(v) => self
                .variables
                .get(*v as usize)
                .is_some_and(|at| *at >= turn),
            Atom::Floor(p, _) => self.since(p, turn) || itself(),
            Atom::Quotient(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => {
                self.since(a, turn) || self.since(b, turn) || itself()
            }
        }
    }
}
