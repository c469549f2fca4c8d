//! Global tensors and their views: extents, strides, fixed coordinates, tiles.

use super::call::Call;
use super::value::{FillVal, GlobalVal, Num, Scalar, Val, ViewVal};
use super::{Check, Push};
use crate::artifact::ParamKind;
use crate::ast::Span;
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{Binary, Cache};

impl<'a> Check<'a> {
    pub(crate) fn tensor_kind(&self, param: usize) -> (DType, usize, bool) {
        match self.kernel.params[param].kind {
            ParamKind::Tensor {
                dtype,
                rank,
                strided,
                ..
            } => (dtype, rank as usize, strided),
            ParamKind::Scalar(t) => (t, 0, false),
        }
    }

    pub(super) fn global(call: &Call<'a>) -> Option<GlobalVal> {
        match &call.recv {
            Val::Global(g) => Some(g.clone()),
            _ => None,
        }
    }

    pub(crate) fn dim(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(g) = Self::global(call) else {
            return Val::Poison;
        };
        match self.axis(&g, call) {
            Some(axis) => self.extent_of(&g, axis, call.span),
            None => Val::Poison,
        }
    }

    pub(super) fn axis(&mut self, g: &GlobalVal, call: &Call<'a>) -> Option<usize> {
        let (_, rank, _) = self.kind_of(g);
        let left = rank - g.fixed.len();
        let i = self.const_int(&call.arg(0), "an axis", call.at(0))?;
        if i < 0 || i >= left as i128 {
            let name = self.kernel.params[g.param].name.clone();
            self.error(
                codes::AXIS,
                call.at(0),
                format!(
                    "`{name}` has {left} {}, numbered from 0; there is no axis {i}",
                    if left == 1 { "axis" } else { "axes" }
                ),
            )
            .help(if left == 1 {
                "write 0".to_string()
            } else {
                format!("write 0 to {}", left - 1)
            })
            .push(self);
            return None;
        }
        Some(i as usize + g.fixed.len())
    }

    pub(crate) fn stride(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(g) = Self::global(call) else {
            return Val::Poison;
        };
        let Some(axis) = self.axis(&g, call) else {
            return Val::Poison;
        };
        self.stride_of(&g, axis, call.span)
    }

    pub(super) fn stride_symbol(&mut self, param: usize, axis: usize) -> tiki_layout::sym::Expr {
        if let Some(e) = self.strides.get(&(param, axis)) {
            return e.clone();
        }
        let name = format!("{}.stride({axis})", self.kernel.params[param].name);
        let e: tiki_layout::sym::Expr = self.facts.extent(&name).into();
        self.strides.insert((param, axis), e.clone());
        e
    }

