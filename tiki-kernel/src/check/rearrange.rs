//! The storage of a shared tensor under another layout.

use super::Check;
use super::call::Call;
use super::value::{SharedVal, Val};
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
}
