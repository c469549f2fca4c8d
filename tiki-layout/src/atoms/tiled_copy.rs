//! A copy atom repeated over threads and values.
//!
//! ```text
//!     tv      (thread, value) -> element of the tile
//!     tiler   which elements of a tensor make the tile, mode by mode
//! ```
//!
//! The source and destination maps follow from `tv` through the atom: `tv` is divided by the atom's threads and values,
//! and the atom's part is read through `right_inverse(reference) o source` (or destination).

use super::{CopyAtom, Operand, TiledMma};
use crate::error::{Error, Result};
use crate::{Layout, Tiler, Tuple};

/// A thread-value map of a tile and the tile it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CopyMap {
    /// (thread, value) to the tile's 1-D index.
    pub tv: Layout,
    /// The tile, one layout per mode.
    pub tiler: Vec<Layout>,
}

/// A copy atom repeated over threads and values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TiledCopy {
    atom: CopyAtom,
    map: CopyMap,
}

fn extents(layouts: &[Layout]) -> Tuple {
    layouts
        .iter()
        .map(|layout| layout.shape().clone())
        .collect()
}

/// One layout per mode of `shape` that keeps this mode's coordinate and drops the others.
fn axis_of(shape: &[i64], axis: usize) -> Result<Layout> {
    let stride: Tuple = (0..shape.len()).map(|i| i64::from(i == axis)).collect();
    Layout::new(Tuple::from(shape), stride)
}

impl CopyMap {
    /// Threads side by side as `threads` says, each with the values `values`: the tile is their raked product.
    ///
    /// ```
    /// # use tiki_layout::{Layout, atoms::CopyMap};
    /// let l = |text| Layout::parse(text).unwrap();
    /// let map = CopyMap::by_threads_and_values(&l("(4,8):(8,1)"), &l("(1,4):(0,1)")).unwrap();
    /// assert_eq!(map.tv.to_string(), "((8,4),4):((16,1),4)");
    /// assert_eq!(map.tiler().to_string(), "<4:1,32:1>");
    /// ```
    pub fn by_threads_and_values(threads: &Layout, values: &Layout) -> Result<CopyMap> {
        let tile = threads.raked_product(values)?;
        let inverse = tile.right_inverse()?;
        if inverse.size() != tile.size() {
            let (got, want) = (inverse.size(), tile.size());
            return Err(Error::NotRepresentable {
                op: "tiled copy",
                index: got,
                got,
                want,
            });
        }
        let tv = inverse.with_shape([threads.size(), values.size()])?;
        let extents = tile.shape().product_each()?.leaves();
        let tiler = extents
            .into_iter()
            .map(|extent| Layout::new(extent, 1))
            .collect::<Result<_>>()?;
        Ok(CopyMap { tv, tiler })
    }

    /// The map of an operand of a tiled mma.
    pub fn of_operand(mma: &TiledMma, operand: Operand) -> Result<CopyMap> {
        let tile = mma.tile_of(operand)?.leaves();
        let tiler = tile
            .into_iter()
            .map(|extent| Layout::new(extent, 1))
            .collect::<Result<_>>()?;
        Ok(CopyMap {
            tv: mma.layout_tv(operand)?,
            tiler,
        })
    }

    /// The smallest part of the accumulator that gives each thread `values` values, and the tile it makes.
    pub fn of_accumulator_part(mma: &TiledMma, values: i64) -> Result<CopyMap> {
        let whole = mma.layout_tv(Operand::C)?;
        let (threads, all) = (whole.mode(0)?.size(), whole.mode(1)?.size());
        if values > all {
            let what = "the values a thread must have";
            return Err(Error::Atom {
                op: "tiled copy",
                what,
                got: all,
                want: values,
            });
        }
        let part = whole.compose(&Layout::col_major([threads, values])?)?;
        CopyMap::restrict(&part, &mma.tile_of(Operand::C)?.leaves())
    }

    /// (thread, value) given as addresses of a tensor `data`: the tile is what they touch.
    pub fn of_addresses(addresses: &Layout, data: &Layout) -> Result<CopyMap> {
        let inverse = Layout::concat([&data.left_inverse()?, &Layout::new(1, 0)?])?;
        let indices = inverse.compose(addresses)?;
        let (there, values) = (data.compose(&indices.mode(1)?)?, addresses.mode(1)?);
        crate::laws::same_function(&values, &there)?;
        CopyMap::restrict(&indices, &data.shape().product_each()?.leaves())
    }

    /// Keeps the elements that `tv` reaches in a tile of extents `shape`.
    fn restrict(tv: &Layout, shape: &[i64]) -> Result<CopyMap> {
        let tiler = (0..shape.len())
            .map(|axis| axis_of(shape, axis)?.compose(tv)?.filter())
            .collect::<Result<Vec<_>>>()?;
        let tile = Layout::col_major(Tuple::from(shape))?
            .compose_by(tiler.iter().cloned().map(Tiler::Layout).collect::<Vec<_>>())?;
        Ok(CopyMap {
            tv: tile.left_inverse()?.compose(tv)?,
            tiler,
        })
    }

    /// The tile as a tiler by mode.
    pub fn tiler(&self) -> Tiler {
        Tiler::Modes(self.tiler.iter().cloned().map(Tiler::Layout).collect())
    }
}

impl TiledCopy {
    /// Repeats `atom` (in elements: [`CopyAtom::of_width`]) over a map. The atom's threads and values must divide the
    /// map's.
    pub fn new(atom: CopyAtom, map: CopyMap) -> Result<TiledCopy> {
        let check = |what, have: i64, unit: i64| {
            if unit > 0 && have % unit == 0 {
                Ok(())
            } else {
                Err(Error::Atom {
                    op: "tiled copy",
                    what,
                    got: have,
                    want: unit,
                })
            }
        };
        check(
            "the number of threads",
            map.tv.mode(0)?.size(),
            atom.reference.mode(0)?.size(),
        )?;
        check(
            "the values of a thread",
            map.tv.mode(1)?.size(),
            atom.reference.mode(1)?.size(),
        )?;
        Ok(TiledCopy { atom, map })
    }

    /// The atom, in elements.
    pub fn atom(&self) -> &CopyAtom {
        &self.atom
    }

    /// The map of the reference side.
    pub fn map(&self) -> &CopyMap {
        &self.map
    }

    /// (thread, value) of the source to the tile.
    pub fn source_tv(&self) -> Result<Layout> {
        self.side(&self.atom.source)
    }

    /// (thread, value) of the destination to the tile.
    pub fn destination_tv(&self) -> Result<Layout> {
        self.side(&self.atom.destination)
    }

    fn side(&self, side: &Layout) -> Result<Layout> {
        let through = self.atom.reference.right_inverse()?.compose(side)?;
        let unit = self.atom.reference.shape().product_each()?;
        let divided = self.map.tv.zipped_divide(Tiler::by_extents(&unit)?)?;
        let atoms = divided.mode(0)?.compose(&through)?;
        let zipped = Layout::concat([&atoms, &divided.mode(1)?])?.zip()?;
        let profile = Tuple::from(vec![Tuple::Int(1), [1, 1].into()]);
        let tv = zipped.coalesce_like(&profile)?;
        Layout::col_major(extents(&self.map.tiler))?.compose(&tv)
    }
}
