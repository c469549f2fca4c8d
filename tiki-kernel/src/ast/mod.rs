//! The syntax tree: what the author wrote, before anything is known about it.
//!
//! The door (the procedural macro, or the parser of the canonical text) builds it; [`crate::check`]
//! evaluates it. It keeps the author's names and a [`Span`] on everything a message may point at, and
//! holds no types, no tokens and no defaults: an option the author misspelt is still here, so that the
//! checker can say so.

pub mod text;
pub mod visit;

pub use text::{parse, print, print_unplaced};

/// A place in the author's source: an index into the door's table of tokens ([`Places`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span(pub u32);

/// Where each span lies, for messages and for `.loc`: file index, line (from 1), column (from 1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// File names, the kernel's own first.
    pub files: Vec<String>,
    /// One entry a span.
    pub places: Vec<Place>,
}

/// One place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Index into [`Places::files`].
    pub file: u32,
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl Places {
    /// The place of a span (unknown spans have line 0).
    #[must_use]
    pub fn at(&self, span: Span) -> Place {
        self.places
            .get(span.0 as usize)
            .copied()
            .unwrap_or_default()
    }
}

/// A kernel and everything it uses.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// The kernel.
    pub kernel: Kernel,
    /// Device items it may call, by name.
    pub items: Vec<Item>,
    /// Where spans lie.
    pub places: Places,
}

/// A device item.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A device function.
    Fn(DeviceFn),
    /// A device constant.
    Const {
        /// Name.
        name: Name,
        /// Type.
        ty: Type,
        /// Value.
        value: Expr,
    },
    /// A device struct: build-time numbers under one name.
    Struct {
        /// Name.
        name: Name,
        /// Names (`0`, `1`.. if it is a tuple struct) and types of its fields.
        fields: Vec<(Name, Type)>,
    },
}

impl Item {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Name {
        match self {
            Item::Fn(f) => &f.name,
            Item::Const { name, .. } | Item::Struct { name, .. } => name,
        }
    }
}

/// An identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// As written.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// Its name.
    pub name: Name,
    /// Options of the attribute.
    pub options: Vec<KernelOption>,
    /// Type and const parameters.
    pub generics: Vec<Generic>,
    /// Arguments.
    pub params: Vec<Param>,
    /// The body.
    pub body: Block,
}

/// A device function.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceFn {
    /// Its name.
    pub name: Name,
    /// Type and const parameters.
    pub generics: Vec<Generic>,
    /// Arguments.
    pub params: Vec<Param>,
    /// What it returns.
    pub output: Option<Type>,
    /// The body.
    pub body: Block,
}

/// `name`, `name = value` or `name(arguments)` in the kernel's attribute.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelOption {
    /// The option.
    pub name: Name,
    /// After `=`.
    pub value: Option<Expr>,
    /// In parentheses.
    pub args: Vec<Expr>,
}

/// A generic parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Generic {
    /// `E: Bound`
    Type {
        /// Name.
        name: Name,
        /// Bounds, by their last path segment.
        bounds: Vec<Name>,
    },
    /// `const N: usize`
    Const {
        /// Name.
        name: Name,
        /// Type.
        ty: Type,
    },
}

impl Generic {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Name {
        match self {
            Generic::Type { name, .. } | Generic::Const { name, .. } => name,
        }
    }
}

/// An argument of a kernel or a device function.
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// Its pattern (a kernel's arguments are plain names).
    pub pattern: Pattern,
    /// Its type.
    pub ty: Type,
}

/// A type as written.
#[derive(Debug, Clone, PartialEq)]
pub struct Type {
    /// What.
    pub kind: TypeKind,
    /// Where.
    pub span: Span,
}

/// Kinds of types.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeKind {
    /// `Global<f32, 1>`, `f32`, `E`.
    Path(Path),
    /// `&T`, `&mut T`.
    Ref {
        /// `mut`?
        mutable: bool,
        /// Behind it.
        inner: Box<Type>,
    },
    /// `(A, B)`.
    Tuple(Vec<Type>),
    /// `[T; N]`.
    Array(Box<Type>, Box<Expr>),
    /// `_`.
    Infer,
    /// `impl Fn(A) -> B` and everything the language has no use for, as text.
    Other(String),
}

/// A path: `x`, `f32::max`, `Shared::<E>::new`.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// Its segments.
    pub segments: Vec<Segment>,
}

/// One segment of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Name.
    pub name: Name,
    /// `::<..>` or `<..>`.
    pub generics: Vec<GenericArg>,
}

/// An argument between angle brackets. A lone name is a [`GenericArg::Type`]; what it names decides.
#[derive(Debug, Clone, PartialEq)]
pub enum GenericArg {
    /// A type, or a name.
    Type(Type),
    /// A literal or a block.
    Const(Box<Expr>),
}

/// `{ .. }`.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Statements.
    pub stmts: Vec<Stmt>,
    /// The value: the last expression, without semicolon.
    pub value: Option<Box<Expr>>,
    /// Where.
    pub span: Span,
}

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Stmt {
    /// `let pattern: ty = init else { .. };`
    Let {
        /// What it binds.
        pattern: Pattern,
        /// Written type.
        ty: Option<Type>,
        /// Value; `None` in `let x;`.
        init: Option<Expr>,
        /// Where.
        span: Span,
    },
    /// An expression with or without semicolon.
    Expr(Expr),
    /// A nested `const`.
    Const {
        /// Name.
        name: Name,
        /// Type.
        ty: Type,
        /// Value.
        value: Expr,
    },
}

/// A pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// What.
    pub kind: PatternKind,
    /// Where.
    pub span: Span,
}

