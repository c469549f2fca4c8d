//! Speed of the virtual machine: warp instructions a second of one host thread, and products of a GEMM.
//!
//! `cargo bench -p tiki-launch --bench vm`. The floors are those of the machine's design: 250 million a second
//! of arithmetic, 60 million of mixed code with bounds checks.

use std::time::Instant;
use tiki_launch::vm::{Arg, Checks, Options, Vm};

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

fn rate(name: &str, body: &str, checks: Checks) {
    let vm = Vm::new();
    let p = vm.load(&text(body)).unwrap();
    let x = vm.alloc(4096, "x").unwrap();
    let options = Options {
        threads: 1,
        checks,
        ..Options::default()
    };
    let args = [Arg::Address(x), Arg::U32(100_000)];
    let mut best = 0.0f64;
    for _ in 0..5 {
        let start = Instant::now();
        let r = vm
            .launch(&p, "k", [1, 1, 1], [128, 1, 1], 0, &args, &options)
            .unwrap();
        best = best.max(r.warp_instructions as f64 / start.elapsed().as_secs_f64() / 1e6);
    }
    println!("{name:<40} {best:8.1} M warp instructions/s");
}

fn main() {
    let alu = "fma.rn.f32 %f0, %f0, %f1, %f1; mad.lo.u32 %r3, %r3, %r1, %r2; xor.b32 %r3, %r3, %r1; add.u32 %r6, %r3, %r2;\n".repeat(4);
    let mixed = "ld.shared.f32 %f2, [%r5]; fma.rn.f32 %f2, %f2, %f1, %f1; st.shared.f32 [%r5], %f2; ld.global.f32 %f3, [%a2]; add.rn.f32 %f3, %f3, %f1; st.global.f32 [%a2], %f3;\n".repeat(3);
    rate("arithmetic", &alu, Checks::Run);
    rate("mixed, bounds only", &mixed, Checks::Run);
    rate("mixed, all checks", &mixed, Checks::All);
    let mma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f0,%f1,%f2,%f3};\n".repeat(4);
    let vm = Vm::new();
    let p = vm.load(&text(&mma)).unwrap();
    let x = vm.alloc(4096, "x").unwrap();
    let options = Options {
        threads: 1,
        ..Options::default()
    };
    let start = Instant::now();
    vm.launch(
        &p,
        "k",
        [1, 1, 1],
        [32, 1, 1],
        0,
        &[Arg::Address(x), Arg::U32(2000)],
        &options,
    )
    .unwrap();
    let products = 4.0 * 2000.0 * 16.0 * 8.0 * 16.0;
    println!(
        "{:<40} {:8.2} G products/s",
        "tensor cores, exact",
        products / start.elapsed().as_secs_f64() / 1e9
    );
}
