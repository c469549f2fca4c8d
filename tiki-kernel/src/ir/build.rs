//! Writes a typed program by hand: for whoever has no syntax tree, tests first of all.

use super::{
    Binary, Block, Compare, Const, Dist, Kernel, Op, Param, Shared, Special, Stmt, StmtKind,
    TensorType, Type, Unary, Uniform, Value, ValueInfo, Var, VarInfo,
};
use crate::artifact::ParamKind;
use crate::ast::Span;
use crate::dtype::DType;
use crate::target::Target;

/// A program under construction.
#[derive(Debug)]
pub struct Builder {
    /// What there is so far; its body is filled by [`Builder::finish`].
    pub kernel: Kernel,
    /// Given to everything made from now on.
    pub span: Span,
    open: Vec<Block>,
}

impl Builder {
    /// An empty kernel.
    #[must_use]
    pub fn new(entry: &str, target: Target, threads: u32) -> Builder {
        Builder {
            kernel: Kernel {
                entry: entry.into(),
                title: entry.into(),
                target,
                threads,
                cluster: 1,
                registers: None,
                shared_budget: None,
                roles: Vec::new(),
                blocks_per_sm: None,
                params: Vec::new(),
                shared: Vec::new(),
                values: Vec::new(),
                vars: Vec::new(),
                body: Vec::new(),
                contract: false,
                deny: Vec::new(),
                decisions: Vec::new(),
                span: Span::default(),
            },
            span: Span::default(),
            open: vec![Vec::new()],
        }
    }

    /// A tensor without gaps; alignment of 16 bytes.
    pub fn tensor(&mut self, name: &str, dtype: DType, rank: u32, writes: bool) -> usize {
        let kind = ParamKind::Tensor {
            dtype,
            rank,
            writes,
            strided: false,
            align: 16,
        };
        self.param(name, kind)
    }

    /// An argument.
    pub fn param(&mut self, name: &str, kind: ParamKind) -> usize {
        self.kernel.params.push(Param {
            name: name.into(),
            kind,
            extents: Vec::new(),
            span: self.span,
        });
        self.kernel.params.len() - 1
    }

    /// A shared allocation.
    pub fn shared(&mut self, name: &str, dtype: DType, elements: u32) -> usize {
        let bytes = elements * dtype.bytes();
        self.kernel.shared.push(Shared {
            name: name.into(),
            dtype,
            bytes,
            align: 16,
            stages: 1,
            detail: format!("{elements} x {} bytes", dtype.bytes()),
            over: None,
            span: self.span,
        });
        self.kernel.shared.len() - 1
    }

    /// A variable.
    pub fn var(&mut self, name: &str, ty: Type) -> Var {
        self.kernel.vars.push(VarInfo {
            ty,
            name: name.into(),
            span: self.span,
        });
        Var(self.kernel.vars.len() as u32 - 1)
    }

    /// A value without a definition yet (a counter, a region's parameter).
    pub fn value(&mut self, ty: Type, uniform: Uniform) -> Value {
        self.kernel.values.push(ValueInfo {
            ty,
            uniform,
            name: String::new(),
            span: self.span,
        });
        Value(self.kernel.values.len() as u32 - 1)
    }

    /// Names a value.
    pub fn name(&mut self, value: Value, name: &str) -> Value {
        self.kernel.values[value.0 as usize].name = name.into();
        value
    }

    /// Adds a statement.
    pub fn push(&mut self, kind: StmtKind) {
        let stmt = Stmt {
            kind,
            span: self.span,
        };
        self.open.last_mut().expect("a block is open").push(stmt);
    }

    /// Defines a scalar; it is as uniform as what it reads.
    pub fn scalar(&mut self, dtype: DType, op: Op) -> Value {
        let uniform = self.uniformity(&op);
        let v = self.value(Type::Scalar(dtype), uniform);
        self.push(StmtKind::Let(v, op));
        v
    }

    /// Defines a register tensor.
    pub fn tile(&mut self, dtype: DType, shape: &[u32], dist: &Dist, op: Op) -> Value {
        let ty = TensorType {
            dtype,
            shape: shape.to_vec(),
            dist: dist.clone(),
        };
        let v = self.value(Type::Tensor(ty), Uniform::Thread);
        self.push(StmtKind::Let(v, op));
        v
    }

    /// An integer constant.
    pub fn int(&mut self, dtype: DType, i: i128) -> Value {
        self.scalar(dtype, Op::Const(Const::Int(i)))
    }

    /// A float constant.
    pub fn float(&mut self, dtype: DType, f: f64) -> Value {
        self.scalar(dtype, Op::Const(Const::Float(f)))
    }

    /// A special register.
    pub fn special(&mut self, special: Special) -> Value {
        self.scalar(DType::U32, Op::Special(special))
    }

    /// One operand; the result has its type.
    pub fn unary(&mut self, f: Unary, a: Value) -> Value {
        let dtype = self.dtype(a);
        self.scalar(dtype, Op::Unary(f, a))
    }

    /// Two operands of one type; the result has it too.
    pub fn binary(&mut self, f: Binary, a: Value, b: Value) -> Value {
        let dtype = self.dtype(a);
        self.scalar(dtype, Op::Binary(f, a, b))
    }

    /// A comparison.
    pub fn compare(&mut self, f: Compare, a: Value, b: Value) -> Value {
        self.scalar(DType::BOOL, Op::Compare(f, a, b))
    }

    /// Element type of a value.
    #[must_use]
    pub fn dtype(&self, value: Value) -> DType {
        self.kernel.values[value.0 as usize].ty.dtype()
    }

    /// Runs `f` and takes what it adds as a block.
    pub fn block<R>(&mut self, f: impl FnOnce(&mut Builder) -> R) -> (Block, R) {
        self.open.push(Vec::new());
        let result = f(self);
        (self.open.pop().expect("opened above"), result)
    }

    /// The kernel.
    #[must_use]
    pub fn finish(mut self) -> Kernel {
        self.kernel.body = self.open.pop().expect("the body is open");
        self.kernel
    }

    fn uniformity(&self, op: &Op) -> Uniform {
        match op {
            Op::Special(Special::Thread | Special::Lane | Special::ActiveMask) => Uniform::Thread,
            Op::Special(Special::Warp) => Uniform::Warp,
            Op::Get(_) | Op::Raw(..) | Op::Atom { .. } | Op::Shuffle { .. } | Op::Match(_) => {
                Uniform::Thread
            }
            Op::Vote(..) | Op::Redux(..) => Uniform::Warp,
            _ => super::visit::operands(op)
                .iter()
                .map(|v| self.kernel.values[v.0 as usize].uniform)
                .max()
                .unwrap_or(Uniform::Block),
        }
    }
}
