//! From terms to normal form, under the definitions and facts of a store.
//!
//! Rules for `floor(p/k)`, applied until none fits (`k >= 1` constant, `p = k*A + R` with coefficients of `R` in `0..k`):
//! 1. `floor(p/k) = A + floor(R/k)`
//! 2. `floor((floor(s/j) + c)/k) = floor((s + c*j)/(j*k))`
//! 3. a common divisor of `k` and the variable part of `R` is taken out, rounding the constant down
//! 4. `floor(R/k)` is a number if the facts show that it can have only one value
//!
//! A divisor that is a term `q` uses rule 1 for the multiples of its leading monomial and rule 4 for `0 <= R < q`.
//!
//! `fuel` bounds how deep the prover may be asked from here, since the prover itself normalises.

use super::poly::{Atom, Poly};
use super::{Expr, Facts, SymError};

/// Levels of nesting of a term.
const MAX_LEVELS: usize = 100;
/// How deep proofs inside of normal forms may nest.
pub(super) const FUEL: u8 = 2;

impl Facts {
    pub(super) fn normal(&self, e: &Expr) -> Result<Poly, SymError> {
        self.rewrite(self.normal_at(e, 0)?)
    }

    fn normal_at(&self, e: &Expr, level: usize) -> Result<Poly, SymError> {
        if level > MAX_LEVELS {
            return Err(SymError::TooLarge {
                what: "levels",
                limit: MAX_LEVELS,
            });
        }
        let inner = |e: &Expr| self.normal_at(e, level + 1);
        match e {
            Expr::Int(k) => Ok(Poly::constant(i128::from(*k))),
            Expr::Symbol(s) => self.resolve(&Poly::var(self.variable(*s)?), FUEL),
            Expr::Sum(parts) => parts
                .iter()
                .try_fold(Poly::default(), |sum, p| sum.add(&inner(p)?)),
            Expr::Product(parts) => parts
                .iter()
                .try_fold(Poly::constant(1), |prod, p| prod.mul(&inner(p)?)),
            Expr::FloorDiv(a, b) => self.floor(inner(a)?, inner(b)?, FUEL),
            Expr::CeilDiv(a, b) => {
                let (a, b) = (inner(a)?, inner(b)?);
                self.floor(a.add(&b)?.plus(-1)?, b, FUEL)
            }
            Expr::Mod(a, b) => {
                let (a, b) = (inner(a)?, inner(b)?);
                let whole = self.floor(a.clone(), b.clone(), FUEL)?;
                a.sub(&whole.mul(&b)?)
            }
            Expr::Min(a, b) => self.extremum(inner(a)?, inner(b)?, true, FUEL),
            Expr::Max(a, b) => self.extremum(inner(a)?, inner(b)?, false, FUEL),
        }
    }

    /// Replaces defined variables, inside of atoms too, until none is left.
    pub(super) fn resolve(&self, p: &Poly, fuel: u8) -> Result<Poly, SymError> {
        let mut out = Poly::default();
        for (m, c) in &p.terms {
            let mut product = Poly::constant(*c);
            for atom in m {
                product = product.mul(&self.resolve_atom(atom, fuel)?)?;
            }
            out = out.add(&product)?;
        }
        self.rewrite(out)
    }

    fn resolve_atom(&self, atom: &Atom, fuel: u8) -> Result<Poly, SymError> {
        match atom {
            Atom::Var(v) => match self.definition(*v) {
                Some(p) => self.resolve(p, fuel),
                None => Ok(Poly::var(*v)),
            },
            Atom::Floor(p, k) => self.floor(self.resolve(p, fuel)?, Poly::constant(*k), fuel),
            Atom::Quotient(p, q) => {
                self.floor(self.resolve(p, fuel)?, self.resolve(q, fuel)?, fuel)
            }
            Atom::Min(a, b) => {
                self.extremum(self.resolve(a, fuel)?, self.resolve(b, fuel)?, true, fuel)
            }
            Atom::Max(a, b) => {
                self.extremum(self.resolve(a, fuel)?, self.resolve(b, fuel)?, false, fuel)
            }
        }
    }

