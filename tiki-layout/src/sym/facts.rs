//! The store of what is known about run-time values.
//!
//! Invariant: the definitions are acyclic (the right side of one holds only variables that were free when it was
//! made), every relation `p <= 0` is in normal form, `bounds` follows from the relations, and every fact holds at the
//! witnesses. A fact that fails leaves the store as it was.
//!
//! A fact is one more relation as a rule, among a hundred: what is settled of the others stays, until a definition or a
//! rule changes what their normal forms are. Polynomials are shared, so that a copy of the store costs little.

use std::sync::Arc;

use super::bounds::Bounds;
use super::poly::{Atom, Monomial, Poly, quotient};
use super::witness::Witness;
use super::{Answer, Expr, Precondition, Predicate, SymError, Symbol};

/// Passes of solving after one fact; each defines at least one variable.
const MAX_PASSES: usize = 64;

/// An integer variable: a symbol, or one that a fact introduced (a multiple of 64 is 64 times a fresh variable).
#[derive(Clone, Debug)]
struct Variable {
    name: Arc<str>,
    definition: Option<Arc<Poly>>,
}

/// Named run-time values and the facts about them.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    variables: Vec<Variable>,
    symbols: Vec<u32>,
    /// The facts as they were given.
    assumed: Vec<Predicate>,
    relations: Vec<Arc<Poly>>,
    /// How many of the relations, the first, are settled: in normal form, no two the same, and in the bounds.
    settled: usize,
    products: Vec<ProductRule>,
    bounds: Bounds,
    pub(super) witnesses: Vec<Witness>,
}

/// `product = value`, where every term of the value has fewer factors than the product: `rows*stride = 16*t` from
/// `rows*stride % 16 == 0`. Rewriting from left to right ends because the degree falls.
#[derive(Clone, Debug)]
struct ProductRule {
    product: Monomial,
    value: Poly,
}

impl Facts {
    /// An empty store.
    pub fn new() -> Facts {
        Facts::default()
    }

    /// Adds a run-time value about which nothing is known, not even its sign.
    pub fn symbol(&mut self, name: &str) -> Symbol {
        let variable = self.fresh(name.to_owned());
        self.symbols.push(variable);
        Symbol((self.symbols.len() - 1) as u32)
    }

    /// Adds an extent: a value of at least 0.
    pub fn extent(&mut self, name: &str) -> Symbol {
        let symbol = self.symbol(name);
        let variable = self.symbols[symbol.0 as usize];
        self.assumed.push(Predicate::Le(0.into(), symbol.into()));
        let relation = Arc::new(Poly {
            terms: [(vec![Atom::Var(variable)], -1)].into(),
        });
        self.relations.push(relation);
        let new = self.relations.len() - 1;
        self.bounds.learn(&self.relations, new);
        symbol
    }

    /// The name that a symbol was given.
    pub fn name(&self, symbol: Symbol) -> Result<&str, SymError> {
        self.variable(symbol)
            .map(|v| &*self.variables[v as usize].name)
    }

    /// Takes a statement as true. Fails, and changes nothing, if it contradicts what is there.
    pub fn assume(&mut self, fact: &Predicate) -> Result<(), SymError> {
        let assumed = core::mem::take(&mut self.assumed);
        let mut next = self.clone();
        self.assumed = assumed;
        let taken = next.take(fact).and_then(|()| next.settle());
        match taken {
            Ok(true) => {
                next.assumed = core::mem::take(&mut self.assumed);
                next.assumed.push(fact.clone());
                *self = next;
                Ok(())
            }
            Ok(false) => Err(SymError::Contradiction {
                fact: self.show_predicate(fact),
            }),
            Err(error) => Err(error),
        }
    }

    /// Assumes `left <= right`.
    pub fn assume_le(
        &mut self,
        left: impl Into<Expr>,
        right: impl Into<Expr>,
    ) -> Result<(), SymError> {
        self.assume(&Predicate::Le(left.into(), right.into()))
    }

    /// Assumes `left < right`.
    pub fn assume_lt(
        &mut self,
        left: impl Into<Expr>,
        right: impl Into<Expr>,
    ) -> Result<(), SymError> {
        self.assume(&Predicate::Lt(left.into(), right.into()))
    }

    /// Assumes `left == right`.
    pub fn assume_eq(
        &mut self,
        left: impl Into<Expr>,
        right: impl Into<Expr>,
    ) -> Result<(), SymError> {
        self.assume(&Predicate::Eq(left.into(), right.into()))
    }

    /// Assumes that `divisor` divides the term.
    pub fn assume_divides(&mut self, term: impl Into<Expr>, divisor: u64) -> Result<(), SymError> {
        self.assume(&Predicate::Divides(term.into(), divisor))
    }

