//! The PTX of the memory-bound kernels holds what their authors wrote: accesses by width, barriers and shuffles, counted
//! a line of the source.
//!
//! Invariant: nothing else touches memory or makes threads wait. Witness: `tests/counts/NAME.txt`, one line for each line of
//! the source that has any, as it stands in the source, so that a change elsewhere in the file is no change here.
//! `BLESS=1 cargo test --test counts` rewrites them; the difference is what is reviewed.

mod suite;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use suite::kernels::{
    add::add,
    cast::cast,
    cross_entropy::{cross_entropy, cross_entropy_backward},
    layer_norm::{add_layer_norm, layer_norm},
    layer_norm_backward::{column_sums, layer_norm_backward, layer_norm_backward_ring},
    long_rows::{layer_norm_long, rms_norm_long, softmax_long},
    permute::{permute, swap_last},
    recurrence::{recurrence, recurrence_ring},
    recurrence_hopper::recurrence_hopper,
    recurrence_rows::recurrence_rows,
    rms_norm::{add_rms_norm, rms_norm},
    rms_norm_backward::{column_sum, rms_norm_backward, rms_norm_backward_ring},
    rope::{rope_halves, rope_pairs},
    row_sum::{row_argmax, row_argmax_of, row_extremes, row_sum},
    scan::{scan, scan_ring},
    scan_columns::{scan_columns, scan_columns_ring},
    scan_columns_hopper::scan_columns_hopper,
    silu::{gelu_mul, silu_mul},
    softmax::{log_softmax_rows, softmax, softmax_rows},
    softmax_backward::{log_softmax_backward, softmax_backward},
    transpose::transpose,
};
use tiki::__private::Artifact;
use tiki::compiler::isa::Space;
use tiki::compiler::isa::effects::{Barrier, Effects, Where};
use tiki::compiler::ptx::{Module, Stmt};
use tiki::prelude::*;

/// Whether an instruction is one that is counted.
fn counts(effects: &Effects, space: Space) -> bool {
    let memory = effects.reads != Where::Nothing || effects.writes != Where::Nothing;
    memory && space != Space::Param || effects.barrier != Barrier::No || effects.convergent
}

/// What an instance does, a line of its source.
fn counted(artifact: &Artifact) -> String {
    let module = Module::parse(artifact.ptx).expect("our own text");
    let mut lines: BTreeMap<(u32, u32), BTreeMap<String, u32>> = BTreeMap::new();
    for function in &module.functions {
        for stmt in function.body.iter().flatten() {
            let Stmt::Inst(i) = stmt else { continue };
            if counts(&i.op.row.effects, i.op.space()) {
                let at = i.loc.map_or((0, 0), |l| (l.file, l.line));
                *lines
                    .entry(at)
                    .or_default()
                    .entry(i.op.to_string())
                    .or_default() += 1;
            }
        }
    }
    let sources: BTreeMap<u32, String> = module
        .files
        .iter()
        .map(|(number, path)| {
            let here = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
            (*number, std::fs::read_to_string(here).unwrap_or_default())
        })
        .collect();
    let mut out = format!("{}\n", artifact.instance);
    for ((file, line), ops) in lines {
        let source = sources.get(&file).map_or("", String::as_str);
        let source = source.lines().nth(line.saturating_sub(1) as usize);
        let _ = writeln!(out, "    {}", source.unwrap_or("").trim());
        for (op, count) in ops {
            let _ = writeln!(out, "        {count:3} {op}");
        }
    }
    out
}

macro_rules! instances {
    ($($name:literal: $($kernel:ident $(<$($arg:tt),*>)?),*;)*) => {
        &[$(($name, &[$($kernel $(::<$($arg),*>)?::ARTIFACT),*])),*]
    };
}

