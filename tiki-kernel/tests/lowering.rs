//! Every hand-written kernel lowers to a module that the verifier and the real assembler take.

mod by_hand;

use std::process::Command;
use tiki_kernel::ast::Places;
use tiki_kernel::diag::Sink;
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
