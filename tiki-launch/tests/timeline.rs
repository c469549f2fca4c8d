//! Timelines: what overlaps what, in logical time.
//!
//! Invariant: in a kernel that loads a tile ahead, each load but the first is under way before the product of the tile
//! before has ended; in the same kernel without a second stage, none is. Witness: the two, of one text; kernels of
//! warpgroups with a producer, in every way in which asynchronous work may complete.

#[path = "mutants/launches.rs"]
mod launches;

use std::fmt::Write;
use tiki_launch::vm::{
    Arg, Async, Checks, On, Options, Phase, Recorder, Report, Span, Timeline, Vm,
};

const TILES: usize = 6;
const LOAD: u32 = 10;
const WAIT: u32 = 20;
const PRODUCT: u32 = 30;

/// A warp that loads tiles by the accelerator and multiplies each by itself; with two stages it loads one ahead.
fn kernel(stages: usize) -> String {
    let mut body = String::new();
    let load = |body: &mut String, k: usize| {
        let s = k % stages;
        let _ = writeln!(
            body,
            ".loc 1 {LOAD} 5\n\
             @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [full+{}], 512;\n\
             @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+{}], [%a0+{}], 512, [full+{}];",
            8 * s,
            512 * s,
            512 * k,
            8 * s
        );
    };
    if stages > 1 {
        load(&mut body, 0);
    }
    for k in 0..TILES {
        let ahead = k + stages - 1;
        if ahead < TILES {
            load(&mut body, ahead);
        }
        let (s, parity) = (k % stages, k / stages % 2);
        let _ = writeln!(
            body,
            ".loc 1 {WAIT} 5\n\
             W{k}: mbarrier.try_wait.parity.shared::cta.b64 %p, [full+{}], {parity};\n\
             @!%p bra W{k};\n\
             .loc 1 {PRODUCT} 5\n\
             ld.shared.v4.b32 {{%r0, %r1, %r2, %r3}}, [%at+{}];\n\
             mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%f0, %f1, %f2, %f3}}, {{%r0, %r1, %r2, %r3}}, \
             {{%r0, %r1}}, {{%f0, %f1, %f2, %f3}};\n\
             bar.warp.sync 0xffffffff;",
            8 * s,
            512 * s
        );
    }
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"pipe.rs\"\n\
         .visible .entry k(.param .u64 p, .param .u64 q)\n{{\n\
         .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %a<3>; .reg .pred %p, %first; .reg .b32 %at, %tid;\n\
         .shared .align 128 .b8 s[1024]; .shared .align 8 .b8 full[16];\n\
         .loc 1 1 1\n\
         ld.param.u64 %a0, [p]; ld.param.u64 %a1, [q]; mov.u32 %tid, %tid.x; setp.eq.u32 %first, %tid, 0;\n\
         mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n\
         mov.u32 %at, s; mad.lo.u32 %at, %tid, 16, %at; mul.wide.u32 %a2, %tid, 16; add.u64 %a1, %a1, %a2;\n\
         @%first mbarrier.init.shared::cta.b64 [full], 1;\n\
         @%first mbarrier.init.shared::cta.b64 [full+8], 1;\n\
         @%first fence.mbarrier_init.release.cluster;\n\
         bar.sync 0;\n{body}\
         .loc 1 40 5\n\
         st.global.v4.f32 [%a1], {{%f0, %f1, %f2, %f3}};\n\
         ret;\n}}\n"
    )
}

