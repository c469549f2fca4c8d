//! Tensor-core products: the machine against records of an NVIDIA GPU.
//!
//! Invariant: equal bits in every output. Forms and kinds of numbers that differ would stand in
//! `tests/cores/known.txt`, one `form kind` a line; no other may differ. Witness: for each form of
//! `tests/cores/forms.ptx`, 114,688 tiles of 16 x 8 outputs, of seven kinds of numbers: ordinary ones, any bits,
//! exponents far apart, subnormal, hardly anything but zeros, the largest, and some infinities and NaN. A plain
//! run holds the first batch of each kind, a run with `TIKI_ALL` set all of them.
//!
//! The record (`tests/cores/h200.txt`) has a hash for each batch of tiles; inputs come from a generator. With the
//! feature `gpu`, `BLESS=1 TIKI_RECORD=FILE cargo test -p tiki-launch --features gpu --test cores record` makes a record
//! anew, runs the machine beside the card, and says of each difference which operands led to it.
#![cfg_attr(not(feature = "gpu"), allow(dead_code))]

#[path = "cores/inputs.rs"]
mod inputs;

use inputs::{FORMS, Form, KINDS};
use tiki_launch::{Call, Device, Kernel, RawParam, Tensor};

/// Batches of a form; the kinds take turns.
const BATCHES: usize = 112;
/// Tiles of a batch, 16 x 8 outputs each.
const TILES: usize = 1024;

fn load(device: &Device, f: &Form) -> Kernel {
    let params = [
        RawParam::input::<u32>("inputs"),
        RawParam::output::<u32>("outputs"),
    ];
    Kernel::from_ptx(include_str!("cores/forms.ptx"), f.name, params)
        .threads([128, 1, 1])
        .load(device)
        .unwrap_or_else(|e| panic!("{}: {e}", f.name))
}

fn run(kernel: &Kernel, f: &Form, words: &[u32]) -> Vec<u32> {
    let device = kernel.device();
    let launches = words.len() / f.words();
    let blocks = if f.group { launches } else { launches / 4 };
    let x: Tensor<u32, 1> = device.tensor_from(words, [words.len()]).unwrap();
    let mut y: Tensor<u32, 1> = device.zeros([launches * f.outputs()]).unwrap();
    let stream = device.stream();
    let mut call = Call::raw(&stream, kernel).unwrap();
    call.tensor(0, &x)
        .and_then(|c| c.tensor_mut(1, &mut y))
        .and_then(|c| c.grid([blocks as u64, 1, 1]))
        .and_then(|c| Ok(c.launch()?))
        .unwrap_or_else(|e| panic!("{}: {e}", f.name));
    drop(call);
    y.to_vec().unwrap()
}

fn hash(words: &[u32]) -> u64 {
    words.iter().fold(0xcbf2_9ce4_8422_2325, |h, w| {
        (h ^ u64::from(*w))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(23)
    })
}

#[test]
fn sums_are_those_of_a_card() {
    let vm = Device::vm().unwrap();
    let known: Vec<&str> = include_str!("cores/known.txt").lines().collect();
    let mut seen = vec![];
    let record = include_str!("cores/h200.txt");
    let mut batches = 0;
    let some = if std::env::var_os("TIKI_ALL").is_some() {
        BATCHES
    } else {
        KINDS
    };
    for f in FORMS {
        let kernel = load(&vm, f);
        for b in 0..some {
            let kind = b % KINDS;
            let out = run(&kernel, f, &f.inputs(b, TILES));
            let head = format!("{} {b} ", f.name);
            let want = record.lines().find_map(|l| l.strip_prefix(&head));
            let want = want.unwrap_or_else(|| panic!("no record of {head}"));
            batches += 1;
            let what = format!("{} {kind}", f.name);
            if want != format!("{:016x}", hash(&out)) && !seen.contains(&what) {
                seen.push(what);
            }
        }
    }
    assert_eq!(batches, FORMS.len() * some);
    assert_eq!(
        seen, known,
        "forms and kinds that differ, and those known to"
    );
}

/// Makes the record, and compares.
#[test]
#[cfg(feature = "gpu")]
fn record() {
    if std::env::var_os("BLESS").is_none() {
        return;
    }
    let (gpu, vm) = (Device::cuda(0).unwrap(), Device::vm().unwrap());
    let mut lines = format!("{} (driver {})\n", gpu.name(), gpu.driver());
    for f in FORMS {
        let (card, own) = (load(&gpu, f), load(&vm, f));
        let (mut differ, mut told) = ([0usize; KINDS], [0usize; KINDS]);
        for b in 0..BATCHES {
            let words = f.inputs(b, TILES);
            let (theirs, ours) = (run(&card, f, &words), run(&own, f, &words));
            lines += &format!("{} {b} {:016x}\n", f.name, hash(&theirs));
            for (at, (g, v)) in theirs.iter().zip(&ours).enumerate() {
                if g != v {
                    differ[b % KINDS] += 1;
                    told[b % KINDS] += 1;
                    if told[b % KINDS] <= 6 {
                        println!(
                            "{} kind {}: {}",
                            f.name,
                            b % KINDS,
                            f.explain(&words, at, *g, *v)
                        );
                    }
                }
            }
        }
        println!("{}: outputs that differ, by kind: {differ:?}", f.name);
    }
    std::fs::write(std::env::var("TIKI_RECORD").expect("TIKI_RECORD"), lines).unwrap();
}
