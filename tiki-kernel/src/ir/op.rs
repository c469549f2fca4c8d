//! What a value is: operations, and the words they are made of.

use super::*;

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// A constant; floats by their bits in the value's own type (held as f64 bits).
    Const(Const),
    /// A scalar argument.
    Param(usize),
    /// Extent of a tensor argument along an axis.
    Extent(usize, usize),
    /// Stride of a tensor argument along an axis, in elements.
    Stride(usize, usize),
    /// The current value of a variable.
    Get(Var),
    /// A special register.
    Special(Special),
    /// One operand.
    Unary(Unary, Value),
    /// Two operands of one type.
    Binary(Binary, Value, Value),
    /// Compares two operands of one type: a bool. Unordered is false, except for `Ne`.
    Compare(Compare, Value, Value),
    /// `a * b + c` with one rounding (floats) or wrapping (integers).
    Fma(Value, Value, Value),
    /// Second if the first is true, else third.
    Select(Value, Value, Value),
    /// Conversion to the value's type.
    Cast(Value, Round),
    /// The same bits as the value's type of equal width.
    Bits(Value),
    /// A lane's value from another lane.
    Shuffle {
        /// How the source lane is found.
        mode: Shuffle,
        /// 32-bit value.
        value: Value,
        /// Lane, mask or delta.
        lane: Value,
    },
    /// A vote of the warp.
    Vote(Vote, Value),
    /// A mask of the lanes that hold the same value.
    Match(Value),
    /// A reduction of 32-bit integers over the warp.
    Redux(AtomOp, Value),
    /// An atomic that returns the old value.
    Atom {
        /// Operation.
        op: AtomOp,
        /// Where.
        place: Place,
        /// Operands: one, or (compare, new).
        operands: Vec<Value>,
        /// Order and scope.
        order: Order,
    },
    /// One element from memory.
    LoadElement {
        /// Where.
        place: Place,
        /// Order and scope.
        order: Order,
    },
    /// A register tensor from global memory; missing and absent elements are `fill`.
    Load {
        /// What.
        view: GlobalView,
        /// A scalar of the view's type.
        fill: Value,
        /// How.
        access: Access,
    },
    /// A register tensor from shared memory; absent elements are zero.
    LoadShared {
        /// What.
        view: SharedView,
        /// Elements an instruction; 0 until the schedule chooses.
        vector: u32,
    },
    /// A register tensor with this scalar everywhere.
    Splat(Value),
    /// Element by element.
    Map(Map),
    /// Along one axis.
    Reduce(Reduce),
    /// Along one axis, with every sum on the way.
    Scan(Scan),
    /// One of the thread's own values of a tensor, by its place.
    Raw(Value, u32),
    /// The thread's values at these places of a tensor, in this order: a tile of it.
    Pick(Value, Vec<u32>),
    /// The same tensor, dealt anew within each warp: see [`exchange`].
    Exchange(Value),
    /// True for one and the same lane of the warp, all of whose lanes are here. (A role of several warps
    /// tests the warp's number besides.)
    Elect,
    /// The first result of instructions of the author's; what they are given.
    Written(Arc<Written>, Vec<Value>),
    /// A further result of the instructions whose first result this is.
    Also(Value, u32),
    /// Where an element lies: a 64-bit address in global memory, a 32-bit one in shared memory.
    Address(Place),
}

/// An elementwise computation: for every element the thread holds, the region is evaluated with the
/// element of each input (and its coordinates in the tile) and gives the element of the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    /// Inputs: tensors of the result's shape and distribution, or vectors that lack one axis of it.
    pub inputs: Vec<Input>,
    /// What is computed.
    pub region: Region,
}

/// An input of a [`Map`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// The tensor.
    pub value: Value,
    /// `Some(a)`: a vector distributed like the result without axis `a`.
    pub missing_axis: Option<u8>,
}

/// Scalar code with parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// One scalar an input, defined by the region.
    pub params: Vec<Value>,
    /// The element's coordinates in the tile, if asked for (else empty): `u32`.
    pub coords: Vec<Value>,
    /// Pure statements (`Let`, and `If`/`Set` on variables of the region's own).
    pub body: Block,
    /// The result.
    pub result: Value,
}

