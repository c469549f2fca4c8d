//! The storage of a shared tensor under another layout: the same tensor ([`Check::shared_arranged`]), or one of its own,
//! whose life begins where that of the first has ended ([`Check::shared_reuse_as`]).

use super::Check;
use super::call::Call;
use super::value::{SharedVal, Val};
use crate::budget::shared_memory::size;
use crate::diag::codes;

impl<'a> Check<'a> {
    /// `tensor.arranged(layout)`: the same bytes, other coordinates.
    pub(crate) fn shared_arranged(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(s) = Self::shared(call) else {
            return Val::Poison;
        };
        let Val::Layout(layout) = call.arg(0) else {
            let diag = self
                .error(
                    codes::TYPE,
                    call.at(0),
                    format!("a shared tensor has a layout, not {}", call.arg(0).kind()),
                )
                .help("write `Layout::row_major([32, 32])` or `layout!((32, 32):(32, 1))`");
            return self.refuse(diag);
        };
        if layout.swizzle != s.swizzle {
            let diag = self
                .error(
                    codes::LAYOUT,
                    call.at(0),
                    "the two layouts of one storage are swizzled differently",
                )
                .note("a swizzle moves elements by their address: both must move them alike");
            return self.refuse(diag);
        }
        let own: i64 = s
            .axes
            .iter()
            .flatten()
            .map(|d| i64::from(d.extent - 1) * d.stride)
            .sum::<i64>()
            + 1;
        if layout.cosize() > own {
            let diag = self.error(
                codes::BOUNDS,
                call.at(0),
                format!(
                    "the layout reaches {} elements far; the tensor has {own}",
                    layout.cosize()
                ),
            );
            return self.refuse(diag);
        }
        Val::Shared(SharedVal {
            axes: layout.axes.clone(),
            ..s
        })
    }

    /// `tensor.reuse_as::<F>(layout)`: an allocation over another's storage.
    pub(crate) fn shared_reuse_as(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(dtype) = self.element_generic(call) else {
            return Val::Poison;
        };
        let Val::Layout(layout) = call.arg(0) else {
            let diag = self
                .error(
                    codes::TYPE,
                    call.at(0),
                    format!("a shared tensor has a layout, not {}", call.arg(0).kind()),
                )
                .help("write `Layout::row_major([32, 32])` or `layout!((32, 32):(32, 1))`");
            return self.refuse(diag);
        };
        // Where it begins, and how far it may reach.
        let (alloc, from, room) = match &call.recv {
            Val::Stages(s) => (s.first.alloc, 0, self.kernel.shared[s.first.alloc].bytes),
            Val::Shared(s) if s.dynamic.is_empty() => {
                let whole = &self.kernel.shared[s.alloc];
                let from = u32::try_from(s.offset).unwrap_or(0) * s.dtype.bytes();
                let reach = s.axes.iter().flatten();
                let reach: i64 = reach
                    .map(|d| i64::from(d.extent.max(1) - 1) * d.stride)
                    .sum();
                let bytes = (reach + 1) as u32 * s.dtype.bytes();
                // A swizzle moves elements within its period, so that the last one may lie anywhere in it.
                let room = if s.swizzle.is_some() || from == 0 && bytes == whole.bytes {
                    whole.bytes - from
                } else {
                    bytes
                };
                (s.alloc, from, room.min(whole.bytes - from))
            }
            Val::Shared(_) => {
                let diag = self
                    .error(
                        codes::NEED_CONST,
                        call.span,
                        "the storage to reuse begins at an offset known at run time",
                    )
                    .help("reuse the tensor as a whole, and take a tile of what you get");
                return self.refuse(diag);
            }
            _ => return Val::Poison,
        };
        let (mut shared, _) = self.laid_out(dtype, &layout, 1, call.span);
        let name = self.kernel.shared[alloc].name.clone();
        if shared.bytes > room {
            let diag = self
                .error(
                    codes::BOUNDS,
                    call.at(0),
                    format!(
                        "the layout takes {}; `{name}` has {} here",
                        size(shared.bytes),
                        size(room)
                    ),
                )
                .note(format!("the layout: {}", shared.detail));
            return self.refuse(diag);
        }
        if !from.is_multiple_of(shared.align) {
            let diag = self.error(
                codes::ALGEBRA,
                call.span,
                format!(
                    "the layout must begin at a multiple of {} bytes; this begins at byte {from} of `{name}`",
                    shared.align
                ),
            );
            return self.refuse(diag);
        }
        let (root, before) = self.kernel.storage(alloc);
        let whole = &mut self.kernel.shared[root];
        whole.align = whole.align.max(shared.align);
        let detail = format!("{}, in the storage of `{}`", shared.detail, whole.name);
        shared.detail = detail;
        shared.over = Some((root, before + from));
        let alloc = self.kernel.shared.len();
        self.kernel.shared.push(shared);
        Val::Shared(SharedVal {
            alloc,
            dtype,
            axes: layout.axes.clone(),
            swizzle: layout.swizzle,
            offset: 0,
            dynamic: Vec::new(),
            block: None,
        })
    }
}
