//! Speed of the virtual machine on one host thread.
//!
//! `cargo bench -p tiki-launch --bench vm`; with `TIKI_RESULTS=FILE` it appends lines of CSV. A case runs several
//! times and the best counts, by the time that the thread was on a CPU, so that other work on the host disturbs
//! it less (where the host does not tell that time, by the clock).
//!
//! The floors are those of the machine's design: a core does 250 million warp instructions of arithmetic a second,
//! 60 million of mixed code with bounds checks, 25 million with all checks, 3 billion exact products.

use std::time::Instant;
use tiki_launch::vm::{Arg, Checks, Level, Options, Vm};

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
         .reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %a<4>; .reg .pred %p; .shared .align 16 .b8 s[4096];\n\
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

fn main() {
    let alu = "fma.rn.f32 %f0, %f0, %f1, %f1; mad.lo.u32 %r3, %r3, %r1, %r2; xor.b32 %r3, %r3, %r1; add.u32 %r6, %r3, %r2;\n".repeat(4);
    let mixed = "ld.shared.f32 %f2, [%r5]; fma.rn.f32 %f2, %f2, %f1, %f1; st.shared.f32 [%r5], %f2; ld.global.f32 %f3, [%a2]; add.rn.f32 %f3, %f3, %f1; st.global.f32 [%a2], %f3;\n".repeat(3);
    let mma = |a: &str| {
        let k = if a == "tf32" { 8 } else { 16 };
        format!("mma.sync.aligned.m16n8k{k}.row.col.f32.{a}.{a}.f32 {{%f0,%f1,%f2,%f3}}, {{%r1,%r2,%r3,%r4}}, {{%r5,%r6}}, {{%f0,%f1,%f2,%f3}};\n").repeat(4)
    };
    let simple = |name, body: &str, checks| Case {
        name,
        body: body.to_string(),
        threads: 128,
        loops: 50_000,
        checks,
        products: None,
    };
    let product = |name, a: &str, depth: f64| Case {
        name,
        body: mma(a),
        threads: 32,
        loops: 4000,
        checks: Checks::default(),
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
            rows.push(format!("{},{tag},{rate:.3},{unit}", c.name));
        }
    }
    if let Ok(file) = std::env::var("TIKI_RESULTS") {
        let note = std::env::var("TIKI_NOTE").unwrap_or_default();
        let mut text = std::fs::read_to_string(&file).unwrap_or_default();
        for r in rows {
            text += &format!("{note},{r}\n");
        }
        std::fs::write(file, text).unwrap();
    }
}
