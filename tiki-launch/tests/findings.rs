//! What is found beside data in flight: races between blocks and lanes, costs, births of NaN, and the same
//! findings for any number of host threads.

#[path = "findings/lone.rs"]
mod lone;

use tiki_launch::vm::{Arg, Async, Checks, Code, Fault, Options, Report, Severity, Shot, Vm};

/// A kernel over one buffer `p` of 4096 words; the body has the address of its thread's word in `%a1`.
fn run(body: &str, grid: u32, block: u32, options: &Options) -> Report {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{
        .reg .b64 %a<8>; .reg .b32 %t<16>; .reg .f32 %f<8>; .reg .pred %p<4>;
        .shared .align 16 .b8 tile[8192];
        ld.param.u64 %a0, [p];
        mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x; mov.u32 %t2, %ntid.x;
        mad.lo.u32 %t3, %t1, %t2, %t0; mul.wide.u32 %a1, %t3, 4; add.u64 %a1, %a0, %a1;
        mov.u32 %t4, tile; mad.lo.u32 %t4, %t0, 4, %t4;
        {body}
        ret; }}"
    );
    let vm = Vm::new();
    let program = vm.load(&text).unwrap_or_else(|e| panic!("{e}"));
    let p = vm.alloc(4 * 4096, "p").expect("memory");
    let args = [Arg::Address(p)];
    vm.examine(
        &program,
        "k",
        [grid, 1, 1],
        [block, 1, 1],
        0,
        &args,
        options,
    )
    .unwrap_or_else(|f| panic!("{f}"))
}

fn all() -> Options {
    Options {
        checks: Checks::All,
        max_steps: 100_000,
        ..Options::default()
    }
}

fn codes(r: &Report) -> Vec<Code> {
    r.findings.iter().map(|f| f.code).collect()
}

#[test]
fn findings_do_not_depend_on_host_threads() {
    // Every block writes the word of the next one's first thread too.
    let body = "st.global.u32 [%a1], %t0; st.global.u32 [%a1+128], %t0; st.shared.u32 [%t4], %t0;
        xor.b32 %t5, %t4, 128; ld.shared.u32 %t6, [%t5]; st.global.u32 [%a1], %t6;";
    let with = |threads: usize| run(body, 40, 64, &Options { threads, ..all() }).findings;
    let one = with(1);
    let found: Vec<Code> = one.iter().map(|f| f.code).collect();
    assert!(
        found.contains(&Code::GlobalRace) && found.contains(&Code::SharedRace),
        "{found:?}"
    );
    for threads in [2, 3, 7] {
        assert_eq!(with(threads), one, "{threads} threads");
    }
}

#[test]
fn a_finding_says_where_both_accesses_are() {
    let r = run("st.global.u32 [%a0+64], %t0;", 3, 1, &all());
    let [f] = r.findings.as_slice() else {
        panic!("{:?}", r.findings)
    };
    assert_eq!(
        (f.code, f.buffer.as_deref(), f.index),
        (Code::GlobalRace, Some("p"), Some(64))
    );
    assert_eq!(f.block, [1, 0, 0]);
    let other = f.other.as_ref().expect("another access");
    assert_eq!((other.block, other.ptx_line), ([0, 0, 0], f.ptx_line));
    assert_eq!(f.code.severity(), Severity::Error);
}

#[test]
fn atomics_race_with_plain_accesses_only() {
    let atomics = "red.global.add.u32 [%a0], 1;";
    assert!(run(atomics, 4, 64, &all()).findings.is_empty());
    let mixed =
        "red.global.add.u32 [%a0], 1; ld.global.u32 %t5, [%a0]; st.global.u32 [%a1+512], %t5;";
    assert_eq!(codes(&run(mixed, 2, 1, &all())), [Code::GlobalRace]);
}

/// The last block sums what the others wrote: right with fences, wrong without either.
#[test]
fn a_counter_passes_data_between_blocks_if_fences_do() {
    let body = |before: &str, behind: &str| {
        format!(
            "st.global.u32 [%a1+256], %t3; {before} atom.global.add.u32 %t5, [%a0], 1; setp.ne.u32 %p0, %t5, 3;
             @%p0 bra END; {behind} ld.global.u32 %t6, [%a0+256]; ld.global.u32 %t7, [%a0+260]; END:"
        )
    };
    let run = |before, behind| codes(&run(&body(before, behind), 4, 1, &all()));
    assert_eq!(run("membar.gl;", "membar.gl;"), []);
    assert_eq!(run("fence.acq_rel.gpu;", "fence.acq_rel.gpu;"), []);
    assert_eq!(run("", "membar.gl;"), [Code::GlobalRace]);
    assert_eq!(run("membar.gl;", ""), [Code::GlobalRace]);
    assert_eq!(
        run("membar.cta;", "membar.gl;"),
        [Code::GlobalRace],
        "too narrow"
    );
}

/// A counter of releases tells of every block that counted, not of the last alone: each adds to what is released there.
#[test]
fn a_counter_of_releases_tells_of_every_block() {
    let body = |order: &str| {
        format!(
            "setp.eq.u32 %p0, %t1, 3; @%p0 bra READ; st.global.u32 [%a1+256], %t3;
             red.{order}.gpu.global.add.u32 [%a0], 1; bra END;
             READ: ld.acquire.gpu.global.u32 %t5, [%a0]; setp.lt.u32 %p1, %t5, 3; @%p1 bra READ;
             ld.global.u32 %t6, [%a0+256]; ld.global.u32 %t7, [%a0+260]; ld.global.u32 %t8, [%a0+264]; END:"
        )
    };
    let run = |order| codes(&run(&body(order), 4, 1, &all()));
    assert_eq!(run("release"), []);
    assert_eq!(run("relaxed"), [Code::GlobalRace]);
}