    pub(crate) fn shape(&mut self, call: &Call<'a>) -> Val<'a> {
        match Self::global(call) {
            Some(GlobalVal {
                window: Some(window),
                ..
            }) => Val::Array(window.extents.iter().cloned().map(Val::Scalar).collect()),
            Some(g) => Val::Shape(g.param),
            None => Val::Poison,
        }
    }

    /// Coordinates given as an array.
    pub(super) fn coordinates(&mut self, val: &Val<'a>, span: Span) -> Option<Vec<Scalar>> {
        let Val::Array(parts) = val else {
            if !val.is_poison() {
                self.error(
                    codes::TYPE,
                    span,
                    format!("coordinates are an array, `[i, j]`, not {}", val.kind()),
                )
                .push(self);
            }
            return None;
        };
        parts
            .clone()
            .iter()
            .map(|p| self.scalar_as(p, Num::Usize, span))
            .collect()
    }

    pub(super) fn extents(&mut self, val: &Val<'a>, span: Span) -> Option<Vec<u32>> {
        let Val::Array(parts) = val else {
            if !val.is_poison() {
                self.error(
                    codes::TYPE,
                    span,
                    format!(
                        "a shape is an array of build-time numbers, not {}",
                        val.kind()
                    ),
                )
                .push(self);
            }
            return None;
        };
        parts
            .clone()
            .iter()
            .map(|p| {
                self.const_in(p, "a tile's extent", 0, 1 << 20, span)
                    .map(|i| i as u32)
            })
            .collect()
    }

    pub(crate) fn global_at(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(mut g) = Self::global(call) else {
            return Val::Poison;
        };
        let Some(at) = self.coordinates(&call.arg(0), call.at(0)) else {
            return Val::Poison;
        };
        let (_, rank, _) = self.kind_of(&g);
        if g.fixed.len() + at.len() >= rank {
            let left = rank - g.fixed.len();
            let diag = self
                .error(
                    codes::RANK,
                    call.at(0),
                    format!(
                        "{} coordinates fix all of the tensor's {left} axes",
                        at.len()
                    ),
                )
                .help("one element is `.get([i, j])`");
            return self.refuse(diag);
        }
        g.fixed.extend(at);
        if call.row.name == "at_mut" && self.writable(&g, call.span).is_none() {
            return Val::Poison;
        }
        Val::Global(g)
    }

    /// An error unless the tensor is taken by `&mut`.
    pub(crate) fn writable(&mut self, g: &GlobalVal, span: Span) -> Option<()> {
        if g.mutable {
            return Some(());
        }
        let param = &self.kernel.params[g.param];
        let (name, at) = (param.name.clone(), param.span);
        let (dtype, rank, _) = self.tensor_kind(g.param);
        self.error(
            codes::WRITE_SHARED_REF,
            span,
            format!("`{name}` is written but taken by `&`"),
        )
        .also(at, format!("`{name}` is declared here"))
        .help(format!(
            "take it by `&mut`: `{name}: &mut Global<{dtype}, {rank}>`"
        ))
        .push(self);
        None
    }

    pub(crate) fn tile(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(g) = Self::global(call) else {
            return Val::Poison;
        };
        if call.row.name == "tile_mut" && self.writable(&g, call.span).is_none() {
            return Val::Poison;
        }
        let (Some(shape), Some(at)) = (
            self.extents(&call.arg(0), call.at(0)),
            self.coordinates(&call.arg(1), call.at(1)),
        ) else {
            return Val::Poison;
        };
        let (_, rank, _) = self.kind_of(&g);
        let left = rank - g.fixed.len();
        if shape.len() != left || at.len() != left {
            let name = self.kernel.params[g.param].name.clone();
            let diag = self.error(
                codes::RANK,
                call.span,
                format!(
                    "`{name}` has {left} {}; the tile has a shape of {} and coordinates of {}",
                    if left == 1 { "axis" } else { "axes" },
                    shape.len(),
                    at.len()
                ),
            );
            return self.refuse(diag);
        }
        let mut axes = Vec::new();
        for (i, (extent, at)) in shape.iter().zip(&at).enumerate() {
            let extent_scalar = self.index_const(*extent, call.span);
            let origin = if at.lo == 0 && at.hi == 0 {
                self.index_const(0, call.span)
            } else if *extent == 1 {
                at.clone()
            } else {
                // Whatever the coordinate is, the tile begins at a multiple of its extent.
                let mut at = at.clone();
                at.expr = Some(self.expr_of(&at));
                self.arith(Binary::Mul, &at, &extent_scalar, call.span)
            };
            axes.push((i + g.fixed.len(), *extent, origin));
        }
        Val::View(ViewVal {
            global: g,
            axes,
            fill: None,
            cache: Cache::Default,
        })
    }

    pub(super) fn view(call: &Call<'a>) -> Option<ViewVal> {
        match &call.recv {
            Val::View(v) => Some(v.clone()),
            _ => None,
        }
    }

    pub(crate) fn view_t(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(mut view) = Self::view(call) else {
            return Val::Poison;
        };
        if view.axes.len() != 2 {
            let diag = self.error(
                codes::RANK,
                call.span,
                format!("`t` swaps two axes; this view has {}", view.axes.len()),
            );
            return self.refuse(diag);
        }
        view.axes.swap(0, 1);
        Val::View(view)
    }

    pub(crate) fn view_tile(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(mut view) = Self::view(call) else {
            return Val::Poison;
        };
        let (Some(shape), Some(at)) = (
            self.extents(&call.arg(0), call.at(0)),
            self.coordinates(&call.arg(1), call.at(1)),
        ) else {
            return Val::Poison;
        };
        if shape.len() != view.axes.len() || at.len() != shape.len() {
            let diag = self.error(
                codes::RANK,
                call.span,
                format!(
                    "the view has {} axes; the tile has a shape of {} and coordinates of {}",
                    view.axes.len(),
                    shape.len(),
                    at.len()
                ),
            );
            return self.refuse(diag);
        }
        for ((axis, extent), at) in view.axes.iter_mut().zip(&shape).zip(&at) {
            if (at.hi + 1) * i128::from(*extent) > i128::from(axis.1) {
                let (n, e) = (i128::from(axis.1), i128::from(*extent));
                let text = if at.lo == at.hi {
                    let (first, last) = (at.lo * e, (at.lo + 1) * e - 1);
                    format!(
                        "tile {} of {e} covers {first} to {last}; the view has {n}",
                        at.lo
                    )
                } else {
                    format!(
                        "a tile of {e} up to number {} is not proven to lie in the view, which has {n}",
                        at.hi
                    )
                };
                let mut diag = self.error(codes::BOUNDS, call.at(1), text);
                if n >= e {
                    let last = n / e - 1;
                    diag = diag.note(format!("whole tiles are those from 0 to {last}"));
                }
                return self.refuse(diag);
            }
            let step = self.index_const(*extent, call.span);
            let offset = self.arith(Binary::Mul, at, &step, call.span);
            axis.2 = self.arith(Binary::Add, &axis.2, &offset, call.span);
            axis.1 = *extent;
        }
        Val::View(view)
    }

    pub(crate) fn view_fill(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(mut view) = Self::view(call) else {
            return Val::Poison;
        };
        let (dtype, ..) = self.kind_of(&view.global);
        let val = self.typed_number(call.arg(0), Num::D(dtype), call.at(0));
        view.fill = Some(match val {
            Val::Int(i, _) => FillVal::Int(i),
            Val::Float(f, _) => FillVal::Float(f),
            Val::Bool(b) => FillVal::Bool(b),
            Val::Scalar(s) => FillVal::Scalar(s),
            _ => return Val::Poison,
        });
        Val::View(view)
    }
}
