//! Functions that a driver brings along: printing by C's formats, and assertions.
//!
//! Invariant: what is printed is what C prints, lane by lane and block by block, for any number of host threads.
//! Witness: calls as nvcc writes them; arguments of every size; calls that are wrong.

use tiki_launch::vm::{Arg, Async, Checks, Code, Options, Printed, Report, Vm};

const TOP: &str = ".version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 func_retval0) vprintf
(
    .param .b64 vprintf_param_0,
    .param .b64 vprintf_param_1
)
;
.extern .func __assertfail
(
    .param .b64 __assertfail_param_0,
    .param .b64 __assertfail_param_1,
    .param .b32 __assertfail_param_2,
    .param .b64 __assertfail_param_3,
    .param .b64 __assertfail_param_4
)
.noreturn;
";

fn string(name: &str, text: &str) -> String {
    let bytes: Vec<String> = text.bytes().chain([0]).map(|b| b.to_string()).collect();
    format!(
        ".global .align 1 .b8 {name}[{}] = {{{}}};\n",
        bytes.len(),
        bytes.join(", ")
    )
}

/// A kernel that prints block, thread, a wide number, a float and a string, and stores what the call gives.
fn printing(guard: &str) -> String {
    format!(
        "{TOP}{}{}
.visible .entry k(.param .u64 p)
{{
    .local .align 16 .b8 __local_depot0[48];
    .reg .b64 %SP; .reg .b64 %SPL; .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<12>; .reg .f64 %fd<4>;
    mov.u64 %SPL, __local_depot0;
    cvta.local.u64 %SP, %SPL;
    ld.param.u64 %rd0, [p];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r5, %ntid.x;
    add.u64 %rd1, %SP, 0;
    add.u64 %rd2, %SPL, 0;
    st.local.v2.u32 [%rd2], {{%r2, %r1}};
    mul.wide.u32 %rd3, %r1, 1073741824;
    st.local.u64 [%rd2+8], %rd3;
    cvt.rn.f64.u32 %fd1, %r1;
    mul.f64 %fd1, %fd1, 0d3FE0000000000000;
    st.local.f64 [%rd2+16], %fd1;
    mov.u64 %rd4, word;
    cvta.global.u64 %rd5, %rd4;
    st.local.u64 [%rd2+24], %rd5;
    mov.u64 %rd6, format;
    cvta.global.u64 %rd7, %rd6;
    {guard}
    {{
    .param .b64 param0;
    st.param.b64 [param0+0], %rd7;
    .param .b64 param1;
    st.param.b64 [param1+0], %rd1;
    .param .b32 retval0;
    call.uni (retval0), vprintf, (param0, param1);
    ld.param.b32 %r3, [retval0+0];
    }}
    mad.lo.u32 %r6, %r2, %r5, %r1;
    mul.wide.u32 %rd8, %r6, 4;
    add.u64 %rd9, %rd0, %rd8;
    st.global.u32 [%rd9], %r3;
OUT:
    ret;
}}
",
        string("format", "block %d thread %2d: %lld, %.1f, %s\n"),
        string("word", "done"),
    )
}