    fn floor(&self, p: Poly, q: Poly, fuel: u8) -> Result<Poly, SymError> {
        let (p, q) = (self.rewrite(p)?, self.rewrite(q)?);
        match q.as_constant() {
            Some(k) if k < 1 => Err(SymError::Divisor { value: k }),
            Some(k) => self.floor_constant(&p, k, fuel),
            None => self.floor_term(&p, &q, fuel),
        }
    }

    fn floor_constant(&self, p: &Poly, k: i128, fuel: u8) -> Result<Poly, SymError> {
        let (whole, rest) = p.split_by(k);
        if rest.as_constant().is_some() {
            return Ok(whole);
        }
        let offset = rest.offset();
        let single = {
            let mut terms = rest.variable_terms();
            match (terms.next(), terms.next()) {
                (Some((m, 1)), None) if m.len() == 1 => Some(&m[0]),
                _ => None,
            }
        };
        if let Some(Atom::Floor(inner, j)) = single {
            let shifted = inner.plus(offset.checked_mul(*j).ok_or(SymError::Overflow)?)?;
            let k = j.checked_mul(k).ok_or(SymError::Overflow)?;
            return whole.add(&self.floor_constant(&shifted, k, fuel)?);
        }
        // Every coefficient of the rest is in 1..k, so their gcd with k fits.
        let g = super::poly::gcd(rest.content(), k.unsigned_abs());
        let g = i128::try_from(g).map_err(|_| SymError::Overflow)?;
        if g > 1 {
            let mut reduced = Poly::constant(offset.div_euclid(g));
            for (m, c) in rest.variable_terms() {
                reduced.terms.insert(m.clone(), c / g);
            }
            return whole.add(&self.floor_constant(&reduced, k / g, fuel)?);
        }
        let value = self.bounds().poly(&rest);
        if let (Some(low), Some(high)) = (value.low, value.high)
            && low.div_euclid(k) == high.div_euclid(k)
        {
            return whole.plus(low.div_euclid(k));
        }
        if fuel > 0
            && self.proves(&rest.scale(-1)?, fuel - 1)
            && self.proves(&rest.plus(1 - k)?, fuel - 1)
        {
            return Ok(whole);
        }
        whole.add(&Poly::compound(Atom::Floor(Box::new(rest), k))?)
    }

    fn floor_term(&self, p: &Poly, q: &Poly, fuel: u8) -> Result<Poly, SymError> {
        if p == q {
            return Ok(Poly::constant(1));
        }
        let (mut whole, mut rest) = (Poly::default(), p.clone());
        let mut terms = q.terms.iter();
        if let (Some((m, c)), None) = (terms.next(), terms.next())
            && *c > 0
        {
            let (multiple, other) = p.split_by_monomial(m);
            let (quotient, left) = multiple.split_by(*c);
            rest = other.add(&left.mul(&Poly {
                terms: [(m.clone(), 1)].into(),
            })?)?;
            whole = quotient;
        }
        if rest.terms.is_empty() {
            return Ok(whole);
        }
        if fuel > 0
            && self.proves(&rest.scale(-1)?, fuel - 1)
            && self.proves(&rest.sub(q)?.plus(1)?, fuel - 1)
        {
            return Ok(whole);
        }
        whole.add(&Poly::compound(Atom::Quotient(
            Box::new(rest),
            Box::new(q.clone()),
        ))?)
    }

    fn extremum(&self, a: Poly, b: Poly, smaller: bool, fuel: u8) -> Result<Poly, SymError> {
        let (a, b) = (self.rewrite(a)?, self.rewrite(b)?);
        let difference = a.sub(&b)?;
        let below = |d: &Poly| match d.as_constant() {
            Some(k) => k <= 0,
            None => fuel > 0 && self.proves(d, fuel - 1),
        };
        if below(&difference) {
            return Ok(if smaller { a } else { b });
        }
        if below(&difference.scale(-1)?) {
            return Ok(if smaller { b } else { a });
        }
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        let (a, b) = (Box::new(a), Box::new(b));
        Poly::compound(if smaller {
            Atom::Min(a, b)
        } else {
            Atom::Max(a, b)
        })
    }
}