/// Runs it, and gives what it wrote too.
fn record(text: &str, completion: Async, checks: Checks) -> (Report, Vec<u8>, Option<Timeline>) {
    let vm = Vm::new();
    let program = vm.load(text).expect("the text is loaded");
    let bytes = 512 * TILES as u64;
    let x = vm.alloc(bytes, "x").expect("memory");
    // Halves of 1 and 0.5.
    let data: Vec<u8> = (0..bytes / 2)
        .flat_map(|i| [0x3c00u16, 0x3800][(i % 2) as usize].to_le_bytes())
        .collect();
    vm.write(x, &data).expect("written");
    let y = vm.alloc(512, "y").expect("memory");
    let recorder = Recorder::of([1, 0, 0]);
    let options = Options {
        completion,
        checks,
        timeline: Some(recorder.clone()),
        ..Options::default()
    };
    let args = [Arg::Address(x), Arg::Address(y)];
    // Both blocks write the same, so that only one of them may.
    let run = |grid: u32, options: &Options| {
        vm.launch(&program, "k", [grid, 1, 1], [32, 1, 1], 0, &args, options)
            .expect("nothing is wrong")
    };
    let report = run(1, &options);
    assert!(recorder.take().is_empty(), "a block that is not there");
    let recorder = Recorder::of([0; 3]);
    let again = Options {
        timeline: Some(recorder.clone()),
        ..options
    };
    assert_eq!(run(1, &again), report, "who looks on changes nothing");
    let mut out = vec![0; 512];
    vm.read(y, &mut out).expect("read");
    let mut all = recorder.take();
    assert_eq!(all.len(), 1);
    (report, out, all.pop())
}

/// Loads beside the warp and products, in order.
fn loads_and_products(t: &Timeline) -> (Vec<&Span>, Vec<&Span>) {
    let loads: Vec<&Span> = t.of(Phase::Load).filter(|s| s.beside).collect();
    let products: Vec<&Span> = t.of(Phase::Product).collect();
    assert_eq!((loads.len(), products.len()), (TILES, TILES));
    (loads, products)
}

#[test]
fn a_pipelined_kernel_loads_ahead_and_another_does_not() {
    for completion in [Async::Eager, Async::Late, Async::Seed(7)] {
        for checks in [Checks::Run, Checks::All] {
            let mut results = vec![];
            for stages in [2, 1] {
                let (_, out, timeline) = record(&kernel(stages), completion, checks);
                results.push(out);
                let timeline = timeline.expect("recorded");
                let (loads, products) = loads_and_products(&timeline);
                for k in 0..TILES - 1 {
                    let ahead = loads[k + 1].from < products[k].to;
                    assert_eq!(
                        ahead,
                        stages == 2,
                        "{stages} stages, tile {k}: {loads:?} {products:?}"
                    );
                    assert!(
                        loads[k].to <= products[k].from,
                        "a product has its operands"
                    );
                }
                let line = |s: &Span| s.source.as_ref().map(|at| (at.file.clone(), at.line));
                assert!(
                    loads
                        .iter()
                        .all(|s| line(s) == Some(("pipe.rs".to_string(), LOAD)))
                );
                assert!(
                    products
                        .iter()
                        .all(|s| line(s) == Some(("pipe.rs".to_string(), PRODUCT)))
                );
                let waits: Vec<&Span> = timeline
                    .of(Phase::Wait)
                    .filter(|s| line(s) == Some(("pipe.rs".to_string(), WAIT)))
                    .collect();
                for (k, s) in waits.iter().filter(|s| s.on.is_some()).enumerate() {
                    let phase = (k / stages) as u64;
                    assert!(
                        matches!(s.on, Some(On::Object { rank: 0, phase: p, .. }) if p == phase),
                        "{s:?}"
                    );
                }
                let stores: Vec<&Span> = timeline.of(Phase::Store).collect();
                assert_eq!((stores.len(), stores[0].beside), (1, false));
                // Of one warp, what it does itself follows without a hole.
                let own: Vec<&Span> = timeline.spans.iter().filter(|s| !s.beside).collect();
                assert_eq!(own[0].from, 0);
                assert!(own.windows(2).all(|p| p[0].to == p[1].from));
                assert_eq!(own[own.len() - 1].to, timeline.rows[0].end);
            }
            assert_eq!(results[0], results[1]);
            assert!(results[0].iter().any(|b| *b != 0));
        }
    }
}

