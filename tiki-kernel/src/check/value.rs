//! What an expression of a kernel evaluates to.
//!
//! Most values are known at build time: integers, layouts, thread maps, closures, views. The others
//! name a value of the typed program: [`Scalar`] and [`Reg`].

use crate::ast::{DeviceFn, Expr, Name, Pattern, Span, Type};
use crate::dtype::DType;
use crate::ir::{Cache, Digit, Dist, Value, Var, Xor};
use crate::ops;
use std::rc::Rc;
use tiki_layout::sym;

/// The type of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Num {
    /// A literal without suffix: fits what it meets.
    Lit,
    /// `usize`: 32 bits wide where that is proven to suffice, else 64.
    Usize,
    /// An element type.
    D(DType),
    /// Not yet known: an entry of the checker's table of types to be found.
    Infer(u32),
}

/// A scalar known only at run time.
#[derive(Debug, Clone)]
pub(crate) struct Scalar {
    pub value: Value,
    pub num: Num,
    /// Least and greatest value (integers).
    pub lo: i128,
    pub hi: i128,
    /// What is known of it symbolically (`usize`).
    pub expr: Option<sym::Expr>,
}

/// A register tensor.
#[derive(Debug, Clone)]
pub(crate) struct Reg {
    pub value: Value,
    pub dtype: DType,
    pub shape: Vec<u32>,
    pub dist: Dist,
    /// Per axis: how many elements are not missing, if not all.
    pub bounds: Vec<Option<Value>>,
    /// An accumulator: zeros that cost nothing yet, or the registers it lives in.
    pub home: Home,
}

/// Where a register tensor comes from, as far as a product cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// A value like any other.
    None,
    /// An accumulator's zeros: the first product ignores them.
    Zeros,
    /// The contents of a variable.
    Var(Var),
    /// Zeros in a variable's registers: the first product ignores what is there.
    Again(Var),
}

/// A matrix product's types and warps.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GemmVal {
    /// Element type of both operands.
    pub dtype: DType,
    pub acc: DType,
    pub warps: (u32, u32),
    pub warpgroup: bool,
    /// f32 as the sum of two tf32.
    pub thrice: bool,
}

/// A product in flight: the accumulator, and how many groups had been started when it was.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PendingVal {
    pub gemm: GemmVal,
    pub acc: Var,
    pub shape: Vec<u32>,
    pub ticket: u64,
}

/// How a load is carried out.
#[derive(Debug, Clone)]
pub(crate) enum LoadVal {
    CpAsync { threads: u32 },
    Tma { multicast: Option<Value> },
}

/// Output tiles dealt to the blocks of a persistent grid.
#[derive(Debug, Clone)]
pub(crate) struct TilesVal {
    pub rows: Scalar,
    pub columns: Scalar,
    /// Rows of tiles swept together.
    pub group: u32,
}

/// A tensor argument, or one that lies in its memory, with leading coordinates fixed.
#[derive(Debug, Clone)]
pub(crate) struct GlobalVal {
    pub param: usize,
    pub window: Option<Rc<WindowVal>>,
    pub fixed: Vec<Scalar>,
    pub mutable: bool,
}

impl GlobalVal {
    /// An argument as a whole.
    pub fn argument(param: usize, mutable: bool) -> GlobalVal {
        GlobalVal {
            param,
            window: None,
            fixed: Vec::new(),
            mutable,
        }
    }
}

/// A tensor in an argument's memory: where it begins, extents, strides; each with its expression.
#[derive(Debug)]
pub(crate) struct WindowVal {
    pub first: Scalar,
    pub extents: Vec<Scalar>,
    pub strides: Vec<Scalar>,
}

/// A piece of a tensor argument.
#[derive(Debug, Clone)]
pub(crate) struct ViewVal {
    pub global: GlobalVal,
    /// Per axis: the tensor's axis, extent, origin.
    pub axes: Vec<(usize, u32, Scalar)>,
    pub fill: Option<FillVal>,
    pub cache: Cache,
}

/// What a missing element reads as.
#[derive(Debug, Clone)]
pub(crate) enum FillVal {
    Int(i128),
    Float(f64),
    Bool(bool),
    Scalar(Scalar),
}

