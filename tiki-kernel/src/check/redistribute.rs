//! Register tensors dealt anew: within each warp by shuffles, among warps through a buffer of the author's.
//!
//! Both are explicit and told in the report with what they cost; the compiler inserts neither by itself.

use super::Check;
use super::call::Call;
use super::value::{Home, Reg, Val};
use crate::diag::codes;
use crate::ir::exchange::Exchange;
use crate::ir::{Decision, Dist, Op, StmtKind, TensorType, Type, Uniform};

impl<'a> Check<'a> {
    /// The layout that a call asks for: by a thread map, or that of another tensor.
    fn wanted_layout(&mut self, r: &Reg, call: &Call<'a>, at: usize) -> Option<Dist> {
        match call.arg(at) {
            Val::ThreadMap(map) => {
                let last = r.shape.last().copied().unwrap_or(1);
                let (want, exact) = map.vector.unwrap_or((1, false));
                let width = want.min(1 << last.trailing_zeros().min(7));
                if exact && width < want {
                    let message =
                        format!("vectors of {want} elements do not divide rows of {last}");
                    let diag = self.error(codes::VECTOR, call.at(at), message);
                    self.sink.push(diag);
                    return None;
                }
                self.distribute(&map, &r.shape, width, call.at(at))
            }
            Val::Register(like) if like.shape == r.shape => Some(like.dist),
            Val::Register(like) => {
                let message = format!(
                    "`{}` takes a tensor of shape {:?}, not {:?}",
                    call.row.name, r.shape, like.shape
                );
                let diag = self.error(codes::SHAPE, call.at(at), message);
                self.sink.push(diag);
                None
            }
            val => {
                let wants = if call.row.name.ends_with("like") {
                    "a register tensor"
                } else {
                    "a thread map"
                };
                let message = format!("`{}` takes {wants}, not {}", call.row.name, val.kind());
                let diag = self.error(codes::TYPE, call.at(at), message);
                self.sink.push(diag);
                None
            }
        }
    }

    fn decided(&mut self, text: String, value: crate::ir::Value, span: crate::ast::Span) {
        self.kernel.decisions.push(Decision {
            kind: "redistribution",
            value: Some(value),
            text,
            span,
        });
    }

    /// `redistribute(map)`, `redistribute_like(&other)`: by shuffles.
    pub(crate) fn redistribute(&mut self, call: &Call<'a>) -> Val<'a> {
        let Val::Register(r) = call.recv.clone() else {
            return Val::Poison;
        };
        let Some(dist) = self.wanted_layout(&r, call, 0) else {
            return Val::Poison;
        };
        let ty = TensorType {
            dtype: r.dtype,
            shape: r.shape.clone(),
            dist: r.dist.clone(),
        };
        let Some(exchange) = Exchange::of(&ty, &dist) else {
            let shape: Vec<String> = r.shape.iter().map(u32::to_string).collect();
            let bytes = r.shape.iter().product::<u32>() * r.dtype.bytes();
            let like = if call.row.name == "redistribute" {
                "map"
            } else {
                "&other"
            };
            let diag = self
                .error(
                    codes::LAYOUT,
                    call.span,
                    format!(
                        "`{}` moves elements from warp to warp, which shuffles cannot",
                        call.row.name
                    ),
                )
                .note(format!("the tensor is {}", r.dist))
                .note(format!("asked for is {dist}"))
                .help(format!(
                    "go through shared memory: `let buffer = Shared::<{}>::new(Layout::row_major([{}]))` ({bytes} bytes), then `.redistribute_through(&buffer, {like})`",
                    r.dtype,
                    shape.join(", ")
                ));
            return self.refuse(diag);
        };
        let own = if dist == r.dist { r.dist.clone() } else { dist };
        let value = self.emit_typed(
            Op::Exchange(r.value),
            Type::Tensor(TensorType {
                dist: own.clone(),
                ..ty
            }),
            Uniform::Thread,
            call.span,
        );
        let (shuffles, selections) = (exchange.shuffles(), exchange.selections());
        let text = format!(
            "within each warp: {shuffles} shuffles and {selections} selections a thread, for {} elements",
            own.len()
        );
        self.decided(text, value, call.span);
        Val::Register(Reg {
            value,
            dist: own,
            home: Home::None,
            ..r
        })
    }

    /// `redistribute_through(&buffer, map)`: stored, met, loaded.
    pub(crate) fn redistribute_through(&mut self, call: &Call<'a>) -> Val<'a> {
        let (Val::Register(r), Val::Shared(buffer)) = (call.recv.clone(), call.arg(0)) else {
            let message = format!(
                "`{}` goes through a shared tensor, not {}",
                call.row.name,
                call.arg(0).kind()
            );
            let diag = self.error(codes::TYPE, call.at(0), message);
            return self.refuse(diag);
        };
        let shape = Self::shared_shape(&buffer);
        if shape != r.shape {
            let message = format!(
                "the buffer has shape {shape:?} and the tensor {:?}",
                r.shape
            );
            let diag = self.error(codes::SHAPE, call.at(0), message);
            return self.refuse(diag);
        }
        if buffer.dtype != r.dtype {
            let message = format!(
                "the buffer holds `{}`, the tensor `{}`",
                buffer.dtype, r.dtype
            );
            let diag = self
                .error(codes::ELEMENT, call.at(0), message)
                .help("a buffer of another type can be seen as one of this: `.reuse_as::<..>(..)`");
            return self.refuse(diag);
        }
        let Some(dist) = self.wanted_layout(&r, call, 1) else {
            return Val::Poison;
        };
        let view = Self::shared_ir(&buffer);
        self.push(
            StmtKind::StoreShared {
                view,
                value: r.value,
                vector: 1,
            },
            call.span,
        );
        self.block_wide("this exchange", call.span);
        self.push(StmtKind::Barrier(crate::ir::Barrier::Block), call.span);
        let loaded = self.emit_shared_load(&buffer, shape, dist, call.span);
        let Val::Register(mut loaded) = loaded else {
            return loaded;
        };
        loaded.bounds = r.bounds;
        let bytes = r.shape.iter().product::<u32>() * r.dtype.bytes();
        let name = self.kernel.shared[buffer.alloc].name.clone();
        let text =
            format!("through `{name}`: {bytes} bytes written and read, one barrier of the block");
        self.decided(text, loaded.value, call.span);
        Val::Register(loaded)
    }
}
