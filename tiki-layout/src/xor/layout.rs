//! [`XorLayout`]: a shape of powers of two with columns, and what can be read from it.

use super::{BitMatrix, Refusal};
use crate::coord::{coord_to_index, index_to_coord};
use crate::{Composed, Error, Layout, Swizzle, Tuple};
use std::fmt;

/// A layout whose strides are XORed: see the module page. The constant is XORed too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct XorLayout {
    pub(super) shape: Tuple,
    /// One list per leaf of the shape, one column per bit of the leaf.
    pub(super) columns: Vec<Vec<u64>>,
    pub(super) offset: u64,
}

impl XorLayout {
    /// The layout with the given columns: one list per leaf, `log2(extent)` columns in it.
    pub fn new(
        shape: impl Into<Tuple>,
        columns: Vec<Vec<u64>>,
        offset: u64,
    ) -> Result<Self, Refusal> {
        let shape = shape.into();
        let leaves = shape.leaves();
        let bits = leaves
            .iter()
            .map(|e| log2(*e).ok_or(Refusal::Extent { extent: *e }));
        let bits = bits.collect::<Result<Vec<u32>, _>>()?;
        let total: u32 = bits.iter().sum();
        let fits = bits.len() == columns.len()
            && bits
                .iter()
                .zip(&columns)
                .all(|(b, c)| *b as usize == c.len());
        // One more than any offset must fit as well.
        let small = |v: &u64| *v < 1 << 62;
        if !fits || total > 62 || !columns.iter().flatten().all(small) || !small(&offset) {
            return Err(Refusal::Columns {
                lists: columns.len(),
                shape,
            });
        }
        Ok(XorLayout {
            shape,
            columns,
            offset,
        })
    }

    /// The layout with one XOR stride per leaf: bit `i` of a leaf goes to `stride << i`.
    ///
    /// ```
    /// # use tiki_layout::xor::XorLayout;
    /// let rows = XorLayout::with_strides([4, 4], &[5, 1]).unwrap();
    /// assert_eq!(rows.to_string(), "(4,4):(^5,^1)");
    /// assert_eq!((0..4).map(|i| rows.at_coord([i, 3]).unwrap()).collect::<Vec<_>>(), [3, 6, 9, 12]);
    /// ```
    pub fn with_strides(shape: impl Into<Tuple>, strides: &[u64]) -> Result<Self, Refusal> {
        let shape = shape.into();
        let mut columns = Vec::with_capacity(strides.len());
        for (extent, stride) in shape.leaves().into_iter().zip(strides) {
            let bits = log2(extent).ok_or(Refusal::Extent { extent })?;
            let shifted = |bit: u32| stride.checked_shl(bit).filter(|v| v >> bit == *stride);
            let wide = || Refusal::Columns {
                shape: shape.clone(),
                lists: strides.len(),
            };
            columns.push(
                (0..bits)
                    .map(|bit| shifted(bit).ok_or_else(wide))
                    .collect::<Result<_, _>>()?,
            );
        }
        XorLayout::new(shape, columns, 0)
    }

    /// A strided layout as XOR layout, if no sum of it carries.
    ///
    /// ```
    /// # use tiki_layout::{Layout, xor::{Refusal, XorLayout}};
    /// let plain = Layout::parse("(8,4):(4,1)").unwrap();
    /// assert_eq!(XorLayout::from_layout(&plain).unwrap().to_string(), "(8,4):(^4,^1)");
    /// let carries = Layout::parse("(4,4):(2,1)").unwrap();
    /// assert_eq!(XorLayout::from_layout(&carries), Err(Refusal::Carry { bit: 1, leaf: (4, 1) }));
    /// ```
    pub fn from_layout(layout: &Layout) -> Result<Self, Refusal> {
        let mut used = 0u64;
        let mut columns = Vec::new();
        for (extent, stride) in layout.leaves() {
            let bits = log2(extent).ok_or(Refusal::Extent { extent })?;
            if bits == 0 || stride == 0 {
                columns.push(vec![0; bits as usize]);
                continue;
            }
            let low = log2(stride).filter(|low| low + bits <= 62);
            let low = low.ok_or(Refusal::Stride { extent, stride })?;
            let list: Vec<u64> = (0..bits).map(|bit| 1 << (low + bit)).collect();
            if let Some(column) = list.iter().find(|c| used & **c != 0) {
                return Err(Refusal::Carry {
                    bit: column.trailing_zeros(),
                    leaf: (extent, stride),
                });
            }
            used |= list.iter().sum::<u64>();
            columns.push(list);
        }
        XorLayout::new(layout.shape().clone(), columns, 0)
    }

