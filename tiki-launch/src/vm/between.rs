//! Whether blocks can see one another before a launch ends.
//!
//! Blocks that cannot run on any number of host threads. Those that can run on one, in turns: what they do depends on
//! their order. Whole numbers that blocks only add to memory (or combine by one and the same operation) and nobody
//! asks back are the same in any order, so that such blocks cannot see one another either.

use crate::vm::meaning::{Ask, Meaning, meaning};
use tiki_kernel::isa::{Op, Space};
use tiki_kernel::ptx::Function;

/// What an instruction lets blocks see of one another.
enum Sight<'a> {
    Nothing,
    /// What it leaves in memory, if others do not combine in another way: operation and type.
    Sums(&'a str, &'a str),
    All,
}

fn sight(op: &Op) -> Sight<'_> {
    let Some(Meaning::Asks(ask)) = meaning(op.row) else {
        return Sight::Nothing;
    };
    let outside = |space: Space| !matches!(space, Space::Shared | Space::SharedCta);
    match ask(op) {
        Some(Ask::Load(a) | Ask::Store(a)) if a.strong && outside(a.space) => Sight::All,
        Some(Ask::Atomic(a)) if outside(a.space) => match (op.get("op"), op.get("t")) {
            // Counters that wrap at a bound of their own depend on the order of the bounds.
            (Some(how @ ("add" | "min" | "max" | "and" | "or" | "xor")), Some(ty))
                if !a.ordered && a.old.is_none() && (a.bytes, a.count) == (4, 1) =>
            {
                Sight::Sums(how, ty)
            }
            _ => Sight::All,
        },
        Some(Ask::BulkStore { reduce: Some(_) } | Ask::BoxStore { reduce: Some(_) }) => Sight::All,
        _ => Sight::Nothing,
    }
}

/// Whether blocks that run these functions can.
pub(super) fn communicates(functions: &[&Function]) -> bool {
    let mut sums = None;
    let ops = functions.iter().flat_map(|f| f.insts()).map(|(_, i)| &i.op);
    for op in ops {
        match sight(op) {
            Sight::Nothing => {}
            Sight::Sums(how, ty) if *sums.get_or_insert((how, ty)) == (how, ty) => {}
            Sight::Sums(..) | Sight::All => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::Vm;

    /// Invariant: only sums of whole numbers that commute and that nobody asks back leave blocks apart. Witness: the
    /// body of the kernel.
    #[test]
    fn sums_in_any_order_leave_blocks_apart() {
        let vm = Vm::new();
        for (body, want) in [
            ("st.global.u32 [%a], %r;", false),
            ("red.global.add.u32 [%a], %r;", false),
            (
                "red.global.add.u32 [%a], %r; red.global.add.u32 [%a+4], 1;",
                false,
            ),
            ("red.global.xor.b32 [%a], %r;", false),
            (
                "red.shared.add.f32 [s], %f; red.global.max.s32 [%a], %r;",
                false,
            ),
            (
                "red.global.add.u32 [%a], %r; red.global.xor.b32 [%a], %r;",
                true,
            ),
            (
                "red.global.max.s32 [%a], %r; red.global.max.u32 [%a], %r;",
                true,
            ),
            ("red.global.inc.u32 [%a], %r;", true),
            ("red.global.add.f32 [%a], %f;", true),
            ("atom.global.add.u32 %r, [%a], %r;", true),
            (
                "ld.relaxed.gpu.global.u32 %r, [%a]; red.global.add.u32 [%a], 1;",
                true,
            ),
        ] {
            let text = format!(
                ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{
                .reg .b64 %a; .reg .b32 %r; .reg .f32 %f; .shared .align 4 .b8 s[4];
                ld.param.u64 %a, [p]; mov.u32 %r, %ctaid.x; mov.f32 %f, 0f3F800000; {body} ret; }}"
            );
            let program = vm.load(&text).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(program.kernels["k"].communicates, want, "{body}");
        }
    }
}
