//! Damaged PTX and hostile launches.
//!
//! Invariant: nothing panics, hangs or asks for memory without bounds: a text is loaded or refused with
//! words, and a launch ends with a report or a fault that can be printed.
//! Witness: the seed of the round, the text's name and what was done to it.
//!
//! `VM_FUZZ_SECONDS=600 cargo test -p tiki-launch --test fuzz` runs longer than the default of 3 seconds;
//! `VM_FUZZ_SEED=n` repeats one round.

#[path = "fuzz/words.rs"]
mod words;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use tiki_kernel::isa::Ty;
use tiki_launch::vm::{Arg, Async, Checks, Options, Swizzle, TensorMap, Vm, to_json, to_sarif};

use words::{NUMBERS, TYPES, WORDS};

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n.max(1)
    }
    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// The text, damaged, and what was done.
fn damage(r: &mut Random, text: &str) -> (String, String) {
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let mut said = vec![];
    for _ in 0..1 + r.below(4) {
        if lines.is_empty() {
            break;
        }
        let at = r.below(lines.len());
        match r.below(9) {
            0 => {
                said.push(format!("line {at} removed"));
                lines.remove(at);
            }
            1 => {
                said.push(format!("line {at} doubled"));
                let line = lines[at].clone();
                lines.insert(at, line);
            }
            2 => {
                let to = r.below(lines.len());
                said.push(format!("lines {at} and {to} exchanged"));
                lines.swap(at, to);
            }
            3 => {
                let word = r.pick(WORDS);
                said.push(format!("{word:?} put before line {at}"));
                lines.insert(at, (*word).to_string());
            }
            4 | 5 => {
                let new = *r.pick(NUMBERS);
                said.push(format!("a number of line {at} becomes {new}"));
                lines[at] = another(r, &lines[at], |c| c.is_ascii_digit(), new);
            }
            6 => {
                let new = *r.pick(TYPES);
                said.push(format!("a word of line {at} becomes {new}"));
                lines[at] = another(
                    r,
                    &lines[at],
                    |c| c == '.' || c.is_ascii_alphanumeric(),
                    new,
                );
            }
            7 => {
                let word = *r.pick(WORDS);
                said.push(format!("{word:?} put into line {at}"));
                let line = &mut lines[at];
                let mut cut = r.below(line.len() + 1);
                while !line.is_char_boundary(cut) {
                    cut -= 1;
                }
                line.insert_str(cut, word);
            }
            _ => {
                said.push(format!("cut at line {at}"));
                lines.truncate(at + 1);
                let line = &mut lines[at];
                let mut cut = r.below(line.len() + 1);
                while !line.is_char_boundary(cut) {
                    cut -= 1;
                }
                line.truncate(cut);
            }
        }
    }
    (lines.join("\n"), said.join("; "))
}

/// Replaces one run of characters of a kind.
fn another(r: &mut Random, line: &str, kind: impl Fn(char) -> bool, new: &str) -> String {
    let mut runs: Vec<(usize, usize)> = vec![];
    for (i, c) in line.char_indices() {
        if !kind(c) {
            continue;
        }
        let end = i + c.len_utf8();
        match runs.last_mut() {
            Some(last) if last.1 == i => last.1 = end,
            _ => runs.push((i, end)),
        }
    }
    if runs.is_empty() {
        return line.to_string();
    }
    let (a, b) = *r.pick(&runs);
    format!("{}{new}{}", &line[..a], &line[b..])
}

fn texts() -> Vec<(String, String)> {
    let mut out = vec![];
    for folder in ["ptx_kernels", "ptx_foreign", "mutants"] {
        let dir = format!("{}/tests/{folder}", env!("CARGO_MANIFEST_DIR"));
        let mut all: Vec<_> = std::fs::read_dir(dir)
            .expect("the folder")
            .map(|e| e.expect("an entry").path())
            .filter(|p| p.extension().is_some_and(|e| e == "ptx"))
            .collect();
        all.sort();
        for path in all {
            let text = std::fs::read_to_string(&path).expect("a text");
            // The largest say nothing that others do not, and take long to read.
            if text.len() < 40_000 {
                let name = path
                    .file_name()
                    .map_or(String::new(), |n| n.to_string_lossy().into());
                out.push((name, text));
            }
        }
    }
    out
}

fn hostile(r: &mut Random) -> u64 {
    match r.below(6) {
        0 => u64::MAX,
        1 => 0,
        2 => r.next(),
        3 => 1 << 63,
        _ => r.below(200) as u64,
    }
}