#[test]
fn the_text_holds_what_is_written() {
    let all: &[(&str, &[&Artifact])] = instances! {
        "columns": scan_columns_ring<bf16, 0, false, false, 256, 64, 8, 128, 3, 2, 8, 4>, scan_columns_hopper<bf16, 0, false, false, 256, 64, 4, 8, 3>, recurrence_rows<bf16, false, false, 4096, 8, 128, 3, 4>;
        "norms": rms_norm<f16, 4096, 256>, rms_norm<f32, 1024, 128>, layer_norm<f32, 4096, 512>, add_rms_norm<f16, 4096, 512>, add_layer_norm<f32, 4096, 256>;
        "long_rows": rms_norm_long<f16, 8>, layer_norm_long<f32, 4>, softmax_long<f32, false, 4>, softmax_long<bf16, true, 8>;
        "softmax": softmax_rows<bf16, 1024, 64>, softmax_rows<f32, 4096, 512>, softmax_backward<f32, 4096, 1024>, softmax_backward<f16, 4096, 512>, softmax<f32, 1024, 128>, log_softmax_rows<f16, 4096, 128>, log_softmax_backward<f16, 4096, 256>;
        "gradients": rms_norm_backward<f16, 4096, 256>, layer_norm_backward<f32, 4096, 512>, rms_norm_backward_ring<f16, 4096, 256, 3>, layer_norm_backward_ring<bf16, 4096, 512, 3>, column_sum<f32>, column_sums<bf16>;
        "elements": add, silu_mul<f16>, rope_halves<f16, 64, false>, gelu_mul<f32>, cast<f32, f16>, rope_pairs<f32, 32, true>;
        "rows": row_sum<f16, 8>, row_argmax_of<f32, 4096, 128>, cross_entropy<f16, 8, 128, 6>, row_argmax<f16, 1024, 64>, row_extremes<f32, 4>, cross_entropy_backward<f32, 4>;
        "transpose": transpose<4>, permute<f16>, swap_last<f32>;
        "scans": scan<f32, 0, false, false, 4096, 1, 256, 2>, scan_ring<f32, 0, false, false, 4608, 4, 128, 4, 2, 4, 3>, scan_ring<f16, 0, false, false, 8192, 8, 128, 4, 2, 4, 3>, recurrence<f32, false, false, 2048, 1, 256, 2>, recurrence_ring<f32, false, false, 4608, 4, 128, 3, 1, 3, 2>, recurrence_hopper<f32, false, false, 6, 3>, scan_columns<f32, 0, false, false, 256, 64, 4, 256, 4, 4>;
    };
    let mut wrong = Vec::new();
    for (name, artifacts) in all {
        let text: Vec<String> = artifacts.iter().map(|a| counted(a)).collect();
        let text = text.join("\n");
        let path = format!("{}/tests/counts/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, text).expect("the golden is written");
            continue;
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        if golden != text {
            let first = golden.lines().zip(text.lines()).find(|(a, b)| a != b);
            wrong.push(format!("{path}: first at {first:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Invariant: every kernel of the memory-bound examples is counted. Witness: the names of their sources.
#[test]
fn every_kernel_is_counted() {
    if std::env::var_os("BLESS").is_some() {
        return; // they are being written
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let golden = |file: std::fs::DirEntry| std::fs::read_to_string(file.path()).unwrap_or_default();
    let folder = std::fs::read_dir(root.join("tests/counts")).expect("the goldens");
    let goldens: Vec<String> = folder.flatten().map(golden).collect();
    // An instance's title is the one line at the margin.
    let titles: Vec<&str> = goldens
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split('<').next())
        .collect();
    let list = std::fs::read_to_string(root.join("tests/suite/kernels.rs")).expect("the list");
    let mut kernels = Vec::new();
    for path in list
        .lines()
        .filter_map(|l| l.strip_prefix("#[path = \"../../"))
    {
        let path = path.trim_end_matches("\"]");
        let source = std::fs::read_to_string(root.join(path)).expect("an example");
        for part in source.split("#[tiki::kernel").skip(1) {
            let name = part.split("pub fn ").nth(1).unwrap_or_default();
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
            kernels.push(name[..end.unwrap_or(0)].to_owned());
        }
    }
    assert!(kernels.len() > 25, "{kernels:?}");
    let missing: Vec<&String> = kernels
        .iter()
        .filter(|k| !titles.contains(&k.as_str()))
        .collect();
    assert!(missing.is_empty(), "{missing:?} have no counts");
}
