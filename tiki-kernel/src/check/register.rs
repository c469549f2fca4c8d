//! Register tensors: elementwise operations and vectors.

use super::arith::symbol;
use super::call::Call;
use super::layout::told::told;
use super::value::{Home, Num, Reg, Scalar, Val};
use super::{Check, Push};
use crate::ast::{BinOp, Span};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{
    Binary, Dist, Input, Map, Mode, Op, Region, TensorType, Type, Unary, Uniform, Value,
};

impl<'a> Check<'a> {
    /// Evaluates `f` once for all elements and emits the map.
    pub(crate) fn elementwise(
        &mut self,
        inputs: &[(&Reg, Option<u8>)],
        coords: bool,
        span: Span,
        f: impl FnOnce(&mut Self, Vec<Val<'a>>, Vec<Val<'a>>) -> Val<'a>,
    ) -> Val<'a> {
        let main = inputs[0].0.clone();
        if self.region == 0 {
            self.region_base = self.bindings.len();
        } else {
            let diag = self
                .error(
                    codes::UNSUPPORTED,
                    span,
                    "an operation on register tensors within an elementwise closure",
                )
                .note("the closure gets one element and gives one");
            return self.refuse(diag);
        }
        self.region += 1;
        let params: Vec<Value> = inputs
            .iter()
            .map(|(r, _)| self.value(Type::Scalar(r.dtype), Uniform::Thread, span))
            .collect();
        let axes: Vec<Value> = if coords {
            main.shape
                .iter()
                .map(|_| self.value(Type::Scalar(DType::U32), Uniform::Thread, span))
                .collect()
        } else {
            Vec::new()
        };
        let args: Vec<Val<'a>> = inputs
            .iter()
            .zip(&params)
            .map(|((r, _), p)| Val::Scalar(self.scalar_of(*p, Num::D(r.dtype))))
            .collect();
        let at: Vec<Val<'a>> = axes
            .iter()
            .zip(&main.shape)
            .map(|(v, &extent)| {
                Val::Scalar(Scalar {
                    value: *v,
                    num: Num::Usize,
                    lo: 0,
                    hi: i128::from(extent.max(1)) - 1,
                    expr: None,
                })
            })
            .collect();
        let (body, result) = self.collect(|c| {
            let val = f(c, args, at);
            // A literal takes the element's type.
            let val = match val {
                Val::Float(f, Num::Lit) if main.dtype.is_float() => {
                    Val::Float(f, Num::D(main.dtype))
                }
                Val::Int(i, Num::Lit) if main.dtype.is_int() => Val::Int(i, Num::D(main.dtype)),
                val => val,
            };
            let mut s = c.scalar(&val, span)?;
            if let Num::Infer(slot) = s.num {
                let default = if c.infer[slot as usize].float {
                    DType::F32
                } else {
                    DType::I32
                };
                let target = if default.is_float() == main.dtype.is_float() {
                    main.dtype
                } else {
                    default
                };
                c.unify(s.num, Num::D(target));
                s.num = c.resolve(s.num);
            }
            if s.num == Num::Usize {
                let narrow = c.convert(
                    &Val::Scalar(s),
                    Num::D(DType::U32),
                    crate::ir::Round::Default,
                    span,
                );
                s = c.scalar(&narrow, span)?;
            }
            Some(s)
        });
        self.region -= 1;
        let Some(result) = result else {
            return Val::Poison;
        };
        let dtype = self.dtype(result.value);
        let inputs_ir = inputs
            .iter()
            .map(|(r, missing)| Input {
                value: r.value,
                missing_axis: *missing,
            })
            .collect();
        let region = Region {
            params,
            coords: axes,
            body,
            result: result.value,
        };
        let ty = TensorType {
            dtype,
            shape: main.shape.clone(),
            dist: main.dist.clone(),
        };
        let value = self.emit_typed(
            Op::Map(Map {
                inputs: inputs_ir,
                region,
            }),
            Type::Tensor(ty),
            Uniform::Thread,
            span,
        );
        let mut bounds = main.bounds.clone();
        for (other, missing) in &inputs[1..] {
            if missing.is_none() {
                bounds = self.meet_bounds(&bounds, &other.bounds, span);
            }
        }
        Val::Register(Reg {
            value,
            dtype,
            shape: main.shape,
            dist: main.dist,
            bounds,
            home: Home::None,
        })
    }

    /// What is there in one of two partial tiles counts: a sum over chunks keeps the columns that its last chunk lacks. A
    /// tensor of which nothing is missing says nothing of the other's edge.
    fn meet_bounds(
        &mut self,
        a: &[Option<Value>],
        b: &[Option<Value>],
        span: Span,
    ) -> Vec<Option<Value>> {
        a.iter()
            .zip(b)
            .map(|(x, y)| match (x, y) {
                (Some(x), Some(y)) if x != y => Some(self.emit(
                    Op::Binary(Binary::Max, *x, *y),
                    DType::U32,
                    Uniform::Block,
                    span,
                )),
                (Some(x), _) => Some(*x),
                (None, y) => *y,
            })
            .collect()
    }

    /// Whether two tensors can be combined element by element.
    pub(super) fn equals(&mut self, a: &Reg, b: &Reg, what: &str, span: Span) -> bool {
        if a.shape != b.shape {
            self.error(
                codes::SHAPE,
                span,
                format!(
                    "{what} takes tensors of one shape, not {:?} and {:?}",
                    a.shape, b.shape
                ),
            )
            .push(self);
            return false;
        }
        if a.dist.clone().merged() != b.dist.clone().merged() {
            self.error(
                codes::LAYOUT,
                span,
                format!("{what} takes tensors of one layout: a thread combines what it holds"),
            )
            .note(format!("the first is {}", told(&a.dist, a.shape.len())))
            .note(format!("the second is {}", told(&b.dist, b.shape.len())))
            .help("load both with one map (`.vector(n)` fixes the run), or `load_like` the other")
            .push(self);
            return false;
        }
        true
    }

    pub(crate) fn register_binary(&mut self, op: BinOp, a: &Reg, b: &Reg, span: Span) -> Val<'a> {
        let what = format!("`{}`", symbol(op));
        if matches!(op, BinOp::AndAnd | BinOp::OrOr) || !self.equals(a, b, &what, span) {
            return Val::Poison;
        }
        if a.dtype != b.dtype {
            let diag = self
                .error(
                    codes::ELEMENT,
                    span,
                    format!(
                        "{what} takes tensors of one element type, not `{}` and `{}`",
                        a.dtype, b.dtype
                    ),
                )
                .help(format!("convert one: `.cast::<{}>()`", a.dtype));
            return self.refuse(diag);
        }
        self.elementwise(&[(a, None), (b, None)], false, span, |c, args, _| {
            let [x, y] = &args[..] else {
                return Val::Poison;
            };
            c.binary(op, x.clone(), y.clone(), span)
        })
    }

    pub(crate) fn register_unary(&mut self, f: Unary, a: &Reg, span: Span) -> Val<'a> {
        let op = if f == Unary::Neg {
            crate::ast::UnOp::Neg
        } else {
            crate::ast::UnOp::Not
        };
        self.elementwise(&[(a, None)], false, span, |c, mut args, _| {
            c.unary(op, args.remove(0), span)
        })
    }

    pub(crate) fn register_cast(&mut self, a: &Reg, to: DType, span: Span) -> Val<'a> {
        if a.dtype == to {
            return Val::Register(a.clone());
        }
        self.elementwise(&[(a, None)], false, span, |c, args, _| {
            c.convert(&args[0], Num::D(to), crate::ir::Round::Default, span)
        })
    }

    fn receiver_register(call: &Call<'a>) -> Option<Reg> {
        match &call.recv {
            Val::Register(r) => Some(r.clone()),
            _ => None,
        }
    }

    pub(crate) fn register_map(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(r) = Self::receiver_register(call) else {
            return Val::Poison;
        };
        let f = call.arg(0);
        let span = call.at(0);
        self.elementwise(&[(&r, None)], false, call.span, |c, args, _| {
            c.apply(&f, args, span)
        })
    }

    pub(crate) fn register_map_at(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(r) = Self::receiver_register(call) else {
            return Val::Poison;
        };
        let f = call.arg(0);
        let span = call.at(0);
        self.elementwise(&[(&r, None)], true, call.span, |c, mut args, at| {
            c.apply(&f, vec![args.remove(0), Val::Array(at)], span)
        })
    }

    pub(crate) fn register_mask(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(r) = Self::receiver_register(call) else {
            return Val::Poison;
        };
        let (keep, fill, span) = (call.arg(0), call.arg(1), call.at(0));
        let dtype = r.dtype;
        self.elementwise(&[(&r, None)], true, call.span, |c, mut args, at| {
            let cond = c.apply(&keep, vec![Val::Array(at)], span);
            let fill = c.typed_number(fill, Num::D(dtype), call.at(1));
            match cond {
                Val::Bool(true) => args.remove(0),
                Val::Bool(false) => fill,
                Val::Scalar(s) if c.dtype(s.value) == DType::BOOL => {
                    c.select(s.value, args.remove(0), fill, span)
                }
                Val::Poison | Val::Never => Val::Poison,
                val => {
                    let diag = c.error(
                        codes::CONDITION,
                        span,
                        format!("`mask` keeps by a bool, not {}", val.kind()),
                    );
                    c.refuse(diag)
                }
            }
        })
    }

    pub(crate) fn register_zip(&mut self, call: &Call<'a>) -> Val<'a> {
        let (Some(a), Val::Register(b)) = (Self::receiver_register(call), call.arg(0)) else {
            return self.not_register(&call.arg(0), call.at(0));
        };
        if !self.equals(&a, &b, "`zip`", call.span) {
            return Val::Poison;
        }
        let (f, span) = (call.arg(1), call.at(1));
        self.elementwise(&[(&a, None), (&b, None)], false, call.span, |c, args, _| {
            c.apply(&f, args, span)
        })
    }

    pub(super) fn not_register(&mut self, val: &Val<'a>, span: Span) -> Val<'a> {
        let diag = self.error(
            codes::TYPE,
            span,
            format!("expected a register tensor, found {}", val.kind()),
        );
        self.refuse(diag)
    }

    /// `rows` and `cols`: with a vector that lacks an axis.
    pub(crate) fn register_along(&mut self, call: &Call<'a>) -> Val<'a> {
        let (Some(a), Val::Register(v)) = (Self::receiver_register(call), call.arg(0)) else {
            return self.not_register(&call.arg(0), call.at(0));
        };
        let name = call.row.name;
        if a.shape.len() != 2 {
            let diag = self.error(
                codes::RANK,
                call.span,
                format!(
                    "`{name}` works on tensors of two axes; this one has shape {:?}",
                    a.shape
                ),
            );
            return self.refuse(diag);
        }
        let axis = usize::from(name == "rows");
        let wants = a.shape[1 - axis];
        if v.shape != [wants] {
            let diag = self.error(
                codes::SHAPE,
                call.at(0),
                format!(
                    "`{name}` of a tensor of shape {:?} takes a vector of {wants}, not {:?}",
                    a.shape, v.shape
                ),
            );
            return self.refuse(diag);
        }
        let own = a.dist.without(axis);
        if v.dist.clone().merged() != own {
            let word = if axis == 1 { "row" } else { "column" };
            let diag = self
                .error(
                    codes::LAYOUT,
                    call.at(0),
                    format!("the vector is not distributed like the tensor's {word}s"),
                )
                .note(format!("the tensor's {word}s are {own}"))
                .note(format!("the vector is {}", v.dist))
                .help(format!(
                    "load it with the tensor's map, or `load_like(&t.{word}_vector(0.0))`",
                    word = if axis == 1 { "row" } else { "col" }
                ));
            return self.refuse(diag);
        }
        let (f, span) = (call.arg(1), call.at(1));
        self.elementwise(
            &[(&a, None), (&v, Some(axis as u8))],
            false,
            call.span,
            |c, args, _| c.apply(&f, args, span),
        )
    }

    pub(crate) fn register_vector(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(a) = Self::receiver_register(call) else {
            return Val::Poison;
        };
        let axis = usize::from(call.row.name == "row_vector");
        if a.shape.len() != 2 {
            let diag = self.error(
                codes::RANK,
                call.span,
                format!(
                    "`{}` works on tensors of two axes; this one has shape {:?}",
                    call.row.name, a.shape
                ),
            );
            return self.refuse(diag);
        }
        let Some(init) = self.scalar_as(&call.arg(0), Num::D(a.dtype), call.at(0)) else {
            return Val::Poison;
        };
        let (shape, dist) = (vec![a.shape[1 - axis]], a.dist.without(axis));
        let ty = TensorType {
            dtype: a.dtype,
            shape: shape.clone(),
            dist: dist.clone(),
        };
        let value = self.emit_typed(
            Op::Splat(init.value),
            Type::Tensor(ty),
            Uniform::Thread,
            call.span,
        );
        Val::Register(Reg {
            value,
            dtype: a.dtype,
            bounds: vec![None; shape.len()],
            shape,
            dist,
            home: Home::None,
        })
    }

    /// A tile of a register tensor: the places a thread holds it at are the same for all threads.
    pub(crate) fn register_tile(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(r) = Self::receiver_register(call) else {
            return Val::Poison;
        };
        let (Val::Array(shape), Val::Array(at)) = (call.arg(0), call.arg(1)) else {
            let diag = self.error(
                codes::TYPE,
                call.span,
                "`tile` takes a shape and tile coordinates: `.tile([64, 64], [0, 1])`",
            );
            return self.refuse(diag);
        };
        let rank = r.shape.len();
        if shape.len() != rank || at.len() != rank {
            let diag = self.error(
                codes::RANK,
                call.span,
                format!(
                    "the tensor has {rank} axes; the tile has a shape of {} and coordinates of {}",
                    shape.len(),
                    at.len()
                ),
            );
            return self.refuse(diag);
        }
        let mut tile = Vec::new();
        let mut index = Vec::new();
        for axis in 0..rank {
            let whole = i128::from(r.shape[axis]);
            let Some(extent) = self.const_in(&shape[axis], "a tile's extent", 1, whole, call.at(0))
            else {
                return Val::Poison;
            };
            let tiles = whole / extent;
            let Some(i) = self.const_in(
                &at[axis],
                "the coordinate of a tile of registers",
                0,
                tiles - 1,
                call.at(1),
            ) else {
                return Val::Poison;
            };
            tile.push(extent as u32);
            index.push(i as u32);
        }
        let Some((dist, places)) = tile_of(&r.dist, &tile, &index) else {
            let diag = self
                .error(
                    codes::LAYOUT,
                    call.at(0),
                    format!("a tile of {tile:?} is not held at the same places by every thread"),
                )
                .note(format!("the tensor is {:?} {}", r.shape, r.dist));
            return self.refuse(diag);
        };
        let ty = TensorType {
            dtype: r.dtype,
            shape: tile.clone(),
            dist: dist.clone(),
        };
        let value = self.emit_typed(
            Op::Pick(r.value, places),
            Type::Tensor(ty),
            Uniform::Thread,
            call.span,
        );
        Val::Register(Reg {
            value,
            dtype: r.dtype,
            bounds: vec![None; rank],
            shape: tile,
            dist,
            home: Home::None,
        })
    }

    pub(crate) fn register_raw(&mut self, call: &Call<'a>) -> Val<'a> {
        Self::receiver_register(call).map_or(Val::Poison, Val::Raw)
    }

    pub(crate) fn raw_element(&mut self, r: &Reg, i: u32, span: Span) -> Val<'a> {
        let value = self.emit(Op::Raw(r.value, i), r.dtype, Uniform::Thread, span);
        Val::Scalar(self.scalar_of(value, Num::D(r.dtype)))
    }
}

/// The distribution of a tile and its places in the fragment, if they are the same for every thread: the
/// threads' part of a coordinate stays within one tile.
fn tile_of(dist: &Dist, tile: &[u32], index: &[u32]) -> Option<(Dist, Vec<u32>)> {
    let rank = tile.len();
    for (axis, &extent) in tile.iter().enumerate() {
        let own = |m: &&Mode| m.axis == Some(axis as u8);
        let within =
            |m: &Mode| m.step * m.extent <= extent && extent.is_multiple_of(m.step * m.extent);
        let beyond = |m: &Mode| m.step.is_multiple_of(extent);
        let split =
            |m: &Mode| extent.is_multiple_of(m.step) && (m.step * m.extent).is_multiple_of(extent);
        if !dist.threads.iter().filter(own).all(within)
            || !dist
                .values
                .iter()
                .filter(own)
                .all(|m| within(m) || beyond(m) || split(m))
        {
            return None;
        }
    }
    let places = (0..dist.len() as u32)
        .filter(|&v| {
            let at = dist.value_offset(v as usize, rank);
            (0..rank).all(|a| at[a] / tile[a] == index[a])
        })
        .collect();
    let values = dist
        .values
        .iter()
        .filter_map(|m| {
            let extent = tile[m.axis? as usize];
            let kept = (extent / m.step.max(1)).min(m.extent);
            (kept > 1).then_some(Mode { extent: kept, ..*m })
        })
        .collect();
    let threads = dist.threads.clone();
    Some((Dist { threads, values }, places))
}
