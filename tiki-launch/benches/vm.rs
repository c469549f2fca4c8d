//! Speed of the virtual machine on one host thread.
//!
//! `cargo bench -p tiki-launch --bench vm`; with `TIKI_RESULTS=FILE` it appends lines of CSV, of which the file in
//! `benches/results` is made; `TIKI_NOTE` is written beside them. A case runs several times and the best counts, by the time that the thread was on a CPU, so that other work on the host disturbs
//! it less (where the host does not tell that time, by the clock).
//!
//! The floors are those of the machine's design: a core does 250 million warp instructions of arithmetic a second,
//! 60 million of mixed code with bounds checks, 25 million with all checks, 3 billion exact products.

use std::time::Instant;
use tiki_kernel::isa::Ty;
use tiki_launch::vm::{Arg, Checks, Level, Options, Swizzle, TensorMap, Vm};

const COMMAND: &str = "cargo bench -p tiki-launch --bench vm";

/// Seconds that this thread was on a CPU.
fn spent(since: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let first = |t: String| t.split(' ').next()?.parse::<f64>().ok();
    told.and_then(first)
        .map_or(since.elapsed().as_secs_f64(), |ns| ns * 1e-9)
}

/// The best rate of a few runs; `work` says how much it did.
fn best(mut work: impl FnMut() -> f64) -> f64 {
    let start = Instant::now();
    let mut best = 0.0f64;
    for _ in 0..7 {
        let before = spent(start);
        let done = work();
        best = best.max(done / (spent(start) - before));
    }
    best
}

fn text(body: &str) -> String {
    format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{{\n\
         .reg .f32 %f<8>; .reg .b32 %r<16>; .reg .b64 %a<4>; .reg .pred %p; .shared .align 16 .b8 s[4096];\n\
         ld.param.u64 %a0, [p]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0;\n\
         mul.wide.u32 %a1, %r1, 4; add.u64 %a2, %a0, %a1; mov.f32 %f0, 0f3F800000; mov.f32 %f1, 0f3F000000;\n\
         shl.b32 %r4, %r1, 2; mov.u32 %r5, s; add.u32 %r5, %r5, %r4; st.shared.f32 [%r5], %f0;\n\
         LOOP:\n{body}\nadd.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r0; @%p bra LOOP;\n\
         st.global.f32 [%a2], %f0; ret;\n}}\n"
    )
}

struct Case {
    name: &'static str,
    body: String,
    threads: u32,
    loops: u32,
    checks: Checks,
    /// Of a loop's round, if it is not warp instructions that are counted.
    products: Option<f64>,
}

fn measure(c: &Case, level: Option<Level>) -> f64 {
    let vm = Vm::new();
    let p = vm.load(&text(&c.body)).unwrap();
    let x = vm.alloc(4096, "x").unwrap();
    let options = Options {
        threads: 1,
        checks: c.checks,
        level,
        ..Options::default()
    };
    let args = [Arg::Address(x), Arg::U32(c.loops)];
    best(|| {
        let r = vm
            .launch(&p, "k", [1, 1, 1], [c.threads, 1, 1], 0, &args, &options)
            .unwrap();
        match c.products {
            Some(n) => n * f64::from(c.loops),
            None => r.warp_instructions as f64,
        }
    })
}

/// Seconds of a product of 1024 x 1024 matrices: of the thread with one thread, else by the clock.
fn gemm(file: &str, threads: usize) -> f64 {
    const N: usize = 1024;
    let path = format!(
        "{}/tests/ptx_kernels/{file}.ptx",
        env!("CARGO_MANIFEST_DIR")
    );
    let vm = Vm::new();
    let program = vm.load(&std::fs::read_to_string(path).unwrap()).unwrap();
    let groups = file.contains("wgmma");
    let mut x = 1u64;
    let mut matrix = |name: &str| {
        let data: Vec<u8> = (0..N * N)
            .flat_map(|_| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let v = (x >> 40) as f32 / 8_388_608.0 - 1.0;
                if groups {
                    half::bf16::from_f32(v).to_le_bytes()
                } else {
                    half::f16::from_f32(v).to_le_bytes()
                }
            })
            .collect();
        let at = vm.alloc(data.len() as u64, name).unwrap();
        vm.write(at, &data).unwrap();
        at
    };
    let (a, b, c) = (matrix("a"), matrix("b"), matrix("c"));
    let n = N as u32;
    let options = Options {
        threads,
        checks: Checks::Run,
        ..Options::default()
    };
    let map = |address: u64, extent: [u32; 2]| {
        let m = TensorMap {
            ty: Ty::BF16,
            address,
            dims: vec![N as u64; 2],
            strides: vec![2 * N as u64],
            extent: extent.to_vec(),
            swizzle: Swizzle::B128,
            nan_outside: false,
        };
        Arg::Bytes(m.encode().unwrap().to_vec())
    };
    let run = || {
        let r = if groups {
            let args = [
                map(a, [64, 128]),
                map(b, [64, 256]),
                map(c, [64, 64]),
                Arg::U32(n),
                Arg::U32(n),
                Arg::U32(n),
            ];
            vm.launch(
                &program,
                "gemm_bf16_tn_128x256x64",
                [32, 1, 1],
                [384, 1, 1],
                230_528,
                &args,
                &options,
            )
        } else {
            let args = [
                Arg::Address(a),
                Arg::Address(b),
                Arg::Address(c),
                Arg::U32(n),
                Arg::U32(n),
                Arg::U32(n),
            ];
            vm.launch(
                &program,
                "gemm_f16_tn_128x128x32",
                [n / 128, n / 128, 1],
                [128, 1, 1],
                65536,
                &args,
                &options,
            )
        };
        r.unwrap();
    };
    let mut best = f64::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        let before = spent(start);
        run();
        let t = if threads == 1 {
            spent(start) - before
        } else {
            start.elapsed().as_secs_f64()
        };
        best = best.min(t);
    }
    best
}

