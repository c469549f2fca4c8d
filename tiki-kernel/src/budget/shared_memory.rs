//! Shared memory: where allocations lie and what they take together, exactly.
//!
//! Allocations lie one after the other in the order of their declaration, each at the next multiple of
//! its alignment; one that reuses another's storage lies there and counts once. Up to 48 KiB the array is part of the module; above, it is dynamic and comes with the
//! launch.

use crate::diag::{Diag, Sink, codes};
use crate::ir::{Kernel, Shared};
use crate::report::Report;

/// Most bytes of shared memory a module can declare.
pub const STATIC_LIMIT: u32 = 48 * 1024;

/// Where everything lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Byte offset of each allocation.
    pub offsets: Vec<u32>,
    /// Bytes in all.
    pub bytes: u32,
    /// Alignment of the whole.
    pub align: u32,
    /// It comes with the launch.
    pub dynamic: bool,
}

/// Lays out a kernel's allocations. Saturates where the sum leaves `u32`.
#[must_use]
pub fn lay_out(kernel: &Kernel) -> Memory {
    let mut offsets = Vec::new();
    let mut end = 0_u64;
    let mut align = 16;
    for s in &kernel.shared {
        if let Some((whole, from)) = s.over {
            let at = u64::from(offsets[whole]) + u64::from(from);
            offsets.push(u32::try_from(at).unwrap_or(u32::MAX));
            // With fewer stages of the whole, this may reach past it.
            end = end.max(at + u64::from(s.bytes));
            continue;
        }
        let a = u64::from(s.align.max(1));
        end = end.div_ceil(a) * a;
        offsets.push(u32::try_from(end).unwrap_or(u32::MAX));
        end += u64::from(s.bytes);
        align = align.max(s.align);
    }
    let bytes = u32::try_from(end).unwrap_or(u32::MAX);
    Memory {
        offsets,
        bytes,
        align,
        dynamic: bytes > STATIC_LIMIT,
    }
}

/// Holds the allocations against the target's and the author's limit.
pub fn check(kernel: &Kernel, sink: &mut Sink, report: &mut Report) -> Memory {
    let memory = lay_out(kernel);
    for (s, offset) in kernel.shared.iter().zip(&memory.offsets) {
        report
            .add(
                "shared memory",
                s.span,
                &s.name,
                format!("{} at byte {offset}: {}", size(s.bytes), s.detail),
            )
            .number("bytes", s.bytes.into())
            .number("offset", (*offset).into());
    }
    let row = kernel.target.row();
    let (limit, whose) = match kernel.shared_budget {
        Some(b) if b < row.shared_per_block => (b, format!("its budget is {}", size(b))),
        _ => (
            row.shared_per_block,
            format!("{} has {}", row.name, size(row.shared_per_block)),
        ),
    };
    if memory.bytes <= limit {
        return memory;
    }
    let own = kernel.shared.iter().filter(|s| s.over.is_none());
    let mut by_size: Vec<&Shared> = own.collect();
    by_size.sort_by_key(|s| std::cmp::Reverse(s.bytes));
    let largest = by_size.first().map_or(kernel.span, |s| s.span);
    let mut diag = Diag::error(
        codes::SHARED_LIMIT,
        largest,
        format!(
            "kernel `{}` needs {} of shared memory per block; {whose}",
            kernel.entry,
            size(memory.bytes)
        ),
    );
    for (i, s) in by_size.iter().enumerate() {
        let text = format!("`{}` takes {}: {}", s.name, size(s.bytes), s.detail);
        diag = if i == 0 {
            diag.label(text)
        } else {
            diag.also(s.span, text)
        };
    }
    if let Some((stages, bytes)) = fewer_stages(kernel, limit) {
        diag = diag.help(format!(
            "with {stages} stages of each it takes {} and fits",
            size(bytes)
        ));
    }
    sink.push(diag);
    memory
}

/// The most stages with which it fits, and its bytes then: every staged allocation cut to as many.
fn fewer_stages(kernel: &Kernel, limit: u32) -> Option<(u32, u32)> {
    let most = kernel.shared.iter().map(|s| s.stages).max()?;
    (1..most).rev().find_map(|n| {
        let mut cut = kernel.clone();
        for s in &mut cut.shared {
            if s.stages > n {
                s.bytes = s.bytes / s.stages * n;
                s.stages = n;
            }
        }
        let bytes = lay_out(&cut).bytes;
        (bytes <= limit).then_some((n, bytes))
    })
}

/// Bytes for people: whole KiB where they are whole.
#[must_use]
pub fn size(bytes: u32) -> String {
    if bytes >= 1024 && bytes.is_multiple_of(1024) {
        format!("{} KiB", bytes / 1024)
    } else {
        format!("{bytes} bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::ir::build::Builder;
    use crate::target::Target;

    #[test]
    fn too_many_stages_are_told_with_a_number_that_fits() {
        let target = Target::all().last().unwrap();
        let mut b = Builder::new("gemm", target, 128);
        for name in ["a_s", "b_s"] {
            let at = b.shared(name, DType::F16, 4 * 128 * 128);
            b.kernel.shared[at].stages = 4;
            b.kernel.shared[at].detail = "4 stages x 128 x 128 x 2 bytes".into();
        }
        b.shared("bias", DType::F32, 2048);
        let mut sink = Sink::new();
        check(&b.finish(), &mut sink, &mut Report::default());
        let found = sink.take();
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("264 KiB"), "{}", found[0].message);
        assert_eq!(
            found[0].helps,
            ["with 3 stages of each it takes 200 KiB and fits"]
        );
    }
}
