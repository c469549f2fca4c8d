//! What a launch's facts and grid come to, for extents that are known.
//!
//! `grid = [..]`, `require!(..)` and shapes of workspaces are the author's expressions over the arguments; in a program the
//! launcher computes them in Rust. Here every extent and parameter in them is replaced by its number, and the compiler's own
//! evaluation of build-time expressions does the rest, so that its arithmetic and its messages hold. What depends on more
//! than extents, parameters and numbers that were given cannot be decided here, and is refused.

use super::given::Known;
use super::ready::Open;
use std::collections::HashMap;
use tiki_kernel::ast::{
    BinOp, Block, Expr, ExprKind, Generic, Kernel, KernelOption, Lit, Name, Path, PatternKind,
    Program, Segment, Stmt, Type, TypeKind,
};
use tiki_kernel::check::instances;
use tiki_kernel::compile::{Arg, Instance};
use tiki_kernel::diag::Sink;

/// Blocks of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grid {
    /// So many.
    Blocks([u64; 3]),
    /// As many as the device holds.
    Persistent,
}

/// What a launch needs besides its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    pub grid: Grid,
    /// Argument and shape.
    pub workspaces: Vec<(String, Vec<usize>)>,
}

/// Evaluates for one instance.
pub fn geometry(
    program: &Program,
    instance: &Instance,
    given: &HashMap<String, Known>,
) -> Result<Geometry, Open> {
    let mut closing = Closing {
        program,
        names: given.clone(),
        types: HashMap::new(),
    };
    for (name, arg) in &instance.args {
        let lit = match arg {
            Arg::Type(t) => {
                closing.types.insert(name.clone(), t.name());
                continue;
            }
            Arg::Int(i) => Lit::Int(*i, "usize".into()),
            Arg::Bool(b) => Lit::Bool(*b),
        };
        closing.names.insert(name.clone(), Known::Number(lit));
    }
    closing.facts()?;
    let option = |name: &str| {
        let mut options = program.kernel.options.iter();
        options.find(|o| o.name.text == name)
    };
    let grid = match option("grid")
        .and_then(|o| o.value.as_ref())
        .map(|v| &v.kind)
    {
        Some(ExprKind::Array(parts)) => {
            let mut grid = [1; 3];
            for (to, part) in grid.iter_mut().zip(parts) {
                *to = closing.extent(part)?;
            }
            Grid::Blocks(grid)
        }
        _ => Grid::Persistent,
    };
    let mut workspaces = Vec::new();
    for arg in option("workspace").iter().flat_map(|o| &o.args) {
        let ExprKind::Assign(name, shape) = &arg.kind else {
            continue;
        };
        if let (Some(name), ExprKind::Array(parts)) = (lone(name), &shape.kind) {
            let shape = parts.iter().map(|p| closing.extent(p).map(|n| n as usize));
            workspaces.push((name.to_owned(), shape.collect::<Result<_, _>>()?));
        }
    }
    Ok(Geometry { grid, workspaces })
}

/// A path of one name.
fn lone(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Path(path) if path.segments.len() == 1 => Some(&path.segments[0].name.text),
        _ => None,
    }
}

struct Closing<'a> {
    program: &'a Program,
    names: HashMap<String, Known>,
    types: HashMap<String, &'static str>,
}

