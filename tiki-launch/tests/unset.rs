//! Reads of global memory that nothing has written, of buffers declared to hold nothing.
//!
//! Invariant: a kernel that reads only what it, an earlier launch or the host has written shows nothing; of edits that
//! each leave something unwritten, or read past it, every one is found, at the right byte. Witness: two kernels in a row,
//! in every way in which asynchronous work may complete; each kind of reading by itself.

use tiki_launch::vm::{
    Arg, Async, Checks, Code, Fault, Options, Report, Shot, Swizzle, TensorMap, Vm,
};

const WORDS: u64 = 4096;

struct Bench {
    vm: Vm,
    p: u64,
    /// Holds zeros.
    q: u64,
}

impl Bench {
    fn new() -> Bench {
        let vm = Vm::new();
        let p = vm.alloc_unset(4 * WORDS, "p").expect("memory");
        let q = vm.alloc(4 * WORDS, "q").expect("memory");
        Bench { vm, p, q }
    }
    fn text(body: &str) -> String {
        format!(
            ".version 8.3\n.target sm_90\n.address_size 64\n\
             .visible .entry k(.param .u64 p, .param .u64 q, .param .align 64 .b8 map[128]) {{
             .reg .b64 %a<8>; .reg .b32 %t<16>; .reg .f32 %f<8>; .reg .pred %p<4>;
             .shared .align 128 .b8 tile[4096]; .shared .align 8 .b8 full[8];
             ld.param.u64 %a0, [p]; ld.param.u64 %a3, [q]; mov.u64 %a5, map; cvta.param.u64 %a5, %a5;
             mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x; mov.u32 %t2, %ntid.x;
             mad.lo.u32 %t3, %t1, %t2, %t0; mul.wide.u32 %a1, %t3, 4; add.u64 %a2, %a3, %a1; add.u64 %a1, %a0, %a1;
             mov.u32 %t4, tile; mad.lo.u32 %t5, %t0, 16, %t4; setp.eq.u32 %p0, %t0, 0;
             {body}
             ret; }}"
        )
    }
    /// A tensor of 64 columns over the first rows of `p`, in boxes of 8 x 16.
    fn map(&self) -> Arg {
        let map = TensorMap {
            ty: tiki_kernel::isa::Ty::F32,
            address: self.p,
            dims: vec![64, 32],
            strides: vec![256],
            extent: vec![16, 8],
            swizzle: Swizzle::None,
            nan_outside: false,
        };
        Arg::Bytes(map.encode().expect("a map").to_vec())
    }
    fn run(&self, body: &str, grid: u32, block: u32, options: &Options) -> Report {
        let text = Bench::text(body);
        let program = self.vm.load(&text).unwrap_or_else(|e| panic!("{e}"));
        let args = [Arg::Address(self.p), Arg::Address(self.q), self.map()];
        let shape = ([grid, 1, 1], [block, 1, 1]);
        self.vm
            .examine(&program, "k", shape.0, shape.1, 0, &args, options)
            .unwrap_or_else(|f| panic!("{f}"))
    }
}

fn options(checks: Checks) -> Options {
    Options {
        checks,
        max_steps: 100_000,
        ..Options::default()
    }
}

/// Code, buffer, byte and lanes of findings.
fn said(findings: &[Fault]) -> Vec<(Code, Option<&str>, Option<u64>, u32)> {
    findings
        .iter()
        .map(|f| (f.code, f.buffer.as_deref(), f.index, f.lanes))
        .collect()
}

