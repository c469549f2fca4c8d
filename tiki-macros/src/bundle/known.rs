//! Names the kernel language already has, and names a device item cannot take.

use tiki_kernel::ops::{self, Receiver};

/// Types, functions and constants of the prelude: a path that starts with one needs no tokens.
const PRELUDE: &[&str] = &[
    // Types and their marks.
    "Atomic",
    "Barrier",
    "Block",
    "ColVector",
    "Compact",
    "Dim3",
    "Element",
    "Float",
    "Gemm",
    "Global",
    "Half",
    "Int32",
    "Integer",
    "Layout",
    "Load",
    "Number",
    "Operand",
    "Order",
    "Peer",
    "Pending",
    "Pipeline",
    "Raw",
    "Register",
    "RowVector",
    "Scope",
    "ScalarOps",
    "Shared",
    "Stages",
    "Store",
    "Strided",
    "Swizzle",
    "ThreadMap",
    "Tiles",
    "TilesIter",
    "View",
    "ViewMut",
    "Warp",
    "Word",
    "Workspace",
    // Element types.
    "bf16",
    "bool",
    "e4m3",
    "e5m2",
    "f16",
    "f32",
    "f64",
    "i16",
    "i32",
    "i64",
    "i8",
    "isize",
    "tf32",
    "u16",
    "u32",
    "u64",
    "u8",
    "usize",
    // Rust's own.
    "Fn",
    "FnMut",
    "None",
    "Option",
    "Some",
    "core",
    "std",
    "tiki",
];

/// Types of the standard prelude, which no device item is hidden behind: rustc says what is wrong with them.
const OF_STD: &[&str] = &["Arc", "Box", "Rc", "Result", "String", "Vec"];

/// Whether a path that starts so is the language's own, or surely no device item.
pub(super) fn is_known(first: &str) -> bool {
    PRELUDE.contains(&first)
        || OF_STD.contains(&first)
        || FUNCTIONS.contains(&first)
        || ops::find(Receiver::Free, first).is_some()
}

/// Free functions of the prelude that the table of operations does not have yet: roles, clusters and
/// asynchronous copies.
const FUNCTIONS: &[&str] = &[
    "cluster_rank",
    "cluster_sync",
    "dependent_launch",
    "dependent_wait",
    "elect_one",
    "fence_async",
    "set_registers",
    "warpgroup_idx",
    "warpgroup_wait",
];

/// Names that are macros of the standard library, derives, built-in attributes or macros of our own
/// prelude: a device item of that name would bring a second macro of it.
const TAKEN: &[&str] = &[
    "addr_of",
    "asm",
    "assert",
    "assert_eq",
    "assert_ne",
    "cfg",
    "cfg_select",
    "column",
    "compile_error",
    "concat",
    "dbg",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "env",
    "eprint",
    "eprintln",
    "file",
    "format",
    "format_args",
    "global_asm",
    "include",
    "include_bytes",
    "include_str",
    "line",
    "matches",
    "module_path",
    "offset_of",
    "option_env",
    "panic",
    "pin",
    "print",
    "println",
    "ready",
    "stringify",
    "thread_local",
    "todo",
    "unimplemented",
    "unreachable",
    "vec",
    "write",
    "writeln",
    // Derives.
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "Eq",
    "Hash",
    "Ord",
    "PartialEq",
    "PartialOrd",
    // Attributes.
    "allow",
    "automatically_derived",
    "bench",
    "cold",
    "deny",
    "deprecated",
    "derive",
    "doc",
    "expect",
    "export_name",
    "forbid",
    "global_allocator",
    "ignore",
    "inline",
    "link",
    "link_name",
    "link_section",
    "macro_export",
    "macro_use",
    "must_use",
    "naked",
    "no_link",
    "no_mangle",
    "no_std",
    "non_exhaustive",
    "path",
    "proc_macro",
    "recursion_limit",
    "repr",
    "should_panic",
    "target_feature",
    "test",
    "test_case",
    "track_caller",
    "type_length_limit",
    "used",
    "warn",
    // Ours.
    "device",
    "kernel",
    "kernel_set",
    "layout",
    "module",
    "ptx",
    "require",
];

/// Whether a device item cannot have this name.
pub(super) fn is_taken(name: &str) -> bool {
    TAKEN.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_both_known_and_taken() {
        let rows = ops::ROWS.iter().filter(|r| r.receiver == Receiver::Free);
        let rows: Vec<&str> = rows.map(|r| r.name).collect();
        for name in PRELUDE.iter().chain(FUNCTIONS).chain(&rows) {
            assert!(!is_taken(name), "{name}");
        }
    }
}
