//! The register bound against the real assembler: capped at the bound (`.maxnreg`), no kernel spills or
//! draws a `C7` note, and the smallest such cap in steps of 8 lies at most 25% or 16 registers below.
//!
//! Kernels: those written by hand, and every `.ptx` file of the folder that `TIKI_PTX_FOLDER` names.
//! The assembler is the one that `TIKI_PTXAS` names, or `ptxas` if it is on the path.

mod by_hand;

use std::path::Path;
use std::process::Command;
use tiki_kernel::ast::Places;
use tiki_kernel::budget::registers;
use tiki_kernel::compile::{Instance, emit};
use tiki_kernel::diag::{Sink, codes};
use tiki_kernel::ptx::{Directive, Module};

/// The assembler raises lower caps to this.
const LEAST: u32 = 24;

fn assembler() -> Option<String> {
    let named = std::env::var("TIKI_PTXAS").unwrap_or_else(|_| "ptxas".into());
    let answers = Command::new(&named).arg("--version").output().is_ok();
    if !answers {
        println!("skipped: no assembler (TIKI_PTXAS, or ptxas on the path)");
    }
    answers.then_some(named)
}

/// Whether the assembler is content with this cap.
fn content(ptxas: &str, module: &Module, cap: u32, dir: &Path) -> Result<(), String> {
    let mut module = module.clone();
    for f in module.functions.iter_mut().filter(|f| f.entry) {
        f.directives
            .retain(|d| !matches!(d, Directive::MaxNreg(_) | Directive::MinNctaPerSm(_)));
        f.directives.push(Directive::MaxNreg(cap));
    }
    let file = dir.join("capped.ptx");
    std::fs::write(&file, module.to_string()).unwrap();
    let arch = format!("-arch={}", module.target);
    let out = Command::new(ptxas)
        .args([&arch, "-v", "-o", "/dev/null"])
        .arg(&file)
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout);
    let spills = said.lines().any(|l| {
        l.contains("spill stores") && !l.contains(" 0 bytes spill stores, 0 bytes spill loads")
    });
    if !out.status.success() || spills || said.contains("C7") {
        return Err(said);
    }
    Ok(())
}

#[test]
fn the_bound_holds_and_is_not_far_above_the_least() {
    let Some(ptxas) = assembler() else { return };
    let dir = std::env::temp_dir().join(format!("tiki-registers-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let mut modules: Vec<(String, Module, u32)> = Vec::new();
    for (name, kernel) in by_hand::all() {
        // One of many alike is enough here.
        if name.starts_with("convert") || name.starts_with("binary") {
            continue;
        }
        let mut sink = Sink::new();
        let out = emit(
            kernel,
            &Instance { args: vec![] },
            &Places::default(),
            &mut sink,
            &mut |_, _, _| {},
        );
        let told = sink.take();
        if told.iter().any(|d| d.code == codes::REGISTER_LIMIT) {
            println!("{name}: {}", told[0].message);
            continue;
        }
        assert!(told.is_empty(), "{name}: {told:?}");
        let out = out.unwrap();
        modules.push((name, Module::parse(&out.ptx).unwrap(), out.usage.registers));
    }
    if let Ok(folder) = std::env::var("TIKI_PTX_FOLDER") {
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|e| e == "ptx") {
                let module = Module::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
                let entry = module.functions.iter().find(|f| f.entry).expect("an entry");
                let bound = registers::bound(entry, &[]).registers;
                modules.push((path.display().to_string(), module, bound));
            }
        }
    }
    let mut bad = Vec::new();
    for (name, module, bound) in &modules {
        if let Err(said) = content(&ptxas, module, *bound, &dir) {
            bad.push(format!(
                "{name}: not content with its bound of {bound}: {said}"
            ));
        }
        // Downwards, so that a kernel costs few runs.
        let mut least = *bound;
        let mut cap = bound / 8 * 8;
        while cap >= LEAST && content(&ptxas, module, cap, &dir).is_ok() {
            least = cap;
            cap -= 8;
        }
        println!("{name}: bound {bound}, least {least}");
        if *bound > least + 16 && f64::from(*bound) > 1.25 * f64::from(least) {
            bad.push(format!("{name}: a bound of {bound}, but {least} would do"));
        }
    }
    let _ = std::fs::remove_dir_all(&dir);
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
