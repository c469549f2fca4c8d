//! Fragments of tensor-core instructions.

use super::thread_value::{ownership_panel, sides, thread_legend};
use super::{Panel, Picture, named};
use crate::atoms::MmaAtom;
use crate::{Error, Layout, Tuple};

fn tile(rows: i64, columns: i64) -> Tuple {
    Tuple::Tuple(vec![rows.into(), columns.into()])
}

/// Operands A (left), B transposed (above) and C, placed as in the product: row m of A meets column n of B in C.
pub fn fragments(name: &str, atom: &MmaAtom) -> Result<Picture, Error> {
    let (m, n, k) = (atom.m, atom.n, atom.k);
    let a = ownership_panel(&atom.a, &tile(m, k), format!("A = {}", atom.a), (1, 0))?;
    // B is n by k; transposed, k runs down beside A's k and n runs across above C's n.
    let b = ownership_panel(&atom.b, &tile(n, k), format!("B = {}", atom.b), (0, 1))?;
    let b = Panel {
        cells: (0..k as usize)
            .map(|j| b.cells.iter().map(|row| row[j].clone()).collect())
            .collect(),
        rows: b.columns,
        columns: b.rows,
        ..b
    };
    let c = ownership_panel(&atom.c, &tile(m, n), format!("C = {}", atom.c), (1, 1))?;
    let (threads, _) = sides(&atom.c)?;
    Ok(Picture {
        title: format!("{name}: fragments of m{m}n{n}k{k}"),
        notes: vec![format!(
            "(thread, value) -> row + {m}*column for A and C, n + {n}*k for B"
        )],
        panels: vec![named(b, "k", "n"), named(a, "m", "k"), named(c, "m", "n")],
        legend: thread_legend(threads),
    })
}

/// The accumulator of a warpgroup instruction, m64 by n.
pub fn warpgroup_accumulator(n: i64) -> Result<Picture, Error> {
    let c: Layout = MmaAtom::warpgroup_accumulator(n)?;
    let panel = named(
        ownership_panel(&c, &tile(64, n), format!("C = {c}"), (0, 0))?,
        "m",
        "n",
    );
    let (threads, values) = sides(&c)?;
    Ok(Picture {
        title: format!("accumulator of m64n{n}"),
        notes: vec![format!(
            "(thread, value) -> row + 64*column; {threads} threads, {values} values each"
        )],
        panels: vec![panel],
        legend: thread_legend(threads),
    })
}