/// A kernel that writes, and one that reads what it wrote, with one mistake each.
#[test]
fn what_a_launch_leaves_out_is_found_in_the_next() {
    let write = "st.global.u32 [%a1], %t0;";
    let read = "ld.global.u32 %t7, [%a1]; st.global.u32 [%a2], %t7;";
    // How the writer or the reader is wrong; the first byte that nothing wrote and the lanes that read such.
    let mutants = [
        (write, read, None),
        (
            "setp.ne.u32 %p1, %t0, 31; @%p1 st.global.u32 [%a1], %t0;",
            read,
            Some((124, 1 << 31)),
        ),
        ("st.global.u16 [%a1], %t0;", read, Some((2, u32::MAX))),
        ("st.global.u8 [%a1+1], %t0;", read, Some((0, u32::MAX))),
        ("st.global.u32 [%a1+4], %t0;", read, Some((0, 1))),
        (
            "setp.lt.u32 %p1, %t0, 16; @%p1 st.global.u32 [%a1], %t0;",
            read,
            Some((64, 0xffff_0000)),
        ),
        (
            write,
            "ld.global.u32 %t7, [%a1+4]; st.global.u32 [%a2], %t7;",
            Some((256, 1 << 31)),
        ),
        (
            write,
            "ld.global.u32 %t7, [%a0+8192]; st.global.u32 [%a2], %t7;",
            Some((8192, u32::MAX)),
        ),
        (
            write,
            "ld.global.nc.v2.u32 {%t7, %t8}, [%a0+256]; st.global.u32 [%a2], %t7;",
            Some((256, u32::MAX)),
        ),
    ];
    for checks in [Checks::Check, Checks::All] {
        for (write, read, want) in mutants {
            let b = Bench::new();
            let o = options(checks);
            assert!(b.run(write, 2, 32, &o).findings.is_empty());
            let got = b.run(read, 2, 32, &o).findings;
            let first = got.iter().find(|f| f.code == Code::Undefined);
            let first = first.map(|f| (f.index.expect("a byte"), f.lanes));
            assert_eq!(first, want, "{write} {read}: {got:?}");
            assert!(got.iter().all(|f| f.buffer.as_deref() == Some("p")));
            // It was told, once; and where nobody checks, nobody says anything.
            let b = Bench::new();
            b.run(write, 2, 32, &options(Checks::Run));
            assert!(
                b.run(read, 2, 32, &options(Checks::Run))
                    .findings
                    .is_empty()
            );
        }
    }
}