    /// Assumes `low <= term <= high`.
    pub fn assume_range(
        &mut self,
        term: impl Into<Expr>,
        low: impl Into<Expr>,
        high: impl Into<Expr>,
    ) -> Result<(), SymError> {
        let term = term.into();
        self.assume_le(low, term.clone())?;
        self.assume_le(term, high)
    }

    /// The state of a condition that must hold.
    pub fn require(&self, condition: &Predicate) -> Precondition {
        self.ask(condition).into()
    }

    /// Whether `divisor` divides the term.
    pub fn divides(&self, term: impl Into<Expr>, divisor: u64) -> Answer {
        self.ask(&Predicate::Divides(term.into(), divisor))
    }

    /// Whether `left <= right`.
    pub fn le(&self, left: impl Into<Expr>, right: impl Into<Expr>) -> Answer {
        self.ask(&Predicate::Le(left.into(), right.into()))
    }

    /// Whether `left < right`.
    pub fn lt(&self, left: impl Into<Expr>, right: impl Into<Expr>) -> Answer {
        self.ask(&Predicate::Lt(left.into(), right.into()))
    }

    /// Whether `left == right`.
    pub fn eq(&self, left: impl Into<Expr>, right: impl Into<Expr>) -> Answer {
        self.ask(&Predicate::Eq(left.into(), right.into()))
    }

    /// Whether the term fits 32 bits unsigned.
    pub fn fits_u32(&self, term: impl Into<Expr>) -> Answer {
        self.ask(&Predicate::FitsU32(term.into()))
    }

    pub(super) fn variable(&self, symbol: Symbol) -> Result<u32, SymError> {
        let index = symbol.0 as usize;
        self.symbols
            .get(index)
            .copied()
            .ok_or(SymError::UnknownSymbol {
                index,
                known: self.symbols.len(),
            })
    }

    pub(super) fn definition(&self, variable: u32) -> Option<&Poly> {
        self.variables
            .get(variable as usize)
            .and_then(|v| v.definition.as_deref())
    }

    /// Defines a variable: what is settled may be another normal form now.
    fn define(&mut self, variable: u32, value: Poly) {
        self.variables[variable as usize].definition = Some(Arc::new(value));
        self.settled = 0;
    }

    pub(super) fn variable_count(&self) -> u32 {
        self.variables.len() as u32
    }