fn run(text: &str, grid: u32, block: u32, options: &Options) -> (Result<Report, String>, Vec<u32>) {
    let vm = Vm::new();
    let program = vm.load(text).unwrap_or_else(|e| panic!("{e}"));
    let p = vm.alloc(4096, "p").expect("memory");
    let ran = vm.launch(
        &program,
        "k",
        [grid, 1, 1],
        [block, 1, 1],
        0,
        &[Arg::Address(p)],
        options,
    );
    let mut out = vec![0; 4 * (grid * block) as usize];
    vm.read(p, &mut out).expect("read");
    let out = out
        .chunks(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let ran = ran.map_err(|f| {
        assert!(matches!(f.code, Code::Trap | Code::Bounds), "{f}");
        f.to_string()
    });
    (ran, out.collect())
}

fn lines(grid: u32, threads: impl Iterator<Item = u32> + Clone) -> String {
    (0..grid)
        .flat_map(|b| threads.clone().map(move |t| (b, t)))
        .map(|(b, t)| {
            format!(
                "block {b} thread {t:2}: {}, {:.1}, done\n",
                u64::from(t) << 30,
                f64::from(t) / 2.0
            )
        })
        .collect()
}

#[test]
fn threads_print_block_by_block() {
    for checks in [Checks::Run, Checks::Check, Checks::All] {
        for threads in [1, 3] {
            for completion in [Async::Eager, Async::Late] {
                let o = Options {
                    checks,
                    threads,
                    completion,
                    ..Options::default()
                };
                let (report, out) = run(&printing(""), 6, 40, &o);
                let report = report.expect("nothing is wrong");
                assert_eq!(report.printed, lines(6, 0..40));
                assert!(report.findings.is_empty(), "{:?}", report.findings);
                assert!(
                    out.iter().all(|n| *n == 5),
                    "it gives the number of arguments"
                );
            }
        }
    }
    // Of lanes that go another way, nothing is printed.
    let some = printing("and.b32 %r4, %r1, 7; setp.ne.u32 %p, %r4, 3; @%p bra OUT;");
    let (report, out) = run(&some, 2, 32, &Options::default());
    let third = (0..32).filter(|t| t % 8 == 3);
    assert_eq!(report.expect("nothing is wrong").printed, lines(2, third));
    assert_eq!(out.iter().filter(|n| **n == 5).count(), 8);
}

#[test]
fn what_is_printed_is_bounded() {
    let text = printing("");
    let long = text.replace(
        &string("word", "done"),
        &string("word", &"x".repeat(40_000)),
    );
    let (report, _) = run(&long, 2, 32, &Options::default());
    assert_eq!(report.expect("nothing is wrong").printed.len(), 1 << 20);
}

#[test]
fn wrong_calls_are_told() {
    // A format, or a string, that is nowhere; no format at all is an answer, not a fault.
    let nowhere = printing("mov.u64 %rd7, 4096;");
    let (told, _) = run(&nowhere, 1, 32, &Options::default());
    assert!(told.expect_err("no such byte").contains("0x1000"));
    let string = printing("mov.u64 %rd4, 0x7000; st.local.u64 [%rd2+24], %rd4;");
    let (told, _) = run(&string, 1, 32, &Options::default());
    assert!(told.expect_err("no such byte").contains("0x7000"));
    let null = printing("mov.u64 %rd7, 0;");
    let (report, out) = run(&null, 1, 32, &Options::default());
    assert_eq!(report.expect("nothing is wrong").printed, "");
    assert!(out.iter().all(|n| *n == u32::MAX));
    // Variables of other sizes, another number of them, and a function that nobody brings along.
    let refused = |find: &str, replace: &str| {
        let text = printing("").replacen(find, replace, 1);
        assert_ne!(text, printing(""));
        Vm::new()
            .load(&text)
            .expect_err("it is refused")
            .to_string()
    };
    assert!(refused(".param .b64 param1;", ".param .b32 param1;").contains("other sizes"));
    assert!(refused("(param0, param1)", "(param0)").contains("other sizes"));
    assert!(refused("(retval0), vprintf", "(retval0), vfprintf").contains("vfprintf"));
}

#[test]
fn an_assertion_says_what_does_not_hold() {
    let text = format!(
        "{TOP}{}{}{}{}
.visible .entry k(.param .u64 p)
{{
    .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<8>;
    mov.u32 %r1, %tid.x;
    {{
    .param .b64 param0; .param .b64 param1;
    mov.u64 %rd0, said; cvta.global.u64 %rd0, %rd0;
    mov.u64 %rd1, 0;
    st.param.b64 [param0+0], %rd0; st.param.b64 [param1+0], %rd1;
    .param .b32 retval0;
    setp.ne.u32 %p, %r1, 0;
    @%p bra ON;
    call.uni (retval0), vprintf, (param0, param1);
    }}
ON:
    setp.ne.u32 %p, %r1, 9;
    @%p bra OUT;
    mov.u64 %rd2, cond; cvta.global.u64 %rd2, %rd2;
    mov.u64 %rd3, file; cvta.global.u64 %rd3, %rd3;
    mov.u64 %rd4, func; cvta.global.u64 %rd4, %rd4;
    mov.u32 %r2, 12; mov.u64 %rd5, 1;
    {{
    .param .b64 a0; st.param.b64 [a0+0], %rd2;
    .param .b64 a1; st.param.b64 [a1+0], %rd3;
    .param .b32 a2; st.param.b32 [a2+0], %r2;
    .param .b64 a3; st.param.b64 [a3+0], %rd4;
    .param .b64 a4; st.param.b64 [a4+0], %rd5;
    call.uni __assertfail, (a0, a1, a2, a3, a4);
    }}
OUT:
    ret;
}}
",
        string("said", "before\n"),
        string("cond", "i < n"),
        string("file", "k.cu"),
        string("func", "k(int)"),
    );
    let printed = Printed::default();
    let o = Options {
        printed: Some(printed.clone()),
        ..Options::default()
    };
    let (told, _) = run(&text, 1, 32, &o);
    let told = told.expect_err("it does not hold");
    assert!(
        told.contains("assertion `i < n` does not hold, k.cu:12 in `k(int)`")
            && told.contains("lanes 9"),
        "{told}"
    );
    assert_eq!(
        printed.take(),
        "before\n",
        "a launch that broke has printed"
    );
    assert!(run(&text, 1, 8, &Options::default()).0.is_ok());
}