/// A shared tensor or a piece of one.
#[derive(Debug, Clone)]
pub(crate) struct SharedVal {
    pub alloc: usize,
    pub dtype: DType,
    pub axes: Vec<Vec<Digit>>,
    pub swizzle: Option<Xor>,
    pub offset: i64,
    pub dynamic: Vec<(Value, i64)>,
    /// Rank of the block of the cluster that it lies in, if that is another.
    pub block: Option<Value>,
}

/// Stages: the first of them, how many, and the elements between two.
#[derive(Debug, Clone)]
pub(crate) struct StagesVal {
    pub first: SharedVal,
    pub count: u32,
    pub pitch: i64,
}

/// A layout value: digits per axis and a swizzle.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LayoutVal {
    pub axes: Vec<Vec<Digit>>,
    pub swizzle: Option<Xor>,
    /// As the author would write it.
    pub text: String,
}

impl LayoutVal {
    pub fn shape(&self) -> Vec<u32> {
        self.axes
            .iter()
            .map(|a| a.iter().map(|d| d.extent).product())
            .collect()
    }
    /// One past the greatest offset, in elements, before the swizzle.
    pub fn cosize(&self) -> i64 {
        let far = |d: &Digit| i64::from(d.extent.saturating_sub(1)) * d.stride;
        if self.axes.iter().flatten().any(|d| d.extent == 0) {
            return 0;
        }
        1 + self.axes.iter().flatten().map(far).sum::<i64>()
    }
}

/// A thread map.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MapVal {
    pub kind: MapKind,
    /// Elements an access, and whether exactly.
    pub vector: Option<(u32, bool)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MapKind {
    Linear {
        threads: u32,
    },
    Rows {
        threads: u32,
        per_row: u32,
    },
    Explicit {
        threads: LayoutVal,
        values: LayoutVal,
    },
}

/// A range of integers.
#[derive(Debug, Clone)]
pub(crate) struct RangeVal<'a> {
    pub lo: Val<'a>,
    pub hi: Val<'a>,
    pub step: u32,
    pub rev: Rev,
}

/// Whether a range is gone through from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rev {
    No,
    /// From the number before its end, downwards: `.rev()`, with steps behind it.
    End,
    /// From its last number, downwards: `.rev()` behind the steps.
    Last,
}

/// A closure and the scope it was made in.
pub(crate) struct Closure<'a> {
    pub params: &'a [Pattern],
    pub body: &'a Expr,
    pub scope: Rc<super::scope::Scope>,
    /// The device functions it stands in: calling it leads back to none of them unless its body does.
    pub within: Vec<&'a str>,
    pub span: Span,
}

impl std::fmt::Debug for Closure<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "closure at {:?}", self.span)
    }
}

/// A place that can be assigned: a binding and a path into it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlaceRef {
    pub binding: usize,
    pub path: Vec<usize>,
}

