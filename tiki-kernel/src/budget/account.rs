//! A register bound as sentences: what each register holds at the fullest point, in the author's names, and how the
//! numbers add up.

use super::registers::Bound;
use crate::ir::{Kernel, Type};

/// What the assembler takes beside what is alive, as [`Bound::items`] names it.
pub(super) const KEPT: &str = "kept by the assembler";
/// What has no name of the author's.
pub(super) const UNNAMED: &str = "temporaries";

/// What the lowering calls a register's content, and the words for it. `{}` is what stands behind the name's last
/// `of `, or behind `argument `.
const WORDS: &[(&str, &str)] = &[
    (
        UNNAMED,
        "values without a name: what one operation gives and the next one takes",
    ),
    (
        "predicates",
        "what guards compare: how much of a tile lies inside its tensor",
    ),
    ("thread's place", "the place of the thread in its tile"),
    (
        "thread and block numbers",
        "the numbers of thread and block",
    ),
    ("loop counter", "counters of loops"),
    ("left fragments", "fragments of a product's left operand"),
    ("right fragments", "fragments of a product's right operand"),
    ("cache policy", "the cache policy of loads and stores"),
    (
        "rests of f32 as tf32",
        "what rounding f32 to tf32 has left over",
    ),
    (
        "partial values of a reduction",
        "partial values of a reduction: one for each result that the thread has a share in",
    ),
    (
        "sums of a scan",
        "sums of a scan: one for each run of neighbours that the thread has",
    ),
    (
        "address of scratch",
        "the address of a reduction's scratch in shared memory",
    ),
    ("address of tensor maps", "the addresses of tensor maps"),
    ("argument {}", "the argument `{}`"),
    ("pitch of {}", "how far apart rows of `{}` lie"),
    (
        "coordinates of {}",
        "coordinates of the tiles that are copied of `{}`",
    ),
    (
        "descriptors of {}",
        "descriptors by which products read `{}`",
    ),
];

/// The bound as sentences: first the sum, then an item each.
pub(super) fn sentences(kernel: &Kernel, bound: &Bound, files: &[(u32, String)]) -> Vec<String> {
    let place = bound.at.and_then(|at| {
        let (_, path) = files.iter().find(|(n, _)| *n == at.file)?;
        let name = path.rsplit(['/', '\\']).next()?;
        Some(format!(" at {name}:{}", at.line))
    });
    let place = place.unwrap_or_default();
    let (kept, live): (Vec<_>, Vec<_>) = bound.items.iter().partition(|i| i.0 == KEPT);
    let sum = |items: &[&(String, u32)]| items.iter().map(|i| i.1).sum::<u32>();
    let items = live.iter().map(|(name, n)| {
        let verb = if *n == 1 { "holds" } else { "hold" };
        format!("{n} {verb} {}", held(kernel, name, *n))
    });
    let (live, kept) = (sum(&live), sum(&kept));
    let first = format!(
        "{live} registers of a thread are in use at once{place}, and the assembler needs {kept} more for what it inserts: \
         {live} + {kept} = {}",
        live + kept
    );
    [first].into_iter().chain(items).collect()
}

/// What registers of this name hold.
fn held(kernel: &Kernel, name: &str, registers: u32) -> String {
    for (pattern, words) in WORDS {
        match pattern.strip_suffix("{}") {
            None if *pattern == name => return (*words).to_owned(),
            Some(begin) => {
                if let Some(of) = name.strip_prefix(begin) {
                    return words.replace("{}", of);
                }
            }
            None => {}
        }
    }
    if let Some(of) = name.strip_prefix("address of ") {
        let global = kernel.params.iter().any(|p| p.name == of);
        return match (global, registers) {
            (true, 2) => format!("an address in `{of}`, of 64 bits"),
            (true, n) => format!("addresses in `{of}`: {n} / 2 = {} of 64 bits each", n / 2),
            (false, 1) => format!("an address in the shared tensor `{of}`"),
            (false, _) => format!("addresses in the shared tensor `{of}`"),
        };
    }
    let types = kernel.values.iter().map(|v| (&v.name, &v.ty));
    let types = types.chain(kernel.vars.iter().map(|v| (&v.name, &v.ty)));
    let named = types.filter(|(n, _)| *n == name);
    let tiles: Vec<(usize, u32, u32)> = named
        .filter_map(|(_, ty)| match ty {
            Type::Tensor(t) => Some((t.dist.len(), t.dtype.bytes() * 8, t.shape.iter().product())),
            Type::Scalar(_) => None,
        })
        .collect();
    let words = |(count, bits, _): &(usize, u32, u32)| (*count as u32 * bits).div_ceil(32);
    let exact = tiles.iter().find(|t| words(t) == registers);
    match exact.or(tiles.iter().max_by_key(|t| words(t))) {
        Some(t @ (count, bits, all)) => {
            let sum = match bits {
                32 => String::new(),
                _ => format!(" ({count} x {bits} / 32 = {})", words(t)),
            };
            let part = if words(t) > registers {
                "a part of "
            } else {
                ""
            };
            let more = match registers.checked_sub(words(t)) {
                Some(more) if more > 0 => format!(", and {more} for what is computed of it"),
                _ => String::new(),
            };
            format!(
                "{part}`{name}`: a thread has {count} of its {all} elements, of {bits} bits each{sum}{more}"
            )
        }
        None => format!("`{name}`"),
    }
}
