//! Questions: statements, ranges and divisors of terms at all admissible assignments.
//!
//! `g <= 0` is proven in this order:
//! 1. the interval of `g` by propagated bounds;
//! 2. case split: `min(a, b)` is `a` where `a <= b` and `b` where `b <= a`, likewise `max`;
//! 3. elimination: the facts that share variables with `g`, the defining inequalities of its quotients, the bounds
//!    of its monomials, products of facts for its products, and `g >= 1` have no common integer solution.
//!
//! Two facts `r <= 0` and `y >= l` give `r*(y - l) <= 0`, two facts `r <= 0`, `s <= 0` give `-r*s <= 0`: these are the
//! product rules that let `i <= m - 1`, `0 <= j < n` prove `i*n + j < m*n` for run-time `m` and `n`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::bounds::Bounds;
use super::eliminate::{Row, infeasible, range};
use super::facts::mentions;
use super::poly::{Atom, Monomial, Poly, gcd, quotient};
use super::{Answer, Expr, Facts, Interval, Predicate, SymError};

/// Minima and maxima that are split into cases in one question.
const MAX_SPLITS: u8 = 4;
/// Facts that take part in one elimination.
const MAX_FACTS: usize = 80;
/// Atoms that take part in one elimination.
const MAX_ATOMS: usize = 40;
/// Products of facts that take part in one elimination.
const MAX_PRODUCTS: usize = 60;

impl Facts {
    /// The answer to a statement.
    pub fn ask(&self, statement: &Predicate) -> Answer {
        self.decide(statement).unwrap_or(Answer::Open)
    }

    fn decide(&self, statement: &Predicate) -> Result<Answer, SymError> {
        let difference = |a: &Expr, b: &Expr| self.normal(a)?.sub(&self.normal(b)?);
        match statement {
            Predicate::Le(a, b) => self.at_most_zero(&difference(a, b)?),
            Predicate::Lt(a, b) => self.at_most_zero(&difference(a, b)?.plus(1)?),
            Predicate::Eq(a, b) => self.is_zero(&difference(a, b)?),
            Predicate::Divides(e, 0) => self.is_zero(&self.normal(e)?),
            Predicate::Divides(e, k) => {
                self.is_multiple(&self.normal(e)?, i128::from(*k), MAX_SPLITS)
            }
            Predicate::FitsU32(e) => {
                let p = self.normal(e)?;
                Ok(self
                    .at_most_zero(&p.scale(-1)?)?
                    .and(self.at_most_zero(&p.plus(-i128::from(u32::MAX))?)?))
            }
        }
    }

    /// The tightest bounds found for a term.
    pub fn interval(&self, term: impl Into<Expr>) -> Interval {
        let Ok(p) = self.normal(&term.into()) else {
            return Interval::UNKNOWN;
        };
        let cheap = self.bounds().poly(&p);
        if cheap.single().is_some() {
            return cheap;
        }
        let Some((mut rows, columns)) = self.system(&[], &[&p]) else {
            return cheap;
        };
        // A column for the term itself: target - p = 0, as two rows.
        let target = columns.len();
        let Some(row) = row_of(&p, &columns) else {
            return cheap;
        };
        // It comes after all others.
        let negative = row
            .coefficients
            .iter()
            .map(|(c, k)| Some((*c, k.checked_neg()?)));
        let Some(mut opposite) = negative.collect::<Option<Vec<_>>>() else {
            return cheap;
        };
        opposite.push((target, 1));
        let mut negated = row.coefficients;
        negated.push((target, -1));
        let Some(constant) = row.constant.checked_neg() else {
            return cheap;
        };
        rows.push(Row {
            coefficients: negated,
            constant: row.constant,
        });
        rows.push(Row {
            coefficients: opposite,
            constant,
        });
        let (low, high) = range(rows, target);
        cheap.intersect(Interval { low, high })
    }

    /// The largest number that is known to divide the term; 0 if the term is known to be 0.
    pub fn known_divisor(&self, term: impl Into<Expr>) -> u128 {
        self.normal(&term.into())
            .map_or(1, |p| self.divisor_of(&p, MAX_SPLITS))
    }

