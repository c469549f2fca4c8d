//! What instructions compute, for the machine.
//!
//! A warp's registers are a [`File`]: planes of 32 words, one word a lane. A 64-bit register is two
//! planes, the low words first; a predicate is one word, a bit a lane; a register of 16 bits or fewer
//! uses the low bits of its plane, and what is above them means nothing. Immediates, addresses of
//! variables and special registers are planes too, filled before the warp starts, so that every operand
//! is a number of a plane ([`Args`]).
//!
//! A row means one of two things:
//!
//! - [`Meaning::Lanes`]: a function from registers to registers. The row picks a [`Run`] by its types and
//!   modifiers; it is one loop over 32 lanes, compiled for each CPU level. Lanes outside the mask keep
//!   their registers.
//! - [`Meaning::Asks`]: something that needs memory, other lanes or other threads: the row says what it
//!   asks of the machine ([`Ask`]).

// The `u` comparisons are negations on purpose, lanes are numbered, and macros paste constants.
#![allow(
    clippy::neg_cmp_op_on_partial_ord,
    clippy::double_comparisons,
    clippy::nonminimal_bool,
    clippy::precedence,
    clippy::modulo_one,
    clippy::needless_range_loop
)]

pub mod ask;
pub mod bits;
pub mod bulk;
pub mod compare;
pub mod control;
pub mod convert;
pub mod copy;
pub mod exact;
pub mod float;
pub mod half;
pub mod int;
pub mod matrix;
pub mod memory;
pub mod moves;
pub mod object;
pub mod sync;
mod table;
pub mod tensor;
pub mod unit;
pub mod warp;
pub mod wgmma;

pub use ask::Ask;
pub use table::meaning;

use tiki_kernel::isa::Op;

/// Lanes of a warp.
pub const LANES: usize = 32;

/// One plane: a word for every lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(align(64))]
pub struct Plane(pub [u32; LANES]);

impl Plane {
    /// The same word in every lane.
    #[must_use]
    pub const fn splat(word: u32) -> Plane {
        Plane([word; LANES])
    }
}

/// Registers of a warp.
#[derive(Debug, Clone, Default)]
pub struct File {
    /// Planes.
    pub words: Vec<Plane>,
    /// Predicates; the first is the carry.
    pub preds: Vec<u32>,
    /// What is the same for the whole launch and the block's place in its cluster.
    pub place: Place,
}

/// What address arithmetic needs to know.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place {
    /// Rank of the block in its cluster.
    pub rank: u32,
}

/// Place of the carry among the predicates.
pub const CARRY: usize = 0;
/// A predicate that nobody reads: where unwanted ones go.
pub const SINK_PRED: u32 = 1;

/// Operands: the number of the first plane, or of the predicate, of each.
#[derive(Debug, Clone, Default)]
pub struct Args {
    /// In the order of the row's patterns; of an operand in braces, where it starts in `list`.
    pub s: [u32; 8],
    /// The predicate behind a bar.
    pub pair: u32,
    /// Registers of operands in braces.
    pub list: Vec<u32>,
    /// Negated conditions and the like, by bits.
    pub flags: u32,
    /// The immediate of a row that has one.
    pub imm: i64,
}

/// A function over a warp's registers, compiled for each CPU level.
#[derive(Clone, Copy)]
pub struct Run {
    /// For any CPU.
    pub base: fn(&mut File, &Args, u32),
    /// For a CPU with 256-bit vectors and fused multiply-add; the same as `base` elsewhere, and where the
    /// crate is not optimised.
    pub fast: unsafe fn(&mut File, &Args, u32),
    /// Added to the operands' flags: what a function reads of the row's choice while it runs.
    pub flags: u32,
}

impl Run {
    /// The same with flags.
    #[must_use]
    pub fn flags(mut self, flags: u32) -> Run {
        self.flags = flags;
        self
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Run")
    }
}

/// What a row means.
#[derive(Debug)]
pub enum Meaning {
    /// A function over registers; `None` for choices without one.
    Lanes(fn(&Op) -> Option<Run>),
    /// A request to the machine; `None` for choices it does not serve.
    Asks(fn(&Op) -> Option<Ask>),
}