    pub(super) fn symbols(&self) -> impl Iterator<Item = (Symbol, u32)> + '_ {
        self.symbols
            .iter()
            .enumerate()
            .map(|(i, variable)| (Symbol(i as u32), *variable))
    }

    pub(super) fn assumed(&self) -> &[Predicate] {
        &self.assumed
    }

    pub(super) fn relations(&self) -> &[Arc<Poly>] {
        &self.relations
    }

    /// The product rules as relations `p <= 0`: they tie the bounds of a product to those of its value.
    pub(super) fn ties(&self) -> impl Iterator<Item = Arc<Poly>> + '_ {
        self.products.iter().flat_map(|rule| {
            let product = Poly {
                terms: [(rule.product.clone(), 1)].into(),
            };
            let above = product.sub(&rule.value).ok();
            let below = rule.value.sub(&product).ok();
            above.into_iter().chain(below).map(Arc::new)
        })
    }

    /// Applies the product rules until none fits.
    pub(super) fn rewrite(&self, p: Poly) -> Result<Poly, SymError> {
        let mut p = p;
        loop {
            let found = p.terms.iter().find_map(|(m, c)| {
                let rule = self.products.iter().find(|rule| {
                    m.len() >= rule.product.len() && quotient(m, &rule.product).is_some()
                })?;
                Some((m.clone(), *c, quotient(m, &rule.product)?, &rule.value))
            });
            let Some((m, c, rest, value)) = found else {
                return Ok(p);
            };
            p.terms.remove(&m);
            p = p.add(&value.mul(&Poly {
                terms: [(rest, c)].into(),
            })?)?;
        }
    }

    pub(super) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Adds `p <= 0` for one case of a proof. `false`: the case cannot happen.
    pub(super) fn narrow(&mut self, p: Poly) -> Result<bool, SymError> {
        self.relate(p);
        self.settle()
    }

    fn relate(&mut self, p: Poly) {
        self.relations.push(Arc::new(p));
    }

    fn fresh(&mut self, name: String) -> u32 {
        self.variables.push(Variable {
            name: name.into(),
            definition: None,
        });
        (self.variables.len() - 1) as u32
    }

    fn take(&mut self, fact: &Predicate) -> Result<(), SymError> {
        let difference = |s: &Facts, a: &Expr, b: &Expr| s.normal(a)?.sub(&s.normal(b)?);
        match fact {
            Predicate::Le(a, b) => {
                let p = difference(self, a, b)?;
                self.relate(p);
            }
            Predicate::Lt(a, b) => {
                let p = difference(self, a, b)?.plus(1)?;
                self.relate(p);
            }
            Predicate::Eq(a, b) => {
                let p = difference(self, a, b)?;
                self.equate(p)?;
            }
            Predicate::Divides(e, k) => {
                let p = self.normal(e)?;
                if *k == 0 {
                    self.equate(p)?;
                } else if *k > 1 {
                    let multiple = self.fresh(format!("({})/{k}", self.show(e)));
                    let p = p.sub(&Poly::var(multiple).scale(i128::from(*k))?)?;
                    self.equate(p)?;
                }
            }
            Predicate::FitsU32(e) => {
                let p = self.normal(e)?;
                self.relate(p.scale(-1)?);
                self.relate(p.plus(-i128::from(u32::MAX))?);
            }
        }
        Ok(())
    }

    /// Takes `p = 0`, and leaves no definition that needs another of this equation: the steps of Euclid's algorithm
    /// name each other twice over, and would be looked up a Fibonacci number of times.
    fn equate(&mut self, p: Poly) -> Result<(), SymError> {
        let mut made = Vec::new();
        self.solve(p, &mut made)?;
        for v in made.into_iter().rev() {
            if let Some(found) = self.definition(v) {
                let whole = self.resolve(found, 0)?;
                self.define(v, whole);
            }
        }
        Ok(())
    }

    /// Takes `p = 0`: solves it for a variable that occurs once and with coefficient 1 or -1. If there is none, the
    /// variable with the smallest coefficient `c` is replaced by `t - sum(floor(c_j/c) * m_j)` for a fresh `t`,
    /// which leaves only remainders below `|c|` beside `c*t`: Euclid's algorithm on the coefficients.
    fn solve(&mut self, mut p: Poly, made: &mut Vec<u32>) -> Result<(), SymError> {
        let mut last = None;
        loop {
            let content = i128::try_from(p.content()).map_err(|_| SymError::Overflow)?;
            if content == 0 || p.offset() % content != 0 {
                // A constant that is not 0, or no integer solution: keep the impossible relation 1 <= 0 for
                // `settle` to find.
                if !p.terms.is_empty() {
                    self.relate(Poly::constant(1));
                }
                return Ok(());
            }
            p = p.split_by(content).0;
            let found = solvable(&p).min_by_key(|(_, c)| c.unsigned_abs());
            let Some((v, c)) =
                found.filter(|(_, c)| last.is_none_or(|l: u128| c.unsigned_abs() < l))
            else {
                self.relate(p.scale(-1)?);
                self.relate(p);
                return Ok(());
            };
            let rest = p.sub(&Poly::var(v).scale(c)?)?;
            made.push(v);
            if c.unsigned_abs() == 1 {
                self.define(v, rest.scale(-c)?);
                return Ok(());
            }
            let size = i128::try_from(c.unsigned_abs()).map_err(|_| SymError::Overflow)?;
            let (whole, left) = rest.split_by(size);
            // The step is of use only if it leaves a variable to go on with, or nothing but a constant.
            if left.as_constant().is_none() && solvable(&left).next().is_none() {
                return self.keep_equation(p);
            }
            let name = format!("{}'", self.variables[v as usize].name);
            let t = self.fresh(name);
            self.define(v, Poly::var(t).sub(&whole.scale(c.signum())?)?);
            p = Poly::var(t).scale(c)?.add(&left)?;
            last = Some(c.unsigned_abs());
        }
    }

    /// Keeps `p = 0`, which cannot be solved for a variable: as a rule for a product, or as two relations.
    fn keep_equation(&mut self, p: Poly) -> Result<(), SymError> {
        let degree = p.terms.keys().map(Vec::len).max().unwrap_or(0);
        let mut leading = p.terms.iter().filter(|(m, _)| m.len() == degree);
        if let (Some((product, c)), None) = (leading.next(), leading.next()) {
            let plain = product.iter().all(|atom| matches!(atom, Atom::Var(_)));
            let within = |p: &Poly| {
                p.terms
                    .keys()
                    .flatten()
                    .all(|atom| matches!(atom, Atom::Var(_)))
            };
            if degree >= 2 && plain && within(&p) && c.unsigned_abs() == 1 {
                let rest = p.sub(&Poly {
                    terms: [(product.clone(), *c)].into(),
                })?;
                let rule = ProductRule {
                    product: product.clone(),
                    value: rest.scale(-*c)?,
                };
                self.products.push(rule);
                self.settled = 0;
                return Ok(());
            }
        }
        self.relate(p.scale(-1)?);
        self.relate(p);
        Ok(())
    }

    /// Restores the invariant. `false`: the facts have no common assignment.
    fn settle(&mut self) -> Result<bool, SymError> {
        let mut new = 0;
        for _ in 0..MAX_PASSES {
            match self.resolve_relations()? {
                Some(first) if !self.bounds.contradictory() => new = first,
                _ => return Ok(false),
            }
            if !self.solve_pinned(new)? {
                break;
            }
            new = 0;
        }
        // Where a pair of relations became a rule, what was settled is not any more.
        self.find_witnesses(new.min(self.settled));
        Ok(!self.witnesses.is_empty() || !self.contradictory())
    }

    /// Brings the relations to normal form; which is the first that was not settled. `None`: one of them is a false
    /// statement about numbers.
    fn resolve_relations(&mut self) -> Result<Option<usize>, SymError> {
        // Without bounds and without fuel: a relation must not be simplified by itself, or it would be lost.
        let bounds = core::mem::take(&mut self.bounds);
        // A rule whose variables have been defined since is an equation again.
        let rules = core::mem::take(&mut self.products);
        for rule in rules {
            let product = Poly {
                terms: [(rule.product.clone(), 1)].into(),
            };
            let p = product.sub(&rule.value)?;
            if p.terms
                .keys()
                .flatten()
                .any(|atom| matches!(atom, Atom::Var(v) if self.definition(*v).is_some()))
            {
                let p = self.resolve(&p, 0)?;
                self.equate(p)?;
            } else {
                self.products.push(rule);
            }
        }
        let settled = self.settled;
        let mut relations: Vec<Arc<Poly>> = Vec::with_capacity(self.relations.len());
        relations.extend_from_slice(&self.relations[..settled]);
        for p in &self.relations[settled..] {
            let p = self.resolve(p, 0)?;
            match p.as_constant() {
                Some(k) if k > 0 => return Ok(None),
                Some(_) => {}
                None if relations.iter().any(|r| **r == p) => {}
                None => relations.push(Arc::new(p)),
            }
        }
        let tied = || -> Vec<Arc<Poly>> { relations.iter().cloned().chain(self.ties()).collect() };
        self.bounds = if settled == 0 {
            Bounds::of(&tied())
        } else if relations.len() > settled {
            let mut bounds = bounds;
            bounds.learn(&tied(), settled);
            bounds
        } else {
            bounds
        };
        self.settled = relations.len();
        self.relations = relations;
        Ok(Some(settled))
    }

    /// Defines variables that the relations leave one value, and solves pairs `p <= 0`, `-p <= 0` that a later
    /// definition has made solvable. The relations before `new` had their turn. `true`: something was defined.
    fn solve_pinned(&mut self, new: usize) -> Result<bool, SymError> {
        let defined = |facts: &Facts| {
            let definitions = facts.variables.iter().filter(|v| v.definition.is_some());
            definitions.count()
        };
        let before = defined(self);
        for v in 0..self.variable_count() {
            let single = self.bounds.variable(v).single();
            if let (None, Some(k)) = (self.definition(v), single) {
                self.define(v, Poly::constant(k));
            }
        }
        // The pairs are taken up front: one that stays unsolved comes back as the same two relations.
        let mut pairs: Vec<usize> = Vec::new();
        for (at, p) in self.relations.iter().enumerate().skip(new) {
            let earlier = self.relations[..at].iter().position(|r| r.is_opposite(p));
            pairs.extend(earlier.filter(|_| solvable(p).next().is_some()));
        }
        pairs.sort_unstable();
        let pairs: Vec<Arc<Poly>> = pairs.iter().map(|at| self.relations[*at].clone()).collect();
        for p in pairs {
            self.relations.retain(|r| *r != p && !r.is_opposite(&p));
            self.settled = 0;
            let p = self.resolve(&p, 0)?;
            self.equate(p)?;
        }
        Ok(defined(self) > before)
    }
}

/// Variables that stand alone in one term of `p` and occur nowhere else in it.
fn solvable(p: &Poly) -> impl Iterator<Item = (u32, i128)> {
    p.variable_terms().filter_map(|(m, c)| match m.as_slice() {
        [Atom::Var(v)] => {
            let elsewhere = p
                .terms
                .keys()
                .any(|other| other != m && mentions(other, *v));
            (!elsewhere).then_some((*v, c))
        }
        _ => None,
    })
}

/// Whether a variable occurs among the atoms, at any depth.
pub(super) fn mentions(m: &[Atom], v: u32) -> bool {
    let inside = |p: &Poly| p.terms.keys().any(|m| mentions(m, v));
    m.iter().any(|atom| match atom {
        Atom::Var(w) => *w == v,
        Atom::Floor(p, _) => inside(p),
        Atom::Quotient(a, b) | Atom::Min(a, b) | Atom::Max(a, b) => inside(a) || inside(b),
    })
}