    fn divisor_of(&self, p: &Poly, splits: u8) -> u128 {
        let whole = gcd(p.content(), p.offset().unsigned_abs());
        let value = self.bounds().poly(p).single().map_or(0, i128::unsigned_abs);
        let best = whole.max(value);
        if splits > 0
            && let Some(atom) = extremum_of(p)
        {
            let cases = self.cases(p, &atom).map(|cases| {
                cases.iter().fold(0, |g, (case, facts)| {
                    gcd(g, facts.divisor_of(case, splits - 1))
                })
            });
            return cases.map_or(best, |split| split.max(best));
        }
        best
    }

    fn at_most_zero(&self, p: &Poly) -> Result<Answer, SymError> {
        Ok(if self.proves(p, super::normal::FUEL) {
            Answer::Proven
        } else if self.proves(&p.scale(-1)?.plus(1)?, super::normal::FUEL) {
            Answer::Refuted
        } else {
            Answer::Open
        })
    }

    fn is_zero(&self, p: &Poly) -> Result<Answer, SymError> {
        let content = p.content();
        if content != 0 && !p.offset().unsigned_abs().is_multiple_of(content) {
            return Ok(Answer::Refuted);
        }
        let below = self.at_most_zero(p)?;
        let above = self.at_most_zero(&p.scale(-1)?)?;
        Ok(below.and(above))
    }

    fn is_multiple(&self, p: &Poly, k: i128, splits: u8) -> Result<Answer, SymError> {
        let (_, rest) = p.split_by(k);
        match rest.as_constant() {
            Some(0) => return Ok(Answer::Proven),
            Some(_) => return Ok(Answer::Refuted),
            None => {}
        }
        // g divides k and the variable part but not the constant: no value is a multiple of g, nor of k.
        let g = gcd(rest.content(), k.unsigned_abs());
        if g > 1 && rest.offset().unsigned_abs() % g != 0 {
            return Ok(Answer::Refuted);
        }
        if splits > 0
            && let Some(atom) = extremum_of(&rest)
        {
            let cases = self.cases(&rest, &atom)?;
            let mut answers = Vec::with_capacity(cases.len());
            for (case, facts) in &cases {
                answers.push(facts.is_multiple(case, k, splits - 1)?);
            }
            let all = |a: Answer| !answers.is_empty() && answers.iter().all(|b| *b == a);
            if all(Answer::Proven) {
                return Ok(Answer::Proven);
            } else if all(Answer::Refuted) {
                return Ok(Answer::Refuted);
            }
        }
        // A range that holds no multiple refutes, a single value decides.
        let range = self.bounds().poly(&rest);
        if let (Some(low), Some(high)) = (range.low, range.high) {
            if low == high && low % k == 0 {
                return Ok(Answer::Proven);
            }
            if low
                .checked_sub(1)
                .is_some_and(|below| below.div_euclid(k) == high.div_euclid(k))
            {
                return Ok(Answer::Refuted);
            }
        }
        Ok(Answer::Open)
    }

    /// Whether `p <= 0` at all admissible assignments. `false`: not shown.
    pub(super) fn proves(&self, p: &Poly, fuel: u8) -> bool {
        // Proofs inside of normal forms do not split: a question would multiply its cases by theirs.
        self.proves_split(
            p,
            fuel,
            if fuel == super::normal::FUEL {
                MAX_SPLITS
            } else {
                0
            },
        )
    }

    fn proves_split(&self, p: &Poly, fuel: u8, splits: u8) -> bool {
        if let Some(k) = p.as_constant() {
            return k <= 0;
        }
        if self.witnessed_false(p) {
            return false;
        }
        if self.bounds().poly(p).high.is_some_and(|h| h <= 0) {
            return true;
        }
        if fuel == 0 {
            return false;
        }
        if splits > 0
            && let Some(atom) = extremum_of(p)
        {
            return self.cases(p, &atom).is_ok_and(|cases| {
                cases
                    .iter()
                    .all(|(case, facts)| facts.proves_split(case, fuel, splits - 1))
            });
        }
        let Ok(opposite) = p.scale(-1).and_then(|n| n.plus(1)) else {
            return false;
        };
        self.system(&[&opposite], &[])
            .is_some_and(|(mut rows, columns)| {
                row_of(&opposite, &columns).is_some_and(|row| {
                    rows.push(row);
                    infeasible(rows)
                })
            })
    }

    /// Whether the facts were shown to have no common assignment.
    pub(super) fn contradictory(&self) -> bool {
        let all: Vec<&Poly> = self.relations().iter().map(|p| &**p).collect();
        self.system(&all, &[])
            .is_some_and(|(rows, _)| infeasible(rows))
    }

