//! Hand-written products run on the machine, in every mode of asynchronous completion, against f64.

#[path = "../../tiki-kernel/tests/gemm_by_hand/mod.rs"]
mod gemm_by_hand;

use gemm_by_hand::ampere::{self, Shape};
use gemm_by_hand::hopper;
use tiki_kernel::artifact::Hidden;
use tiki_kernel::ast::Places;
use tiki_kernel::diag::Sink;
use tiki_kernel::dtype::DType;
use tiki_kernel::ir::Kernel;
use tiki_kernel::report::Report;
use tiki_kernel::target::Target;
use tiki_kernel::{lower, schedule, simplify};
use tiki_launch::vm::{Arg, Async, Checks, Options, Swizzle, TensorMap, Vm};

fn build(kernel: Kernel) -> (String, u32) {
    let (text, shared, _) = build_all(kernel);
    (text, shared)
}

/// Text, dynamic shared bytes and the launcher's arguments.
fn build_all(mut kernel: Kernel) -> (String, u32, Vec<Hidden>) {
    let mut sink = Sink::new();
    let mut report = Report::default();
    let plan = schedule::run(&mut kernel, &mut report);
    let mut lowered = lower::run(&kernel, &plan, &Places::default(), &mut sink);
    simplify::run(&mut lowered.module, false, &mut |_, _| {});
    let said: Vec<String> = (sink.take().iter())
        .map(|d| d.text(&Places::default()))
        .collect();
    assert!(said.is_empty(), "{said:?}");
    (
        lowered.module.to_string(),
        lowered.dynamic_shared,
        lowered.hidden,
    )
}

/// Small numbers that every type holds exactly, so that sums are exact in any order.
fn number(i: usize) -> f64 {
    let x = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59;
    x as f64 - 16.0 + if i.is_multiple_of(3) { 0.5 } else { 0.0 }
}

fn bytes(t: DType, x: f64) -> Vec<u8> {
    match t {
        DType::F16 => half::f16::from_f64(x).to_le_bytes().to_vec(),
        DType::BF16 => half::bf16::from_f64(x).to_le_bytes().to_vec(),
        DType::F32 => (x as f32).to_le_bytes().to_vec(),
        DType::I32 => (x as i32).to_le_bytes().to_vec(),
        DType::I8 => vec![x as i8 as u8],
        t => panic!("no numbers of {t}"),
    }
}

fn value(t: DType, b: &[u8]) -> f64 {
    match t {
        DType::F16 => half::f16::from_le_bytes([b[0], b[1]]).to_f64(),
        DType::BF16 => half::bf16::from_le_bytes([b[0], b[1]]).to_f64(),
        DType::F32 => f32::from_le_bytes([b[0], b[1], b[2], b[3]]).into(),
        DType::I32 => i32::from_le_bytes([b[0], b[1], b[2], b[3]]).into(),
        t => panic!("no numbers of {t}"),
    }
}

fn stored(t: DType, x: f64) -> f64 {
    if t == DType::I8 { x.trunc() } else { x }
}

struct Operand {
    rows: usize,
    depth: usize,
    flipped: bool,
    seed: usize,
}

impl Operand {
    fn at(&self, t: DType, r: usize, k: usize) -> f64 {
        stored(t, number(self.seed + r * self.depth + k))
    }
    fn dims(&self) -> [usize; 2] {
        if self.flipped {
            [self.depth, self.rows]
        } else {
            [self.rows, self.depth]
        }
    }
    fn bytes(&self, t: DType) -> Vec<u8> {
        let [outer, inner] = self.dims();
        let mut out = Vec::new();
        for i in 0..outer {
            for j in 0..inner {
                let (r, k) = if self.flipped { (j, i) } else { (i, j) };
                out.extend(bytes(t, self.at(t, r, k)));
            }
        }
        out
    }
}

