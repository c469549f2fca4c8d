//! Every form of the instruction table that computes in registers: the machine against an NVIDIA GPU.
//!
//! Invariant: equal bits on every lane, except for the approximate unit, whose results lie within the bounds of
//! `tests/silicon/bounds.rs`.
//! No form may differ; `tests/silicon/h200.txt` is the last record.
//! Witness: each form that the assembler accepts (`tests/silicon/forms.txt`, one a line), on 8192 lanes of corner
//! and random operands. Without a GPU (feature `gpu`) the machine alone runs them: none may be refused.
//!
//! `BLESS=1 TIKI_FORMS=.. cargo test -p tiki-launch --features gpu --test silicon record` writes the list anew.
#![cfg_attr(not(feature = "gpu"), allow(dead_code))]

#[path = "silicon/bounds.rs"]
mod bounds;
#[path = "silicon/inputs.rs"]
mod inputs;
#[path = "silicon/kernel.rs"]
mod kernel;

use std::collections::BTreeMap;
use tiki_kernel::isa::{self, Op};
use tiki_kernel::target::Target;
use tiki_launch::{Call, Device, Kernel, RawParam, Tensor};

const LANES: usize = 8192;
const OPERANDS: usize = 5;
const AT_ONCE: usize = 48;

fn list() -> String {
    std::env::var("TIKI_FORMS")
        .unwrap_or_else(|_| format!("{}/tests/silicon/forms.txt", env!("CARGO_MANIFEST_DIR")))
}

fn target() -> Target {
    Target::all().max_by_key(|t| t.row().capability).unwrap()
}

/// The forms of the list, by row.
fn forms() -> BTreeMap<String, Vec<Op>> {
    let mut out: BTreeMap<String, Vec<Op>> = BTreeMap::new();
    for line in std::fs::read_to_string(list()).unwrap().lines() {
        let (page, text) = line.split_once(' ').unwrap();
        let op = isa::read(text)
            .into_iter()
            .find(|o| page == o.row.name)
            .unwrap_or_else(|| panic!("no row for {line}"));
        out.entry(format!("{page} {}", op.row.operands))
            .or_default()
            .push(op);
    }
    out
}

fn run(device: &Device, ops: &[Op], inputs: &[u64]) -> Result<Vec<u64>, String> {
    let text = kernel::module(ops, LANES as u32, target()).to_string();
    let params = [
        RawParam::input::<u64>("inputs"),
        RawParam::output::<u64>("outputs"),
    ];
    let k = Kernel::from_ptx(&text, "forms", params)
        .threads([128, 1, 1])
        .load(device)
        .map_err(|e| format!("{e}\n{text}"))?;
    let stream = device.stream();
    let x: Tensor<u64, 1> = device
        .tensor_from(inputs, [inputs.len()])
        .map_err(|e| e.to_string())?;
    let n = ops.len() * kernel::RESULTS * LANES;
    let mut y: Tensor<u64, 1> = device.zeros([n]).map_err(|e| e.to_string())?;
    let mut call = Call::raw(&stream, &k).map_err(|e| e.to_string())?;
    call.tensor(0, &x)
        .and_then(|c| c.tensor_mut(1, &mut y))
        .and_then(|c| c.grid([LANES as u64 / 128, 1, 1]))
        .and_then(|c| Ok(c.launch()?))
        .map_err(|e| e.to_string())?;
    drop(call);
    y.to_vec().map_err(|e| e.to_string())
}

#[test]
fn the_machine_runs_every_form() {
    let vm = Device::vm().unwrap();
    let words = inputs::inputs(1, OPERANDS, LANES);
    let all = forms();
    assert!(all.values().map(Vec::len).sum::<usize>() > 1000);
    for (row, ops) in &all {
        // One of every row, and the last: the whole list runs beside a GPU.
        let some = [ops[0], ops[ops.len() - 1]];
        run(&vm, &some, &words).unwrap_or_else(|e| panic!("{row}: {e}"));
    }
}

