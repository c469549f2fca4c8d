//! How long the compiler waits for the algebra: the layouts of the GEMM and attention kernels.
//!
//! `cargo bench -p tiki-layout`. Every operation is meant to take less than 2 microseconds.

use divan::{Bencher, black_box};
use tiki_layout::atoms::SharedAtom;
use tiki_layout::{Composed, Coordinates, Layout, Tiler, Tuple};

fn main() {
    divan::main();
}

fn layout(text: &str) -> Layout {
    text.parse().expect("a layout")
}

fn tiler(text: &str) -> Tiler {
    text.parse().expect("a tiler")
}

/// Global tensors, block tiles and shared stages, as (left operand, right operand).
const COMPOSITIONS: &[(&str, &str)] = &[
    // A shared stage of 128 by 64 in 8 by 64 patterns, read through a warp's 16 by 16 tile.
    ("((8,16),(64,1)):((64,512),(1,0))", "(16,16):(1,128)"),
    // The accumulator of a warpgroup over a 64 by 256 tile.
    (
        "(64,256):(256,1)",
        "((4,8,4),(2,2,32)):((128,1,16),(64,8,512))",
    ),
    // An m16n8 accumulator over a row-major tile.
    ("(128,128):(128,1)", "((4,8),(2,2)):((256,1),(128,1024))"),
    // 256 threads, 8 values each.
    ("(128,64):(64,1)", "(256,(8,4)):(8,(1,2048))"),
];

#[divan::bench(args = 0..COMPOSITIONS.len())]
fn compose(bencher: Bencher<'_, '_>, case: usize) {
    let (a, b) = (layout(COMPOSITIONS[case].0), layout(COMPOSITIONS[case].1));
    assert!(a.compose(&b).is_ok());
    bencher.bench(|| black_box(&a).compose(black_box(&b)));
}

const DIVISIONS: &[(&str, &str)] = &[
    ("(4096,4096):(4096,1)", "<128,64>"),
    ("(128,64):(64,1)", "<16,16>"),
    ("((8,16),(64,1)):((64,512),(1,0))", "<64,16>"),
    ("(128,256):(256,1)", "<32:1,16:2>"),
];

#[divan::bench(args = 0..DIVISIONS.len())]
fn logical_divide(bencher: Bencher<'_, '_>, case: usize) {
    let (a, t) = (layout(DIVISIONS[case].0), tiler(DIVISIONS[case].1));
    assert!(a.logical_divide(&t).is_ok());
    bencher.bench(|| black_box(&a).logical_divide(black_box(&t)));
}

#[divan::bench(args = 0..DIVISIONS.len())]
fn zipped_divide(bencher: Bencher<'_, '_>, case: usize) {
    let (a, t) = (layout(DIVISIONS[case].0), tiler(DIVISIONS[case].1));
    bencher.bench(|| black_box(&a).zipped_divide(black_box(&t)));
}

const COMPLEMENTS: &[(&str, i64)] = &[
    ("(16,16):(1,128)", 16384),
    ("(8,64):(64,1)", 8192),
    ("((4,8),(2,2)):((32,1),(16,8))", 2048),
    ("128:1", 4096),
];

#[divan::bench(args = 0..COMPLEMENTS.len())]
fn complement(bencher: Bencher<'_, '_>, case: usize) {
    let (a, bound) = (layout(COMPLEMENTS[case].0), COMPLEMENTS[case].1);
    assert!(a.complement_in(bound).is_ok());
    bencher.bench(|| black_box(&a).complement_in(black_box(bound)));
}

#[divan::bench]
fn coalesce(bencher: Bencher<'_, '_>) {
    let a = layout("((8,16),(64,1)):((64,512),(1,0))");
    bencher.bench(|| black_box(&a).coalesce());
}

#[divan::bench]
fn right_inverse(bencher: Bencher<'_, '_>) {
    let a = layout("((4,8,4),(2,2,32)):((128,1,16),(64,8,512))");
    bencher.bench(|| black_box(&a).right_inverse());
}

#[divan::bench]
fn shared_stage(bencher: Bencher<'_, '_>) {
    bencher.bench(|| SharedAtom::k_major(black_box(128), 64, 16));
}

#[divan::bench]
fn slice_of_a_swizzled_stage(bencher: Bencher<'_, '_>) {
    let stage: Composed = SharedAtom::k_major(128, 64, 16).expect("a stage");
    let tiler = tiler("<64,16>");
    bencher.bench(|| black_box(&stage).local_tile(&tiler, [1, 2], None));
}

#[divan::bench]
fn coordinates_of_a_tile(bencher: Bencher<'_, '_>) {
    let all = Coordinates::identity(Tuple::from([4096, 4096])).expect("coordinates");
    let tiler = tiler("<128,64>");
    bencher.bench(|| black_box(&all).local_tile(&tiler, [3, 5]));
}
