//! A warp's matrices.

use super::ask::Ask;
use tiki_kernel::isa::{Op, Ty, number};

/// A multiply's shape and types.
#[derive(Debug, Clone, Copy)]
pub struct Multiply {
    /// Rows.
    pub m: u32,
    /// Columns.
    pub n: u32,
    /// Depth.
    pub k: u32,
    /// Type of A.
    pub a: Ty,
    /// Type of B.
    pub b: Ty,
    /// Type of the sums.
    pub sums: Ty,
    /// Integer sums are clamped.
    pub clamp: bool,
}

/// See the row.
#[must_use]
pub fn load(op: &Op) -> Option<Ask> {
    Some(Ask::MatrixLoad {
        num: number(op.get("num")?),
        trans: op.has("trans"),
    })
}
/// See the row.
#[must_use]
pub fn store(op: &Op) -> Option<Ask> {
    Some(Ask::MatrixStore {
        num: number(op.get("num")?),
        trans: op.has("trans"),
    })
}
/// See the row.
#[must_use]
pub fn transpose(_: &Op) -> Option<Ask> {
    Some(Ask::MatrixTranspose)
}

/// The three numbers of `m16n8k16`.
pub(super) fn shape(op: &Op) -> Option<(u32, u32, u32)> {
    let mut parts = op
        .get("shape")?
        .split(|c: char| !c.is_ascii_digit())
        .filter(|p| !p.is_empty());
    let mut next = || parts.next().and_then(|p| p.parse().ok());
    Some((next()?, next()?, next()?))
}
pub(super) fn product(op: &Op) -> Option<Multiply> {
    let (m, n, k) = shape(op)?;
    Some(Multiply {
        m,
        n,
        k,
        a: op.ty("at")?,
        b: op.ty("bt")?,
        sums: op.ty("dt")?,
        clamp: op.has("satfinite"),
    })
}
/// See the rows.
#[must_use]
pub fn multiply(op: &Op) -> Option<Ask> {
    product(op).map(Ask::Multiply)
}
/// See the rows.
#[must_use]
pub fn sparse(op: &Op) -> Option<Ask> {
    product(op).map(Ask::MultiplySparse)
}
/// See the rows.
#[must_use]
pub fn wmma_load(op: &Op) -> Option<Ask> {
    let which = op.get("frag")?.chars().next()?;
    Some(Ask::WmmaLoad {
        which,
        row: op.get("layout")? == "row",
        shape: shape(op)?,
        space: op.space(),
    })
}
/// See the row.
#[must_use]
pub fn wmma_store(op: &Op) -> Option<Ask> {
    Some(Ask::WmmaStore {
        row: op.get("layout")? == "row",
        shape: shape(op)?,
        space: op.space(),
    })
}
/// See the row.
#[must_use]
pub fn wmma(op: &Op) -> Option<Ask> {
    (op.ty("dt")? == Ty::F32).then_some(Ask::Wmma { shape: shape(op)? })
}
