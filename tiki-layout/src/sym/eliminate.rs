//! Elimination of variables from linear inequalities, with rounding to integers.
//!
//! Semantics: a [`Row`] says `sum(coefficient * column) + constant <= 0` over integer columns. Eliminating a column
//! replaces the rows that hold it by all sums of one row with a positive and one with a negative coefficient in which
//! it cancels (Fourier, Motzkin). Each new row is divided by the gcd of its coefficients and its constant is rounded
//! up, which keeps every integer solution and cuts off fractional ones. A row without columns and with a positive
//! constant shows that there is no solution.
//!
//! The method is sound for integers and, because of the limits below, may give up; giving up proves nothing.

use std::collections::BTreeMap;

use super::poly::gcd;

/// Most rows at any time.
const MAX_ROWS: usize = 250;
/// Most columns of a system.
const MAX_COLUMNS: usize = 48;
/// Most rows made in one elimination: it bounds the time of a question.
const MAX_WORK: usize = 2_000;

/// `sum(coefficients[c] * c) + constant <= 0`; each column once, in order.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub coefficients: Vec<(usize, i128)>,
    pub constant: i128,
}

/// Why elimination ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The rows have no integer solution.
    Infeasible,
    /// A limit was reached.
    GaveUp,
}

/// Whether the rows certainly have no integer solution.
pub(super) fn infeasible(rows: Vec<Row>) -> bool {
    matches!(project(rows, None), Err(Stop::Infeasible))
}

/// The least upper and greatest lower bound of `column` that the rows imply.
pub(super) fn range(rows: Vec<Row>, column: usize) -> (Option<i128>, Option<i128>) {
    let Ok(rows) = project(rows, Some(column)) else {
        return (None, None);
    };
    let (mut low, mut high): (Option<i128>, Option<i128>) = (None, None);
    for (coefficients, constant) in rows {
        // After tightening the only coefficient is 1 or -1.
        match coefficients.as_slice() {
            [(_, 1)] => {
                let bound = constant.checked_neg();
                high = high.map_or(bound, |h| Some(bound.map_or(h, |b| h.min(b))));
            }
            [(_, -1)] => low = Some(low.map_or(constant, |l| l.max(constant))),
            _ => {}
        }
    }
    (low, high)
}

/// Rows by their coefficients; of two with equal coefficients the stronger constant is kept.
type System = BTreeMap<Vec<(usize, i128)>, i128>;

fn project(rows: Vec<Row>, keep: Option<usize>) -> Result<System, Stop> {
    let mut system = System::new();
    for row in rows {
        let mut coefficients = row.coefficients;
        coefficients.retain(|(_, c)| *c != 0);
        insert(&mut system, coefficients, row.constant)?;
    }
    let mut work = 0;
    loop {
        let mut counts: Vec<(usize, usize)> = Vec::new();
        for (column, c) in system.keys().flatten() {
            if counts.len() <= *column {
                counts.resize(column + 1, (0, 0));
            }
            let (up, down) = &mut counts[*column];
            if *c > 0 { *up += 1 } else { *down += 1 }
        }
        let there = || counts.iter().enumerate().filter(|(_, n)| **n != (0, 0));
        if there().count() > MAX_COLUMNS {
            return Err(Stop::GaveUp);
        }
        let next = there()
            .filter(|(column, _)| Some(*column) != keep)
            .min_by_key(|(_, (up, down))| up * down);
        let Some((column, &(up, down))) = next else {
            return Ok(system);
        };
        work += up * down;
        if system.len() + up * down > MAX_ROWS || work > MAX_WORK {
            return Err(Stop::GaveUp);
        }
        eliminate(&mut system, column)?;
    }
}

fn eliminate(system: &mut System, column: usize) -> Result<(), Stop> {
    let (mut uppers, mut lowers, mut rest) = (Vec::new(), Vec::new(), System::new());
    for (coefficients, constant) in core::mem::take(system) {
        match coefficients
            .iter()
            .find(|(c, _)| *c == column)
            .map(|(_, k)| *k)
        {
            None => {
                rest.insert(coefficients, constant);
            }
            Some(k) if k > 0 => uppers.push((k, coefficients, constant)),
            Some(k) => lowers.push((k, coefficients, constant)),
        }
    }
    for (a, above, ca) in &uppers {
        for (b, below, cb) in &lowers {
            let g = i128::try_from(gcd(a.unsigned_abs(), b.unsigned_abs()))
                .map_err(|_| Stop::GaveUp)?;
            let (fa, fb) = (b.checked_neg().ok_or(Stop::GaveUp)? / g, a / g);
            let (coefficients, constant) =
                combine(above, *ca, fa, below, *cb, fb).ok_or(Stop::GaveUp)?;
            insert(&mut rest, coefficients, constant)?;
        }
    }
    *system = rest;
    Ok(())
}

type Combined = (Vec<(usize, i128)>, i128);

fn combine(
    a: &[(usize, i128)],
    ca: i128,
    fa: i128,
    b: &[(usize, i128)],
    cb: i128,
    fb: i128,
) -> Option<Combined> {
    let mut sum = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        // In which of the two rows the next column is.
        let (left, right) = match (a.peek(), b.peek()) {
            (Some((x, _)), Some((y, _))) => (x <= y, y <= x),
            (x, y) => (x.is_some(), y.is_some()),
        };
        let one = if left { a.next() } else { None };
        let other = if right { b.next() } else { None };
        let Some((column, _)) = one.or(other) else {
            break;
        };
        let x = one.map_or(Some(0), |(_, k)| k.checked_mul(fa))?;
        let y = other.map_or(Some(0), |(_, k)| k.checked_mul(fb))?;
        let k = x.checked_add(y)?;
        if k != 0 {
            sum.push((*column, k));
        }
    }
    let constant = ca.checked_mul(fa)?.checked_add(cb.checked_mul(fb)?)?;
    Some((sum, constant))
}

/// Tightens a row and puts it into the system.
fn insert(
    system: &mut System,
    mut coefficients: Vec<(usize, i128)>,
    mut constant: i128,
) -> Result<(), Stop> {
    if coefficients.is_empty() {
        return if constant > 0 {
            Err(Stop::Infeasible)
        } else {
            Ok(())
        };
    }
    let g = coefficients
        .iter()
        .fold(0, |g, (_, k)| gcd(g, k.unsigned_abs()));
    let g = i128::try_from(g).map_err(|_| Stop::GaveUp)?;
    if g > 1 {
        for (_, k) in &mut coefficients {
            *k /= g;
        }
        // sum <= -constant rounds to sum/g <= floor(-constant/g).
        constant = -constant.checked_neg().ok_or(Stop::GaveUp)?.div_euclid(g);
    }
    // The opposite row, if it is there, bounds the same sum from below: an empty gap ends the search at once.
    let opposite: Option<Vec<_>> = coefficients
        .iter()
        .map(|(c, k)| Some((*c, k.checked_neg()?)))
        .collect();
    if let Some(other) = opposite.and_then(|o| system.get(&o).copied())
        && constant.checked_add(other).is_some_and(|gap| gap > 0)
    {
        return Err(Stop::Infeasible);
    }
    let slot = system.entry(coefficients).or_insert(constant);
    *slot = (*slot).max(constant);
    if system.len() > MAX_ROWS {
        return Err(Stop::GaveUp);
    }
    Ok(())
}