    /// The two cases of a minimum or maximum: the term with the atom replaced, and the facts of that case. A case
    /// that contradicts the facts is left out.
    fn cases(&self, p: &Poly, atom: &Atom) -> Result<Vec<(Poly, Facts)>, SymError> {
        let (a, b, smaller) = match atom {
            Atom::Min(a, b) => (a, b, true),
            Atom::Max(a, b) => (a, b, false),
            _ => return Ok(Vec::new()),
        };
        let mut cases = Vec::with_capacity(2);
        for (chosen, other) in [(a, b), (b, a)] {
            let order = if smaller {
                chosen.sub(other)?
            } else {
                other.sub(chosen)?
            };
            let mut facts = self.clone();
            if !facts.narrow(order)? {
                continue;
            }
            let case = facts.resolve(&substitute(p, atom, chosen)?, 1)?;
            cases.push((case, facts));
        }
        Ok(cases)
    }

    /// The rows that bear on the given terms, and the column of each monomial. `assumed` terms are at most 0 and take
    /// part in the product rules; `targets` only say which monomials matter. Neither are among the rows of the result.
    fn system(
        &self,
        assumed: &[&Poly],
        targets: &[&Poly],
    ) -> Option<(Vec<Row>, BTreeMap<Monomial, usize>)> {
        let mut facts: BTreeSet<Arc<Poly>> = BTreeSet::new();
        let mut atoms: BTreeSet<Atom> = BTreeSet::new();
        let ties: Vec<Arc<Poly>> = self.ties().collect();
        let mut queue: Vec<Arc<Poly>> = assumed
            .iter()
            .chain(targets)
            .map(|g| Arc::new((*g).clone()))
            .collect();
        while let Some(p) = queue.pop() {
            for atom in p.terms.keys().flatten() {
                if atoms.contains(atom) {
                    continue;
                }
                atoms.insert(atom.clone());
                let defining = defining(atom)?.into_iter().map(Arc::new);
                let mut found: Vec<Arc<Poly>> = defining.collect();
                if let Atom::Var(v) = atom {
                    let all = self.relations().iter().chain(&ties);
                    let of_it = all.filter(|r| r.terms.keys().any(|m| mentions(m, *v)));
                    found.extend(of_it.cloned());
                }
                for fact in found {
                    if facts.insert(Arc::clone(&fact)) {
                        queue.push(fact);
                    }
                }
            }
            if facts.len() > MAX_FACTS || atoms.len() > MAX_ATOMS {
                return None;
            }
        }
        let products = self.products(assumed, targets, &facts);
        facts.extend(products.into_iter().map(Arc::new));
        let mut columns: BTreeMap<Monomial, usize> = BTreeMap::new();
        for m in facts
            .iter()
            .map(|p| &**p)
            .chain(assumed.iter().chain(targets).copied())
            .flat_map(|p| p.terms.keys())
            .filter(|m| !m.is_empty())
        {
            if !columns.contains_key(m) {
                columns.insert(m.clone(), columns.len());
            }
        }
        let mut rows: Vec<Row> = facts.iter().filter_map(|p| row_of(p, &columns)).collect();
        for (m, column) in &columns {
            let Interval { low, high } = self.bounds().monomial(m);
            if let Some(low) = low {
                rows.push(Row {
                    coefficients: vec![(*column, -1)],
                    constant: low,
                });
            }
            if let Some(constant) = high.and_then(i128::checked_neg) {
                rows.push(Row {
                    coefficients: vec![(*column, 1)],
                    constant,
                });
            }
        }
        Some((rows, columns))
    }