/// A value that a lane of a register holds.
pub trait Lane: Copy {
    /// Registers of the warp that hold it.
    type Src<'a>: Copy;
    /// Values collected before they are written.
    type Out;
    /// The registers.
    fn src(f: &File, slot: u32) -> Self::Src<'_>;
    /// One lane's value.
    fn lane(src: Self::Src<'_>, i: usize) -> Self;
    /// Nothing collected.
    fn out() -> Self::Out;
    /// Collects one.
    fn set(out: &mut Self::Out, i: usize, v: Self);
    /// Writes them where the mask says.
    fn put(f: &mut File, slot: u32, out: Self::Out, mask: u32);
}

/// Writes a plane where the mask says.
#[inline(always)]
pub fn put_plane(plane: &mut Plane, out: &[u32; LANES], mask: u32) {
    if mask == u32::MAX {
        plane.0 = *out;
    } else {
        for i in 0..LANES {
            let keep = 0u32.wrapping_sub(mask >> i & 1);
            plane.0[i] = (out[i] & keep) | (plane.0[i] & !keep);
        }
    }
}

macro_rules! word_lane {
    ($($t:ty: $x:ident => $from:expr, $y:ident => $to:expr;)*) => { $(
        impl Lane for $t {
            type Src<'a> = &'a [u32; LANES];
            type Out = [u32; LANES];
            #[inline(always)]
            fn src(f: &File, slot: u32) -> Self::Src<'_> { &f.words[slot as usize].0 }
            #[inline(always)]
            fn lane(src: Self::Src<'_>, i: usize) -> $t { let $x = src[i]; $from }
            #[inline(always)]
            fn out() -> Self::Out { [0; LANES] }
            #[inline(always)]
            fn set(out: &mut Self::Out, i: usize, $y: $t) { out[i] = $to; }
            #[inline(always)]
            fn put(f: &mut File, slot: u32, out: Self::Out, mask: u32) { put_plane(&mut f.words[slot as usize], &out, mask) }
        }
    )* };
}

word_lane! {
    u8: x => x as u8, y => u32::from(y);
    i8: x => x as i8, y => y as u32;
    u16: x => x as u16, y => u32::from(y);
    i16: x => x as i16, y => y as u32;
    u32: x => x, y => y;
    i32: x => x as i32, y => y as u32;
    f32: x => f32::from_bits(x), y => y.to_bits();
}

macro_rules! double_lane {
    ($($t:ty: $x:ident => $from:expr, $y:ident => $to:expr;)*) => { $(
        impl Lane for $t {
            type Src<'a> = (&'a [u32; LANES], &'a [u32; LANES]);
            type Out = ([u32; LANES], [u32; LANES]);
            #[inline(always)]
            fn src(f: &File, slot: u32) -> Self::Src<'_> { (&f.words[slot as usize].0, &f.words[slot as usize + 1].0) }
            #[inline(always)]
            fn lane(src: Self::Src<'_>, i: usize) -> $t { let $x = u64::from(src.0[i]) | u64::from(src.1[i]) << 32; $from }
            #[inline(always)]
            fn out() -> Self::Out { ([0; LANES], [0; LANES]) }
            #[inline(always)]
            fn set(out: &mut Self::Out, i: usize, $y: $t) { let v: u64 = $to; out.0[i] = v as u32; out.1[i] = (v >> 32) as u32; }
            #[inline(always)]
            fn put(f: &mut File, slot: u32, out: Self::Out, mask: u32) {
                put_plane(&mut f.words[slot as usize], &out.0, mask);
                put_plane(&mut f.words[slot as usize + 1], &out.1, mask);
            }
        }
    )* };
}

double_lane! {
    u64: x => x, y => y;
    i64: x => x as i64, y => y as u64;
    f64: x => f64::from_bits(x), y => y.to_bits();
}

impl Lane for bool {
    type Src<'a> = u32;
    type Out = u32;
    #[inline(always)]
    fn src(f: &File, slot: u32) -> u32 {
        f.preds[slot as usize]
    }
    #[inline(always)]
    fn lane(src: u32, i: usize) -> bool {
        src >> i & 1 == 1
    }
    #[inline(always)]
    fn out() -> u32 {
        0
    }
    #[inline(always)]
    fn set(out: &mut u32, i: usize, v: bool) {
        *out |= u32::from(v) << i;
    }
    #[inline(always)]
    fn put(f: &mut File, slot: u32, out: u32, mask: u32) {
        let p = &mut f.preds[slot as usize];
        *p = (out & mask) | (*p & !mask);
    }
}

/// The same body for each CPU level.
macro_rules! levels {
    ($body:ident) => {{
        fn base(f: &mut $crate::vm::meaning::File, a: &$crate::vm::meaning::Args, mask: u32) {
            $body(f, a, mask)
        }
        #[cfg(all(target_arch = "x86_64", optimised))]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
        fn fast(f: &mut $crate::vm::meaning::File, a: &$crate::vm::meaning::Args, mask: u32) {
            $body(f, a, mask)
        }
        #[cfg(not(all(target_arch = "x86_64", optimised)))]
        use base as fast;
        $crate::vm::meaning::Run {
            base,
            fast,
            flags: 0,
        }
    }};
}
pub(crate) use levels;

/// A [`Run`] from one lane's computation. Operand k is `a.s[k]`, the result being operand 0.
///
/// ```text
/// lanes!(|x: i32, y: i32| -> i32 { x.wrapping_add(y) })
/// lanes!(flags; |x: f32| -> f32 { .. flags .. })        with the flags that `Run::flags` sets
/// ```
macro_rules! lanes {
    (|$($x:ident: $t:ty),*| -> $d:ty $body:block) => { $crate::vm::meaning::lanes!(_flags; |$($x: $t),*| -> $d $body) };
    ($flags:ident; |$($x:ident: $t:ty),*| -> $d:ty $body:block) => {{
        #[inline(always)]
        fn body(f: &mut $crate::vm::meaning::File, a: &$crate::vm::meaning::Args, mask: u32) {
            use $crate::vm::meaning::Lane;
            let mut out = <$d as Lane>::out();
            let $flags = a.flags;
            {
                let mut k = 0;
                $(k += 1; let $x = <$t as Lane>::src(f, a.s[k]);)*
                let _ = k;
                for i in 0..$crate::vm::meaning::LANES {
                    $(let $x = <$t as Lane>::lane($x, i);)*
                    <$d as Lane>::set(&mut out, i, $body);
                }
            }
            <$d as Lane>::put(f, a.s[0], out, mask);
        }
        $crate::vm::meaning::levels!(body)
    }};
}
pub(crate) use lanes;

/// The same, reading and writing the carry: the body gives the value and the new carry.
macro_rules! lanes_carry {
    ($carry:ident, |$($x:ident: $t:ty),*| -> $d:ty $body:block) => {{
        #[inline(always)]
        fn body(f: &mut $crate::vm::meaning::File, a: &$crate::vm::meaning::Args, mask: u32) {
            use $crate::vm::meaning::Lane;
            let mut out = <$d as Lane>::out();
            let mut carries = <bool as Lane>::out();
            {
                let mut k = 0;
                $(k += 1; let $x = <$t as Lane>::src(f, a.s[k]);)*
                let _ = k;
                let old = f.preds[$crate::vm::meaning::CARRY];
                for i in 0..$crate::vm::meaning::LANES {
                    $(let $x = <$t as Lane>::lane($x, i);)*
                    let $carry = old >> i & 1 == 1;
                    let (v, c) = $body;
                    <$d as Lane>::set(&mut out, i, v);
                    <bool as Lane>::set(&mut carries, i, c);
                }
            }
            <$d as Lane>::put(f, a.s[0], out, mask);
            <bool as Lane>::put(f, $crate::vm::meaning::CARRY as u32, carries, mask);
        }
        $crate::vm::meaning::levels!(body)
    }};
}
pub(crate) use lanes_carry;

/// Picks a Rust type by a PTX type: `by_type!(op.ty("t"), [S32 => i32, U32 => u32], T => lanes!(..T..))`.
macro_rules! by_type {
    ($ty:expr, [$($p:ident => $t:ty),* $(,)?], $name:ident => $body:expr) => {
        match $ty? {
            $(tiki_kernel::isa::Ty::$p => { type $name = $t; Some($body) })*
            _ => None,
        }
    };
}
pub(crate) use by_type;