    /// A swizzled layout as XOR layout: the swizzle is applied to every column.
    ///
    /// ```
    /// # use tiki_layout::{Composed, xor::XorLayout};
    /// let atom = Composed::parse("Sw<3,0,3> o 0 o (8,8):(8,1)").unwrap();
    /// let xor = XorLayout::from_composed(&atom).unwrap();
    /// assert_eq!(xor.to_string(), "(8,8):(^9,^1)");
    /// assert!((0..64).all(|i| xor.at(i) == atom.at(i)));
    /// ```
    pub fn from_composed(composed: &Composed) -> Result<Self, Refusal> {
        let plain = XorLayout::from_layout(composed.layout())?;
        let used = plain.columns.iter().flatten().fold(0, |bits, c| bits | c);
        let offset = composed.offset();
        if offset < 0 || offset as u64 & used != 0 {
            return Err(Refusal::Offset {
                offset,
                used: used as i64,
            });
        }
        let swizzle = composed.swizzle();
        let swizzled = |v: u64| swizzle.apply(v as i64) as u64;
        let columns = plain
            .columns
            .iter()
            .map(|list| list.iter().map(|c| swizzled(*c)).collect())
            .collect();
        XorLayout::new(plain.shape, columns, swizzled(offset as u64))
    }

    /// The extents.
    pub fn shape(&self) -> &Tuple {
        &self.shape
    }

    /// The columns of each leaf, leftmost leaf first.
    pub fn columns(&self) -> &[Vec<u64>] {
        &self.columns
    }

    /// The constant that is XORed.
    pub fn offset(&self) -> i64 {
        self.offset as i64
    }

    /// The map from index bits to offset bits, without the constant.
    pub fn matrix(&self) -> BitMatrix {
        BitMatrix::new(self.columns.concat())
    }

    /// How many indices.
    pub fn size(&self) -> i64 {
        1 << self.columns.iter().map(Vec::len).sum::<usize>()
    }

    /// One more than the largest offset.
    pub fn cosize(&self) -> i64 {
        // The largest member of a coset: set every leading bit of the reduced basis that can be set.
        let largest = self
            .matrix()
            .image()
            .basis()
            .iter()
            .fold(self.offset, |v, b| v.max(v ^ b));
        largest as i64 + 1
    }

    /// The offset of an index.
    pub fn at(&self, index: i64) -> crate::Result<i64> {
        if index < 0 || index >= self.size() {
            return Err(Error::Coordinate {
                op: "evaluation",
                coordinate: index,
                extent: self.size(),
            });
        }
        Ok((self.matrix().apply(index as u64) ^ self.offset) as i64)
    }

    /// The offset of a coordinate.
    pub fn at_coord(&self, coord: impl Into<Tuple>) -> crate::Result<i64> {
        self.at(coord_to_index(&coord.into(), &self.shape)?)
    }

    /// The coordinate of an offset, if the layout reaches it and no other coordinate does.
    pub fn coord_of(&self, offset: i64) -> Result<Option<Tuple>, Refusal> {
        let matrix = self.matrix();
        if let Some(vector) = matrix.kernel().basis().first() {
            return Err(Refusal::NotInjective {
                index: *vector as i64,
            });
        }
        match matrix.solve(offset as u64 ^ self.offset) {
            Some(index) if offset >= 0 => Ok(Some(index_to_coord(index as i64, &self.shape)?)),
            _ => Ok(None),
        }
    }