/// Kinds of patterns.
#[derive(Debug, Clone, PartialEq)]
pub enum PatternKind {
    /// `_`
    Wild,
    /// `x`, `mut x`, `x @ pat`.
    Bind {
        /// Name.
        name: Name,
        /// `mut`?
        mutable: bool,
        /// After `@`.
        sub: Option<Box<Pattern>>,
    },
    /// `(a, b)`.
    Tuple(Vec<Pattern>),
    /// `[a, b]`.
    Array(Vec<Pattern>),
    /// A literal (possibly negative).
    Lit(Lit),
    /// `a..=b`, `a..b`.
    Range {
        /// From.
        lo: Option<Lit>,
        /// To.
        hi: Option<Lit>,
        /// `..=`?
        inclusive: bool,
    },
    /// `a | b`.
    Or(Vec<Pattern>),
    /// `None`, `f32::INFINITY`, a const.
    Path(Path),
    /// `Some(x)`.
    TupleStruct(Path, Vec<Pattern>),
    /// `&p`
    Ref(Box<Pattern>),
}

/// A literal.
#[derive(Debug, Clone, PartialEq)]
pub enum Lit {
    /// An integer and its suffix (`""` if none).
    Int(i128, String),
    /// A float, as written without suffix, and its suffix.
    Float(String, String),
    /// `true`, `false`.
    Bool(bool),
    /// A string.
    Str(String),
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What.
    pub kind: ExprKind,
    /// Where: its most telling token (an operator, a method's name, a path's last segment).
    pub span: Span,
}

/// `#[unroll]`, `#[unroll(n)]` on a loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Unroll {
    /// `None`: wholly.
    pub factor: Option<Box<Expr>>,
    /// Where.
    pub span: Span,
}

/// Binary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    AndAnd,
    OrOr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Unary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum UnOp {
    Neg,
    Not,
    Deref,
}

/// Kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ExprKind {
    Lit(Lit),
    Path(Path),
    Unary(UnOp, Box<Expr>),
    Binary(BinOp, Box<Expr>, Box<Expr>),
    /// `place = value`
    Assign(Box<Expr>, Box<Expr>),
    /// `place op= value`
    AssignOp(BinOp, Box<Expr>, Box<Expr>),
    Call(Box<Expr>, Vec<Expr>),
    /// `recv.name::<..>(args)`
    Method {
        recv: Box<Expr>,
        name: Name,
        generics: Vec<GenericArg>,
        args: Vec<Expr>,
    },
    /// `base.name` or `base.0`
    Field(Box<Expr>, Name),
    Index(Box<Expr>, Box<Expr>),
    Tuple(Vec<Expr>),
    Array(Vec<Expr>),
    Repeat(Box<Expr>, Box<Expr>),
    Block(Block),
    If {
        cond: Box<Expr>,
        then: Block,
        otherwise: Option<Box<Expr>>,
    },
    /// `let pattern = value` in a condition.
    Let(Box<Pattern>, Box<Expr>),
    Match(Box<Expr>, Vec<Arm>),
    For {
        pattern: Pattern,
        iter: Box<Expr>,
        body: Block,
        unroll: Option<Unroll>,
        label: Option<Name>,
    },
    While {
        cond: Box<Expr>,
        body: Block,
        label: Option<Name>,
    },
    Loop {
        body: Block,
        label: Option<Name>,
    },
    Break(Option<Name>, Option<Box<Expr>>),
    Continue(Option<Name>),
    Return(Option<Box<Expr>>),
    Closure {
        params: Vec<Pattern>,
        body: Box<Expr>,
    },
    Range {
        lo: Option<Box<Expr>>,
        hi: Option<Box<Expr>>,
        inclusive: bool,
    },
    /// `value as ty`
    Cast(Box<Expr>, Type),
    /// `&value`, `&mut value`
    Ref(bool, Box<Expr>),
    /// `require!(..)`: its conjuncts, each with its text.
    Require(Vec<Fact>),
    /// `layout!(..)`: its tokens, without blanks.
    Layout(String),
    /// `ptx!(..)`: the text, where it stands, its operands and what it does besides.
    Ptx {
        text: String,
        place: Span,
        operands: Vec<PtxOperand>,
        effects: Vec<PtxEffect>,
    },
    /// A struct literal of a device struct.
    Struct(Path, Vec<(Name, Expr)>),
    /// What the language does not have, in words for the message (`async block`).
    Unsupported(String),
}

/// `out d: u32`, `in a: u32 = x` or `const n: u32 = N` of `ptx!`.
#[derive(Debug, Clone, PartialEq)]
pub struct PtxOperand {
    /// Which of them.
    pub role: PtxRole,
    /// The register's name in the text.
    pub name: Name,
    /// Its type.
    pub ty: Type,
    /// Where it comes from (not of an output).
    pub value: Option<Expr>,
}

/// What an operand of `ptx!` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum PtxRole {
    In,
    Out,
    /// A number in the text.
    Const,
}

/// `reads(x)`, `writes(y)` or `fence` of `ptx!`.
#[derive(Debug, Clone, PartialEq)]
pub struct PtxEffect {
    /// Which of them.
    pub name: Name,
    /// Of which tensors.
    pub of: Vec<Expr>,
}

/// One conjunct of `require!`.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// The expression.
    pub expr: Expr,
    /// As the author wrote it.
    pub text: String,
}

/// An arm of a `match`.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// Pattern.
    pub pattern: Pattern,
    /// `if ..`
    pub guard: Option<Expr>,
    /// Value.
    pub body: Expr,
}
