//! What is found of a thread by itself: indices that wrap, registers, reads of what it never wrote; and sums that blocks
//! make without seeing one another.

use super::{all, codes, run};
use tiki_launch::vm::{Arg, Code, Options, Severity, Vm};

/// The row 65536 of rows of 65536 bytes begins past 32 bits, and its address comes out small and in bounds.
#[test]
fn an_index_that_wraps_is_found() {
    let run = |row: u32, product: &str| {
        let body = format!(
            "mov.u32 %t5, {row}; {product} add.u64 %a2, %a0, %a2; ld.global.u32 %t7, [%a2];"
        );
        codes(&run(&body, 1, 32, &all()))
    };
    let narrow = "mul.lo.u32 %t6, %t5, 65536; cvt.u64.u32 %a2, %t6;";
    assert_eq!(run(65536, narrow), [Code::Overflow]);
    assert_eq!(run(0, narrow), []);
    let wide = "mul.wide.u32 %a2, %t5, 65536; and.b64 %a2, %a2, 4095;";
    assert_eq!(run(65536, wide), [], "the product itself is wide");
    // A sum behind it, and the scaling to bytes that widens.
    let sum = "mad.lo.s32 %t6, %t5, 65536, 0; add.s32 %t6, %t6, 1; mul.wide.s32 %a2, %t6, 4;";
    assert_eq!(run(65536, sum), [Code::Overflow]);
    let masked = "mul.lo.u32 %t6, %t5, 65536; and.b32 %t6, %t6, 4092; cvt.u64.u32 %a2, %t6;";
    assert_eq!(run(65537, masked), [], "bits are meant to be lost");
    let negative = "mul.lo.s32 %t6, %t5, -4; add.s32 %t6, %t6, 64; cvt.s64.s32 %a2, %t6;";
    assert_eq!(run(16, negative), [], "right of signed numbers");
}

/// Forty sums at once, and a thread that may have 24 registers, or 64.
#[test]
fn registers_are_held_against_what_a_thread_may_have() {
    let run = |directive: &str| {
        let load: String = (0..40)
            .map(|i| format!("ld.global.f32 %f{i}, [%a0+{}];", 4 * i))
            .collect();
        let add: String = (1..40)
            .map(|i| format!("fma.rn.f32 %f0, %f0, %f{i}, %f{};", 40 - i))
            .collect();
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {directive} {{
            .reg .b64 %a<2>; .reg .f32 %f<40>; ld.param.u64 %a0, [p]; {load} {add} st.global.f32 [%a0], %f0; ret; }}"
        );
        let vm = Vm::new();
        let program = vm.load(&text).unwrap_or_else(|e| panic!("{e}"));
        let args = [Arg::Address(vm.alloc(4096, "p").expect("memory"))];
        vm.examine(&program, "k", [1; 3], [1; 3], 0, &args, &all())
            .unwrap_or_else(|f| panic!("{f}"))
    };
    let few = run(".maxnreg 24");
    let [f] = few.findings.as_slice() else {
        panic!("{:?}", few.findings)
    };
    assert_eq!(
        (f.code, f.code.severity()),
        (Code::Registers, Severity::Warning)
    );
    assert!(f.text.ends_with("a thread has 24"), "{}", f.text);
    assert!(run(".maxnreg 64").findings.is_empty());
    assert!(run("").findings.is_empty());
}