impl Closing<'_> {
    /// Goes through the body's top level: its `let`s that can be computed, and its facts.
    fn facts(&mut self) -> Result<(), Open> {
        let program = self.program;
        for stmt in &program.kernel.body.stmts {
            match stmt {
                Stmt::Let {
                    pattern,
                    init: Some(init),
                    ..
                } => {
                    let PatternKind::Bind {
                        name,
                        mutable: false,
                        sub: None,
                    } = &pattern.kind
                    else {
                        continue;
                    };
                    match self.closed(init).and_then(|e| self.value(e).ok()) {
                        Some(lit) => {
                            let known = Known::Number(lit);
                            _ = self.names.insert(name.text.clone(), known);
                        }
                        None => _ = self.names.remove(&name.text),
                    }
                }
                Stmt::Expr(Expr {
                    kind: ExprKind::Require(facts),
                    ..
                }) => {
                    for fact in facts {
                        if !self.truth(&fact.expr, &fact.text)? {
                            return Err(Open::Fact(fact.text.clone()));
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn truth(&self, fact: &Expr, text: &str) -> Result<bool, String> {
        let unknown = || format!("`{text}` cannot be decided from extents and numbers alone");
        let cond = self.closed(fact).ok_or_else(unknown)?;
        Ok(self.value(cond)? == Lit::Bool(true))
    }

    fn extent(&self, expr: &Expr) -> Result<u64, String> {
        let closed = self.closed(expr);
        let closed = closed.ok_or("the grid cannot be computed from extents and numbers alone")?;
        match self.value(closed)? {
            Lit::Int(n, _) => u64::try_from(n).map_err(|_| format!("{n} blocks along an axis")),
            _ => Err("a number of blocks is a number".into()),
        }
    }

    /// The value of an expression without names of arguments: the compiler evaluates it as a parameter's.
    fn value(&self, expr: Expr) -> Result<Lit, String> {
        let span = expr.span;
        let name = |text: &str| Name {
            text: text.into(),
            span,
        };
        let path = |text: &str| Path {
            segments: vec![Segment {
                name: name(text),
                generics: Vec::new(),
            }],
        };
        let place = Expr {
            kind: ExprKind::Path(path("VALUE")),
            span,
        };
        let given = ExprKind::Assign(Box::new(place), Box::new(expr));
        let tuple = ExprKind::Tuple(vec![Expr { kind: given, span }]);
        let program = Program {
            kernel: Kernel {
                name: self.program.kernel.name.clone(),
                options: vec![KernelOption {
                    name: name("build"),
                    value: None,
                    args: vec![Expr { kind: tuple, span }],
                }],
                generics: vec![Generic::Const {
                    name: name("VALUE"),
                    ty: Type {
                        kind: TypeKind::Infer,
                        span,
                    },
                }],
                params: Vec::new(),
                body: Block {
                    stmts: Vec::new(),
                    value: None,
                    span,
                },
            },
            items: self.program.items.clone(),
            places: self.program.places.clone(),
        };
        let mut sink = Sink::new();
        let instances = instances::run(&program, &mut sink);
        let diags = sink.take();
        match instances.first().and_then(|i| i.args.first()) {
            Some((_, Arg::Int(n))) => Ok(Lit::Int(*n, "usize".into())),
            Some((_, Arg::Bool(b))) => Ok(Lit::Bool(*b)),
            _ => Err(diags
                .first()
                .map_or_else(String::new, |d| d.text(&program.places))),
        }
    }

    fn tensor(&self, expr: &Expr) -> Option<&Known> {
        let known = self.names.get(lone(expr)?)?;
        (!matches!(known, Known::Number(_))).then_some(known)
    }

    /// The expression with numbers in place of arguments and parameters; `None` if it asks for more.
    fn closed(&self, expr: &Expr) -> Option<Expr> {
        let of = |kind| {
            Some(Expr {
                kind,
                span: expr.span,
            })
        };
        let boxed = |e: &Expr| self.closed(e).map(Box::new);
        match &expr.kind {
            ExprKind::Lit(_) => Some(expr.clone()),
            ExprKind::Path(path) => match lone(expr) {
                Some(name) => match self.names.get(name) {
                    Some(Known::Number(lit)) => of(ExprKind::Lit(lit.clone())),
                    Some(_) => None,
                    // A constant; a variable that is not known is refused by the evaluation.
                    None => Some(expr.clone()),
                },
                None => {
                    let mut path = path.clone();
                    if let Some(first) = path.segments.first_mut()
                        && let Some(ty) = self.types.get(&first.name.text)
                    {
                        first.name.text = (*ty).to_owned();
                    }
                    of(ExprKind::Path(path))
                }
            },
            ExprKind::Unary(op, a) => of(ExprKind::Unary(*op, boxed(a)?)),
            ExprKind::Cast(a, ty) => of(ExprKind::Cast(boxed(a)?, ty.clone())),
            ExprKind::Binary(op, a, b) => match (self.shape(a), self.shape(b)) {
                (Some(a), Some(b)) => of(ExprKind::Lit(Lit::Bool(match op {
                    BinOp::Eq => a == b,
                    BinOp::Ne => a != b,
                    _ => return None,
                }))),
                _ => of(ExprKind::Binary(*op, boxed(a)?, boxed(b)?)),
            },
            ExprKind::Method {
                recv,
                name,
                generics,
                args,
            } => match self.tensor(recv) {
                Some(tensor) => of(ExprKind::Lit(self.asked(tensor, &name.text, args)?)),
                None => of(ExprKind::Method {
                    recv: boxed(recv)?,
                    name: name.clone(),
                    generics: generics.clone(),
                    args: args.iter().map(|a| self.closed(a)).collect::<Option<_>>()?,
                }),
            },
            ExprKind::If {
                cond,
                then,
                otherwise,
            } => {
                let block = |b: &Block| match (&b.value, b.stmts.is_empty()) {
                    (Some(value), true) => Some(Block {
                        value: Some(boxed(value)?),
                        ..b.clone()
                    }),
                    _ => None,
                };
                of(ExprKind::If {
                    cond: boxed(cond)?,
                    then: block(then)?,
                    otherwise: match otherwise {
                        Some(e) => Some(boxed(e)?),
                        None => None,
                    },
                })
            }
            ExprKind::Block(b) if b.stmts.is_empty() => self.closed(b.value.as_deref()?),
            _ => None,
        }
    }

    /// `x.shape()`.
    fn shape(&self, expr: &Expr) -> Option<&[u64]> {
        match &expr.kind {
            ExprKind::Method {
                recv, name, args, ..
            } if name.text == "shape" && args.is_empty() => match self.tensor(recv)? {
                Known::Tensor(extents) => Some(extents),
                _ => None,
            },
            _ => None,
        }
    }

    /// What a tensor answers.
    fn asked(&self, tensor: &Known, name: &str, args: &[Expr]) -> Option<Lit> {
        let axis = || -> Option<usize> {
            match self.value(self.closed(args.first()?)?).ok()? {
                Lit::Int(n, _) => usize::try_from(n).ok(),
                _ => None,
            }
        };
        let size = |n: u64| Lit::Int(n.into(), "usize".into());
        match (tensor, name) {
            (Known::Tensor(extents), "dim") => extents.get(axis()?).map(|n| size(*n)),
            // Row-major, as the command makes them.
            (Known::Tensor(extents), "stride") => extents
                .get(axis()? + 1..)
                .map(|inner| size(inner.iter().product())),
            (_, "is_some") => Some(Lit::Bool(*tensor != Known::Absent)),
            (_, "is_none") => Some(Lit::Bool(*tensor == Known::Absent)),
            (Known::Absent, "is_none_or") => Some(Lit::Bool(true)),
            (Known::Tensor(_), "is_none_or") => {
                let ExprKind::Closure { params, body } = &args.first()?.kind else {
                    return None;
                };
                let PatternKind::Bind { name, .. } = &params.first()?.kind else {
                    return None;
                };
                let mut inner = Closing {
                    program: self.program,
                    names: self.names.clone(),
                    types: self.types.clone(),
                };
                inner.names.insert(name.text.clone(), tensor.clone());
                inner.truth(body, "").ok().map(Lit::Bool)
            }
            _ => None,
        }
    }
}
