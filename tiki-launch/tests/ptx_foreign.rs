//! The PTX of other compilers, run on the machine against what a GPU gave.

use base64::Engine;
use serde_json::Value;
use std::path::PathBuf;
use tiki_launch::vm::{Arg, Async, Checks, Options, Vm};

fn bytes(v: &Value) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD
        .decode(v.as_str().expect("base64"))
        .expect("base64")
}

fn three(v: &Value) -> [u32; 3] {
    [0, 1, 2].map(|i| v[i].as_u64().unwrap() as u32)
}

struct Expected {
    what: String,
    address: u64,
    dtype: String,
    before: Vec<u8>,
    after: Option<Vec<u8>>,
}

/// Units in the last place between two values; zero for equal ones and for two NaN.
fn distance(dtype: &str, a: &[u8], b: &[u8]) -> u64 {
    let order = |bits: u64, width: u32| {
        let sign = 1u64 << (width - 1);
        (if bits & sign == 0 {
            bits | sign
        } else {
            sign - (bits & (sign - 1))
        }) as i128
    };
    let read = |x: &[u8]| x.iter().rev().fold(0u64, |v, b| v << 8 | u64::from(*b));
    let (x, y) = (read(a), read(b));
    let nan = |v: u64| match dtype {
        "float32" => f32::from_bits(v as u32).is_nan(),
        "float64" => f64::from_bits(v).is_nan(),
        "float16" => v & 0x7fff > 0x7c00,
        _ => v & 0x7fff > 0x7f80,
    };
    if nan(x) && nan(y) {
        0
    } else {
        (order(x, a.len() as u32 * 8) - order(y, a.len() as u32 * 8)).unsigned_abs() as u64
    }
}

fn width(dtype: &str) -> usize {
    match dtype {
        "float64" | "int64" | "uint64" => 8,
        "float32" | "int32" | "uint32" => 4,
        "float16" | "uint16" | "int16" => 2,
        _ => 1,
    }
}

fn compare(how: &str, e: &Expected, got: &[u8]) -> Result<(), String> {
    let want = e.after.as_ref().unwrap_or(&e.before);
    let limit = how
        .strip_prefix("ulp:")
        .map_or(0, |n| n.parse::<u64>().unwrap());
    let w = width(&e.dtype);
    let float = e.dtype.starts_with("float") || (e.dtype == "uint16" && limit > 0);
    let (mut worst, mut wrong, mut first) = (0, 0, None);
    for (i, (a, b)) in want.chunks(w).zip(got.chunks(w)).enumerate() {
        if a == b {
            continue;
        }
        let d = if limit > 0 && float {
            distance(&e.dtype, a, b)
        } else {
            u64::MAX
        };
        worst = worst.max(d);
        if d > limit {
            wrong += 1;
            first.get_or_insert((i, a.to_vec(), b.to_vec()));
        }
    }
    match first {
        None => Ok(()),
        Some((i, a, b)) => Err(format!(
            "{} ({}): {wrong} of {} elements differ (worst {worst}), first at {i}: wanted {a:02x?}, got {b:02x?}",
            e.what,
            e.dtype,
            want.len() / w
        )),
    }
}

fn buffer(vm: &Vm, what: String, v: &Value, list: &mut Vec<Expected>) -> u64 {
    let before = bytes(&v["before"]);
    let address = vm.alloc(before.len() as u64, &what).unwrap();
    vm.write(address, &before).unwrap();
    let dtype = v["dtype"].as_str().unwrap_or("uint8").to_string();
    list.push(Expected {
        what,
        address,
        dtype,
        before,
        after: v.get("after").map(bytes),
    });
    address
}