fn run(name: &str, s: Shape, [m, n, k]: [usize; 3], target: Target) {
    let kernel = ampere::gemm("gemm", target, s);
    let threads = kernel.threads;
    let (text, shared) = build(kernel);
    let modes = [Async::Eager, Async::Late, Async::Seed(7)];
    let a = Operand {
        rows: m,
        depth: k,
        flipped: s.flipped.0,
        seed: 1,
    };
    let b = Operand {
        rows: n,
        depth: k,
        flipped: s.flipped.1,
        seed: 77,
    };
    for completion in modes {
        let vm = Vm::new();
        let program = vm.load(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut args = Vec::new();
        let mut give = |dims: [usize; 2], data: Vec<u8>, what: &str| {
            let at = vm.alloc(data.len() as u64, what).unwrap();
            vm.write(at, &data).unwrap();
            args.push(Arg::Address(at));
            args.extend(dims.map(|d| Arg::U32(d as u32)));
            at
        };
        give(a.dims(), a.bytes(s.dtype), "a");
        give(b.dims(), b.bytes(s.dtype), "b");
        let size = m * n * s.out.bytes() as usize;
        let c = give([m, n], vec![0xff; size], "c");
        let grid = [
            n.div_ceil(s.tile[1] as usize) as u32,
            m.div_ceil(s.tile[0] as usize) as u32,
            1,
        ];
        let options = Options {
            completion,
            checks: Checks::All,
            ..Options::default()
        };
        let report = vm
            .launch(
                &program,
                "gemm",
                grid,
                [threads, 1, 1],
                shared,
                &args,
                &options,
            )
            .unwrap_or_else(|f| panic!("{name} {completion:?}: {f}"));
        assert!(report.findings.is_empty(), "{name}: {:?}", report.findings);
        let mut out = vec![0; size];
        vm.read(c, &mut out).unwrap();
        let each = s.out.bytes() as usize;
        for i in 0..m {
            for j in 0..n {
                let exact: f64 = (0..k)
                    .map(|x| a.at(s.dtype, i, x) * b.at(s.dtype, j, x))
                    .sum();
                let got = value(s.out, &out[(i * n + j) * each..]);
                let want = value(s.out, &bytes(s.out, exact));
                assert!(
                    got == want,
                    "{name} {completion:?} ({i}, {j}): {got}, exact {want}"
                );
            }
        }
    }
}

#[test]
fn products_by_warps_are_exact() {
    let target = Target::default_target();
    let base = Shape::half([64, 64, 32], 3, (2, 2));
    let edges = [150, 72, 88];
    run("half", base, edges, target);
    run(
        "whole",
        Shape {
            whole: true,
            ..base
        },
        [128, 64, 64],
        target,
    );
    for flipped in [(true, false), (false, true), (true, true)] {
        run("flipped", Shape { flipped, ..base }, [152, 72, 88], target);
    }
    let bf = Shape {
        dtype: DType::BF16,
        out: DType::F32,
        ..base
    };
    run(
        "deep",
        Shape {
            tile: [64, 64, 128],
            stages: 2,
            ..bf
        },
        edges,
        target,
    );
    run(
        "wide",
        Shape {
            tile: [32, 128, 64],
            warps: (1, 4),
            ..bf
        },
        edges,
        target,
    );
    run(
        "odd",
        Shape {
            tile: [32, 40, 16],
            stages: 2,
            warps: (2, 1),
            ..bf
        },
        edges,
        target,
    );
    run("shallow", base, [64, 64, 8], target);
    run("nothing to sum", base, [64, 64, 0], target);
    let single = Shape {
        dtype: DType::F32,
        out: DType::F32,
        ..base
    };
    run("tf32", single, edges, target);
    run(
        "tf32 flipped",
        Shape {
            flipped: (true, true),
            ..single
        },
        [152, 72, 88],
        target,
    );
    let registers = Shape {
        warps: (4, 1),
        registers: true,
        ..base
    };
    run("registers", registers, edges, target);
    let byte = Shape {
        dtype: DType::I8,
        sums: DType::I32,
        out: DType::I32,
        tile: [64, 64, 64],
        ..base
    };
    run("s8", byte, [150, 72, 96], target);
}

/// A tensor map of a matrix, as the machine has it.
fn map(t: DType, address: u64, dims: [usize; 2], tile: [u32; 2], swizzle: u32) -> Arg {
    let ty = match t {
        DType::I8 => tiki_kernel::isa::Ty::U8,
        t => tiki_kernel::isa::Ty::of_arithmetic(t),
    };
    let map = TensorMap {
        ty,
        address,
        dims: vec![dims[1] as u64, dims[0] as u64],
        strides: vec![dims[1] as u64 * u64::from(t.bytes())],
        extent: vec![tile[1], tile[0]],
        swizzle: match swizzle {
            0 => Swizzle::None,
            32 => Swizzle::B32,
            64 => Swizzle::B64,
            _ => Swizzle::B128,
        },
        nan_outside: false,
    };
    Arg::Bytes(map.encode().unwrap().to_vec())
}

fn run_hopper(name: &str, s: hopper::Shape, [m, n, k]: [usize; 3], completion: Async) {
    let target = Target::all().find(|t| t.row().exact).unwrap();
    let kernel = hopper::gemm("gemm", target, s);
    let threads = kernel.threads;
    let (text, shared, hidden) = build_all(kernel);
    let a = Operand {
        rows: m,
        depth: k,
        flipped: s.flipped.0,
        seed: 1,
    };
    let b = Operand {
        rows: n,
        depth: k,
        flipped: s.flipped.1,
        seed: 77,
    };
    let vm = Vm::new();
    let program = vm.load(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut args = Vec::new();
    let mut tensors = Vec::new();
    let out = s.out();
    let size = m * n * out.bytes() as usize;
    for (dims, data, t, what) in [
        (a.dims(), a.bytes(s.dtype), s.dtype, "a"),
        (b.dims(), b.bytes(s.dtype), s.dtype, "b"),
        ([m, n], vec![0xff; size], out, "c"),
    ] {
        let at = vm.alloc(data.len() as u64, what).unwrap();
        vm.write(at, &data).unwrap();
        args.push(Arg::Address(at));
        args.extend(dims.map(|d| Arg::U32(d as u32)));
        tensors.push((at, dims, t));
    }
    for h in hidden {
        let Hidden::TensorMap {
            param,
            tile,
            swizzle,
        } = h;
        let (at, dims, t) = tensors[param as usize];
        args.push(map(t, at, dims, [tile[0], tile[1]], swizzle));
    }
    let options = Options {
        completion,
        checks: Checks::All,
        ..Options::default()
    };
    let report = vm
        .launch(
            &program,
            "gemm",
            [2, 1, 1],
            [threads, 1, 1],
            shared,
            &args,
            &options,
        )
        .unwrap_or_else(|f| panic!("{name} {completion:?}: {f}"));
    assert!(report.findings.is_empty(), "{name}: {:?}", report.findings);
    let mut got = vec![0; size];
    vm.read(tensors[2].0, &mut got).unwrap();
    let each = out.bytes() as usize;
    for i in 0..m {
        for j in 0..n {
            let exact: f64 = (0..k)
                .map(|x| a.at(s.dtype, i, x) * b.at(s.dtype, j, x))
                .sum();
            let got = value(out, &got[(i * n + j) * each..]);
            let want = value(out, &bytes(out, exact));
            assert!(
                got == want,
                "{name} {completion:?} ({i}, {j}): {got}, exact {want}"
            );
        }
    }
}

/// One block of each pair sends a tile to both; both add it to the result.
#[test]
fn a_tile_sent_to_a_cluster_is_added_by_every_block() {
    let target = Target::all().find(|t| t.row().exact).unwrap();
    let (text, shared, hidden) = build_all(gemm_by_hand::cluster::twice("twice", target));
    let (rows, columns) = (70, 80);
    for completion in [Async::Eager, Async::Late] {
        let vm = Vm::new();
        let program = vm.load(&text).unwrap_or_else(|e| panic!("{e}"));
        let x: Vec<u8> = (0..rows * columns)
            .flat_map(|i| bytes(DType::F32, number(i)))
            .collect();
        let mut args = Vec::new();
        let mut tensors = Vec::new();
        for (data, what) in [(x.clone(), "x"), (vec![0; x.len()], "out")] {
            let at = vm.alloc(data.len() as u64, what).unwrap();
            vm.write(at, &data).unwrap();
            args.push(Arg::Address(at));
            args.extend([rows, columns].map(|d| Arg::U32(d as u32)));
            tensors.push(at);
        }
        for h in &hidden {
            let Hidden::TensorMap {
                param,
                tile,
                swizzle,
            } = *h;
            let (at, tile) = (tensors[param as usize], [tile[0], tile[1]]);
            args.push(map(DType::F32, at, [rows, columns], tile, swizzle));
        }
        let options = Options {
            completion,
            checks: Checks::All,
            ..Options::default()
        };
        vm.launch(
            &program,
            "twice",
            [4, 1, 1],
            [32, 1, 1],
            shared,
            &args,
            &options,
        )
        .unwrap_or_else(|f| panic!("{completion:?}: {f}"));
        let mut got = vec![0; x.len()];
        vm.read(tensors[1], &mut got).unwrap();
        for i in 0..rows * columns {
            let want = if i % columns < 64 {
                2.0 * number(i)
            } else {
                0.0
            };
            assert_eq!(value(DType::F32, &got[4 * i..]), want, "{completion:?} {i}");
        }
    }
}

#[test]
fn products_by_warpgroups_are_exact() {
    let base = hopper::Shape::bf16((64, 64), 2, 1);
    let edges = [104, 136, 200];
    for completion in [Async::Eager, Async::Late, Async::Seed(3)] {
        run_hopper("one", base, edges, completion);
    }
    let two = hopper::Shape {
        tile: (128, 32),
        consumers: 2,
        split: Some((40, 232)),
        ..base
    };
    run_hopper("two, 64-byte rows", two, edges, Async::Late);
    for flipped in [(true, false), (false, true), (true, true)] {
        let shape = hopper::Shape { flipped, ..two };
        run_hopper(
            "flipped",
            hopper::Shape {
                tile: (128, 64),
                ..shape
            },
            edges,
            Async::Late,
        );
    }
    let registers = hopper::Shape {
        registers: true,
        ..base
    };
    run_hopper("registers", registers, edges, Async::Late);
    let deep = hopper::Shape {
        tile: (64, 128),
        ..base
    };
    run_hopper("slabs", deep, edges, Async::Late);
    let single = hopper::Shape {
        dtype: DType::F32,
        tile: (64, 32),
        ..base
    };
    run_hopper("tf32", single, edges, Async::Late);
    let byte = hopper::Shape {
        dtype: DType::I8,
        sums: DType::I32,
        tile: (64, 128),
        ..base
    };
    run_hopper("s8", byte, [104, 136, 208], Async::Late);
}
