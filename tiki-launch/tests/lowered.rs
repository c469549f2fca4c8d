//! The compiler's passes behind the checker, on the machine: kernels written by hand as typed programs
//! compute what Rust computes on the host.
//!
//! Exact where every operation is; within the documented bound where the hardware approximates (the
//! machine rounds those correctly, so that what is measured is our part of the error).

#[path = "../../tiki-kernel/tests/by_hand/mod.rs"]
mod by_hand;
#[path = "lowered/functions.rs"]
mod functions;
#[path = "lowered/numbers.rs"]
mod numbers;
#[path = "lowered/rows.rs"]
mod rows;

use half::{bf16, f16};
use tiki_kernel::ast::Places;
use tiki_kernel::compile::{Instance, Output, emit};
use tiki_kernel::diag::Sink;
use tiki_kernel::dtype::{Class, DType};
use tiki_kernel::ir::{Binary, Edge, Kernel, ReduceOp, Unary, Xor};
use tiki_launch::vm::{Arg, Checks, Options, Vm};

fn build(name: &str, kernel: Kernel) -> Output {
    let mut sink = Sink::new();
    let out = emit(
        kernel,
        &Instance { args: vec![] },
        &Places::default(),
        &mut sink,
        &mut |_, _, _| {},
    );
    let told: Vec<String> = sink
        .take()
        .iter()
        .map(|d| d.text(&Places::default()))
        .collect();
    assert!(told.is_empty(), "{name}: {}", told.join("\n"));
    out.unwrap_or_else(|| panic!("{name}: no output"))
}

/// A tensor argument: bytes and shape.
struct Tensor {
    bytes: Vec<u8>,
    shape: Vec<u32>,
}

enum Given {
    Tensor(Tensor),
    F32(f32),
}

/// Runs a kernel; gives all tensors back.
fn run(name: &str, kernel: Kernel, grid: [u32; 3], args: Vec<Given>) -> Vec<Vec<u8>> {
    let out = build(name, kernel);
    let vm = Vm::new();
    let program = vm
        .load(&out.ptx)
        .unwrap_or_else(|e| panic!("{name}: {e:?}\n{}", out.ptx));
    let mut list = Vec::new();
    let mut at = Vec::new();
    for a in &args {
        match a {
            Given::Tensor(t) => {
                let address = vm.alloc(t.bytes.len() as u64, "tensor").unwrap();
                vm.write(address, &t.bytes).unwrap();
                list.push(Arg::Address(address));
                list.extend(t.shape.iter().map(|n| Arg::U32(*n)));
                at.push((address, t.bytes.len()));
            }
            Given::F32(f) => list.push(Arg::F32(*f)),
        }
    }
    let options = Options {
        checks: Checks::All,
        threads: 1,
        ..Options::default()
    };
    let report = vm
        .launch(
            &program,
            &out.entry,
            grid,
            out.threads,
            out.dynamic_shared,
            &list,
            &options,
        )
        .unwrap_or_else(|f| panic!("{name}: {f:?}\n{}", out.ptx));
    assert!(report.findings.is_empty(), "{name}: {:?}", report.findings);
    at.into_iter()
        .map(|(address, n)| {
            let mut bytes = vec![0; n];
            vm.read(address, &mut bytes).unwrap();
            bytes
        })
        .collect()
}

/// Bytes of a value given as f64 (floats, rounded once) or i128 (integers).
fn put(t: DType, x: f64, i: i128) -> Vec<u8> {
    match t {
        DType::F32 => (x as f32).to_le_bytes().to_vec(),
        DType::F64 => x.to_le_bytes().to_vec(),
        DType::F16 => f16::from_f64(x).to_le_bytes().to_vec(),
        DType::BF16 => bf16::from_f64(x).to_le_bytes().to_vec(),
        DType::BOOL => vec![u8::from(i != 0)],
        _ => i.to_le_bytes()[..t.bytes() as usize].to_vec(),
    }
}

fn get(t: DType, b: &[u8]) -> f64 {
    match t {
        DType::F32 => f32::from_le_bytes(b.try_into().unwrap()).into(),
        DType::F64 => f64::from_le_bytes(b.try_into().unwrap()),
        DType::F16 => f16::from_le_bytes(b.try_into().unwrap()).to_f64(),
        DType::BF16 => bf16::from_le_bytes(b.try_into().unwrap()).to_f64(),
        _ => get_int(t, b) as f64,
    }
}

fn get_int(t: DType, b: &[u8]) -> i128 {
    let mut word = [0; 16];
    word[..b.len()].copy_from_slice(b);
    if t.row().class == Class::Signed && b[b.len() - 1] & 0x80 != 0 {
        word[b.len()..].fill(0xff);
    }
    i128::from_le_bytes(word)
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    /// In [-1, 1].
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
    /// Any finite exponent that the type has, and the special values.
    fn any(&mut self, t: DType) -> Vec<u8> {
        let bits = self.next();
        match t {
            DType::BOOL => vec![bits as u8 & 1],
            _ => bits.to_le_bytes()[..t.bytes() as usize].to_vec(),
        }
    }
}

fn tensor(bytes: Vec<u8>, shape: &[u32]) -> Given {
    Given::Tensor(Tensor {
        bytes,
        shape: shape.to_vec(),
    })
}

fn random(t: DType, n: u32, seed: u64) -> Vec<u8> {
    let mut r = Random(seed);
    (0..n)
        .flat_map(|_| {
            let x = r.unit();
            put(t, 4.0 * x, (1000.0 * x) as i128)
        })
        .collect()
}

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

fn elements(t: DType, bytes: &[u8]) -> Vec<f64> {
    bytes
        .chunks(t.bytes() as usize)
        .map(|b| get(t, b))
        .collect()
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}