/// The same bits on every CPU level, form by form; a host without the better level has nothing to compare.
#[test]
fn both_levels_give_the_same_bits() {
    use tiki_launch::vm::{Arg, Level, Options, Vm};
    const FEW: usize = 512;
    let words = inputs::inputs(3, OPERANDS, FEW);
    let vm = Vm::new();
    let put = |bytes: &[u8], name: &str| {
        let at = vm.alloc(bytes.len() as u64, name).unwrap();
        vm.write(at, bytes).unwrap();
        at
    };
    let x = put(bytemuck::cast_slice(&words), "inputs");
    let mut compared = 0;
    for (row, ops) in &forms() {
        for part in ops.chunks(AT_ONCE) {
            let text = kernel::module(part, FEW as u32, target()).to_string();
            let program = vm.load(&text).unwrap_or_else(|e| panic!("{row}: {e}"));
            let n = part.len() * kernel::RESULTS * FEW;
            let [base, best] = [Level::Base, Level::detect()].map(|level| {
                let mut out = vec![0u64; n];
                let y = put(bytemuck::cast_slice(&out), "outputs");
                let options = Options {
                    level: Some(level),
                    ..Options::default()
                };
                let args = [Arg::Address(x), Arg::Address(y)];
                let grid = [FEW as u32 / 128, 1, 1];
                vm.launch(&program, "forms", grid, [128, 1, 1], 0, &args, &options)
                    .unwrap_or_else(|e| panic!("{row}: {e}"));
                vm.read(y, bytemuck::cast_slice_mut(&mut out)).unwrap();
                vm.free(y);
                out
            });
            for (i, (a, b)) in base.iter().zip(&best).enumerate() {
                let op = &part[i / (kernel::RESULTS * FEW)];
                assert_eq!(
                    a,
                    b,
                    "{op}: lane {} result {}",
                    i % FEW,
                    i / FEW % kernel::RESULTS
                );
            }
            compared += part.len();
            vm.unload(program);
        }
    }
    assert!(compared > 1000, "{compared} forms");
}

#[test]
#[cfg(feature = "gpu")]
fn the_machine_agrees_with_a_gpu() {
    let (gpu, vm) = (Device::cuda(0).unwrap(), Device::vm().unwrap());
    let words = inputs::inputs(1, OPERANDS, LANES);
    let mut report = format!("{} (driver {})\n", gpu.name(), gpu.driver());
    let mut wrong = 0;
    for (row, ops) in &forms() {
        for part in ops.chunks(AT_ONCE) {
            let (a, b) = match (run(&vm, part, &words), run(&gpu, part, &words)) {
                (Ok(a), Ok(b)) => (a, b),
                (a, b) => {
                    report += &format!("REFUSED {row}: {:?} {:?}\n", a.err(), b.err());
                    wrong += 1;
                    continue;
                }
            };
            for (n, op) in part.iter().enumerate() {
                let (count, line) = judge(op, n, &a, &b, &words);
                wrong += count;
                report += &line;
            }
        }
    }
    println!("{report}");
    if let Ok(path) = std::env::var("TIKI_RESULTS") {
        std::fs::write(path, &report).unwrap();
    }
    assert_eq!(wrong, 0, "{wrong} forms differ");
}

/// Every form that only approximates has a bound, which the machine's own result keeps and others break: zero, the
/// result of another operand, and one that is twice as large.
#[test]
fn bounds_can_be_broken() {
    let vm = Device::vm().unwrap();
    let words = inputs::inputs(1, OPERANDS, LANES);
    let all: Vec<Op> = forms().into_values().flatten().collect();
    let all: Vec<Op> = all.into_iter().filter(bounds::approximates).collect();
    assert!(all.len() > 20, "{} forms", all.len());
    for part in all.chunks(AT_ONCE) {
        let out = run(&vm, part, &words).unwrap();
        for (n, op) in part.iter().enumerate() {
            let judge = bounds::Judge::of(op).unwrap_or_else(|| panic!("{op}: no bound"));
            let first = n * kernel::RESULTS * LANES;
            let broken = |other: &dyn Fn(usize, u64) -> u64| {
                let lanes = (0..LANES).filter(|i| {
                    let machine = out[first + i];
                    !judge.allows(&operands(&words, *i), machine, other(*i, machine))
                });
                lanes.count()
            };
            assert_eq!(broken(&|_, m| m), 0, "{op}");
            let zero = broken(&|_, _| 0);
            let next = broken(&|i, _| out[first + (i + 1) % LANES]);
            // The exponent is one higher: in each half of a pair.
            let step = match op.ty("t").map(|t| (t.bits(), t.to_string())) {
                Some((64, _)) => 1 << 52,
                Some((_, t)) if t == "f16" => 1 << 10,
                Some((_, t)) if t == "bf16" => 1 << 7,
                Some((_, t)) if t == "f16x2" => 1 << 10 | 1 << 26,
                Some((_, t)) if t == "bf16x2" => 1 << 7 | 1 << 23,
                _ => 1 << 23,
            };
            let twice = broken(&|_, m| m.wrapping_add(step));
            let least = LANES / 16;
            assert!(
                zero > least && next > least && twice > least,
                "{op}: of {LANES} lanes, zero breaks {zero}, another operand's result {next}, twice the result {twice}"
            );
        }
    }
}