    /// The same map as one swizzle after a strided layout, if there is one.
    pub fn to_composed(&self) -> Result<Composed, Refusal> {
        let (mut y, mut z, mut shift) = (0u64, 0u64, None);
        for column in self.columns.iter().flatten().filter(|c| c.count_ones() > 1) {
            let (low, high) = (column.trailing_zeros(), 63 - column.leading_zeros());
            if column.count_ones() > 2 || *shift.get_or_insert(high - low) != high - low {
                return Err(Refusal::NotASwizzle {
                    column: *column as i64,
                });
            }
            (y, z) = (y | 1 << high, z | 1 << low);
        }
        let swizzle = if y == 0 {
            Swizzle::IDENTITY
        } else {
            fields(y, z)
        };
        // Which of the two fields is read is open: either way the plain columns must be single bits.
        let flipped = Swizzle::new(
            swizzle.bits().into(),
            swizzle.base().into(),
            -i64::from(swizzle.shift()),
        );
        let mut refusal = Refusal::NotASwizzle {
            column: (y | z) as i64,
        };
        for candidate in [Some(swizzle), flipped.ok()].into_iter().flatten() {
            match self.plain_under(candidate) {
                Ok(composed) => return Ok(composed),
                Err(reason) => refusal = reason,
            }
        }
        Err(refusal)
    }

    fn plain_under(&self, swizzle: Swizzle) -> Result<Composed, Refusal> {
        let mut modes = Vec::new();
        for list in &self.columns {
            let plain: Vec<i64> = list.iter().map(|c| swizzle.apply(*c as i64)).collect();
            let first = plain.first().copied().unwrap_or(0);
            let runs = plain.iter().enumerate().all(|(bit, c)| *c == first << bit);
            if !runs || first.count_ones() > 1 {
                let column = list
                    .iter()
                    .find(|c| c.count_ones() > 1)
                    .or(list.first())
                    .copied()
                    .unwrap_or(0);
                return Err(Refusal::NotASwizzle {
                    column: column as i64,
                });
            }
            modes.push(first);
        }
        let mut strides = modes.into_iter();
        let stride = self.shape.map(&mut |_| strides.next().unwrap_or(0));
        let layout = Layout::new(self.shape.clone(), stride)?;
        let composed = Composed::new(swizzle, swizzle.apply(self.offset as i64), layout)?;
        // Adding the constant and the layout must not carry.
        XorLayout::from_composed(&composed).map(|_| composed)
    }
}

/// The swizzle that reads `y` and changes `z`, widened to the smallest run of bits that holds them.
fn fields(y: u64, z: u64) -> Swizzle {
    let base = z.trailing_zeros();
    let shift = y.trailing_zeros() - base;
    let bits = 64 - z.leading_zeros() - base;
    Swizzle::new(bits.into(), base.into(), shift.into()).unwrap_or(Swizzle::IDENTITY)
}

/// The exponent of a power of two.
pub(super) fn log2(n: i64) -> Option<u32> {
    (n > 0 && n.count_ones() == 1).then(|| n.trailing_zeros())
}

impl fmt::Display for XorLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.offset != 0 {
            write!(f, "^{} o ", self.offset)?;
        }
        write!(f, "{}:", self.shape)?;
        write_strides(f, &self.shape, &mut self.columns.iter())
    }
}

fn write_strides<'a>(
    f: &mut fmt::Formatter<'_>,
    shape: &Tuple,
    lists: &mut impl Iterator<Item = &'a Vec<u64>>,
) -> fmt::Result {
    match shape {
        Tuple::Int(_) => match lists.next().map(Vec::as_slice) {
            None | Some([]) => write!(f, "^0"),
            Some([first, rest @ ..]) => {
                if rest.iter().enumerate().all(|(i, c)| *c == first << (i + 1)) {
                    return write!(f, "^{first}");
                }
                write!(f, "^{{{first}")?;
                rest.iter().try_for_each(|c| write!(f, ",{c}"))?;
                write!(f, "}}")
            }
        },
        Tuple::Tuple(modes) => {
            write!(f, "(")?;
            for (i, mode) in modes.iter().enumerate() {
                if i > 0 {
                    write!(f, ",")?;
                }
                write_strides(f, mode, lists)?;
            }
            write!(f, ")")
        }
    }
}
