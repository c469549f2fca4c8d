//! The normal form: a polynomial with integer coefficients over atoms.
//!
//! ```text
//!   3*i*n - 128*floor((n + 127)/128) + 5
//!   `-- coefficient, monomial (sorted atoms)      the constant has the empty monomial
//! ```
//! No coefficient is zero, atoms within a monomial are sorted, and an atom's own polynomials are in normal form, so
//! equal values of the data structure mean equal terms. All arithmetic is checked.

use std::collections::BTreeMap;

use super::SymError;

/// Most terms of a polynomial.
pub(super) const MAX_TERMS: usize = 64;
/// Most factors of a monomial.
pub(super) const MAX_FACTORS: usize = 6;

/// Most atoms and terms within the operands of an atom, nested ones included: atoms are copied with every product.
const MAX_NODES: usize = 120;

/// A factor of a monomial.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Atom {
    /// A variable: a symbol, or a fresh integer that a fact introduced.
    Var(u32),
    /// `floor(p / k)` with `k >= 2`.
    Floor(Box<Poly>, i128),
    /// `floor(p / q)` where `q` is not constant.
    Quotient(Box<Poly>, Box<Poly>),
    /// The smaller of two.
    Min(Box<Poly>, Box<Poly>),
    /// The larger of two.
    Max(Box<Poly>, Box<Poly>),
}

impl Atom {
    /// The value, like that of a polynomial.
    fn at(&self, value: &mut dyn FnMut(u32) -> Option<i128>) -> Option<i128> {
        let quotient = |a: i128, b: i128| (b >= 1).then(|| a.div_euclid(b));
        match self {
            Atom::Var(v) => value(*v),
            Atom::Floor(p, k) => quotient(p.at(value)?, *k),
            Atom::Quotient(a, b) => quotient(a.at(value)?, b.at(value)?),
            Atom::Min(a, b) => Some(a.at(value)?.min(b.at(value)?)),
            Atom::Max(a, b) => Some(a.at(value)?.max(b.at(value)?)),
        }
    }
}

/// A product of atoms, sorted; empty is 1.
pub(super) type Monomial = Vec<Atom>;

/// A sum of monomials with coefficients.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Poly {
    pub terms: BTreeMap<Monomial, i128>,
}

impl Poly {
    pub fn constant(k: i128) -> Poly {
        let mut p = Poly::default();
        if k != 0 {
            p.terms.insert(Vec::new(), k);
        }
        p
    }