/// What a lane computes with.
fn operands(words: &[u64], lane: usize) -> Vec<u64> {
    (0..OPERANDS).map(|k| words[k * LANES + lane]).collect()
}

/// Compares one form on all lanes: whether it is wrong, and a line if there is something to say.
#[cfg(feature = "gpu")]
fn judge(op: &Op, n: usize, a: &[u64], b: &[u64], words: &[u64]) -> (usize, String) {
    let bound = bounds::Judge::of(op).filter(|_| bounds::approximates(op));
    let integer = op.ty("t").is_some_and(|t| t.is_int());
    let (mut differ, mut beyond, mut worst, mut first) = (0, 0, 0u64, None);
    for r in 0..kernel::RESULTS {
        for i in 0..LANES {
            let at = (n * kernel::RESULTS + r) * LANES + i;
            let divides = integer && matches!(op.row.head(), "div" | "rem");
            let divisor =
                words[LANES + i] & (u64::MAX >> (64 - op.ty("t").map_or(64, |t| t.bits())));
            if a[at] == b[at] || (divides && divisor == 0) {
                continue;
            }
            differ += 1;
            worst = worst.max(a[at].abs_diff(b[at]));
            let allowed = bound
                .as_ref()
                .is_some_and(|j| r == 0 && j.allows(&operands(words, i), a[at], b[at]));
            // Of lanes that differ, the first; of those beyond a bound, rather that one.
            if first.is_none() || (!allowed && beyond == 0) {
                let operands = operands(words, i);
                let operands: Vec<String> = operands.iter().map(|w| format!("{w:x}")).collect();
                first = Some(format!(
                    "lane {i} result {r}: machine {:x}, gpu {:x}, operands {}",
                    a[at],
                    b[at],
                    operands.join(" ")
                ));
            }
            beyond += usize::from(!allowed);
        }
    }
    match first {
        None => (0, String::new()),
        Some(first) => {
            let kind = match (&bound, beyond) {
                (Some(_), 0) => "approximate",
                (Some(_), _) => "BEYOND ITS BOUND",
                _ => "DIFFERS",
            };
            (
                usize::from(beyond > 0),
                format!(
                    "{kind} {} {op}: {differ} lanes, at most {worst} apart; {first}\n",
                    op.row.name
                ),
            )
        }
    }
}

/// Halves a list until what is left is accepted.
#[cfg(feature = "gpu")]
fn sift(ops: &[Op], accepts: &dyn Fn(&[Op]) -> bool, out: &mut Vec<Op>) {
    if ops.is_empty() {
        return;
    }
    if accepts(ops) {
        out.extend_from_slice(ops);
    } else if ops.len() > 1 {
        let (a, b) = ops.split_at(ops.len() / 2);
        sift(a, accepts, out);
        sift(b, accepts, out);
    }
}

/// Asks the driver which forms exist, and writes the list to the file that `TIKI_FORMS` names; only
/// under `BLESS=1`.
#[test]
#[cfg(feature = "gpu")]
fn record() {
    if std::env::var_os("BLESS").is_none() {
        return;
    }
    let gpu = Device::cuda(0).unwrap();
    let accepts = |ops: &[Op]| {
        let text = kernel::module(ops, LANES as u32, target()).to_string();
        let params = [
            RawParam::input::<u64>("inputs"),
            RawParam::output::<u64>("outputs"),
        ];
        Kernel::from_ptx(&text, "forms", params)
            .threads([128, 1, 1])
            .load(&gpu)
            .is_ok()
    };
    let mut lines = String::new();
    for row in isa::all().filter(|r| kernel::testable(r)) {
        let all: Vec<Op> = kernel::choices(row)
            .into_iter()
            .filter(kernel::has_parts)
            .collect();
        let mut kept = vec![];
        for part in all.chunks(AT_ONCE) {
            sift(part, &accepts, &mut kept);
        }
        for op in kept {
            lines += &format!("{} {op}\n", row.name);
        }
    }
    std::fs::write(std::env::var("TIKI_FORMS").expect("TIKI_FORMS"), lines).unwrap();
}