/// A reduction along one axis.
///
/// Order (documented, so that a result is reproducible): a thread's own values in a balanced binary tree over their index;
/// then lanes by butterflies, nearest first; then warps, in a balanced tree over the warp's number.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduce {
    /// The tensor.
    pub value: Value,
    /// Along.
    pub axis: u8,
    /// How.
    pub op: ReduceOp,
    /// Per axis of the tensor: how many of its elements are not missing (`u32`), if it may be partial.
    pub bounds: Vec<Option<Value>>,
    /// Scratch in shared memory, if threads of several warps take part: index into [`Kernel::shared`].
    pub scratch: Option<usize>,
    /// A barrier is needed before the scratch is written (its last readers may not be done).
    pub barrier_before: bool,
    /// Where those threads meet: at the block's barrier, or at the role's.
    pub meet: Barrier,
}

/// Reductions. `ArgMax` and `ArgMin` give the index along the axis (`u32`), the smallest of several;
/// NaN counts as the extreme (the first NaN wins).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ReduceOp {
    Sum,
    /// The number wins over NaN unless `nan`.
    Max {
        nan: bool,
    },
    Min {
        nan: bool,
    },
    ArgMax,
    ArgMin,
}

/// A scan along one axis: each element becomes the combination of all from the first to itself, or (`exclusive`) to
/// the one before it. The order is that of [`crate::ir::scan`].
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// The tensor.
    pub value: Value,
    /// The factors of [`ScanOp::Affine`]: a tensor of the same shape, type and distribution.
    pub factor: Option<Value>,
    /// Along.
    pub axis: u8,
    /// How.
    pub op: ScanOp,
    /// Without the element itself.
    pub exclusive: bool,
    /// From the last element to the first.
    pub reverse: bool,
    /// As of a [`Reduce`]: what is missing does not count.
    pub bounds: Vec<Option<Value>>,
    /// As of a [`Reduce`].
    pub scratch: Option<usize>,
    /// As of a [`Reduce`].
    pub barrier_before: bool,
    /// As of a [`Reduce`].
    pub meet: Barrier,
}

/// What a scan combines by. All are associative up to rounding; `Affine` is not commutative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ScanOp {
    Sum,
    Product,
    /// The number wins over NaN unless `nan`.
    Max {
        nan: bool,
    },
    Min {
        nan: bool,
    },
    /// `h = factor * h + value`, from `h = 0`, each step one `fma`.
    Affine,
}

/// A constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Const {
    /// An integer.
    Int(i128),
    /// A float, to be rounded to the value's type (to nearest even).
    Float(f64),
    /// A bool.
    Bool(bool),
}

/// Special registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Special {
    Thread,
    Lane,
    Warp,
    /// The group of four warps.
    Warpgroup,
    /// Along x, y, z.
    Block(u8),
    /// Blocks along x, y, z.
    Grid(u8),
    /// The block's rank in its cluster.
    ClusterRank,
    ActiveMask,
}

/// One-operand operations. Approximate ones state their bound in `ops.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Unary {
    Neg,
    Not,
    Abs,
    Floor,
    Ceil,
    Round,
    Trunc,
    /// Correctly rounded.
    Sqrt,
    SqrtFast,
    Rsqrt,
    /// Correctly rounded reciprocal is `1 / x`; this is the fast one.
    Recip,
    Exp2,
    Exp,
    ExpFast,
    Exp2Fast,
    Log2,
    Log,
    Tanh,
    TanhFast,
    Sin,
    Cos,
    Popcount,
    LeadingZeros,
    ReverseBits,
}

/// Two-operand operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    /// Correctly rounded (floats); truncating (integers).
    Div,
    DivFast,
    Rem,
    /// The number wins over NaN.
    Min,
    Max,
    /// NaN wins.
    MinNan,
    MaxNan,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

/// Comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Rounding of conversions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs)]
pub enum Round {
    /// To nearest even (floats); toward zero, saturating, NaN to 0 (floats to integers); wrapping
    /// (integers).
    #[default]
    Default,
    Zero,
    Up,
    Down,
}

/// Where a shuffle's source lane lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Shuffle {
    Index,
    Up,
    Down,
    Xor,
}

/// Votes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Vote {
    All,
    Any,
    /// A mask of the lanes that say yes.
    Ballot,
}