fn run(dir: &std::path::Path, case: &Value, options: &Options) -> Result<u64, String> {
    let text = std::fs::read_to_string(dir.join(case["ptx"].as_str().unwrap()))
        .map_err(|e| e.to_string())?;
    let vm = Vm::new();
    let program = vm.load(&text).map_err(|e| e.to_string())?;
    let mut list = vec![];
    let mut args = vec![];
    for (n, p) in case["params"].as_array().unwrap().iter().enumerate() {
        if let Some(b) = p.get("buffer") {
            args.push(Arg::Address(buffer(
                &vm,
                format!("param {n}"),
                b,
                &mut list,
            )));
        } else if let Some(s) = p.get("scalar") {
            let v = &s["value"];
            args.push(match s["dtype"].as_str().unwrap() {
                "i32" => Arg::U32(v.as_i64().unwrap() as u32),
                "u32" => Arg::U32(v.as_u64().unwrap() as u32),
                "f32" => Arg::F32(v.as_f64().unwrap() as f32),
                "i64" => Arg::U64(v.as_i64().unwrap() as u64),
                "u64" => Arg::U64(v.as_u64().unwrap()),
                t => return Err(format!("scalar of type {t}")),
            });
        } else {
            let s = &p["struct"];
            let mut raw = bytes(&s["bytes"]);
            for (k, q) in s["pointers"].as_array().into_iter().flatten().enumerate() {
                let at = q["offset"].as_u64().unwrap() as usize;
                let a = buffer(&vm, format!("param {n} pointer {k}"), q, &mut list);
                raw[at..at + 8].copy_from_slice(&a.to_le_bytes());
            }
            args.push(Arg::Bytes(raw));
        }
    }
    let shared = case["dynamic_shared"].as_u64().unwrap() as u32;
    let entry = case["entry"].as_str().unwrap();
    let report = vm
        .examine(
            &program,
            entry,
            three(&case["grid"]),
            three(&case["block"]),
            shared,
            &args,
            options,
        )
        .map_err(|f| f.to_string())?;
    if !report.findings.is_empty() {
        let all: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
        return Err(all.join("\n"));
    }
    let how = case["compare"].as_str().unwrap();
    let faults: Vec<String> = list
        .iter()
        .filter_map(|e| {
            let mut got = vec![0; e.before.len()];
            vm.read(e.address, &mut got).unwrap();
            compare(how, e, &got).err()
        })
        .collect();
    if faults.is_empty() {
        Ok(report.warp_instructions)
    } else {
        Err(faults.join("\n"))
    }
}

fn cases() -> (PathBuf, Vec<(String, Value)>) {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx_foreign");
    let dir = PathBuf::from(std::env::var("PTX_GOLDENS").unwrap_or_else(|_| own.into()));
    let only = std::env::var("PTX_ONLY").unwrap_or_default();
    let mut all: Vec<(String, Value)> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| {
            p.extension().is_some_and(|e| e == "json") && p.to_string_lossy().contains(&only)
        })
        .map(|p| {
            let text = std::fs::read_to_string(&p).unwrap();
            (
                p.file_stem().unwrap().to_string_lossy().to_string(),
                serde_json::from_str(&text).unwrap(),
            )
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    (dir, all)
}

fn all(options: &Options) {
    let (dir, all) = cases();
    assert!(!all.is_empty());
    let mut failed = vec![];
    for (name, case) in &all {
        let start = std::time::Instant::now();
        match run(&dir, case, options) {
            Ok(steps) => println!("{name}: {steps} warp instructions, {:?}", start.elapsed()),
            Err(e) => failed.push(format!("{name} ({}): {e}", case["compare"])),
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {} cases:\n{}",
        failed.len(),
        all.len(),
        failed.join("\n")
    );
}

#[test]
fn eager() {
    all(&Options {
        checks: Checks::All,
        ..Options::default()
    });
}

#[test]
fn by_three_seeds() {
    for seed in 1..=3 {
        all(&Options {
            completion: Async::Seed(seed),
            checks: Checks::All,
            ..Options::default()
        });
    }
}

#[test]
fn late_on_three_threads() {
    all(&Options {
        completion: Async::Late,
        checks: Checks::All,
        threads: 3,
        ..Options::default()
    });
}
