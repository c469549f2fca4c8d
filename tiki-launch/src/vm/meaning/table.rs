//! The meaning of a row: the last column of the instruction table, read where it is compiled.
//!
//! A page of [`tiki_kernel::isa::rows`] hands its column on by a macro of the page's name. A macro build has the table
//! without it: it does not compile what instructions compute.

use super::Meaning::{self, Asks, Lanes};
use super::{
    bits, bulk, compare, control, convert, copy, float, half, int, matrix, memory, moves, object,
    sync, unit, warp, wgmma,
};
use std::collections::HashMap;
use std::sync::LazyLock;
use tiki_kernel::isa::{Row, rows};

type Column = &'static [(&'static Row, Meaning)];

macro_rules! column {
    ($page:ident: $($name:ident = $meaning:expr;)*) => { &[$((&rows::$page::$name, $meaning)),*] };
}

/// A column for each page.
static COLUMNS: &[Column] = &[
    tiki_kernel::int!(column),
    tiki_kernel::float!(column),
    tiki_kernel::half!(column),
    tiki_kernel::unit!(column),
    tiki_kernel::convert!(column),
    tiki_kernel::moves!(column),
    tiki_kernel::memory!(column),
    tiki_kernel::control!(column),
    tiki_kernel::warp!(column),
    tiki_kernel::sync!(column),
    tiki_kernel::copy!(column),
    tiki_kernel::object!(column),
    tiki_kernel::bulk!(column),
    tiki_kernel::matrix!(column),
    tiki_kernel::wgmma!(column),
];

/// By the row's place in memory: a row is a static, there is one of it.
static MEANINGS: LazyLock<HashMap<usize, &'static Meaning>> = LazyLock::new(|| {
    let all = COLUMNS.iter().copied().flatten();
    all.map(|(row, meaning)| (place(row), meaning)).collect()
});

fn place(row: &Row) -> usize {
    std::ptr::from_ref(row).addr()
}

/// What a row means; `None` of one that is on no page.
#[must_use]
pub fn meaning(row: &Row) -> Option<&'static Meaning> {
    MEANINGS.get(&place(row)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_every_page_has_a_meaning() {
        let rows = rows::PAGES.iter().copied().flatten();
        let without: Vec<&str> = rows
            .filter(|row| meaning(row).is_none())
            .map(|row| row.name)
            .collect();
        assert!(without.is_empty(), "no meaning: {without:?}");
        assert_eq!(
            MEANINGS.len(),
            rows::PAGES.iter().map(|p| p.len()).sum::<usize>()
        );
    }
}
