//! The layout algebra of Tiki: functions from coordinates to offsets.
//!
//! # A layout is a function
//!
//! A [`Layout`] is a shape and a stride, nested alike: `(4,8):(8,1)`. It sends a coordinate to the sum of coordinate times
//! stride. The same function reads an index too: index 0, 1, 2, .. walks the coordinates with the leftmost mode fastest.
//!
//! ```text
//!     (4,8):(8,1)   row-major                     (4,8):(1,4)   column-major
//!
//!          0  1  2  3  4  5  6  7                      0  4  8 12 16 20 24 28
//!          8  9 10 11 12 13 14 15                      1  5  9 13 17 21 25 29
//!         16 17 18 19 20 21 22 23                      2  6 10 14 18 22 26 30
//!         24 25 26 27 28 29 30 31                      3  7 11 15 19 23 27 31
//! ```
//!
//! A mode may itself be a layout. That is all it takes to say "two columns of tiles":
//!
//! ```text
//!     ((2,2),(2,4)):((1,4),(2,8))          coordinate ((a,b),(c,d))
//!
//!          0  2 |  8 10 | 16 18 | 24 26        a, c   place in a 2x2 block
//!          1  3 |  9 11 | 17 19 | 25 27        b, d   which block
//!         ------+-------+-------+------
//!          4  6 | 12 14 | 20 22 | 28 30
//!          5  7 | 13 15 | 21 23 | 29 31
//! ```
//!
//! ```
//! # use tiki_layout::Layout;
//! let blocks = Layout::parse("((2,2),(2,4)):((1,4),(2,8))").unwrap();
//! assert_eq!(blocks.at_coord([3, 4]), Ok(21));                   // row 3, column 4
//! assert_eq!(blocks.at(4 * 4 + 3), Ok(21));                      // the same place by its index
//! assert_eq!(blocks.size(), 32);
//! ```
//!
//! An index past the end still has an offset: the last leaf simply goes on. Tiles that overhang rest on this.
//!
//! # Layouts combine
//!
//! **Compose**: read one layout through another, `(A o B)(c) = A(B(c))`. `B` says which elements and in which order; `A`
//! says where they are. A tile, a thread's elements, a reshape, a transposition: all are compositions.
//!
//! ```text
//!     A = (4,8):(8,1)     B = (2,2):(1,8)  rows 0 1, columns 0 2      A o B = (2,2):(8,2)
//!
//!         [0] 1 [2] 3  4  5  6  7                                          0  2
//!         [8] 9[10]11 12 13 14 15                                          8 10
//! ```
//!
//! **Complement**: the offsets that a layout leaves out, so that both together are everything once.
//! **Divide**: compose with a tile and its complement, `A / T = A o (T, T*)`: mode 0 walks in a tile, mode 1 from tile to
//! tile. **Multiply**: a block and the copies of it that its complement has room for.
//!
//! ```text
//!     8:1 divided by 4:2 = (4,2):(2,1)            (2):(1) times 3:2, the copies in the gaps
//!
//!         mode 0  0 2 4 6                              block     0 1
//!         mode 1  0 | 1                                copies    at 0 4 8
//! ```
//!
//! **Inverses** lead from offsets back to indices; what two layouts have in common is a composition with one.
//! [`recast`](Layout::recast) sees the same bytes as wider or narrower elements.
//!
//! ```
//! # use tiki_layout::{Layout, Tiler};
//! let global = Layout::row_major([4096, 4096]).unwrap();
//! let tiles = global.zipped_divide(Tiler::parse("<128,64>").unwrap()).unwrap();
//! assert_eq!(tiles.to_string(), "((128,64),(32,64)):((4096,1),(524288,64))");
//! let (tile, at) = global.local_tile(Tiler::parse("<128,64>").unwrap(), [2, 3], None).unwrap();
//! assert_eq!((tile.to_string().as_str(), at), ("(128,64):(4096,1)", 2 * 128 * 4096 + 3 * 64));
//! ```
//!
//! # Exact, or refused
//!
//! Not every composition is a layout. This crate never answers with a layout that has other values than the law demands:
//!
//! 1. a check that costs a few divisions accepts every ordinary case;
//! 2. what it cannot accept is decided by visiting every index (up to [`ENUMERATION_LIMIT`]), which also finds layouts
//!    that CuTe refuses;
//! 3. if no layout has the values, the [`Error`] names the first index, what was got, and what was wanted.
//!
//! ```
//! # use tiki_layout::Layout;
//! let l = |text| Layout::parse(text).unwrap();
//! // The walk 0 3 6 stays in the first mode: fine, although 3 does not divide 8.
//! assert_eq!(l("(8,8):(8,1)").compose(&l("3:3")).unwrap(), l("3:24"));
//! // 0 3 6 9 .. leaves the mode of 4 askew.
//! let error = l("(4,6,8):(2,3,5)").compose(&l("6:3")).unwrap_err();
//! assert_eq!(error.to_string(), "composition: no layout has the required values: at index 2 got 3, wanted 7");
//! ```
//!
//! Numbers are `i64` and checked: an overflow is an error. An extent may be zero: then there is no offset, and operations
//! answer an empty layout or [`Error::Empty`]. [`laws`] has each law as a function for tests of your own.
//!
//! # Swizzles
//!
//! A [`Swizzle`] XORs some bits of an offset onto lower ones, so that a column of a tile falls into different banks. It
//! goes after a layout: a [`Composed`] is `swizzle o offset o layout`. Everything that rearranges the domain acts under
//! it; a slice moves its offset under it and stays exact.
//!
//! ```text
//!     (4,4):(4,1)            Sw<2,0,2> o 0 o (4,4):(4,1)
//!
//!          0  1  2  3              0  1  2  3
//!          4  5  6  7              5  4  7  6          row r: column c is at c ^ r
//!          8  9 10 11             10 11  8  9
//!         12 13 14 15             15 14 13 12
//! ```
//!
//! Hardware patterns count bytes, layouts count elements. [`ByteSwizzle`] is a type of its own, and only an element width
//! leads from one to the other: `Sw<3,4,3>` of bytes is `Sw<3,3,3>` of 16-bit elements. Where a swizzle must divide,
//! invert or compose as a whole, [`xor`] writes it as strides.
//!
//! # Threads, memory, proofs, pictures
//!
//! [`atoms`] has the thread-value layouts of the tensor-core and matrix-copy instructions and tiles them. [`Coordinates`]
//! are layouts whose values are coordinates. [`banks`] counts wavefronts and sectors of an access and chooses swizzles.
//! [`sym`] proves bounds and divisibility of run-time extents. [`picture`] draws any of it as text, and with the feature
//! `plot` as SVG and PNG.
//!
//! # Notation
//!
//! `(4,(2,3)):(1,(4,8))` is a layout, `<3:4,8,_>` a tiler by mode, `(3,_)` a coordinate that keeps a mode, `Sw<3,4,3>` a
//! swizzle, `Sw<3,4,3> o 0 o (8,64):(64,1)` a swizzled layout. Blanks are allowed when reading, `_4` is read as `4`, and
//! `[3:4;8;_]` and `S<3,4,3>` are read too. What is printed is what CuTe prints, with the underscores of static integers
//! left out, and reads back as the same value.
//!
//! # CuTe's names and ours
//!
//! | CuTe | here | where they differ |
//! | --- | --- | --- |
//! | `make_layout(S, D)` | [`Layout::new`] | nesting is checked; extents of 0 are legal |
//! | `make_layout(S)`, `LayoutLeft`, `LayoutRight` | [`Layout::col_major`], [`Layout::row_major`] | as CuTe, stride 0 for extents of 1 |
//! | `make_layout(L0, L1, ..)` | [`Layout::concat`] | |
//! | `make_ordered_layout`, `compact_order` | [`Layout::ordered`], [`Tuple::compact_order`] | |
//! | `make_layout_like`, `make_fragment_like` | [`Layout::like`], [`Layout::fragment_like`] | |
//! | `make_identity_layout`, `E<1,0>` | [`Coordinates::identity`], `1@0@1` | overhang that leaves a coordinate's range is an error |
//! | `L(c)`, `crd2idx`, `idx2crd`, `crd2crd` | [`Layout::at`], [`Layout::at_coord`], [`coord`] | checked; a negative index is the mirror image |
//! | `L(_, 3)`, `slice_and_offset`, `dice` | [`Layout::slice`], [`Layout::dice`] | always with the offset |
//! | `lex_less`, `colex_less`, `elem_less`, `round_up`, coordinate iterators | [`Tuple::cmp_lex`], [`Tuple::cmp_colex`], [`Tuple::elem_less`], [`Tuple::round_up`], [`Tuple::coordinates`] | profiles must agree |
//! | `size`, `cosize`, `rank`, `depth` | the same | a swizzled layout's [`cosize`](Composed::cosize) is its exact reach |
//! | `coalesce`, `filter`, `filter_zeros` | the same, and `_like` for a profile | |
//! | `composition` | [`Layout::compose`], [`Layout::compose_by`] for tilers | exact or refused; accepts more and never wrongly; stride 0 for extents of 1 |
//! | `with_shape` | [`Layout::with_shape`] | |
//! | `complement` | [`Layout::complement`], [`Layout::complement_in`] | negative strides are refused; a shape bound that falls short is refused |
//! | `right_inverse`, `left_inverse` | the same | overlapping and backward layouts have no left inverse |
//! | `logical_`, `zipped_`, `tiled_`, `flat_divide` | the same | a flat tile over several modes it does not fit is refused, not padded; `_` in a tiler leaves tile `1:0` |
//! | `logical_`, `zipped_`, `tiled_`, `flat_`, `blocked_`, `raked_product` | the same | copies that would collide are refused |
//! | `tile_to_shape` | the same | |
//! | `upcast`, `downcast`, `recast_layout` | `upcast`, `downcast`, [`Layout::recast`] | extents of 1 never refuse |
//! | `max_common_layout`, `max_common_vector`, `max_alignment`, `nullspace`, `domain_distribute` | the same | |
//! | `group`, `take`, `select`, `append`, `prepend`, `replace`, `zip`, `flatten`, `unflatten` | the same | |
//! | `local_tile`, `local_partition`, `inner_partition`, `outer_partition` | the same | answer the layout and its offset |
//! | `Swizzle<B,M,S>`, `make_swizzle` | [`Swizzle::new`], [`Swizzle::from_masks`] | up to 62 bits; bytes and elements are two types |
//! | `ComposedLayout` | [`Composed`] | a slice keeps its swizzle; [`decay`](Composed::decay) finds the plain layout if there is one |
//! | `right_inverse(ComposedLayout)` | [`Composed::right_inverse`] | verified at every index; always possible in [`xor`] |
//! | `MMA_Traits`, `TiledMMA` | [`atoms::MmaAtom`], [`atoms::TiledMma`] | named by shape and width |
//! | `Copy_Traits`, `TiledCopy`, `make_tiled_copy_*` | [`atoms::CopyAtom`], [`atoms::TiledCopy`], [`atoms::CopyMap`] | |
//! | `GMMA::Layout_K_SW128_Atom`, .. | [`atoms::SharedAtom`] | |
//!
//! Not here: dynamic integers in the C++ sense (every number is a value; run-time extents are [`sym`]'s), sparse atoms,
//! `retile`, im2col.
#![forbid(unsafe_code)]

mod algebra;
mod arithmetic;
pub mod atoms;
pub mod banks;
mod compare;
mod composed;
pub mod coord;
mod coordinates;
mod error;
mod evaluate;
mod index_map;
mod inline;
pub mod laws;
mod layout;
mod partition;
pub mod picture;
#[cfg(feature = "plot")]
pub mod plot;
mod swizzle;
pub mod sym;
mod text;
mod tiler;
mod tuple;
pub mod xor;

pub use algebra::ENUMERATION_LIMIT;
pub use arithmetic::Order;
pub use composed::Composed;
pub use coord::Coord;
pub use coordinates::Coordinates;
pub use error::{Error, Result};
pub use evaluate::Offsets;
pub use index_map::IndexMap;
pub use layout::Layout;
pub use swizzle::{ByteSwizzle, Swizzle};
pub use tiler::Tiler;
pub use tuple::Tuple;