/// Blocks that only add whole numbers run on any number of threads and lose nothing.
#[test]
fn sums_of_whole_numbers_come_out_on_any_number_of_threads() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {
        .reg .b64 %a<4>; .reg .b32 %t<8>; .reg .pred %p;
        ld.param.u64 %a0, [p]; mov.u32 %t0, %tid.x; and.b32 %t1, %t0, 7; mul.wide.u32 %a1, %t1, 4; add.u64 %a1, %a0, %a1;
        mov.u32 %t2, 0; LOOP: red.global.add.u32 [%a1], %t0; add.u32 %t2, %t2, 1; setp.lt.u32 %p, %t2, 50;
        @%p bra LOOP; ret; }";
    for threads in [1, 2, 5] {
        let vm = Vm::new();
        let program = vm.load(text).unwrap_or_else(|e| panic!("{e}"));
        let p = vm.alloc(32, "p").expect("memory");
        let options = Options { threads, ..all() };
        let report = vm
            .examine(
                &program,
                "k",
                [64, 1, 1],
                [256, 1, 1],
                0,
                &[Arg::Address(p)],
                &options,
            )
            .unwrap_or_else(|f| panic!("{f}"));
        assert!(
            report
                .findings
                .iter()
                .all(|f| f.code.severity() == Severity::Note)
        );
        let mut out = [0; 32];
        vm.read(p, &mut out).expect("the buffer");
        for (i, word) in out.chunks(4).enumerate() {
            let lanes: u32 = (0..256).filter(|t| t % 8 == i as u32).sum();
            let got = u32::from_le_bytes(word.try_into().expect("a word"));
            assert_eq!(got, 64 * 50 * lanes, "{threads} threads");
        }
    }
}

/// Registers and a thread's own memory that nothing wrote, in the lanes that read them.
#[test]
fn reads_of_what_nothing_wrote_are_found() {
    let found = |body: &str| {
        let r = run(body, 1, 32, &all());
        r.findings
            .iter()
            .map(|f| (f.code, f.lanes))
            .collect::<Vec<_>>()
    };
    let even = "and.b32 %t5, %t0, 1; setp.eq.u32 %p0, %t5, 0;";
    let odd = 0xaaaa_aaaa;
    let register = |what: &str| found(&format!("{even} {what} st.global.u32 [%a1], %t6;"));
    assert_eq!(register("mov.u32 %t6, 1;"), []);
    assert_eq!(register("@%p0 mov.u32 %t6, 1;"), [(Code::Undefined, odd)]);
    assert_eq!(register("@%p0 mov.u32 %t6, 1; @!%p0 mov.u32 %t6, 2;"), []);
    let address = format!("{even} @%p0 add.u64 %a2, %a0, 64; ld.global.u32 %t6, [%a2];");
    assert!(
        found(&address).contains(&(Code::Undefined, odd)),
        "{:?}",
        found(&address)
    );
    // A sum that begins with nothing shows where it is stored; a choice need not take what is unset.
    let sum = "mov.f32 %f1, 0f3F800000; @%p0 mov.f32 %f0, %f1; fma.rn.f32 %f0, %f1, %f1, %f0; cvt.rzi.u32.f32 %t6, %f0;";
    assert_eq!(register(sum), [], "a number that nothing stores");
    let sum = sum.replace("cvt", "st.global.f32 [%a1], %f0; cvt");
    assert_eq!(register(&sum), [(Code::Undefined, odd)]);
    let choice = "@%p0 mov.u32 %t7, 1; selp.u32 %t6, %t7, 0, %p0;";
    assert_eq!(register(choice), []);
    let own = |what: &str| {
        found(&format!(
            ".local .align 8 .b8 own[16]; {even} {what} st.global.u32 [%a1], %t6;"
        ))
    };
    assert_eq!(own("st.local.u32 [own], %t0; ld.local.u32 %t6, [own];"), []);
    assert_eq!(
        own("st.local.u32 [own], %t0; ld.local.u32 %t6, [own+4];"),
        [(Code::Undefined, u32::MAX)]
    );
    assert_eq!(
        own("@%p0 st.local.u32 [own], %t0; ld.local.u32 %t6, [own];"),
        [(Code::Undefined, odd)]
    );
    let each = "mov.u32 %t7, own; mad.lo.u32 %t7, %t5, 8, %t7; st.local.u32 [%t7], %t0; ld.local.u32 %t6, [own];";
    assert_eq!(
        own(each),
        [(Code::Undefined, odd)],
        "each lane at its own place"
    );
}