/// A tensor map that passes for one, of a tensor that need not lie in its buffer.
fn tensor_map(r: &mut Random, vm: &Vm) -> Arg {
    let rank = 1 + r.below(5);
    let ty = *r.pick(&[Ty::U8, Ty::BF16, Ty::F16, Ty::F32, Ty::F64]);
    let extent = |r: &mut Random| [1, 7, 64, 1 << 20, 1 << 32][r.below(5)];
    let map = TensorMap {
        ty,
        address: vm
            .alloc([0, 4096, 1 << 16][r.below(3)], "tensor")
            .expect("memory")
            + [0, 16, 1 << 39][r.below(3)],
        dims: (0..rank).map(|_| extent(r)).collect(),
        strides: (1..rank)
            .map(|_| [16, 128, 1 << 20, (1 << 40) - 16][r.below(4)])
            .collect(),
        extent: (0..rank).map(|_| [1, 8, 16, 64][r.below(4)]).collect(),
        swizzle: *r.pick(&[Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128]),
        nan_outside: r.below(2) == 0,
    };
    match map.encode() {
        Ok(bytes) => Arg::Bytes(bytes.to_vec()),
        Err(e) => {
            assert!(!e.is_empty());
            Arg::Bytes(vec![0; 128])
        }
    }
}

/// Loads a text and launches what is in it.
fn round(r: &mut Random, text: &str) {
    let vm = Vm::new();
    let program = match vm.load(text) {
        Ok(p) => p,
        Err(e) => {
            assert!(!e.to_string().is_empty());
            return;
        }
    };
    let mut entries: Vec<String> = program.entries().map(str::to_string).collect();
    entries.sort();
    for entry in entries {
        let params: Vec<(u32, u32)> = program.params(&entry).unwrap_or(&[]).to_vec();
        let mut args = vec![];
        for (n, (_, size)) in params.iter().enumerate() {
            args.push(match size {
                8 if r.below(8) != 0 => {
                    let bytes = [64, 4096, 1 << 16, 3, 0][r.below(5)];
                    Arg::Address(vm.alloc(bytes, &format!("b{n}")).expect("memory"))
                }
                8 => Arg::U64(hostile(r)),
                4 => Arg::U32(hostile(r) as u32),
                128 if r.below(4) != 0 => tensor_map(r, &vm),
                n => Arg::Bytes((0..*n).map(|_| r.next() as u8).collect()),
            });
        }
        if r.below(20) == 0 {
            args.pop();
        }
        let side = |r: &mut Random| [1, 1, 1, 2, 3, 0][r.below(6)];
        let grid = [side(r), side(r), side(r)];
        let block = [
            [32, 128, 384, 1, 33, 160, 1024, 0][r.below(8)],
            side(r).max(1),
            1,
        ];
        let shared = [0, 1024, 65536, 230_528, u32::MAX][r.below(5)];
        let options = Options {
            completion: [Async::Eager, Async::Late, Async::Seed(r.next())][r.below(3)],
            checks: [Checks::Run, Checks::Check, Checks::All][r.below(3)],
            threads: 1 + r.below(2),
            cluster: if r.below(10) == 0 { [2, 1, 1] } else { [0; 3] },
            max_steps: 3000,
            numbers: r.below(4) == 0,
            ..Options::default()
        };
        let done = if r.below(2) == 0 {
            vm.launch(&program, &entry, grid, block, shared, &args, &options)
        } else {
            vm.examine(&program, &entry, grid, block, shared, &args, &options)
        };
        match done {
            Ok(report) => {
                assert!(to_json(&report.findings).is_array());
                assert!(to_sarif(&report.findings, "k.ptx").is_object());
            }
            Err(f) => assert!(!f.to_string().is_empty()),
        }
    }
}

#[test]
fn nothing_panics() {
    let number = |name: &str| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    let limit = Duration::from_secs(number("VM_FUZZ_SECONDS").unwrap_or(3));
    let only = number("VM_FUZZ_SEED");
    let texts = texts();
    assert!(texts.len() > 20);
    let start = Instant::now();
    let (mut seed, mut failed) = (only.unwrap_or(1), vec![]);
    let hook = std::panic::take_hook();
    if only.is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
    while start.elapsed() < limit && failed.len() < 20 {
        let mut r = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (name, text) = r.pick(&texts);
        let (text, what) = damage(&mut r, text);
        let began = Instant::now();
        let done = catch_unwind(AssertUnwindSafe(|| round(&mut r, &text)));
        if let Err(e) = done {
            let words = e.downcast_ref::<String>().map(String::as_str);
            let words = words.or(e.downcast_ref::<&str>().copied()).unwrap_or("?");
            failed.push(format!("seed {seed}, {name}: {what}: {words}"));
        } else if began.elapsed() > Duration::from_secs(20) {
            failed.push(format!(
                "seed {seed}, {name}: {what}: {:?}",
                began.elapsed()
            ));
        }
        seed += 1;
        if only.is_some() {
            break;
        }
    }
    std::panic::set_hook(hook);
    println!("{} rounds in {:?}", seed - 1, start.elapsed());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
