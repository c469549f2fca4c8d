//! PTX text: round trips, refusals and the builder.
//!
//! Files named by `PTX_FILES` (folders, separated by colons) are read too; `PTXAS` names an assembler
//! that is given everything printed.

use std::path::PathBuf;
use std::process::Command;
use tiki_kernel::isa::{self, Cmp, Order, Scope, Space, Ty, Vec as Lanes};
use tiki_kernel::ptx::{FnBuilder, Module, Operand, Reg, Var, liveness, verify};

fn files() -> Vec<PathBuf> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx");
    let extra = std::env::var("PTX_FILES").unwrap_or_default();
    let mut out: Vec<PathBuf> = std::iter::once(own)
        .chain(extra.split(':').filter(|s| !s.is_empty()))
        .flat_map(|d| std::fs::read_dir(d).unwrap().map(|e| e.unwrap().path()))
        .filter(|p| p.extension().is_some_and(|e| e == "ptx"))
        .collect();
    out.sort();
    out
}

fn assemble(name: &str, text: &str, arch: &str) -> Result<(), String> {
    let Ok(ptxas) = std::env::var("PTXAS") else {
        return Ok(());
    };
    let dir = std::env::temp_dir().join("tiki-ptx-text");
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join(format!("{name}.ptx"));
    std::fs::write(&file, text).unwrap();
    let out = Command::new(ptxas)
        .args(["-arch", arch, "-O0", "-o", "/dev/null"])
        .arg(&file)
        .output()
        .unwrap();
    if out.status.success() {
        Ok(())
    } else {
        Err(format!("{name}: {}", String::from_utf8_lossy(&out.stderr)))
    }
}

