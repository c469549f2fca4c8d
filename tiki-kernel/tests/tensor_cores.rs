//! Kernels on tensor cores lower to modules that the verifier and the real assembler take, without
//! spills and without notes about serialised products.

mod gemm_by_hand;

use gemm_by_hand::ampere::{self, Shape};
use gemm_by_hand::hopper;
use std::process::Command;
use tiki_kernel::ast::Places;
use tiki_kernel::diag::{Diag, Sink, codes};
use tiki_kernel::dtype::DType;
use tiki_kernel::ir::Kernel;
use tiki_kernel::report::Report;
use tiki_kernel::target::Target;
use tiki_kernel::{budget, lower, ptx, schedule, simplify};

/// Text of a kernel, and what bounds the registers of its multiplying threads.
fn build(name: &str, kernel: Kernel) -> (String, u32) {
    attempt(name, kernel).unwrap_or_else(|said| panic!("{name}: {said:?}"))
}

/// The same, or what is said against the kernel.
fn attempt(name: &str, mut kernel: Kernel) -> Result<(String, u32), Vec<Diag>> {
    let mut sink = Sink::new();
    let mut report = Report::default();
    let plan = schedule::run(&mut kernel, &mut report);
    let mut lowered = lower::run(&kernel, &plan, &Places::default(), &mut sink);
    let faults = ptx::verify(&lowered.module);
    assert!(faults.is_empty(), "{name}: {faults:?}");
    simplify::run(&mut lowered.module, false, &mut |pass, module| {
        let faults = ptx::verify(module);
        assert!(faults.is_empty(), "{name} after {pass}: {faults:?}");
    });
    let usage = budget::run(&kernel, &lowered, &mut sink, &mut report);
    budget::residency::run(&kernel, &mut lowered, &usage);
    let said = sink.take();
    if !said.is_empty() {
        return Err(said);
    }
    let entry = lowered.module.functions.last().unwrap();
    let bound = budget::registers::bound(entry, &lowered.holds).registers;
    Ok((lowered.module.to_string(), bound))
}

/// Assembles: registers used, or what the assembler had to say against it (spills and notes about
/// serialised products are that too). `None` without an assembler.
fn assemble(name: &str, text: &str, target: Target) -> Option<Result<u32, String>> {
    let ptxas = std::env::var("TIKI_PTXAS").ok()?;
    let dir = std::env::temp_dir().join(format!("tiki-tensor-cores-{}", std::process::id()));
    let dir = std::env::var("KEEP").map_or(dir, Into::into);
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join(format!("{name}.ptx"));
    std::fs::write(&file, text).unwrap();
    let out = Command::new(ptxas)
        .args(["-v", &format!("-arch={target}"), "-o"])
        .arg(dir.join(format!("{name}.cubin")))
        .arg(&file)
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout);
    let kept = said.contains(" 0 bytes spill stores, 0 bytes spill loads");
    if !out.status.success() || said.contains("C7") || !kept {
        return Some(Err(said));
    }
    let words: Vec<&str> = said.split_whitespace().collect();
    let at = words.iter().position(|w| w.starts_with("registers"))?;
    Some(Ok(words[at - 1].parse().unwrap()))
}

/// Held to its bound, a kernel spills nothing; the smallest cap (in steps of 8) at which it does not lies at
/// most `above` percent lower. `capped` writes a cap into the text.
fn hold(
    name: &str,
    text: &str,
    bound: u32,
    target: Target,
    above: u32,
    capped: impl Fn(u32) -> String,
) -> Option<String> {
    match assemble(name, text, target)? {
        Ok(_) => {}
        Err(said) => return Some(format!("{name}: {said}")),
    }
    if let Err(said) = assemble(&format!("{name}_capped"), &capped(bound), target)? {
        return Some(format!("{name} capped at its bound {bound}: {said}"));
    }
    let mut least = bound.div_ceil(8) * 8;
    while least > 24 && assemble(&format!("{name}_capped"), &capped(least - 8), target)?.is_ok() {
        least -= 8;
    }
    println!("{name}: bound {bound}, smallest cap {least}");
    let far = if least <= 64 {
        // What every kernel is held to: a quarter, or 16 registers.
        4 * bound > 5 * least && bound > least + 16
    } else {
        100 * bound > (100 + above) * least
    };
    far.then(|| format!("{name}: bound {bound} is far above the smallest cap {least}"))
}

/// The text with a cap for all threads.
fn with_cap(text: &str, cap: u32) -> String {
    let lines = text.lines().filter(|l| !l.starts_with(".minnctapersm"));
    let text: String = lines.flat_map(|l| [l, "\n"]).collect();
    text.replacen("\n{\n", &format!("\n.maxnreg {cap}\n{{\n"), 1)
}

