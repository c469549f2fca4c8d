//! [`Tiler`]: which elements make one tile, for the whole layout at once or mode by mode.

use crate::{Layout, Tuple};

/// What an operation "by mode" is given: a layout, one entry per mode, or nothing to do.
///
/// ```
/// use tiki_layout::Tiler;
/// let tiler = Tiler::parse("<3:4,8,_>").unwrap();
/// assert_eq!(tiler.to_string(), "<3:4,8:1,_>");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Tiler {
    /// Leave this mode alone (`_`).
    Keep,
    /// Tile by the image of this layout; an integer `n` is `n:1`.
    Layout(Layout),
    /// One tiler per mode, from the left (`<..>`).
    Modes(Vec<Tiler>),
}

impl From<Layout> for Tiler {
    fn from(layout: Layout) -> Self {
        Tiler::Layout(layout)
    }
}

impl From<&Layout> for Tiler {
    fn from(layout: &Layout) -> Self {
        Tiler::Layout(layout.clone())
    }
}

impl From<&Tiler> for Tiler {
    fn from(tiler: &Tiler) -> Self {
        tiler.clone()
    }
}

impl<T: Into<Tiler>, const N: usize> From<[T; N]> for Tiler {
    fn from(modes: [T; N]) -> Self {
        Tiler::Modes(modes.into_iter().map(Into::into).collect())
    }
}

impl From<Vec<Tiler>> for Tiler {
    fn from(modes: Vec<Tiler>) -> Self {
        Tiler::Modes(modes)
    }
}

impl Tiler {
    /// Tiles of `extents` consecutive elements, mode by mode: `by_extents((64,32))` is `<64:1,32:1>`.
    pub fn by_extents(extents: &Tuple) -> crate::Result<Tiler> {
        match extents {
            Tuple::Int(extent) => Layout::new(*extent, 1).map(Tiler::Layout),
            Tuple::Tuple(modes) => modes
                .iter()
                .map(Tiler::by_extents)
                .collect::<crate::Result<_>>()
                .map(Tiler::Modes),
        }
    }

    /// The number of modes this tiler speaks about.
    pub fn rank(&self) -> usize {
        match self {
            Tiler::Modes(modes) => modes.len(),
            _ => 1,
        }
    }
}