    /// Consequences of pairs of facts for the products among the terms and the facts.
    fn products(
        &self,
        assumed: &[&Poly],
        targets: &[&Poly],
        facts: &BTreeSet<Arc<Poly>>,
    ) -> Vec<Poly> {
        let bounds: &Bounds = self.bounds();
        let facts = || facts.iter().map(|p| &**p);
        let all: Vec<&Poly> = assumed.iter().copied().chain(facts()).collect();
        let wanted: BTreeSet<&Monomial> = all
            .iter()
            .chain(targets)
            .flat_map(|p| p.terms.keys())
            .filter(|m| m.len() >= 2)
            .take(12)
            .collect();
        let mut found = Vec::new();
        let linear = |r: &Poly| r.terms.keys().all(|m| m.len() <= 2) && r.terms.len() <= 6;
        for m in wanted {
            for atom in m.iter().collect::<BTreeSet<_>>() {
                let single = vec![atom.clone()];
                let Some(rest) = quotient(m, &single) else {
                    continue;
                };
                let Interval { low, high } = bounds.monomial(&single);
                for r in all.iter().filter(|r| r.terms.contains_key(&rest)) {
                    let y = Poly::atom(atom.clone());
                    if let Some(product) =
                        low.and_then(|l| y.plus(l.checked_neg()?).and_then(|y| r.mul(&y)).ok())
                    {
                        found.push(product);
                    }
                    let above = high.and_then(|h| y.scale(-1).and_then(|y| y.plus(h)).ok());
                    if let Some(product) = above.and_then(|y| r.mul(&y).ok()) {
                        found.push(product);
                    }
                    for s in
                        facts().filter(|s| s.terms.contains_key(&single) && linear(s) && linear(r))
                    {
                        if let Ok(product) = r.mul(s).and_then(|p| p.scale(-1)) {
                            found.push(product);
                        }
                    }
                    if found.len() > MAX_PRODUCTS {
                        return found;
                    }
                }
            }
        }
        found
    }
}

/// The inequalities `p <= 0` that define an atom by its operands.
fn defining(atom: &Atom) -> Option<Vec<Poly>> {
    let this = Poly::atom(atom.clone());
    let build = || -> Result<Vec<Poly>, SymError> {
        Ok(match atom {
            Atom::Var(_) => Vec::new(),
            // k*f <= p <= k*f + k - 1
            Atom::Floor(p, k) => {
                let floor = this.scale(*k)?;
                vec![floor.sub(p)?, p.sub(&floor)?.plus(1 - *k)?]
            }
            // q >= 1 and q*f <= p <= q*f + q - 1
            Atom::Quotient(p, q) => {
                let floor = this.mul(q)?;
                vec![
                    q.scale(-1)?.plus(1)?,
                    floor.sub(p)?,
                    p.sub(&floor)?.sub(q)?.plus(1)?,
                ]
            }
            Atom::Min(a, b) => vec![this.sub(a)?, this.sub(b)?],
            Atom::Max(a, b) => vec![a.sub(&this)?, b.sub(&this)?],
        })
    };
    build().ok()
}

/// The row of `p <= 0`, if all its monomials have columns.
fn row_of(p: &Poly, columns: &BTreeMap<Monomial, usize>) -> Option<Row> {
    let mut coefficients = p
        .variable_terms()
        .map(|(m, c)| Some((*columns.get(m)?, c)))
        .collect::<Option<Vec<_>>>()?;
    coefficients.sort_unstable_by_key(|(column, _)| *column);
    Some(Row {
        coefficients,
        constant: p.offset(),
    })
}

/// A minimum or maximum that occurs in the term as a factor, innermost first.
fn extremum_of(p: &Poly) -> Option<Atom> {
    p.terms.keys().flatten().find_map(|atom| match atom {
        Atom::Var(_) => None,
        Atom::Floor(p, _) => extremum_of(p),
        Atom::Quotient(a, b) => extremum_of(a).or_else(|| extremum_of(b)),
        Atom::Min(a, b) | Atom::Max(a, b) => extremum_of(a)
            .or_else(|| extremum_of(b))
            .or_else(|| Some(atom.clone())),
    })
}

/// The term with every occurrence of an atom replaced, not yet in normal form.
fn substitute(p: &Poly, from: &Atom, to: &Poly) -> Result<Poly, SymError> {
    let mut out = Poly::default();
    for (m, c) in &p.terms {
        let mut product = Poly::constant(*c);
        for atom in m {
            let inner = |p: &Poly| substitute(p, from, to).map(Box::new);
            let factor = match atom {
                atom if atom == from => to.clone(),
                Atom::Var(v) => Poly::var(*v),
                Atom::Floor(p, k) => Poly::compound(Atom::Floor(inner(p)?, *k))?,
                Atom::Quotient(a, b) => Poly::compound(Atom::Quotient(inner(a)?, inner(b)?))?,
                Atom::Min(a, b) => Poly::compound(Atom::Min(inner(a)?, inner(b)?))?,
                Atom::Max(a, b) => Poly::compound(Atom::Max(inner(a)?, inner(b)?))?,
            };
            product = product.mul(&factor)?;
        }
        out = out.add(&product)?;
    }
    Ok(out)
}