fn ampere_cases() -> Vec<(String, Shape)> {
    let mut out = Vec::new();
    let base = Shape::half([128, 128, 32], 4, (2, 2));
    out.push(("half".to_string(), base));
    out.push((
        "whole".into(),
        Shape {
            whole: true,
            ..base
        },
    ));
    for (i, flipped) in [(true, false), (false, true), (true, true)]
        .into_iter()
        .enumerate()
    {
        out.push((format!("flipped_{i}"), Shape { flipped, ..base }));
    }
    let bf = Shape {
        dtype: DType::BF16,
        out: DType::BF16,
        ..base
    };
    out.push((
        "bf16_64_deep".into(),
        Shape {
            tile: [128, 128, 64],
            stages: 3,
            ..bf
        },
    ));
    out.push((
        "bf16_wide".into(),
        Shape {
            tile: [64, 256, 32],
            stages: 3,
            warps: (1, 4),
            ..bf
        },
    ));
    out.push((
        "small".into(),
        Shape {
            tile: [32, 40, 16],
            stages: 2,
            warps: (2, 1),
            ..base
        },
    ));
    out.push((
        "deep_128".into(),
        Shape {
            tile: [64, 64, 128],
            stages: 2,
            ..base
        },
    ));
    out.push((
        "tf32".into(),
        Shape {
            dtype: DType::F32,
            out: DType::F32,
            tile: [128, 64, 32],
            ..base
        },
    ));
    out.push((
        "tf32_flipped".into(),
        Shape {
            dtype: DType::F32,
            out: DType::F32,
            tile: [64, 64, 32],
            flipped: (true, true),
            ..base
        },
    ));
    out.push((
        "s8".into(),
        Shape {
            dtype: DType::I8,
            sums: DType::I32,
            out: DType::I32,
            tile: [128, 64, 64],
            ..base
        },
    ));
    out
}