#[test]
fn every_kind_of_reading_is_held_against_it() {
    let made = "@%p0 mbarrier.init.shared::cta.b64 [full], 1; @%p0 fence.mbarrier_init.release.cluster; bar.sync 0;";
    let load = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 512;";
    let wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [full], 0; @!%p2 bra W;";
    let bulk = format!(
        "{made} @%p0 {load} @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%a0], 512, [full]; {wait}"
    );
    let tensor = format!(
        "{made} mov.u32 %t8, 0; @%p0 {load} \
         @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%a5, {{%t8, %t8}}], [full]; {wait}"
    );
    let sum = "mov.u32 %t7, 0; st.shared.v4.u32 [%t5], {%t7, %t7, %t7, %t7}; fence.proxy.async.shared::cta; bar.sync 0;";
    let reduce = format!(
        "{sum} @%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%a0], [tile], 512; \
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    );
    let reduce_box = format!(
        "{sum} mov.u32 %t8, 0; @%p0 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%a5, {{%t8, %t8}}], [tile]; \
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    );
    let copy = "mul.wide.u32 %a4, %t0, 16; add.u64 %a4, %a0, %a4; \
        cp.async.cg.shared.global [%t5], [%a4], 16; cp.async.commit_group; cp.async.wait_group 0;";
    let readings: [&str; 8] = [
        "ld.global.u32 %t7, [%a1];",
        "ld.u32 %t7, [%a1];",
        "atom.global.add.u32 %t7, [%a0], 1;",
        "red.global.add.u32 [%a0], 1;",
        copy,
        &bulk,
        &tensor,
        &reduce,
    ];
    for body in readings.into_iter().chain([reduce_box.as_str()]) {
        for completion in [Async::Eager, Async::Late, Async::Seed(5)] {
            for checks in [Checks::Check, Checks::All] {
                let o = Options {
                    completion,
                    ..options(checks)
                };
                let b = Bench::new();
                let got = b.run(body, 1, 32, &o).findings;
                let first = got.first().map(|f| (f.code, f.index, f.buffer.as_deref()));
                assert_eq!(
                    first,
                    Some((Code::Undefined, Some(0), Some("p"))),
                    "{body}: {got:?}"
                );
                let b = Bench::new();
                b.vm.write(b.p, &[0; 4 * WORDS as usize]).expect("written");
                let got = b.run(body, 1, 32, &o).findings;
                assert!(got.is_empty(), "{body}: {got:?}");
            }
        }
    }
}

/// What the accelerator stores counts as written, as far as it stores.
#[test]
fn every_kind_of_writing_counts() {
    let fill =
        "st.shared.v4.u32 [%t5], {%t0, %t0, %t0, %t0}; fence.proxy.async.shared::cta; bar.sync 0;";
    let done = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; bar.sync 0;";
    let read = "mul.wide.u32 %a4, %t0, 16; add.u64 %a4, %a0, %a4; ld.global.v4.u32 {%t7, %t8, %t9, %t10}, [%a4];";
    let bulk = |bytes: u32| {
        format!(
            "{fill} @%p0 cp.async.bulk.global.shared::cta.bulk_group [%a0], [tile], {bytes}; {done} {read}"
        )
    };
    let boxed = |column: i32| {
        format!(
            "{fill} mov.u32 %t8, 0; mov.s32 %t9, {column}; \
             @%p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%a5, {{%t9, %t8}}], [tile]; {done} \
             and.b32 %t7, %t0, 3; shr.u32 %t8, %t0, 2; mul.wide.u32 %a4, %t8, 256; mad.wide.u32 %a4, %t7, 16, %a4; \
             add.u64 %a4, %a0, %a4; ld.global.v4.u32 {{%t7, %t8, %t9, %t10}}, [%a4];"
        )
    };
    for completion in [Async::Eager, Async::Late] {
        let o = Options {
            completion,
            ..options(Checks::All)
        };
        let run = |body: &str| {
            let b = Bench::new();
            let report = b.run(body, 1, 32, &o);
            let out = said(&report.findings);
            let out: Vec<_> = out
                .into_iter()
                .map(|(c, _, at, lanes)| (c, at, lanes))
                .collect();
            out
        };
        assert_eq!(run(&bulk(512)), []);
        assert_eq!(run(&bulk(496)), [(Code::Undefined, Some(496), 1 << 31)]);
        assert_eq!(run(&boxed(0)), []);
        // One column further: of each row, the first element is nobody's.
        assert_eq!(run(&boxed(1)), [(Code::Undefined, Some(0), 0x1111_1111)]);
    }
}

#[test]
fn blocks_and_surveys_tell_the_same() {
    // A block reads what the block before it wrote: in this launch, nobody may rely on it.
    let body = "st.global.u32 [%a1], %t0; ld.global.u32 %t7, [%a1+128]; st.global.u32 [%a2], %t7;";
    let with = |threads: usize| {
        let b = Bench::new();
        let o = Options {
            threads,
            ..options(Checks::All)
        };
        b.run(body, 8, 32, &o).findings
    };
    let one = with(1);
    assert!(one.iter().any(|f| f.code == Code::Undefined), "{one:?}");
    for threads in [2, 5] {
        assert_eq!(with(threads), one);
    }
    // Each run of a survey begins with the same knowledge, and the first one's is left.
    let b = Bench::new();
    let text = Bench::text(
        "ld.global.u32 %t7, [%a1]; st.global.u32 [%a1], %t7; st.global.u32 [%a2], %t7;",
    );
    let program = b.vm.load(&text).expect("a kernel");
    let shot = Shot {
        program: &program,
        entry: "k",
        grid: [1; 3],
        block: [32, 1, 1],
        dynamic_shared: 0,
        args: &[Arg::Address(b.p), Arg::Address(b.q), b.map()],
    };
    let survey =
        b.vm.survey(&shot, &options(Checks::All), 2)
            .expect("a survey");
    for (way, report) in &survey.runs {
        assert_eq!(said(&report.findings).len(), 1, "{way:?}");
    }
}