/// What a variable's cell holds.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    Scalar(Num),
    Tensor {
        dtype: DType,
        shape: Vec<u32>,
        dist: Dist,
        /// Variables with how many elements are not missing, where some may be.
        bounds: Vec<Option<Var>>,
    },
}

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Val<'a> {
    /// Something went wrong before; nothing more is said about it.
    Poison,
    /// The code after it is not reached.
    Never,
    Unit,
    Bool(bool),
    Int(i128, Num),
    Float(f64, Num),
    Scalar(Scalar),
    Tuple(Vec<Val<'a>>),
    Array(Vec<Val<'a>>),
    /// A device struct, with its fields as declared.
    Record(&'a Name, &'a [(Name, Type)], Vec<Val<'a>>),
    Closure(Rc<Closure<'a>>),
    Func(&'static ops::Row, Num),
    /// The name of an element type.
    Type(DType),
    /// A device function, and what is written between its angle brackets: as many as are written, none
    /// where an argument says it.
    DeviceFn(&'a DeviceFn, Rc<[Option<Val<'a>>]>),
    Range(Box<RangeVal<'a>>),
    /// `block_idx()` or, if true, `grid_dim()`.
    Dim3(bool),
    Global(GlobalVal),
    /// An argument declared as `Option<&Global<..>>`; none if the instance has none.
    Optional(Option<GlobalVal>),
    View(ViewVal),
    Shared(SharedVal),
    /// Of another block of the cluster.
    Peer(SharedVal),
    Stages(StagesVal),
    Register(Reg),
    Raw(Reg),
    ThreadMap(MapVal),
    Layout(LayoutVal),
    Swizzle(Xor),
    /// All extents of a tensor argument.
    Shape(usize),
    Order(crate::ir::MemoryOrder),
    Scope(crate::ir::Scope),
    RefMut(PlaceRef),
    Warps(u32, u32),
    Gemm(GemmVal),
    Pending(PendingVal),
    Load(LoadVal),
    Store,
    /// An index into the checker's pipelines.
    Pipeline(usize),
    /// A hardware barrier: its first number, how many, and the threads of each.
    Barrier {
        index: usize,
        threads: u32,
    },
    Tiles(TilesVal),
    /// Only inside a binding: the value lives in a variable of the typed program.
    Cell(Var, Cell),
}

impl Val<'_> {
    /// What it is, in the author's words.
    pub fn kind(&self) -> String {
        match self {
            Val::Poison => "an erroneous value".into(),
            Val::Never => "a value that is never reached".into(),
            Val::Unit => "`()`".into(),
            Val::Bool(_) => "a build-time bool".into(),
            Val::Int(i, n) => format!("the build-time {} {i}", n.integer_name()),
            Val::Float(f, _) => format!("the build-time float {f:?}"),
            Val::Scalar(s) => format!("a run-time {}", s.num.name()),
            Val::Tuple(_) => "a tuple".into(),
            Val::Array(_) => "an array".into(),
            Val::Record(name, ..) => format!("a `{}`", name.text),
            Val::Closure(_) => "a closure".into(),
            Val::Func(row, _) => format!("the function `{}`", row.name),
            Val::Type(t) => format!("the type `{t}`"),
            Val::DeviceFn(f, _) => format!("the device function `{}`", f.name.text),
            Val::Range(_) => "a range".into(),
            Val::Dim3(_) => "a block coordinate (use `.x`, `.y`, `.z`)".into(),
            Val::Global(_) => "a global tensor".into(),
            Val::Optional(_) => "an optional tensor".into(),
            Val::View(v) => format!(
                "a view of shape {:?}",
                v.axes.iter().map(|a| a.1).collect::<Vec<_>>()
            ),
            Val::Shared(s) => format!("a shared tensor of {}", s.dtype),
            Val::Peer(s) => format!("another block's shared tensor of {}", s.dtype),
            Val::Stages(s) => format!("{} stages of a shared tensor of {}", s.count, s.first.dtype),
            Val::Register(r) => format!("a register tensor of {} and shape {:?}", r.dtype, r.shape),
            Val::Raw(_) => "a thread's own values".into(),
            Val::ThreadMap(_) => "a thread map".into(),
            Val::Layout(_) => "a layout".into(),
            Val::Swizzle(_) => "a swizzle".into(),
            Val::Shape(_) => "a shape".into(),
            Val::Order(_) => "a memory order".into(),
            Val::Scope(_) => "a scope".into(),
            Val::Warps(..) => "a division among warps".into(),
            Val::Gemm(_) => "a matrix product".into(),
            Val::Pending(_) => "an accumulator in flight".into(),
            Val::Load(_) => "a load".into(),
            Val::Store => "a store".into(),
            Val::Pipeline(_) => "a pipeline".into(),
            Val::Barrier { .. } => "a barrier".into(),
            Val::Tiles(_) => "tiles".into(),
            Val::RefMut(_) => "a mutable reference".into(),
            Val::Cell(..) => "a variable".into(),
        }
    }
    /// Whether an error is inside.
    pub fn is_poison(&self) -> bool {
        match self {
            Val::Poison => true,
            Val::Tuple(vs) | Val::Array(vs) | Val::Record(_, _, vs) => {
                vs.iter().any(Val::is_poison)
            }
            _ => false,
        }
    }
}

impl Num {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Num::Lit => "number",
            Num::Usize => "usize",
            Num::D(t) => t.name(),
            Num::Infer(_) => "number",
        }
    }
    fn integer_name(self) -> &'static str {
        if self == Num::Lit {
            "integer"
        } else {
            self.name()
        }
    }
    /// Least and greatest value of an integer type.
    pub fn range(self) -> (i128, i128) {
        match self {
            Num::Usize => (0, u64::MAX.into()),
            Num::D(DType::BOOL) => (0, 1),
            Num::D(t) => t.integers().unwrap_or((i128::MIN, i128::MAX)),
            Num::Lit | Num::Infer(_) => (i64::MIN.into(), u64::MAX.into()),
        }
    }
    pub fn is_float(self) -> bool {
        matches!(self, Num::D(t) if t.is_float())
    }
}
