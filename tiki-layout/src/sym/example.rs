//! Counterexamples: an admissible assignment at which a statement is false.
//!
//! A statement that is open may still be wrong at values one can name, and an error message that names them is worth
//! more than one that says "not proven". The search tries few values for each free variable, at the ends of its range and
//! next to zero, computes the symbols from them, and keeps an assignment only if every fact evaluates to true and the
//! statement to false. Finding none says nothing.

use super::{Facts, Predicate, Symbol};

/// Most assignments that are tried.
const MAX_TRIES: usize = 1024;

impl Facts {
    /// Values of all symbols at which the facts hold and the statement does not, if the search finds some.
    ///
    /// ```
    /// # use tiki_layout::sym::{Expr, Facts, Predicate};
    /// let mut facts = Facts::new();
    /// let (n, i) = (facts.extent("n"), facts.extent("i"));
    /// facts.assume_lt(i, Expr::from(n).ceil_div(128))?;
    /// let inside = Predicate::Le(i * 128 + 127, n - 1);
    /// let found = facts.counterexample(&inside).unwrap();
    /// assert_eq!(facts.show_values(&found), "n = 1, i = 0");
    /// # Ok::<(), tiki_layout::sym::SymError>(())
    /// ```
    pub fn counterexample(&self, statement: &Predicate) -> Option<Vec<(Symbol, i64)>> {
        let free: Vec<u32> = (0..self.variable_count())
            .filter(|v| self.definition(*v).is_none())
            .collect();
        // Variables beyond the budget of tries get their first candidate only.
        let mut tries = 1usize;
        let mut choices: Vec<Vec<i128>> = Vec::with_capacity(free.len());
        for v in &free {
            let mut list = self.candidates(*v);
            list.truncate((MAX_TRIES / tries).max(1));
            tries *= list.len().max(1);
            choices.push(list);
        }
        if choices.iter().any(Vec::is_empty) {
            return None;
        }
        (0..tries).find_map(|mut number| {
            let mut values = vec![None; self.variable_count() as usize];
            for (v, list) in free.iter().zip(&choices) {
                values[*v as usize] = Some(list[number % list.len()]);
                number /= list.len();
            }
            let symbols = self.symbols().map(|(symbol, variable)| {
                let value = self.value_of(variable, &mut values)?;
                Some((symbol, i64::try_from(value).ok()?))
            });
            let symbols: Vec<(Symbol, i64)> = symbols.collect::<Option<_>>()?;
            let value = |s: Symbol| symbols.iter().find(|(t, _)| *t == s).map(|(_, v)| *v);
            let holds = |p: &Predicate, truth: bool| p.eval(&value) == Ok(truth);
            (holds(statement, false) && self.assumed().iter().all(|fact| holds(fact, true)))
                .then_some(symbols)
        })
    }

    /// Values as text: `n = 130, i = 1`.
    pub fn show_values(&self, values: &[(Symbol, i64)]) -> String {
        let shown = values
            .iter()
            .map(|(s, v)| format!("{} = {v}", self.name(*s).unwrap_or("?")));
        shown.collect::<Vec<_>>().join(", ")
    }

    /// A few values within the known bounds of a variable: small ones first, then the ends.
    fn candidates(&self, variable: u32) -> Vec<i128> {
        let range = self.bounds().variable(variable);
        let near =
            |end: Option<i128>, step: i128| (0..3).filter_map(move |i| end?.checked_add(i * step));
        let mut list = Vec::new();
        let usual = [0, 1, 2, 3, 5, 130, -1];
        for value in near(range.low, 1).chain(usual).chain(near(range.high, -1)) {
            let inside =
                range.low.is_none_or(|l| l <= value) && range.high.is_none_or(|h| value <= h);
            if inside && !list.contains(&value) {
                list.push(value);
            }
        }
        list
    }

    /// The value of a variable, by its definition if it has one.
    fn value_of(&self, variable: u32, values: &mut Vec<Option<i128>>) -> Option<i128> {
        if let Some(value) = values.get(variable as usize).copied().flatten() {
            return Some(value);
        }
        let definition = self.definition(variable)?;
        let value = definition.at(&mut |v| self.value_of(v, values))?;
        values[variable as usize] = Some(value);
        Some(value)
    }
}
