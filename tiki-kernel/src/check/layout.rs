//! Layouts and swizzles as build-time values.

pub(super) mod told;

use super::call::Call;
use super::value::{LayoutVal, Val};
use super::{Check, Push};
use crate::ast::Span;
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{Digit, Xor};
use tiki_layout::Layout;

impl<'a> Check<'a> {
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
                    .note(error.to_string().trim_start_matches("layout: ").to_owned())
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

    pub(super) fn layout_shape(&mut self, call: &Call<'a>) -> Option<Vec<u32>> {
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

    pub(super) fn element_generic(&mut self, call: &Call<'a>) -> Option<DType> {
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
            "the number of bits of a swizzle",
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

impl LayoutVal {
    /// Why it does not number its places from 0 without gaps, unless it does.
    pub(crate) fn uneven(&self) -> Option<String> {
        let digits = self.axes.iter().flatten().filter(|d| d.extent > 1);
        let mut digits: Vec<_> = digits.collect();
        digits.sort_by_key(|d| d.stride);
        let mut next = 1;
        for d in digits {
            if d.stride < next {
                return Some(format!("several places have number {}", d.stride));
            }
            if d.stride > next {
                return Some(format!("no place has number {next}"));
            }
            next *= i64::from(d.extent);
        }
        None
    }

    /// Its extents with the strides of rows without gaps: `(8, 32):(32, 1)`.
    pub(crate) fn compact_text(&self) -> String {
        let shape = self.shape();
        let mut strides = vec![1u64; shape.len()];
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i] * u64::from(shape[i]);
        }
        let list = |parts: &[u64]| {
            let parts: Vec<String> = parts.iter().map(u64::to_string).collect();
            parts.join(", ")
        };
        let shape: Vec<u64> = shape.into_iter().map(u64::from).collect();
        format!("({}):({})", list(&shape), list(&strides))
    }
}