fn main() {
    let alu = "fma.rn.f32 %f0, %f0, %f1, %f1; mad.lo.u32 %r3, %r3, %r1, %r2; xor.b32 %r3, %r3, %r1; add.u32 %r6, %r3, %r2;\n".repeat(4);
    let mixed = "ld.shared.f32 %f2, [%r5]; fma.rn.f32 %f2, %f2, %f1, %f1; st.shared.f32 [%r5], %f2; ld.global.f32 %f3, [%a2]; add.rn.f32 %f3, %f3, %f1; st.global.f32 [%a2], %f3;\n".repeat(3);
    let mma = |a: &str| {
        let k = if a == "tf32" { 8 } else { 16 };
        // Numbers near one, whatever the type.
        let words = match a {
            "f16" => [0x3c01_b802u32, 0x3a00_3400],
            "bf16" => [0x3f81_bf02, 0x3ec1_3e80],
            _ => [0x3f81_2000, 0xbe91_4000],
        };
        let set: String = (8..14)
            .map(|r| format!("mov.b32 %r{r}, {};", words[r % 2]))
            .collect();
        set + &format!("mma.sync.aligned.m16n8k{k}.row.col.f32.{a}.{a}.f32 {{%f0,%f1,%f2,%f3}}, {{%r8,%r9,%r10,%r11}}, {{%r12,%r13}}, {{%f0,%f1,%f2,%f3}};\n").repeat(4)
    };
    let simple = |name, body: &str, checks| Case {
        name,
        body: body.to_string(),
        threads: 128,
        loops: 20_000,
        checks,
        products: None,
    };
    let product = |name, a: &str, depth: f64| Case {
        name,
        body: mma(a),
        threads: 32,
        loops: 4000,
        checks: Checks::Run,
        products: Some(4.0 * 16.0 * 8.0 * depth),
    };
    let cases = [
        simple("arithmetic", &alu, Checks::Run),
        simple("mixed, bounds", &mixed, Checks::Run),
        simple("mixed, usual checks", &mixed, Checks::Check),
        simple("mixed, all checks", &mixed, Checks::All),
        product("products of f16", "f16", 16.0),
        product("products of bf16", "bf16", 16.0),
        product("products of tf32", "tf32", 8.0),
    ];
    let only = std::env::args().nth(1).filter(|a| !a.starts_with('-'));
    let mut rows = vec![];
    for c in cases
        .iter()
        .filter(|c| only.as_ref().is_none_or(|o| c.name.contains(o.as_str())))
    {
        let unit = if c.products.is_some() {
            "G products/s"
        } else {
            "M warp instructions/s"
        };
        let scale = if c.products.is_some() { 1e9 } else { 1e6 };
        for (level, tag) in [(None, "best"), (Some(Level::Base), "base")] {
            let rate = measure(c, level) / scale;
            println!("{:<24} {tag:<5} {rate:9.2} {unit}", c.name);
            rows.push(format!("\"{}\",{tag},{rate:.3},{unit}", c.name));
        }
    }
    for (what, file) in [
        ("gemm of warps, f16, 1024", "gemm_sm80_cpasync_ldmatrix"),
        ("gemm of warpgroups, bf16, 1024", "gemm_wgmma_tma_ws"),
    ] {
        if only.as_ref().is_some_and(|o| !what.contains(o.as_str())) {
            continue;
        }
        for threads in [1, 2] {
            let t = gemm(file, threads);
            println!("{what:<32} {threads} threads {t:9.3} s");
            let clock = if threads == 1 {
                "CPU time"
            } else {
                "by the clock"
            };
            rows.push(format!("\"{what}\",{threads} threads; {clock},{t:.4},s"));
        }
    }
    if let Ok(file) = std::env::var("TIKI_RESULTS") {
        let mut text = std::fs::read_to_string(&file)
            .unwrap_or_else(|_| "date,command,note,cpu,load,case,with,figure,unit\n".into());
        let note = std::env::var("TIKI_NOTE").unwrap_or_default();
        for r in rows {
            text += &format!("{},{COMMAND},{note},{},{},{r}\n", date(), cpu(), load());
        }
        std::fs::write(file, text).unwrap();
    }
}

/// Today, from the days since 1970.
fn date() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let days = since.map_or(0, |s| s.as_secs() / 86400) as i64;
    // Years begin in March, so that the leap day is the last.
    let z = days + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day = of_era - (365 * year + year / 4 - year / 100);
    let m = (5 * day + 2) / 153;
    let (d, month) = (
        day - (153 * m + 2) / 5 + 1,
        if m < 10 { m + 3 } else { m - 9 },
    );
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{d:02}")
}

fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find(|l| l.starts_with("model name"));
    let name = line.and_then(|l| l.split(": ").nth(1)).unwrap_or("unknown");
    let n = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{n} x {name}")
}

/// The host's load: other work slows both siblings of a core.
fn load() -> String {
    let l = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    l.split(' ').next().unwrap_or("").to_string()
}
