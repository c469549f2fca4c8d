//! Shared tensors and layouts as values.

use super::call::Call;
use super::value::{Home, LayoutVal, Num, Reg, Scalar, SharedVal, StagesVal, Val};
use super::{Check, Push};
use crate::ast::Span;
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{
    Binary, Digit, Op, Round, Shared, SharedView, StmtKind, TensorType, Type, Uniform, Value, Xor,
};
use tiki_layout::Layout;

impl<'a> Check<'a> {
    // ---- layouts

    /// `layout!(..)`: CuTe notation in which names stand for build-time numbers.
    pub(crate) fn layout_text(&mut self, text: &str, span: Span) -> Val<'a> {
        let mut out = String::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if c.is_ascii_alphabetic()
                || (c == '_' && chars.peek().is_some_and(|n| n.is_ascii_alphanumeric()))
            {
                let mut name = c.to_string();
                while let Some(n) = chars.next_if(|n| n.is_ascii_alphanumeric() || *n == '_') {
                    name.push(n);
                }
                let val = match self.scope.find(&name) {
                    Some(binding) => self.read_binding(binding, span),
                    None => {
                        let diag = self.error(
                            codes::LAYOUT_TEXT,
                            span,
                            format!("`{name}` in the layout is no name in scope"),
                        );
                        return self.refuse(diag);
                    }
                };
                match self.const_int(&val, "a layout's number", span) {
                    Some(i) => out.push_str(&i.to_string()),
                    None => return Val::Poison,
                }
            } else {
                out.push(c);
            }
        }
        match Layout::parse(&out) {
            Ok(layout) => self.layout_value(&layout, span),
            Err(error) => {
                let diag = self
                    .error(codes::LAYOUT_TEXT, span, format!("`{out}` is not a layout"))
                    .note(error.to_string())
                    .help("write shape and stride: `layout!((8, 32):(32, 1))`");
                self.refuse(diag)
            }
        }
    }

    pub(crate) fn layout_value(&mut self, layout: &Layout, span: Span) -> Val<'a> {
        let mut axes = Vec::new();
        for mode in layout.modes() {
            let mut digits = Vec::new();
            for (extent, stride) in mode.leaves() {
                let ok = (0..=1 << 24).contains(&extent) && (0..=1 << 30).contains(&stride);
                if !ok {
                    let diag = self.error(codes::LAYOUT_TEXT, span, format!("extent {extent} with stride {stride} is outside of what a kernel's layout holds"));
                    return self.refuse(diag);
                }
                digits.push(Digit {
                    extent: extent as u32,
                    stride,
                });
            }
            axes.push(digits);
        }
        Val::Layout(LayoutVal {
            axes,
            swizzle: None,
            text: layout.to_string(),
        })
    }

    pub(crate) fn layout_ordered(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(shape) = self.layout_shape(call) else {
            return Val::Poison;
        };
        let row_major = call.row.name == "row_major";
        let mut strides = vec![1_i64; shape.len()];
        let mut next = 1_i64;
        let order: Vec<usize> = if row_major {
            (0..shape.len()).rev().collect()
        } else {
            (0..shape.len()).collect()
        };
        for axis in order {
            strides[axis] = next;
            next *= i64::from(shape[axis]);
        }
        Val::Layout(strided(&shape, &strides))
    }

    fn layout_shape(&mut self, call: &Call<'a>) -> Option<Vec<u32>> {
        let Val::Array(parts) = call.arg(0) else {
            self.error(
                codes::TYPE,
                call.at(0),
                format!(
                    "a layout's shape is an array, `[128, 64]`, not {}",
                    call.arg(0).kind()
                ),
            )
            .push(self);
            return None;
        };
        parts
            .iter()
            .map(|p| {
                self.const_in(p, "a layout's extent", 0, 1 << 20, call.at(0))
                    .map(|i| i as u32)
            })
            .collect()
    }

    pub(crate) fn layout_k_major(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(dtype) = self.element_generic(call) else {
            return Val::Poison;
        };
        let Some(shape) = self.layout_shape(call) else {
            return Val::Poison;
        };
        let [m, k] = shape[..] else {
            let diag = self.error(
                codes::RANK,
                call.at(0),
                format!("`k_major` has two axes, not {}", shape.len()),
            );
            return self.refuse(diag);
        };
        let bytes = k * dtype.bytes();
        let Some(bits) = [3_u32, 2, 1]
            .into_iter()
            .find(|b| bytes != 0 && bytes.is_multiple_of(16 << b))
        else {
            let diag = self.error(
                codes::ALGEBRA,
                call.at(0),
                format!("rows of {k} elements are {bytes} bytes; `k_major` needs a multiple of 32"),
            );
            return self.refuse(diag);
        };
        let span = (16 << bits) / dtype.bytes();
        let slabs = k / span;
        let mut columns = vec![Digit {
            extent: span,
            stride: 1,
        }];
        if slabs > 1 {
            columns.push(Digit {
                extent: slabs,
                stride: i64::from(m) * i64::from(span),
            });
        }
        let axes = vec![
            vec![Digit {
                extent: m,
                stride: span.into(),
            }],
            columns,
        ];
        let swizzle = Some(Xor {
            bits,
            base: 4 - dtype.bytes().trailing_zeros(),
            shift: 3,
        });
        let text = format!("k_major::<{dtype}>([{m}, {k}])");
        Val::Layout(LayoutVal {
            axes,
            swizzle,
            text,
        })
    }

    fn element_generic(&mut self, call: &Call<'a>) -> Option<DType> {
        if let Some(crate::ast::GenericArg::Type(t)) = call.generics.first() {
            return self.dtype_of(t);
        }
        let name = call.row.name;
        self.error(
            codes::ARGUMENTS,
            call.span,
            format!("`{name}` needs the element type"),
        )
        .help(format!(
            "write `::<f32>::{name}(..)` or `{name}::<f32>(..)`"
        ))
        .push(self);
        None
    }

    pub(crate) fn layout_swizzle(&mut self, call: &Call<'a>) -> Val<'a> {
        let (Val::Layout(layout), Val::Swizzle(x)) = (call.recv.clone(), call.arg(0)) else {
            let diag = self
                .error(
                    codes::TYPE,
                    call.at(0),
                    format!("`swizzle` takes a swizzle, not {}", call.arg(0).kind()),
                )
                .help("write `Swizzle::new(3, 3, 3)`");
            return self.refuse(diag);
        };
        if layout.swizzle.is_some() {
            let diag = self.error(codes::ALGEBRA, call.span, "the layout is swizzled already");
            return self.refuse(diag);
        }
        let text = format!("Sw<{},{},{}> o {}", x.bits, x.base, x.shift, layout.text);
        Val::Layout(LayoutVal {
            swizzle: Some(x),
            text,
            ..layout
        })
    }

    pub(crate) fn layout_t(&mut self, call: &Call<'a>) -> Val<'a> {
        let Val::Layout(mut layout) = call.recv.clone() else {
            return Val::Poison;
        };
        if layout.axes.len() != 2 {
            let diag = self.error(
                codes::RANK,
                call.span,
                format!("`t` swaps two axes; this layout has {}", layout.axes.len()),
            );
            return self.refuse(diag);
        }
        layout.axes.swap(0, 1);
        layout.text = format!("{} transposed", layout.text);
        Val::Layout(layout)
    }

    pub(crate) fn swizzle_new(&mut self, call: &Call<'a>) -> Val<'a> {
        let mut n = [0_u32; 3];
        for (i, what) in [
            "the bits of a swizzle",
            "the base of a swizzle",
            "the shift of a swizzle",
        ]
        .into_iter()
        .enumerate()
        {
            match self.const_in(&call.arg(i), what, 0, 30, call.at(i)) {
                Some(v) => n[i] = v as u32,
                None => return Val::Poison,
            }
        }
        let [bits, base, shift] = n;
        if shift < bits {
            let diag = self
                .error(
                    codes::ALGEBRA,
                    call.at(2),
                    format!(
                        "a swizzle of {bits} bits shifted by {shift} would read what it writes"
                    ),
                )
                .help(format!("the shift is at least {bits}"));
            return self.refuse(diag);
        }
        if bits + base + shift > 30 {
            let diag = self.error(
                codes::ALGEBRA,
                call.span,
                format!("the swizzle reaches bit {}", bits + base + shift),
            );
            return self.refuse(diag);
        }
        Val::Swizzle(Xor {
            bits,
            base,
            shift: shift as i32,
        })
    }

    // ---- allocation

    fn allocate(
        &mut self,
        dtype: DType,
        layout: &LayoutVal,
        count: u32,
        span: Span,
    ) -> (SharedVal, i64) {
        let mut elements = layout.cosize().max(0);
        let mut align = dtype.bytes().max(16);
        if let Some(x) = layout.swizzle {
            // Offsets move within groups of 2^(base + bits); the pattern repeats after a period that a
            // base must be aligned to, so that the hardware's own swizzles agree.
            let group = 1_i64 << (x.base + x.bits);
            elements = (elements + group - 1) / group * group;
            align =
                align.max((dtype.bytes() << (x.base + x.bits + x.shift.unsigned_abs())).min(1024));
        }
        let unit = i64::from(align / dtype.bytes()).max(1);
        let pitch = if count > 1 {
            (elements + unit - 1) / unit * unit
        } else {
            elements
        };
        let total = if count == 0 {
            0
        } else {
            pitch * i64::from(count - 1) + elements
        };
        let bytes = u32::try_from(total * i64::from(dtype.bytes())).unwrap_or(u32::MAX);
        let shape: Vec<String> = layout.shape().iter().map(u32::to_string).collect();
        let stages = if count == 1 {
            String::new()
        } else {
            format!("{count} stages x ")
        };
        let detail = format!("{stages}{} x {} bytes", shape.join(" x "), dtype.bytes());
        let alloc = self.kernel.shared.len();
        self.kernel.shared.push(Shared {
            name: unnamed(alloc),
            dtype,
            bytes,
            align,
            stages: count,
            detail,
            span,
        });
        let val = SharedVal {
            alloc,
            dtype,
            axes: layout.axes.clone(),
            swizzle: layout.swizzle,
            offset: 0,
            dynamic: Vec::new(),
        };
        (val, pitch)
    }

    pub(crate) fn shared_new(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(dtype) = self.element_generic(call) else {
            return Val::Poison;
        };
        let stages = call.row.name == "stages";
        let count = if stages {
            match self.const_in(&call.arg(0), "the number of stages", 1, 64, call.at(0)) {
                Some(n) => n as u32,
                None => return Val::Poison,
            }
        } else {
            1
        };
        let at = usize::from(stages);
        let Val::Layout(layout) = call.arg(at) else {
            let diag = self
                .error(
                    codes::TYPE,
                    call.at(at),
                    format!("a shared tensor has a layout, not {}", call.arg(at).kind()),
                )
                .help("write `Layout::row_major([32, 32])` or `layout!((32, 32):(32, 1))`");
            return self.refuse(diag);
        };
        if self.control > 0 {
            let diag = self
                .error(codes::UNSUPPORTED, call.span, "shared memory is allocated once for the whole kernel, not under run-time control")
                .help("move it before the branch or loop");
            return self.refuse(diag);
        }
        if !dtype.row().arithmetic && dtype.bytes() > 2 {
            let diag = self.error(
                codes::TYPE,
                call.span,
                format!("a shared tensor of `{dtype}`"),
            );
            return self.refuse(diag);
        }
        let (first, pitch) = self.allocate(dtype, &layout, count, call.span);
        if stages {
            Val::Stages(StagesVal {
                first,
                count,
                pitch,
            })
        } else {
            Val::Shared(first)
        }
    }

    pub(crate) fn stage(&mut self, call: &Call<'a>) -> Val<'a> {
        let Val::Stages(stages) = call.recv.clone() else {
            return Val::Poison;
        };
        let Some(index) = self.scalar_as(&call.arg(0), Num::Usize, call.at(0)) else {
            return Val::Poison;
        };
        let mut s = stages.first;
        if index.lo == index.hi {
            if index.lo >= i128::from(stages.count) {
                let diag = self.error(
                    codes::BOUNDS,
                    call.at(0),
                    format!("stage {} of {}", index.lo, stages.count),
                );
                return self.refuse(diag);
            }
            s.offset += index.lo as i64 * stages.pitch;
        } else {
            let value = self.narrow(&index, call.at(0));
            s.dynamic.push((value, stages.pitch));
        }
        Val::Shared(s)
    }

    /// An index as a `u32` value.
    pub(crate) fn narrow(&mut self, s: &Scalar, span: Span) -> Value {
        if self.dtype(s.value) == DType::U32 {
            return s.value;
        }
        let uniform = self.uniform(s.value);
        self.emit(Op::Cast(s.value, Round::Default), DType::U32, uniform, span)
    }

    fn shared(call: &Call<'a>) -> Option<SharedVal> {
        match &call.recv {
            Val::Shared(s) => Some(s.clone()),
            _ => None,
        }
    }

    pub(crate) fn shared_t(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(mut s) = Self::shared(call) else {
            return Val::Poison;
        };
        if s.axes.len() != 2 {
            let diag = self.error(
                codes::RANK,
                call.span,
                format!("`t` swaps two axes; this tensor has {}", s.axes.len()),
            );
            return self.refuse(diag);
        }
        s.axes.swap(0, 1);
        Val::Shared(s)
    }

    pub(crate) fn shared_tile(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(mut s) = Self::shared(call) else {
            return Val::Poison;
        };
        let (Val::Array(shape), Val::Array(at)) = (call.arg(0), call.arg(1)) else {
            let diag = self.error(
                codes::TYPE,
                call.span,
                "`tile` takes a shape and tile coordinates: `.tile([64, 32], [i, 0])`",
            );
            return self.refuse(diag);
        };
        if shape.len() != s.axes.len() || at.len() != s.axes.len() {
            let diag = self.error(
                codes::RANK,
                call.span,
                format!(
                    "the tensor has {} axes; the tile has a shape of {} and coordinates of {}",
                    s.axes.len(),
                    shape.len(),
                    at.len()
                ),
            );
            return self.refuse(diag);
        }
        for axis in 0..s.axes.len() {
            let Some(extent) =
                self.const_in(&shape[axis], "a tile's extent", 1, 1 << 20, call.at(0))
            else {
                return Val::Poison;
            };
            let Some(index) = self.scalar_as(&at[axis], Num::Usize, call.at(1)) else {
                return Val::Poison;
            };
            let whole: u32 = s.axes[axis].iter().map(|d| d.extent).product();
            if extent as u32 > whole
                || (index.lo == index.hi && (index.lo + 1) * extent > i128::from(whole))
            {
                let diag = self.error(codes::BOUNDS, call.at(1), format!("tile {} of extent {extent} lies outside the tensor's extent {whole} along axis {axis}", index.lo));
                return self.refuse(diag);
            }
            let Some((inner, outer)) = split(&s.axes[axis], extent as u32) else {
                let layout: Vec<String> = s.axes[axis]
                    .iter()
                    .map(|d| format!("{}:{}", d.extent, d.stride))
                    .collect();
                let diag = self.error(
                    codes::ALGEBRA,
                    call.at(0),
                    format!(
                        "a tile of {extent} does not divide axis {axis}, which is {}",
                        layout.join(", ")
                    ),
                );
                return self.refuse(diag);
            };
            s.axes[axis] = inner;
            self.advance(&mut s, &outer, &index, call.at(1));
        }
        Val::Shared(s)
    }

    /// Moves a shared tensor by a coordinate along some digits.
    fn advance(&mut self, s: &mut SharedVal, digits: &[Digit], index: &Scalar, span: Span) {
        if index.lo == index.hi {
            let mut left = index.lo;
            for (i, d) in digits.iter().enumerate() {
                let last = i + 1 == digits.len();
                let digit = if last {
                    left
                } else {
                    left % i128::from(d.extent)
                };
                s.offset += digit as i64 * d.stride;
                left /= i128::from(d.extent.max(1));
            }
            return;
        }
        let mut left = index.clone();
        for (i, d) in digits.iter().enumerate() {
            let last = i + 1 == digits.len();
            let digit = if last {
                left.clone()
            } else {
                let extent = self.index_const(d.extent, span);
                let digit = self.arith(Binary::Rem, &left, &extent, span);
                left = self.arith(Binary::Div, &left, &extent, span);
                digit
            };
            let value = self.narrow(&digit, span);
            s.dynamic.push((value, d.stride));
        }
    }

    pub(crate) fn shared_ir(s: &SharedVal) -> SharedView {
        SharedView {
            alloc: s.alloc,
            axes: s.axes.clone(),
            swizzle: s.swizzle,
            offset: s.offset,
            dynamic: s.dynamic.clone(),
        }
    }

    pub(crate) fn shared_shape(s: &SharedVal) -> Vec<u32> {
        s.axes
            .iter()
            .map(|a| a.iter().map(|d| d.extent).product())
            .collect()
    }

    pub(crate) fn shared_load(&mut self, call: &Call<'a>) -> Val<'a> {
        let (Some(s), Val::ThreadMap(map)) = (Self::shared(call), call.arg(0)) else {
            let diag = self.error(
                codes::TYPE,
                call.at(0),
                format!("`load` takes a thread map, not {}", call.arg(0).kind()),
            );
            return self.refuse(diag);
        };
        let shape = Self::shared_shape(&s);
        let (want, exact) = map.vector.unwrap_or((1, false));
        let run = s
            .axes
            .last()
            .and_then(|digits| digits.first())
            .filter(|d| d.stride == 1)
            .map_or(1, |d| 1 << d.extent.trailing_zeros().min(7));
        let width = want.min(run);
        if exact && width < want {
            let diag = self
                .error(
                    codes::VECTOR,
                    call.span,
                    format!("vectors of {want} elements are not proven"),
                )
                .note(format!(
                    "{run} elements lie next to each other along the tensor's last axis"
                ));
            return self.refuse(diag);
        }
        let Some(dist) = self.distribute(&map, &shape, width, call.at(0)) else {
            return Val::Poison;
        };
        self.emit_shared_load(&s, shape, dist, call.span)
    }

    pub(crate) fn shared_load_like(&mut self, call: &Call<'a>) -> Val<'a> {
        let (Some(s), Val::Register(like)) = (Self::shared(call), call.arg(0)) else {
            let diag = self.error(
                codes::TYPE,
                call.at(0),
                format!(
                    "`load_like` takes a register tensor, not {}",
                    call.arg(0).kind()
                ),
            );
            return self.refuse(diag);
        };
        let shape = Self::shared_shape(&s);
        if shape != like.shape {
            let diag = self.error(
                codes::SHAPE,
                call.span,
                format!(
                    "the shared tensor has shape {shape:?} and the other {:?}",
                    like.shape
                ),
            );
            return self.refuse(diag);
        }
        self.emit_shared_load(&s, shape, like.dist, call.span)
    }

    fn emit_shared_load(
        &mut self,
        s: &SharedVal,
        shape: Vec<u32>,
        dist: crate::ir::Dist,
        span: Span,
    ) -> Val<'a> {
        let ty = TensorType {
            dtype: s.dtype,
            shape: shape.clone(),
            dist: dist.clone(),
        };
        let op = Op::LoadShared {
            view: Self::shared_ir(s),
            vector: 1,
        };
        let value = self.emit_typed(op, Type::Tensor(ty), Uniform::Thread, span);
        Val::Register(Reg {
            value,
            dtype: s.dtype,
            bounds: vec![None; shape.len()],
            shape,
            dist,
            home: Home::None,
        })
    }

    pub(crate) fn shared_store(&mut self, call: &Call<'a>) -> Val<'a> {
        let (Some(s), Val::Register(r)) = (Self::shared(call), call.arg(0)) else {
            let diag = self.error(
                codes::TYPE,
                call.at(0),
                format!(
                    "`store` takes a register tensor, not {}",
                    call.arg(0).kind()
                ),
            );
            return self.refuse(diag);
        };
        let shape = Self::shared_shape(&s);
        if shape != r.shape {
            let diag = self.error(
                codes::SHAPE,
                call.span,
                format!(
                    "the shared tensor has shape {shape:?} and the other {:?}",
                    r.shape
                ),
            );
            return self.refuse(diag);
        }
        if s.dtype != r.dtype {
            let diag = self
                .error(
                    codes::ELEMENT,
                    call.at(0),
                    format!(
                        "the shared tensor holds `{}`, the other `{}`",
                        s.dtype, r.dtype
                    ),
                )
                .help(format!("convert it: `.cast::<{}>()`", s.dtype));
            return self.refuse(diag);
        }
        self.push(
            StmtKind::StoreShared {
                view: Self::shared_ir(&s),
                value: r.value,
                vector: 1,
            },
            call.span,
        );
        Val::Unit
    }

    /// One element of a shared tensor.
    pub(crate) fn shared_element(
        &mut self,
        s: &SharedVal,
        at: &Val<'a>,
        span: Span,
    ) -> Option<SharedView> {
        let Val::Array(parts) = at else {
            self.error(
                codes::TYPE,
                span,
                format!("coordinates are an array, `[i, j]`, not {}", at.kind()),
            )
            .push(self);
            return None;
        };
        if parts.len() != s.axes.len() {
            self.error(
                codes::RANK,
                span,
                format!(
                    "the tensor has {} axes; {} coordinates are given",
                    s.axes.len(),
                    parts.len()
                ),
            )
            .push(self);
            return None;
        }
        let mut s = s.clone();
        for (axis, part) in parts.clone().iter().enumerate() {
            let index = self.scalar_as(part, Num::Usize, span)?;
            let digits = s.axes[axis].clone();
            let whole: u32 = digits.iter().map(|d| d.extent).product();
            if index.lo >= i128::from(whole) {
                self.error(
                    codes::BOUNDS,
                    span,
                    format!(
                        "index {} lies outside the tensor's extent {whole} along axis {axis}",
                        index.lo
                    ),
                )
                .push(self);
                return None;
            }
            self.advance(&mut s, &digits, &index, span);
        }
        s.axes = Vec::new();
        Some(Self::shared_ir(&s))
    }
}

/// What an allocation is called until the author names it.
pub(crate) fn unnamed(alloc: usize) -> String {
    format!("shared_{alloc}")
}

fn strided(shape: &[u32], strides: &[i64]) -> LayoutVal {
    let axes = shape
        .iter()
        .zip(strides)
        .map(|(&extent, &stride)| vec![Digit { extent, stride }])
        .collect();
    let list = |parts: Vec<String>| {
        if parts.len() == 1 {
            parts[0].clone()
        } else {
            format!("({})", parts.join(","))
        }
    };
    let text = format!(
        "{}:{}",
        list(shape.iter().map(u32::to_string).collect()),
        list(strides.iter().map(i64::to_string).collect())
    );
    LayoutVal {
        axes,
        swizzle: None,
        text,
    }
}

/// The digits of the first `extent` coordinates, and those of the tiles.
fn split(digits: &[Digit], extent: u32) -> Option<(Vec<Digit>, Vec<Digit>)> {
    let (mut inner, mut outer) = (Vec::new(), Vec::new());
    let mut left = extent;
    for d in digits {
        if left == 1 {
            outer.push(*d);
        } else if left.is_multiple_of(d.extent) {
            inner.push(*d);
            left /= d.extent;
        } else if d.extent.is_multiple_of(left) {
            inner.push(Digit {
                extent: left,
                stride: d.stride,
            });
            outer.push(Digit {
                extent: d.extent / left,
                stride: d.stride * i64::from(left),
            });
            left = 1;
        } else {
            return None;
        }
    }
    (left == 1).then(|| {
        if inner.is_empty() {
            inner.push(Digit {
                extent: 1,
                stride: 0,
            });
        }
        (inner, outer)
    })
}