#[test]
fn text_of_others_comes_back() {
    let mut wrong = vec![];
    let all = files();
    assert!(!all.is_empty());
    for path in all {
        let name = path.file_stem().unwrap().to_string_lossy().to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        let m = match Module::parse(&text) {
            Ok(m) => m,
            Err(e) => {
                wrong.push(format!("{name}:\n{e}"));
                continue;
            }
        };
        let faults: Vec<String> = verify(&m).iter().map(ToString::to_string).collect();
        if !faults.is_empty() {
            wrong.push(format!("{name}:\n{}", faults.join("\n")));
        }
        let printed = m.to_string();
        let again = Module::parse(&printed).unwrap_or_else(|e| panic!("{name}: {e}\n{printed}"));
        assert_eq!(again.to_string(), printed, "{name}");
        wrong.extend(assemble(&name, &printed, &m.target.to_string()).err());
        for f in &m.functions {
            let l = liveness::run(f);
            let entry: Vec<Reg> = if f.body.as_ref().is_some_and(|b| !b.is_empty()) {
                l.before(0).collect()
            } else {
                vec![]
            };
            assert!(entry.len() <= f.regs.len());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A comment stands anywhere between two words.
#[test]
fn targets_behind_a_comment() {
    let text = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r0;\n\
                mov.b32 %r0, 0;\nts:\n// which way\n.branchtargets L0;\nbrx.idx %r0, ts;\nL0:\nret;\n}\n";
    let module = Module::parse(text).expect("it is read");
    assert_eq!(module.functions[0].tables.len(), 1);
}

#[test]
fn every_row_printed_with_its_first_choices_is_known() {
    let text = ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n  foo.bar %r1;\n  add.s32 1, 2;\n  frob;\n  ret;\n}\n";
    let e = Module::parse(text).unwrap_err();
    assert_eq!(e.0.iter().map(|x| x.0).collect::<Vec<_>>(), [6, 7, 8]);
    let all = e.to_string();
    assert!(all.contains("`foo.bar`") && all.contains("`frob`"), "{all}");
}

fn sum_loop() -> (tiki_kernel::ptx::Function, Vec<Reg>) {
    let mut b = FnBuilder::entry("sum");
    let x = b.param("x", Ty::U64);
    let n = b.param("n", Ty::U32);
    let x = b.load_param(x);
    let n = b.load_param(n);
    let at = b.reg(Ty::B64);
    b.emit(isa::cvta_to(Space::Global), [at, x]);
    let sum = b.reg(Ty::F32);
    b.emit(isa::mov(Ty::F32), [sum.into(), Operand::f32(0.0)]);
    let i = b.reg(Ty::B32);
    b.emit(isa::mov(Ty::B32), [i.into(), Operand::int(0)]);
    let top = b.label("loop");
    b.place(top);
    let v = b.regs::<4>(Ty::F32);
    b.loc(1, 7, 3);
    b.emit(
        isa::ld(Space::Global, Ty::F32).with(Lanes::V4),
        [Operand::vec(v), Operand::addr(at, 0)],
    );
    for r in v {
        b.emit(isa::add(Ty::F32), [sum, sum, r]);
    }
    b.emit(isa::add(Ty::S64), [at.into(), at.into(), Operand::int(16)]);
    b.emit(isa::add(Ty::S32), [i.into(), i.into(), Operand::int(4)]);
    let more = b.reg(Ty::Pred);
    b.emit(isa::setp(Cmp::Lt, Ty::U32), [more, i, n]);
    b.emit_if(more, isa::bra(), [top]);
    let out = b.var(Var::new(Space::Shared, Ty::F32, "out", Some(1)));
    b.emit(
        isa::st(Space::Shared, Ty::F32),
        [Operand::addr_of(&out, 0), sum.into()],
    );
    b.emit0(isa::fence(Order::AcqRel, Scope::Gpu));
    b.emit0(isa::ret());
    (b.build(), vec![at, sum, i, n])
}

#[test]
fn built_functions_print_verify_and_parse() {
    let (f, _) = sum_loop();
    let mut m = Module::new(tiki_kernel::target::Target::default_target());
    assert_eq!(m.file("src/ünï.rs"), 1);
    m.functions.push(f);
    assert_eq!(verify(&m), []);
    let text = m.to_string();
    assert!(
        text.contains("ld.global.v4.f32")
            && text.contains("@%p0 bra")
            && text.contains(".loc 1 7 3"),
        "{text}"
    );
    assert!(text.is_ascii());
    assert_eq!(Module::parse(&text).unwrap().to_string(), text);
    assemble("built", &text, &m.target.to_string()).unwrap();
}

#[test]
fn what_a_loop_carries_is_live_around_it() {
    let (f, carried) = sum_loop();
    let l = liveness::run(&f);
    let (stmt, p, live) = l.peak().unwrap();
    assert!(stmt > 0);
    for r in &carried {
        assert!(live.contains(r), "{r:?} of {live:?}");
    }
    // Behind the load: the address (2), sum, counter, bound and four values.
    assert_eq!((p.words, p.predicates), (2 + 3 + 4, 0));
    assert_eq!(l.before(0).count(), 0);
}

#[test]
fn a_guarded_write_does_not_end_a_life() {
    let mut b = FnBuilder::entry("k");
    let r = b.reg(Ty::B32);
    let p = b.reg(Ty::Pred);
    b.emit(isa::mov(Ty::B32), [r.into(), Operand::int(1)]);
    b.emit_if(p, isa::mov(Ty::B32), [r.into(), Operand::int(2)]);
    b.emit(
        isa::st(Space::Shared, Ty::B32),
        [Operand::addr_of("s", 0), r.into()],
    );
    b.emit0(isa::ret());
    let f = b.build();
    let l = liveness::run(&f);
    assert!(l.wanted_after(0, r) && l.wanted_after(0, p) && !l.wanted_after(1, p));
}

#[test]
fn the_verifier_refuses() {
    type Write = fn(&mut FnBuilder);
    let cases: &[(&str, Write)] = &[
        ("register, wanted f32", |b| {
            let (x, y) = (b.reg(Ty::F32), b.reg(Ty::B64));
            b.emit(isa::add(Ty::F32), [x, x, y]);
        }),
        ("takes 3 operands, has 2", |b| {
            let x = b.reg(Ty::F32);
            b.emit(isa::add(Ty::F32), [x, x]);
        }),
        ("placed nowhere", |b| {
            let l = b.label("x");
            b.emit(isa::bra(), [l]);
        }),
        ("placed 2 times", |b| {
            let l = b.label("x");
            b.place(l);
            b.place(l);
        }),
        ("needs capability 9.0", |b| {
            let x = b.reg(Ty::B32);
            b.emit(isa::add(Ty::BF16x2), [x, x, x]);
        }),
        ("its specific features", |b| b.emit0(isa::wgmma_fence())),
        ("needs PTX 8.0 and capability 9.0", |b| {
            b.emit0(isa::fence_proxy_async(isa::FenceSpace::Shared))
        }),
        ("`nowhere` does not exist", |b| {
            let x = b.reg(Ty::B32);
            b.emit(
                isa::ld(Space::Shared, Ty::B32),
                [x.into(), Operand::addr_of("nowhere", 0)],
            );
        }),
        ("4 registers in braces", |b| {
            let v = b.regs::<2>(Ty::F32);
            let a = b.reg(Ty::B64);
            b.emit(
                isa::ld(Space::Global, Ty::F32).with(Lanes::V4),
                [Operand::vec(v), Operand::addr(a, 0)],
            );
        }),
        ("must be a predicate", |b| {
            let x = b.reg(Ty::B32);
            b.emit(isa::ballot(), [x.into(), x.into(), Operand::int(-1)]);
        }),
        ("register 99 does not exist", |b| {
            let x = b.reg(Ty::F32);
            b.emit(isa::neg(Ty::F32), [x, Reg(99)]);
        }),
        ("must be a register", |b| {
            let x = b.reg(Ty::F32);
            b.emit(isa::neg(Ty::F32), [Operand::f32(1.0), x.into()]);
        }),
        ("guard is not a predicate", |b| {
            let x = b.reg(Ty::B32);
            b.emit_if::<Operand>(x, isa::ret(), []);
        }),
    ];
    for (words, write) in cases {
        let mut b = FnBuilder::entry("k");
        write(&mut b);
        let faults = verify(&b.finish());
        let all: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert!(
            all.iter().any(|f| f.contains(words)),
            "wanted `{words}`, got {all:?}"
        );
    }
}
