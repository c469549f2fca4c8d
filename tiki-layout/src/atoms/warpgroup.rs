//! wgmma: the fragments of four warps.
//!
//! The tile is 64 rows; warp `w` holds rows `16 w` to `16 w + 15`, each like an m16 tile of mma.sync. k is always 256 bits.
//! An operand in shared memory is read by all threads: its thread stride is 0.
//!
//! ```text
//!     C           ((4,8,4),(2,2,n/8)) : ((128,1,16),(64,8,512))
//!     A register  ((4,8,4),(v,2,2))   : ((64 v,1,16),(64,8,256 v))
//!     A shared    (128,(64,k))        : (0,(1,64))
//!     B           (128,(n,k))         : (0,(1,n))
//! ```

use super::MmaAtom;
use super::warp::{fragment, packed};
use crate::error::{Error, Result};
use crate::{Layout, Tuple};

/// An operand that every one of `threads` threads reads whole.
fn shared(threads: i64, rows: i64, k: i64) -> Result<Layout> {
    Layout::new(
        vec![Tuple::Int(threads), [rows, k].into()],
        vec![Tuple::Int(0), [1, rows].into()],
    )
}

impl MmaAtom {
    /// wgmma m64 of `n` columns on elements of `width` bits; A in registers or in shared memory.
    ///
    /// ```
    /// # use tiki_layout::atoms::MmaAtom;
    /// let atom = MmaAtom::warpgroup(256, 16, false).unwrap();
    /// assert_eq!((atom.m, atom.n, atom.k), (64, 256, 16));
    /// assert_eq!(atom.c.to_string(), "((4,8,4),(2,2,32)):((128,1,16),(64,8,512))");
    /// ```
    pub fn warpgroup(n: i64, width: i64, a_in_registers: bool) -> Result<MmaAtom> {
        const OP: &str = "warpgroup mma atom";
        if !(8..=256).contains(&n) || n % 8 != 0 {
            return Err(Error::Atom {
                op: OP,
                what: "n (a multiple of 8 up to 256)",
                got: n,
                want: 8,
            });
        }
        if ![1, 8, 16, 32].contains(&width) {
            return Err(Error::Atom {
                op: OP,
                what: "the element width in bits",
                got: width,
                want: 16,
            });
        }
        let (k, v) = (256 / width, packed(width));
        let a = if a_in_registers {
            fragment(
                &[(4, 64 * v), (8, 1), (4, 16)],
                &[(v, 64), (2, 8), (2, 256 * v)],
            )?
        } else {
            shared(128, 64, k)?
        };
        let threads = Layout::new(128, 1)?;
        Ok(MmaAtom {
            m: 64,
            n,
            k,
            threads,
            a,
            b: shared(128, n, k)?,
            c: MmaAtom::warpgroup_accumulator(n)?,
        })
    }

    /// The accumulator of a warpgroup: 64 by `n`. All three value modes stand even if `n` is 8.
    pub fn warpgroup_accumulator(n: i64) -> Result<Layout> {
        if !(8..=256).contains(&n) || n % 8 != 0 {
            let op = "warpgroup mma atom";
            return Err(Error::Atom {
                op,
                what: "n (a multiple of 8 up to 256)",
                got: n,
                want: 8,
            });
        }
        Layout::new([[4, 8, 4], [2, 2, n / 8]], [[128, 1, 16], [64, 8, 512]])
    }

    /// A multiply of operands that all lie in memory that `parts` participants share, each its rows: the accumulator too.
    /// (Tensor-memory instructions; `parts` is 1 or 2.)
    pub fn in_memory(m: i64, n: i64, k: i64, parts: i64) -> Result<MmaAtom> {
        const OP: &str = "memory mma atom";
        if ![1, 2].contains(&parts)
            || m <= 0
            || n <= 0
            || k <= 0
            || m % parts != 0
            || n % parts != 0
        {
            return Err(Error::Atom {
                op: OP,
                what: "the number of participants",
                got: parts,
                want: 1,
            });
        }
        let split = |rows: i64, columns: i64| {
            let part = rows / parts;
            let step = if parts == 1 { 0 } else { part };
            Layout::new(
                vec![Tuple::Int(parts), [part, columns].into()],
                vec![Tuple::Int(step), [1, rows].into()],
            )
        };
        let threads = Layout::new(parts, i64::from(parts > 1))?;
        Ok(MmaAtom {
            m,
            n,
            k,
            threads,
            a: split(m, k)?,
            b: split(n, k)?,
            c: split(m, n)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Invariant: the accumulator, and A in registers, are shared out without gap or overlap, for every n.
    /// Witness: the sorted offsets are 0, 1, 2, ..
    #[test]
    fn fragments_are_bijections() {
        for n in (8..=256).step_by(8) {
            for width in [8, 16, 32] {
                let atom = MmaAtom::warpgroup(n, width, true).unwrap();
                for (layout, size) in [(&atom.a, 64 * atom.k), (&atom.c, 64 * n)] {
                    let mut offsets: Vec<i64> = layout.offsets().collect();
                    offsets.sort_unstable();
                    assert_eq!(
                        offsets,
                        (0..size).collect::<Vec<_>>(),
                        "n {n}, width {width}: {layout}"
                    );
                }
            }
        }
    }
}