    /// An atom that is made of other terms, unless they are too large.
    pub fn compound(atom: Atom) -> Result<Poly, SymError> {
        let nodes = match &atom {
            Atom::Var(_) => 0,
            Atom::Floor(p, _) => p.nodes(),
            Atom::Quotient(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => a.nodes() + b.nodes(),
        };
        if nodes > MAX_NODES {
            return Err(SymError::TooLarge {
                what: "parts",
                limit: MAX_NODES,
            });
        }
        Ok(Poly::atom(atom))
    }

    /// Terms and factors, nested ones included.
    fn nodes(&self) -> usize {
        let inside = |atom: &Atom| match atom {
            Atom::Var(_) => 1,
            Atom::Floor(p, _) => 1 + p.nodes(),
            Atom::Quotient(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => 1 + a.nodes() + b.nodes(),
        };
        self.terms
            .keys()
            .map(|m| 1 + m.iter().map(inside).sum::<usize>())
            .sum()
    }

    pub fn atom(atom: Atom) -> Poly {
        Poly {
            terms: BTreeMap::from([(vec![atom], 1)]),
        }
    }

    pub fn var(v: u32) -> Poly {
        Poly::atom(Atom::Var(v))
    }

    /// The value if there is no other term than the constant.
    pub fn as_constant(&self) -> Option<i128> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Vec::new() as &Monomial).copied(),
            _ => None,
        }
    }

    /// The constant term.
    pub fn offset(&self) -> i128 {
        self.terms
            .get(&Vec::new() as &Monomial)
            .copied()
            .unwrap_or(0)
    }

    /// The terms other than the constant.
    pub fn variable_terms(&self) -> impl Iterator<Item = (&Monomial, i128)> {
        self.terms
            .iter()
            .filter(|(m, _)| !m.is_empty())
            .map(|(m, c)| (m, *c))
    }

    /// The gcd of the coefficients other than the constant; 0 if there are none.
    pub fn content(&self) -> u128 {
        self.variable_terms()
            .fold(0, |g, (_, c)| gcd(g, c.unsigned_abs()))
    }

    pub fn add_term(&mut self, monomial: Monomial, coefficient: i128) -> Result<(), SymError> {
        use std::collections::btree_map::Entry;
        match self.terms.entry(monomial) {
            Entry::Vacant(slot) => {
                if coefficient != 0 {
                    slot.insert(coefficient);
                }
            }
            Entry::Occupied(mut slot) => {
                let sum = slot
                    .get()
                    .checked_add(coefficient)
                    .ok_or(SymError::Overflow)?;
                if sum == 0 {
                    slot.remove();
                } else {
                    slot.insert(sum);
                }
            }
        }
        if self.terms.len() > MAX_TERMS {
            return Err(SymError::TooLarge {
                what: "terms",
                limit: MAX_TERMS,
            });
        }
        Ok(())
    }

    pub fn add(&self, other: &Poly) -> Result<Poly, SymError> {
        let mut sum = self.clone();
        for (m, c) in &other.terms {
            sum.add_term(m.clone(), *c)?;
        }
        Ok(sum)
    }

    pub fn sub(&self, other: &Poly) -> Result<Poly, SymError> {
        self.add(&other.scale(-1)?)
    }

    pub fn plus(&self, k: i128) -> Result<Poly, SymError> {
        let mut sum = self.clone();
        sum.add_term(Vec::new(), k)?;
        Ok(sum)
    }

    pub fn scale(&self, k: i128) -> Result<Poly, SymError> {
        let mut out = Poly::default();
        if k != 0 {
            for (m, c) in &self.terms {
                out.terms
                    .insert(m.clone(), c.checked_mul(k).ok_or(SymError::Overflow)?);
            }
        }
        Ok(out)
    }

    /// Whether the two add up to 0.
    pub fn is_opposite(&self, other: &Poly) -> bool {
        let mut pairs = self.terms.iter().zip(&other.terms);
        self.terms.len() == other.terms.len()
            && pairs.all(|((m, c), (n, d))| c.checked_neg() == Some(*d) && m == n)
    }

    /// The value where the variables have these; `None` if one has none, a divisor is below 1 or a number too large.
    pub fn at(&self, value: &mut dyn FnMut(u32) -> Option<i128>) -> Option<i128> {
        let mut sum = 0i128;
        for (m, c) in &self.terms {
            let mut product = *c;
            for atom in m {
                product = product.checked_mul(atom.at(value)?)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }

    pub fn mul(&self, other: &Poly) -> Result<Poly, SymError> {
        let mut out = Poly::default();
        for (a, ca) in &self.terms {
            for (b, cb) in &other.terms {
                let mut m: Monomial = a.iter().chain(b).cloned().collect();
                if m.len() > MAX_FACTORS {
                    return Err(SymError::TooLarge {
                        what: "factors",
                        limit: MAX_FACTORS,
                    });
                }
                m.sort();
                out.add_term(m, ca.checked_mul(*cb).ok_or(SymError::Overflow)?)?;
            }
        }
        Ok(out)
    }

    /// Writes `self = k*A + R` with all coefficients of `R` in `0..k`.
    pub fn split_by(&self, k: i128) -> (Poly, Poly) {
        let (mut whole, mut rest) = (Poly::default(), Poly::default());
        for (m, c) in &self.terms {
            let (a, r) = (c.div_euclid(k), c.rem_euclid(k));
            if a != 0 {
                whole.terms.insert(m.clone(), a);
            }
            if r != 0 {
                rest.terms.insert(m.clone(), r);
            }
        }
        (whole, rest)
    }

    /// Writes `self = m*A + R` where no term of `R` has all the atoms of `m`.
    pub fn split_by_monomial(&self, m: &Monomial) -> (Poly, Poly) {
        let (mut whole, mut rest) = (Poly::default(), Poly::default());
        for (t, c) in &self.terms {
            match quotient(t, m) {
                Some(q) => whole.terms.insert(q, *c),
                None => rest.terms.insert(t.clone(), *c),
            };
        }
        (whole, rest)
    }
}

/// The atoms of `t` left over when those of `m` are taken out, if they are all there.
pub(super) fn quotient(t: &Monomial, m: &Monomial) -> Option<Monomial> {
    let mut left = t.clone();
    for atom in m {
        let at = left.iter().position(|a| a == atom)?;
        left.remove(at);
    }
    Some(left)
}

pub(super) fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        // Nearly all numbers are small, and the processor divides those itself.
        let rest = match (u64::try_from(a), u64::try_from(b)) {
            (Ok(a), Ok(b)) => u128::from(a % b),
            _ => a % b,
        };
        (a, b) = (b, rest);
    }
    a
}
