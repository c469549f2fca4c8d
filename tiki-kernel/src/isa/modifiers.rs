//! Modifiers with a type of their own, for those who write instructions from Rust.
//!
//! Each knows the name that rows give to it and its text. A row that does not take a value refuses it
//! ([`super::Op::with`] panics, [`super::Op::try_with`] says `None`).

/// A modifier that rows know by a name.
pub trait Modifier: Copy {
    /// The name in the rows' text.
    fn slot(self) -> &'static str;
    /// The word.
    fn text(self) -> &'static str;
}

macro_rules! modifiers {
    ($($(#[$m:meta])* $name:ident in $slot:literal { $($(#[$vm:meta])* $v:ident = $text:literal),* $(,)? })*) => { $(
        $(#[$m])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vm])* #[doc = concat!("`", $text, "`")] $v),* }
        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$v),*];
            /// The one of this text.
            #[must_use]
            pub fn by_text(text: &str) -> Option<$name> {
                match text { $($text => Some($name::$v),)* _ => None }
            }
        }
        impl Modifier for $name {
            fn slot(self) -> &'static str { $slot }
            fn text(self) -> &'static str { match self { $($name::$v => $text),* } }
        }
    )* };
}

modifiers! {
    /// How a result that is not representable is rounded.
    Rounding in "rnd" {
        Rn = "rn", Rz = "rz", Rm = "rm", Rp = "rp", Rna = "rna", Rni = "rni", Rzi = "rzi", Rmi = "rmi", Rpi = "rpi",
    }
    /// Memory spaces. A generic address can point into any of them.
    Space in "space" {
        Generic = "", Global = "global", Shared = "shared", SharedCta = "shared::cta", SharedCluster = "shared::cluster",
        Local = "local", Param = "param", Const = "const", ParamEntry = "param::entry", ParamFunc = "param::func",
    }
    /// Registers of one access or of one matrix load.
    Vec in "vec" { V2 = "v2", V4 = "v4", V8 = "v8" }
    /// Matrices of one matrix load or store.
    Matrices in "num" { X1 = "x1", X2 = "x2", X4 = "x4" }
    /// Memory order.
    Order in "order" {
        Weak = "weak", Volatile = "volatile", Relaxed = "relaxed", Acquire = "acquire", Release = "release",
        AcqRel = "acq_rel", Sc = "sc",
    }
    /// Threads among which an order holds.
    Scope in "scope" { Cta = "cta", Cluster = "cluster", Gpu = "gpu", Sys = "sys" }
    /// Cache operators.
    Cache in "cop" { Ca = "ca", Cg = "cg", Cs = "cs", Lu = "lu", Cv = "cv", Wb = "wb", Wt = "wt" }
    /// Hints for the first cache level.
    L1 in "l1" {
        EvictNormal = "L1::evict_normal", EvictUnchanged = "L1::evict_unchanged", EvictFirst = "L1::evict_first",
        EvictLast = "L1::evict_last", NoAllocate = "L1::no_allocate",
    }
    /// Granularity of fills of the second cache level.
    L2 in "l2" { B64 = "L2::64B", B128 = "L2::128B", B256 = "L2::256B" }
    /// Comparisons. The `u` forms are true if an operand is NaN.
    Cmp in "cmp" {
        Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge", Lo = "lo", Ls = "ls", Hi = "hi", Hs = "hs",
        Equ = "equ", Neu = "neu", Ltu = "ltu", Leu = "leu", Gtu = "gtu", Geu = "geu", Num = "num", Nan = "nan",
    }
    /// How a comparison is combined with another predicate.
    Bool in "bool" { And = "and", Or = "or", Xor = "xor" }
    /// From where a lane takes its value.
    Shfl in "mode" { Up = "up", Down = "down", Bfly = "bfly", Idx = "idx" }
    /// What a vote asks.
    Vote in "mode" { All = "all", Any = "any", Uni = "uni", Ballot = "ballot" }
    /// What a match asks.
    Match in "mode" { Any = "any", All = "all" }
    /// Operation of an atomic, a reduction or a warp-wide reduction.
    Atom in "op" {
        And = "and", Or = "or", Xor = "xor", Cas = "cas", Exch = "exch", Add = "add", Inc = "inc", Dec = "dec",
        Min = "min", Max = "max",
    }
    /// Which half of a product.
    Half in "half" { Lo = "lo", Hi = "hi", Wide = "wide" }
    /// Whether a proxy fence is for one space or for all.
    FenceSpace in "fspace" { All = "", Global = "global", Shared = "shared::cta", Cluster = "shared::cluster" }
}
