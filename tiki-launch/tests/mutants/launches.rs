//! Launches as data, and what comes of running them.

use serde_json::Value;
use std::collections::BTreeMap;
use tiki_kernel::isa::Ty;
use tiki_launch::vm::{Arg, Fault, Options, Program, Swizzle, TensorMap, Vm};

/// A launch of a kernel.
pub struct Launch {
    pub text: String,
    facts: Value,
}

/// What came of it.
pub struct Outcome {
    pub findings: Vec<Fault>,
    /// The text was not loaded, or the launch refused.
    pub refused: bool,
    /// All buffers, one after the other.
    pub bytes: Vec<u8>,
}

pub fn launches() -> BTreeMap<String, Launch> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mutants/");
    let all: BTreeMap<String, Value> =
        serde_json::from_str(include_str!("launches.json")).expect("launches");
    all.into_iter()
        .map(|(name, facts)| {
            let file = format!("{dir}{}", facts["file"].as_str().expect("a file"));
            let text = std::fs::read_to_string(&file).expect("the kernel's text");
            (name, Launch { text, facts })
        })
        .collect()
}

fn number(v: &Value) -> u64 {
    v.as_u64().expect("a number")
}
fn three(v: &Value) -> [u32; 3] {
    [0, 1, 2].map(|i| number(&v[i]) as u32)
}
fn numbers(v: &Value) -> Vec<u64> {
    v.as_array().expect("numbers").iter().map(number).collect()
}

/// Bytes of a buffer: zeros, or values in -1..1 of a fixed generator (16 bits of a linear one modulo 2^32).
fn content(b: &Value) -> Vec<u8> {
    let (ty, count) = (
        b["type"].as_str().expect("a type"),
        number(&b["count"]) as usize,
    );
    let width = Ty::by_name(ty).expect("a type").bytes() as usize;
    if b["fill"] == "zero" {
        return vec![0; count * width];
    }
    let name = b["buffer"].as_str().expect("a name");
    let mut state = name
        .bytes()
        .fold(7u32, |h, c| h.wrapping_mul(31).wrapping_add(c.into()));
    let mut out = vec![];
    for _ in 0..count {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let x = (state >> 16) as f32 / 32768.0 - 1.0;
        match ty {
            "f16" => out.extend(half::f16::from_f32(x).to_le_bytes()),
            "bf16" => out.extend(half::bf16::from_f32(x).to_le_bytes()),
            _ => out.extend(x.to_le_bytes()),
        }
    }
    out
}

/// A text, loaded, and its buffers.
pub struct Loaded<'a> {
    facts: &'a Value,
    vm: Vm,
    program: Option<Program>,
    /// Address and first content of each buffer.
    buffers: BTreeMap<String, (u64, Vec<u8>)>,
}

impl Launch {
    /// Loads a text in place of the launch's own.
    pub fn load(&self, text: &str) -> Loaded<'_> {
        let vm = Vm::new();
        let program = vm.load(text).ok();
        let mut buffers = BTreeMap::new();
        let args = self.facts["args"].as_array().expect("arguments");
        let apart = self.facts["buffers"].as_array();
        for b in apart.into_iter().flatten().chain(args) {
            let Some(name) = b["buffer"].as_str() else {
                continue;
            };
            let bytes = content(b);
            let address = vm.alloc(bytes.len() as u64, name).expect("memory");
            buffers.insert(name.to_string(), (address, bytes));
        }
        Loaded {
            facts: &self.facts,
            vm,
            program,
            buffers,
        }
    }
}

impl Loaded<'_> {
    pub fn run(&self, options: &Options) -> Outcome {
        let mut out = Outcome {
            findings: vec![],
            refused: false,
            bytes: vec![],
        };
        let Some(program) = &self.program else {
            out.refused = true;
            return out;
        };
        for (address, bytes) in self.buffers.values() {
            self.vm.write(*address, bytes).expect("memory");
        }
        let args = self.facts["args"].as_array().expect("arguments");
        let args: Vec<Arg> = args.iter().map(|a| argument(a, &self.buffers)).collect();
        let done = self.vm.examine(
            program,
            self.facts["entry"].as_str().expect("an entry"),
            three(&self.facts["grid"]),
            three(&self.facts["block"]),
            number(&self.facts["shared"]) as u32,
            &args,
            options,
        );
        match done {
            Ok(report) => out.findings = report.findings,
            Err(f) => {
                out.findings = vec![*f];
                out.refused = true;
            }
        }
        for (address, bytes) in self.buffers.values() {
            let mut now = vec![0; bytes.len()];
            self.vm.read(*address, &mut now).expect("memory");
            out.bytes.extend(now);
        }
        out
    }
}

fn argument(a: &Value, at: &BTreeMap<String, (u64, Vec<u8>)>) -> Arg {
    if let Some(name) = a["buffer"].as_str() {
        return Arg::Address(at[name].0);
    }
    if let Some(x) = a["u32"].as_u64() {
        return Arg::U32(x as u32);
    }
    if let Some(x) = a["u8"].as_u64() {
        return Arg::Bytes(vec![x as u8]);
    }
    if let Some(x) = a["f32"].as_f64() {
        return Arg::F32(x as f32);
    }
    let dims = numbers(&a["dims"]);
    let size = 2;
    let strides = dims[..dims.len() - 1].iter().scan(size, |bytes, d| {
        *bytes *= d;
        Some(*bytes)
    });
    let map = TensorMap {
        ty: Ty::by_name(a["type"].as_str().expect("a type")).expect("a type"),
        address: at[a["map"].as_str().expect("a buffer")].0,
        strides: strides.collect(),
        extent: numbers(&a["box"]).iter().map(|x| *x as u32).collect(),
        swizzle: Swizzle::B128,
        nan_outside: false,
        dims,
    };
    Arg::Bytes(map.encode().expect("a valid map").to_vec())
}
