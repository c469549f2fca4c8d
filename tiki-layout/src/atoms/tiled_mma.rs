//! An mma atom repeated over threads and over a tile.
//!
//! ```text
//!     threads (V, M, N, K): the atom's own threads, then how often along m, n, k
//!     a tile  ((ThrV, (ThrM, ThrN)), (FrgV, (RestM, RestN)))   after partition
//! ```
//!
//! 1. The tensor is divided by the tile: along each axis the atom's extent times the threads, or a permutation.
//! 2. Each tile is divided by the atom, and the atom's part is read through its fragment.
//! 3. The rest is divided among the threads.

use super::MmaAtom;
use crate::error::{Error, Result, mul};
use crate::{Layout, Tiler, Tuple};

/// Which operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// m by k.
    A,
    /// n by k.
    B,
    /// m by n.
    C,
}

impl Operand {
    /// The axes of the operand: 0 is m, 1 is n, 2 is k.
    pub fn axes(self) -> [usize; 2] {
        match self {
            Operand::A => [0, 2],
            Operand::B => [1, 2],
            Operand::C => [0, 1],
        }
    }
}

/// An mma atom repeated over threads and over a tile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TiledMma {
    atom: MmaAtom,
    threads: Layout,
    permutation: [Option<Layout>; 3],
}

impl TiledMma {
    /// Repeats `atom` over the threads `layout` (m, n, k; missing modes are 1). `permutation` gives, per axis, the order
    /// (and number) of the tile's elements that the atoms take; `None` is the atom's extent times the threads, in order.
    pub fn new(
        atom: MmaAtom,
        layout: &Layout,
        permutation: [Option<Layout>; 3],
    ) -> Result<TiledMma> {
        const OP: &str = "tiled mma";
        if layout.rank() > 3 {
            return Err(Error::Rank {
                op: OP,
                got: layout.rank(),
                want: 3,
            });
        }
        let threads = atom.threads.tiled_product(layout.append_to_rank(3)?)?;
        Ok(TiledMma {
            atom,
            threads,
            permutation,
        })
    }

    /// The atom.
    pub fn atom(&self) -> &MmaAtom {
        &self.atom
    }

    /// (V, M, N, K) to the thread.
    pub fn threads(&self) -> &Layout {
        &self.threads
    }

    fn extent(&self, axis: usize) -> i64 {
        [self.atom.m, self.atom.n, self.atom.k][axis]
    }

    fn repeat(&self, axis: usize) -> Result<i64> {
        Ok(self.threads.mode(axis + 1)?.size())
    }

    /// The tile along `axis` (0 is m, 1 is n, 2 is k), as a tiler.
    pub fn permutation(&self, axis: usize) -> Result<Layout> {
        match self.permutation.get(axis) {
            Some(Some(layout)) => Ok(layout.clone()),
            Some(None) => Layout::new(mul("tiled mma", self.extent(axis), self.repeat(axis)?)?, 1),
            None => Err(Error::Mode {
                op: "tiled mma",
                mode: axis,
                rank: 3,
            }),
        }
    }

    /// How many elements the tile has along `axis`.
    pub fn tile_size(&self, axis: usize) -> Result<i64> {
        Ok(self.permutation(axis)?.size())
    }

    /// Shares a tensor of an operand out: `((ThrV, (Thr, Thr)), (FrgV, (Rest, Rest, ..)))`.
    ///
    /// ```
    /// # use tiki_layout::{Layout, atoms::{MmaAtom, Operand, TiledMma}};
    /// let atom = MmaAtom::warp(16, 8, 16, 16).unwrap();
    /// let mma = TiledMma::new(atom, &Layout::parse("(2,2,1):(1,2,4)").unwrap(), [None, None, None]).unwrap();
    /// let c = mma.partition(Operand::C, &Layout::parse("(64,32):(1,64)").unwrap()).unwrap();
    /// assert_eq!(c.to_string(), "(((4,8),(2,2)),((2,2),(2,2))):(((128,1),(16,512)),((64,8),(32,1024)))");
    /// ```
    pub fn partition(&self, operand: Operand, tensor: &Layout) -> Result<Layout> {
        let axes = operand.axes();
        let fragment = match operand {
            Operand::A => &self.atom.a,
            Operand::B => &self.atom.b,
            Operand::C => &self.atom.c,
        };
        let per_axis = |f: &dyn Fn(usize) -> Result<Layout>| {
            axes.iter()
                .map(|axis| f(*axis).map(Tiler::Layout))
                .collect::<Result<Vec<_>>>()
                .map(Tiler::Modes)
        };
        let tiled = tensor.logical_divide(per_axis(&|axis| self.permutation(axis))?)?;
        let by_atom = tiled.zipped_divide(per_axis(&|axis| Layout::new(self.extent(axis), 1))?)?;
        let atoms = by_atom.mode(0)?.compose(fragment)?;
        let rests = by_atom
            .mode(1)?
            .zipped_divide(per_axis(&|axis| Layout::new(self.repeat(axis)?, 1))?)?;
        let threads = Layout::concat([&atoms.mode(0)?, &rests.mode(0)?])?;
        let values = Layout::concat([&atoms.mode(1)?, &rests.mode(1)?])?;
        Layout::concat([&threads, &values])
    }

    /// (thread, value) to the operand's tile: every thread of the block by its number, also those that hold a copy.
    pub fn layout_tv(&self, operand: Operand) -> Result<Layout> {
        let axes = operand.axes();
        let tile = Layout::col_major([self.tile_size(axes[0])?, self.tile_size(axes[1])?])?;
        let parts = self.partition(operand, &tile)?;
        // (V, (M, N, K)) to the operand's own (V, (its two axes)): the third axis does not count.
        let own = parts.mode(0)?;
        let (v, rest) = (own.mode(0)?, own.mode(1)?);
        let mut threads = vec![v];
        for axis in 0..3 {
            threads.push(match axes.iter().position(|own| *own == axis) {
                Some(place) => rest.mode(place)?,
                None => Layout::new(self.repeat(axis)?, 0)?,
            });
        }
        let by_place = Layout::concat(&threads)?;
        let to_place =
            Layout::concat([&self.threads, &self.threads.complement()?])?.right_inverse()?;
        let by_thread = extended(&by_place)?.compose(&to_place)?;
        Layout::concat([&by_thread, &parts.mode(1)?])
    }

    /// The tile of an operand as a tuple of two extents.
    pub fn tile_of(&self, operand: Operand) -> Result<Tuple> {
        let axes = operand.axes();
        Ok([self.tile_size(axes[0])?, self.tile_size(axes[1])?].into())
    }
}

/// Past its end the layout repeats its last place: threads that take no part hold what thread places below them do.
fn extended(layout: &Layout) -> Result<Layout> {
    Layout::concat([layout, &Layout::new(1, 0)?])
}