#[test]
fn products_by_warps_assemble_within_their_bounds() {
    let target = Target::default_target();
    let bad: Vec<String> = ampere_cases()
        .into_iter()
        .filter_map(|(name, shape)| {
            let (text, bound) = build(&name, ampere::gemm(&name, target, shape));
            hold(&name, &text, bound, target, 15, |cap| with_cap(&text, cap))
        })
        .collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn a_cluster_assembles() {
    let target = Target::all().find(|t| t.row().exact).unwrap();
    let (text, _) = build("twice", gemm_by_hand::cluster::twice("twice", target));
    if let Some(Err(said)) = assemble("twice", &text, target) {
        panic!("{said}");
    }
}

fn hopper_cases() -> Vec<(String, hopper::Shape)> {
    let base = hopper::Shape {
        split: Some((40, 232)),
        ..hopper::Shape::bf16((256, 64), 4, 2)
    };
    let small = hopper::Shape::bf16((128, 64), 4, 1);
    let mut out = vec![("hopper".to_string(), base), ("hopper_small".into(), small)];
    for (i, flipped) in [(true, false), (false, true), (true, true)]
        .into_iter()
        .enumerate()
    {
        out.push((
            format!("hopper_flipped_{i}"),
            hopper::Shape { flipped, ..base },
        ));
    }
    out.push((
        "hopper_registers".into(),
        hopper::Shape {
            registers: true,
            ..small
        },
    ));
    for (name, dtype, sums, k) in [
        ("hopper_tf32", DType::F32, DType::F32, 32),
        ("hopper_e4m3", DType::E4M3, DType::F32, 128),
        ("hopper_s8", DType::I8, DType::I32, 128),
    ] {
        let shape = hopper::Shape {
            dtype,
            sums,
            tile: (128, k),
            ..small
        };
        out.push((name.into(), shape));
    }
    out
}

#[test]
fn products_by_warpgroups_assemble_within_their_bounds() {
    let target = Target::all().find(|t| t.row().exact).unwrap();
    let bad: Vec<String> = hopper_cases()
        .into_iter()
        .filter_map(|(name, shape)| {
            let (text, bound) = build(&name, hopper::gemm(&name, target, shape));
            let capped = |cap: u32| match shape.split {
                // Where roles set their own counts, the multiplying one is capped.
                Some((_, more)) => {
                    let cap = cap.div_ceil(8) * 8;
                    text.replace(&format!("u32 {more};"), &format!("u32 {cap};"))
                }
                None => with_cap(&text, cap),
            };
            hold(&name, &text, bound, target, 10, capped)
        })
        .collect();
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Instances by single warps: tiles, warps, stages and types.
fn many_by_warps() -> Vec<(String, Shape)> {
    let mut out = Vec::new();
    let types = [
        (DType::F16, DType::F32, DType::F16, 1),
        (DType::BF16, DType::F32, DType::BF16, 1),
        (DType::F32, DType::F32, DType::F32, 2),
        (DType::I8, DType::I32, DType::I32, 1),
    ];
    let tiles = [
        ([32, 32], (1, 1)),
        ([64, 32], (2, 1)),
        ([64, 64], (2, 2)),
        ([64, 64], (1, 2)),
        ([64, 128], (2, 2)),
        ([128, 64], (2, 2)),
        ([128, 64], (4, 1)),
        ([128, 128], (2, 2)),
        ([128, 128], (2, 4)),
        ([128, 128], (4, 2)),
        ([128, 256], (2, 4)),
        ([256, 128], (4, 2)),
        ([96, 96], (2, 2)),
        ([64, 48], (2, 1)),
        ([64, 256], (1, 4)),
    ];
    for (dtype, sums, of, halved) in types {
        for ([m, n], warps) in tiles {
            for (depth, stages) in [(32, 4), (64, 3), (64, 2)] {
                let k = if dtype == DType::I8 {
                    2 * depth
                } else {
                    depth / halved
                };
                let flips: &[(bool, bool)] = if dtype.bytes() == 2 && stages == 3 {
                    &[(false, false), (true, false), (false, true), (true, true)]
                } else {
                    &[(false, false)]
                };
                for &flipped in flips {
                    let name = format!(
                        "{dtype}_{m}_{n}_{k}_{stages}_{}_{}_{}",
                        warps.0,
                        warps.1,
                        u32::from(flipped.0) + 2 * u32::from(flipped.1)
                    );
                    let shape = Shape {
                        dtype,
                        sums,
                        out: of,
                        tile: [m, n, k],
                        stages,
                        warps,
                        flipped,
                        whole: stages == 2,
                        registers: false,
                    };
                    out.push((name, shape));
                }
            }
        }
    }
    out
}

/// Instances by warpgroups.
fn many_by_warpgroups() -> Vec<(String, hopper::Shape)> {
    let mut out = Vec::new();
    for (dtype, sums, k) in [
        (DType::F16, DType::F32, 64),
        (DType::BF16, DType::F32, 64),
        (DType::F32, DType::F32, 32),
        (DType::E4M3, DType::F32, 128),
        (DType::E5M2, DType::F32, 128),
        (DType::I8, DType::I32, 128),
    ] {
        for n in [64, 128, 192, 256] {
            for (consumers, split) in [(1, None), (2, Some((40, 232))), (3, Some((32, 160)))] {
                for stages in [3, 4] {
                    let flips: &[(bool, bool)] = if dtype.bytes() == 2 && stages == 3 {
                        &[(false, false), (true, true)]
                    } else {
                        &[(false, false)]
                    };
                    for &flipped in flips {
                        let shape = hopper::Shape {
                            dtype,
                            sums,
                            stages,
                            consumers,
                            split,
                            flipped,
                            tile: (n, k),
                            ..hopper::Shape::bf16((n, k), stages, consumers)
                        };
                        out.push((
                            format!("{dtype}_{n}_{k}_{stages}_{consumers}_{}", flipped.0),
                            shape,
                        ));
                    }
                }
            }
        }
    }
    out
}

/// Whether what is said is that the kernel needs more than there is.
fn over_a_limit(said: &[Diag]) -> bool {
    let limits = [
        codes::REGISTER_LIMIT,
        codes::SHARED_LIMIT,
        codes::REGISTER_BUDGET,
    ];
    said.iter().all(|d| limits.contains(&d.code))
}

/// Invariant: none of the instances that we call legal spills, or has its products serialised, at its bound or
/// at its role's own count; and no bound is far above the smallest cap: 10% by warpgroups, 15% by single
/// warps. Witness: some four hundred instances; a sample of them unless
/// `TIKI_ALL_INSTANCES` is set, to 1 or to a word that their names hold.
#[test]
fn bounds_hold_for_instances_of_all_kinds() {
    let wanted = std::env::var("TIKI_ALL_INSTANCES").ok();
    let every = if wanted.is_some() { 1 } else { 19 };
    let word = wanted.filter(|w| w != "1").unwrap_or_default();
    let (mut bad, mut legal, mut refused) = (Vec::new(), 0, 0);
    let ampere = Target::default_target();
    for (name, shape) in
        (many_by_warps().into_iter().step_by(every)).filter(|c| c.0.contains(&word))
    {
        match attempt(&name, ampere::gemm(&name, ampere, shape)) {
            Ok((text, bound)) => {
                legal += 1;
                bad.extend(hold(&name, &text, bound, ampere, 15, |cap| {
                    with_cap(&text, cap)
                }));
            }
            Err(said) if over_a_limit(&said) => refused += 1,
            Err(said) => bad.push(format!("{name}: {said:?}")),
        }
    }
    let exact = Target::all().find(|t| t.row().exact).unwrap();
    for (name, shape) in
        (many_by_warpgroups().into_iter().step_by(every)).filter(|c| c.0.contains(&word))
    {
        match attempt(&name, hopper::gemm(&name, exact, shape)) {
            Ok((text, bound)) => {
                legal += 1;
                let capped = |cap: u32| match shape.split {
                    Some((_, more)) => text.replace(
                        &format!("u32 {more};"),
                        &format!("u32 {};", cap.div_ceil(8) * 8),
                    ),
                    None => with_cap(&text, cap),
                };
                bad.extend(hold(&name, &text, bound, exact, 10, capped));
            }
            Err(said) if over_a_limit(&said) => refused += 1,
            Err(said) => bad.push(format!("{name}: {said:?}")),
        }
    }
    println!("{legal} legal, {refused} over a limit");
    assert!(
        every > 1 || !word.is_empty() || legal >= 200,
        "{legal} legal instances"
    );
    assert!(
        bad.is_empty(),
        "{} of {legal}:\n{}",
        bad.len(),
        bad.join("\n")
    );
}