#[test]
fn lanes_of_a_warp_must_meet() {
    let body = |between: &str| {
        format!(
            "st.shared.u32 [%t4], %t0; {between} xor.b32 %t5, %t4, 4; ld.shared.u32 %t6, [%t5];"
        )
    };
    let run = |between, checks| codes(&run(&body(between), 1, 32, &Options { checks, ..all() }));
    assert_eq!(run("", Checks::All), [Code::WarpSynchronous]);
    assert_eq!(
        run("", Checks::Check),
        [],
        "only where lanes are told apart"
    );
    assert_eq!(run("bar.warp.sync 0xffffffff;", Checks::All), []);
}

#[test]
fn bytes_of_a_word_are_told_apart() {
    // Each warp has half of every word.
    let body = "and.b32 %t5, %t0, 31; shr.u32 %t6, %t0, 5; mov.u32 %t7, tile; mad.lo.u32 %t7, %t5, 4, %t7;
        mad.lo.u32 %t7, %t6, 2, %t7; cvt.u16.u32 %h, %t0; st.shared.u16 [%t7], %h; ld.shared.u16 %h, [%t7];";
    let body = body.replace("%h", "%h0");
    let text = format!(".reg .b16 %h<1>; {body}");
    assert!(run(&text, 1, 64, &all()).findings.is_empty());
    let whole = text.replace(
        "ld.shared.u16 %h0, [%t7];",
        "and.b32 %t7, %t7, -4; ld.shared.u32 %t5, [%t7];",
    );
    let found = codes(&run(&whole, 1, 64, &all()));
    assert!(found.contains(&Code::SharedRace), "{found:?}");
}

#[test]
fn costs_are_counted_by_line() {
    let body = "mov.u32 %t5, tile; mad.lo.u32 %t5, %t0, 128, %t5; st.shared.u32 [%t5], %t0;
        st.shared.u32 [%t4+4096], %t0; mul.wide.u32 %a2, %t0, 64; add.u64 %a2, %a0, %a2;
        ld.global.u32 %t6, [%a2]; ld.global.u32 %t7, [%a1];";
    let r = run(body, 1, 32, &all());
    let costs: Vec<(bool, u64, u64, u64)> = r
        .costs
        .iter()
        .map(|c| (c.shared, c.requests, c.moved, c.ideal))
        .collect();
    assert_eq!(
        costs,
        [
            (true, 1, 32, 1),
            (true, 1, 1, 1),
            (false, 1, 32, 4),
            (false, 1, 4, 4)
        ]
    );
}

#[test]
fn a_nan_is_found_where_it_is_born() {
    let body = "mov.f32 %f0, 0f7F000000; mul.rn.f32 %f1, %f0, %f0; sub.rn.f32 %f2, %f1, %f1; add.rn.f32 %f3, %f2, %f0;";
    let r = run(
        body,
        1,
        32,
        &Options {
            numbers: true,
            ..all()
        },
    );
    let found: Vec<(Code, u32)> = r.findings.iter().map(|f| (f.code, f.lanes)).collect();
    assert_eq!(
        found,
        [(Code::NotANumber, u32::MAX)],
        "only the product: the rest inherits it"
    );
    assert!(
        run(body, 1, 32, &all()).findings.is_empty(),
        "only if asked"
    );
}

/// Sums of floats in the order in which blocks come: the result is nobody's promise.
#[test]
fn order_shows_in_results() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {
        .reg .b64 %a<2>; .reg .b32 %t<4>; .reg .f32 %f<2>;
        ld.param.u64 %a0, [p]; mov.u32 %t0, %ctaid.x; cvt.rn.f32.u32 %f0, %t0; add.rn.f32 %f0, %f0, 0f3F800000;
        rcp.rn.f32 %f0, %f0; red.global.add.f32 [%a0], %f0; ret; }";
    let vm = Vm::new();
    let program = vm.load(text).unwrap_or_else(|e| panic!("{e}"));
    let p = vm.alloc(4, "p").expect("memory");
    let args = [Arg::Address(p)];
    let shot = Shot {
        program: &program,
        entry: "k",
        grid: [200, 1, 1],
        block: [32, 1, 1],
        dynamic_shared: 0,
        args: &args,
    };
    let survey = vm
        .survey(&shot, &all(), 3)
        .unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(survey.runs.len(), 5);
    let found: Vec<&Fault> = survey.findings.iter().collect();
    assert!(
        found.iter().any(|f| f.code == Code::OrderSensitive),
        "{found:?}"
    );
    assert!(matches!(survey.runs[4].0, Async::Seed(3)));
}

#[test]
fn it_goes_on_behind_what_is_wrong() {
    let body =
        "st.global.u32 [%a1+16380], %t0; ld.global.u32 %t5, [%a1+2]; ld.shared.u32 %t6, [%t4];
        st.global.u32 [%a1], %t0;";
    let r = run(body, 1, 32, &all());
    assert_eq!(codes(&r), [Code::Bounds, Code::Alignment, Code::Undefined]);
    assert_eq!(r.findings[0].lanes, !1, "lane 0 is in bounds");
}
