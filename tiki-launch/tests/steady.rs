//! A running warp allocates nothing.
//!
//! Invariant: a launch allocates as often for 3000 rounds of a loop as for 1000. Witness: loops of arithmetic,
//! memory of all kinds, exchange between lanes, barriers, matrices and divergence, at every level of checks. (The
//! records that the highest level keeps grow with what a kernel touches, not with how often.)

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use tiki_launch::vm::{Arg, Checks, Options, Vm};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn rounds_of_a_loop_allocate_nothing() {
    let vm = Vm::new();
    let program = vm.load(include_str!("steady/loop.ptx")).unwrap();
    let x = vm.alloc(4096, "x").unwrap();
    for checks in [Checks::Run, Checks::Check, Checks::All] {
        let options = Options {
            threads: 1,
            checks,
            ..Options::default()
        };
        let allocations = |rounds: u32| {
            let args = [Arg::Address(x), Arg::U32(rounds)];
            let region = Region::new(COUNTED);
            let report = vm
                .launch(&program, "k", [1, 1, 1], [64, 1, 1], 0, &args, &options)
                .unwrap();
            let change = region.change();
            assert!(report.findings.is_empty(), "{:?}", report.findings);
            change.allocations + change.reallocations
        };
        // What is known of a kernel's text is found when it first runs with all checks.
        allocations(1);
        // Lists of a warp's parts reach their size when its first turns end.
        // The test's harness, in a thread of its own, may allocate meanwhile: that only adds, so the least of three counts.
        let least = |rounds| (0..3).map(|_| allocations(rounds)).min();
        let (few, many) = (least(1000), least(3000));
        assert_eq!(few, many, "{checks:?}: for 1000 rounds and for 3000");
        assert!(few > Some(0));
    }
}
