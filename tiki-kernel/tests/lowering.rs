//! Every hand-written kernel lowers to a module that the verifier and the real assembler take.

mod by_hand;

use std::process::Command;
use tiki_kernel::ast::Places;
use tiki_kernel::compile::{Instance, Output, emit};
use tiki_kernel::diag::{Diag, Sink};
use tiki_kernel::dtype::DType;
use tiki_kernel::report::Report;
use tiki_kernel::{lower, ptx, schedule, simplify};

fn assembler() -> Option<String> {
    let path = std::env::var("TIKI_PTXAS").ok()?;
    Command::new(&path)
        .arg("--version")
        .output()
        .ok()
        .map(|_| path)
}

#[test]
fn every_kernel_verifies_and_assembles() {
    let ptxas = assembler();
    if ptxas.is_none() {
        println!("skipped: TIKI_PTXAS names no assembler");
    }
    let dir = std::env::temp_dir().join(format!("tiki-lowering-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let mut bad = Vec::new();
    for (name, mut kernel) in by_hand::all() {
        let mut sink = Sink::new();
        let mut report = Report::default();
        let plan = schedule::run(&mut kernel, &mut report);
        let mut lowered = lower::run(&kernel, &plan, &Places::default(), &mut sink);
        for f in ptx::verify(&lowered.module) {
            bad.push(format!("{name}: {f:?}"));
        }
        simplify::run(&mut lowered.module, false, &mut |pass, module| {
            for f in ptx::verify(module) {
                bad.push(format!("{name} after {pass}: {f:?}"));
            }
        });
        for d in sink.take() {
            bad.push(format!("{name}: {}", d.text(&Places::default())));
        }
        let text = lowered.module.to_string();
        let file = dir.join(format!("{name}.ptx"));
        std::fs::write(&file, &text).unwrap();
        if let Some(ptxas) = &ptxas {
            let out = Command::new(ptxas)
                .args(["-arch=sm_80", "-o", "/dev/null"])
                .arg(&file)
                .output()
                .unwrap();
            if !out.status.success() {
                bad.push(format!("{name}: {}", String::from_utf8_lossy(&out.stderr)));
            }
        }
    }
    if std::env::var("KEEP").is_err() {
        let _ = std::fs::remove_dir_all(&dir);
    }
    assert!(bad.is_empty(), "{} faults:\n{}", bad.len(), bad.join("\n"));
}

/// Text and report of a kernel.
fn built(kernel: tiki_kernel::ir::Kernel) -> Result<Output, Vec<Diag>> {
    let mut sink = Sink::new();
    let out = emit(
        kernel,
        &Instance { args: vec![] },
        &Places::default(),
        &mut sink,
        &mut |_, _, _| {},
    );
    out.ok_or_else(|| sink.take())
}

#[test]
fn products_are_fused_only_where_the_author_allows() {
    let count = |text: &str, word: &str| text.lines().filter(|l| l.contains(word)).count();
    let plain = built(by_hand::rms_norm(DType::F16, 4096, 256)).unwrap().ptx;
    let mut kernel = by_hand::rms_norm(DType::F16, 4096, 256);
    kernel.contract = true;
    let out = built(kernel).unwrap();
    assert_eq!(count(&plain, "fma.rn.f32"), 0);
    // One of the two products under each of the eight first sums of the tree.
    assert_eq!(count(&out.ptx, "fma.rn.f32"), 8);
    let report = out.report.text(&Default::default());
    assert!(report.contains("8 products fused"), "{report}");
}

#[test]
fn a_row_is_loaded_before_it_is_used_and_stored_in_vectors() {
    let text = built(by_hand::rms_norm(DType::F16, 4096, 256)).unwrap().ptx;
    let at = |word: &str| {
        text.lines()
            .enumerate()
            .filter(|(_, l)| l.contains(word))
            .map(|(i, _)| i)
            .collect::<Vec<_>>()
    };
    let loads = at("ld.global.v4.b32");
    assert_eq!((loads.len(), at("ld.global").len()), (4, 4));
    assert!(loads.iter().all(|l| *l < at("cvt.f32.f16")[0]));
    assert_eq!(
        (
            at("st.global.v4.b32").len(),
            at("bar.sync").len(),
            at("div.rn").len()
        ),
        (2, 1, 1)
    );
    assert_eq!(at("cvt.rn.f16x2.f32").len(), 8);
}

#[test]
fn a_register_budget_that_cannot_hold_is_refused_with_the_items() {
    let mut kernel = by_hand::rms_norm(DType::F32, 4096, 64);
    kernel.registers = Some(96);
    let told = built(kernel).unwrap_err();
    assert_eq!(told[0].code.name(), "TK502");
    let (sum, items) = told[0].notes.split_first().unwrap();
    let begins =
        |item: &&String| item.starts_with("64 hold `v`: a thread has 64 of its 4096 elements");
    assert!(items.iter().any(|i| begins(&i)), "{items:?}");
    // The numbers add up: the items to what is in use, that and the assembler's to what is told.
    let first = |text: &str| text.split(' ').next().unwrap().parse::<u32>().unwrap();
    let (terms, all) = sum.rsplit_once(": ").unwrap().1.split_once(" = ").unwrap();
    let (live, kept) = terms.split_once(" + ").unwrap();
    assert_eq!(items.iter().map(|i| first(i)).sum::<u32>(), first(live));
    assert_eq!(first(live) + first(kept), first(all));
    assert!(
        told[0]
            .message
            .contains(&format!("may need {all} registers"))
    );
    // What it offers holds.
    let offered: u32 = told[0].helps[0]
        .rsplit(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let mut kernel = by_hand::rms_norm(DType::F32, 4096, 64);
    kernel.registers = Some(offered);
    assert!(
        built(kernel)
            .unwrap()
            .ptx
            .contains(&format!(".maxnreg {offered}"))
    );
    let mut kernel = by_hand::rms_norm(DType::F32, 4096, 256);
    (kernel.threads, kernel.registers) = (1024, Some(128));
    assert!(
        built(kernel)
            .unwrap_err()
            .iter()
            .any(|d| d.code.name() == "TK503")
    );
}