/// A kernel of warpgroups, recorded.
fn of_launch(name: &str, completion: Async) -> Timeline {
    let launch = &launches::launches()[name];
    let recorder = Recorder::of([0; 3]);
    let options = Options {
        completion,
        checks: Checks::Check,
        timeline: Some(recorder.clone()),
        ..Options::default()
    };
    let outcome = launch.load(&launch.text).run(&options);
    assert!(!outcome.refused && outcome.findings.is_empty() && !outcome.bytes.is_empty());
    recorder.take().pop().expect("recorded")
}

#[test]
fn warps_with_roles_run_side_by_side() {
    for completion in [Async::Eager, Async::Late, Async::Seed(3)] {
        let t = of_launch("tiki_attention_hopper", completion);
        let busy = |phase: Phase| -> Vec<usize> {
            let mut rows: Vec<usize> = t.of(phase).filter(|s| s.beside).map(|s| s.row).collect();
            rows.dedup();
            rows.sort_unstable();
            rows.dedup();
            rows
        };
        let (producers, consumers) = (busy(Phase::Load), busy(Phase::Product));
        assert_eq!(
            (producers.len(), consumers.len()),
            (1, 8),
            "of {} warps",
            t.rows.len()
        );
        assert!(!consumers.contains(&producers[0]));
        // While products are under way, the producer's loads are, and a consumer's own arithmetic is.
        let overlaps = |a: &Span, b: &Span| a.from < b.to && b.from < a.to;
        let products: Vec<&Span> = t.of(Phase::Product).filter(|s| s.beside).collect();
        let under = |phase: Phase, own: bool| {
            products.iter().any(|p| {
                t.of(phase)
                    .any(|s| (s.row == p.row) == own && s.beside != own && overlaps(s, p))
            })
        };
        assert!(under(Phase::Load, false) && under(Phase::Compute, true));
        // What a kernel begins with, before its first line, has none.
        let first = t.spans.iter().filter(|s| s.source.is_some());
        let first = first.map(|s| s.ptx_line).min().expect("lines");
        let placed = |s: &Span| s.source.is_some() || s.ptx_line < first;
        assert!(t.spans.iter().all(|s| s.from < s.to && placed(s)));
    }
}

#[test]
fn both_forms_hold_every_span() {
    let t = of_launch("tiki_attention_hopper", Async::Eager);
    let trace = t.to_trace();
    let events = trace["traceEvents"].as_array().expect("events");
    let count = |ph: &str| events.iter().filter(|e| e["ph"] == ph).count();
    let beside = t.spans.iter().filter(|s| s.beside).count();
    assert_eq!(count("X"), t.spans.len() - beside);
    assert_eq!((count("b"), count("e")), (beside, beside));
    assert!(beside > 0);
    let placed = |e: &serde_json::Value| e["args"]["source"].is_string() && e["ts"].is_u64();
    let placed = events.iter().filter(|e| placed(e)).count();
    let known = t.spans.iter().filter(|s| s.source.is_some());
    let known = known.map(|s| 1 + usize::from(s.beside)).sum::<usize>();
    assert!(placed == known && known > 1000, "{placed} of {known}");
    assert_eq!(trace["otherData"]["ticks"], t.end());
    let svg = t.to_svg();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for word in ["load ", "wait ", "product ", "compute ", "store "] {
        assert!(svg.contains(&format!("<title>{word}")), "{word}");
    }
    assert_eq!(
        svg.matches("<title>").count(),
        svg.matches("</title>").count()
    );
    assert!((0..12).all(|w| svg.contains(&format!(">warp {w}<"))));
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    for (name, text) in [("t.svg", svg), ("t.json", trace.to_string())] {
        t.save(&folder.join(name)).expect("written");
        assert_eq!(
            std::fs::read_to_string(folder.join(name)).expect("read"),
            text
        );
    }
    assert!(t.save(&folder.join("t.png")).is_err());
}
