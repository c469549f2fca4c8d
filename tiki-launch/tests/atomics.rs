//! Atomics of 16 bytes: exchange and compare-and-swap.
//!
//! Invariant: each is one access to 16 bytes, in the order of the lanes; nothing between two halves. Witness: chains of
//! exchanges, counters that every thread of several blocks moves by a loop of compare-and-swap, in global and shared
//! memory; what the assembler refuses is refused.

use tiki_launch::vm::{Arg, Async, Checks, Code, Fault, Options, Vm};

fn text(version: &str, target: &str, body: &str) -> String {
    format!(
        ".version {version}\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q) {{
        .reg .b64 %a<12>; .reg .b32 %t<8>; .reg .b128 %q<8>; .reg .pred %p<4>;
        .shared .align 16 .b8 s[64];
        ld.param.u64 %a0, [p]; ld.param.u64 %a1, [q];
        mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x; mov.u32 %t2, %ntid.x; mad.lo.u32 %t3, %t1, %t2, %t0;
        mul.wide.u32 %a2, %t3, 16; add.u64 %a2, %a1, %a2; cvt.u64.u32 %a3, %t0; shl.b64 %a4, %a3, 40;
        {body}
        ret; }}"
    )
}

fn run(
    body: &str,
    grid: u32,
    block: u32,
    options: &Options,
) -> Result<(Vec<u128>, Vec<u128>), Box<Fault>> {
    let vm = Vm::new();
    let program = vm
        .load(&text("8.3", "sm_90", body))
        .unwrap_or_else(|e| panic!("{e}"));
    let p = vm.alloc(64, "p").expect("memory");
    let q = vm.alloc(16 * 512, "q").expect("memory");
    vm.write(p, &7u128.to_le_bytes()).expect("written");
    let args = [Arg::Address(p), Arg::Address(q)];
    vm.launch(
        &program,
        "k",
        [grid, 1, 1],
        [block, 1, 1],
        0,
        &args,
        options,
    )?;
    let read = |at: u64, n: u32| {
        let mut out = vec![0; 16 * n as usize];
        vm.read(at, &mut out).expect("read");
        let words = out.chunks(16).map(|b| b.try_into().expect("16 bytes"));
        words.map(u128::from_le_bytes).collect::<Vec<u128>>()
    };
    Ok((read(p, 4), read(q, grid * block)))
}

fn ways() -> impl Iterator<Item = Options> {
    let all = [Checks::Run, Checks::Check, Checks::All];
    all.into_iter().flat_map(|checks| {
        [Async::Eager, Async::Seed(4)]
            .into_iter()
            .map(move |completion| Options {
                checks,
                completion,
                max_steps: 1_000_000,
                ..Options::default()
            })
    })
}

#[test]
fn exchanges_make_a_chain() {
    let body = "mov.b128 %q0, {%a3, %a4}; atom.relaxed.gpu.global.exch.b128 %q1, [%a0], %q0; st.global.b128 [%a2], %q1;";
    let value = |i: u128| i | i << (64 + 40);
    for o in ways() {
        let (p, q) = run(body, 1, 32, &o).unwrap_or_else(|f| panic!("{f}"));
        let want: Vec<u128> = (0..32)
            .map(|i| if i == 0 { 7 } else { value(i - 1) })
            .collect();
        assert_eq!((p[0], q), (value(31), want));
    }
}

/// A counter whose halves move by 1 and by 3, in both spaces; `compare` is what is taken for the old value.
fn counter(space: &str, place: &str, compare: &str) -> String {
    let shared = space == "shared";
    let (first, last) = if shared {
        (
            "setp.eq.u32 %p0, %t0, 0; mov.u64 %a5, 0; mov.b128 %q0, {%a5, %a5}; @%p0 st.shared.b128 [s], %q0; bar.sync 0;",
            "bar.sync 0; ld.shared.b128 %q0, [s]; @%p0 st.global.b128 [%a0], %q0;",
        )
    } else {
        ("", "")
    };
    format!(
        "{first} mov.u64 %a6, 0; mov.u64 %a7, 0;
        AGAIN: mov.b128 %q1, {{%a6, %a7}}; add.u64 %a8, %a6, 1; add.u64 %a9, %a7, 3; mov.b128 %q2, {{%a8, %a9}};
        {compare}
        atom.acq_rel.gpu.{space}.cas.b128 %q3, [{place}], %q1, %q2;
        mov.b128 {{%a10, %a11}}, %q3;
        setp.ne.u64 %p1, %a10, %a6; setp.ne.u64 %p2, %a11, %a7; or.pred %p1, %p1, %p2;
        mov.u64 %a6, %a10; mov.u64 %a7, %a11;
        @%p1 bra AGAIN;
        {last}"
    )
}

#[test]
fn compare_and_swap_loses_no_count() {
    let shown = |n: u128| n | (3 * n) << 64;
    for o in ways() {
        let global = "mov.u64 %a5, 16; add.u64 %a0, %a0, %a5;";
        let body = format!("{global} {}", counter("global", "%a0", ""));
        let (p, _) = run(&body, 4, 64, &o).unwrap_or_else(|f| panic!("{f}"));
        assert_eq!((p[0], p[1]), (7, shown(256)));
        let (p, _) = run(&counter("shared", "s", ""), 1, 96, &o).unwrap_or_else(|f| panic!("{f}"));
        assert_eq!(p[0], shown(96));
        // Compared with something else, of which only the upper half differs, it never swaps.
        let other = "mov.u64 %a5, 99; mov.b128 %q1, {%a6, %a5};";
        let stuck = run(&counter("shared", "s", other), 1, 96, &o);
        let (p, _) = stuck.unwrap_or_else(|f| panic!("{f}"));
        assert_eq!(p[0], 0);
    }
}

#[test]
fn wrong_places_and_forms_are_told() {
    let code = |body: &str| run(body, 1, 32, &Options::default()).map_err(|f| f.code);
    let exchange =
        |at: &str| format!("mov.b128 %q0, {{%a3, %a4}}; atom.global.exch.b128 %q1, [{at}], %q0;");
    assert_eq!(code(&exchange("%a0+8")).err(), Some(Code::Alignment));
    assert_eq!(code(&exchange("%a0+64")).err(), Some(Code::Bounds));
    let unset = "mov.b128 %q0, {%a3, %a4}; atom.shared.exch.b128 %q1, [s], %q0;";
    assert_eq!(code(unset).err(), Some(Code::Undefined));
    // What the assembler says of each: exchange and compare-and-swap, from sm_90 and version 8.3 on.
    let loads = |version: &str, target: &str, body: &str| {
        Vm::new().load(&text(version, target, body)).is_ok()
    };
    for (op, more, ok) in [
        ("exch", "", true),
        ("cas", ", %q0", true),
        ("and", "", false),
        ("add", "", false),
        ("min", "", false),
    ] {
        let body =
            format!("mov.b128 %q0, {{%a3, %a4}}; atom.global.{op}.b128 %q1, [%a0], %q0{more};");
        assert_eq!(loads("8.3", "sm_90", &body), ok, "{op}");
        assert!(!loads("8.3", "sm_80", &body), "{op} on sm_80");
    }
}
