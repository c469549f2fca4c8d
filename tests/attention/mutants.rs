//! Kernels of the library with one synchronisation less or another one: each is found.
//!
//! Invariant: without any one of its barriers, fences, waits, commits and arrivals, with a wait for one group less, or with
//! the parity of a wait held at 0 or at 1, a kernel is refused, reported by the machine or gives another
//! result, unless [`SPARE`] says why it cannot matter. Witness: every such instruction of the text, forward and backward, of
//! both schedules. The instructions are found by what the table says they do. `TIKI_MUTANTS=all` runs all of them (hours on a slow
//! machine); otherwise every twelfth.

use crate::machine;
use crate::reference::Random;
use crate::spare::SPARE;
use std::collections::BTreeMap;
use tiki::attention::banded::{
    attention_ampere, attention_backward_ampere, attention_backward_hopper, attention_hopper,
};
use tiki::compiler::artifact::Artifact;
use tiki::compiler::isa::effects::{Async as Part, Barrier, Flow};
use tiki::compiler::ptx::{Module, Stmt};
use tiki::prelude::f16;
use tiki::vm::{Async, Checks, Options};
use tiki::{Call, Device, LaunchError, Tensor};

/// A text with one line changed.
struct Mutant {
    what: String,
    line: u32,
    text: String,
}

/// The instruction of a line, without its registers.
fn word(line: &str) -> String {
    let code = line.split("//").next().unwrap_or(line).trim();
    let code = code.trim_start_matches(['@', '!']);
    let mut words = code.split_whitespace();
    let first = words.next().unwrap_or("");
    let first = if first.starts_with("%p") {
        words.next().unwrap_or("")
    } else {
        first
    };
    first.trim_end_matches(';').to_string()
}

/// Every mutant of a text.
fn mutants(text: &str) -> Vec<Mutant> {
    let module = Module::parse(text).expect("a kernel's text");
    let lines: Vec<&str> = text.lines().collect();
    let with = |line: u32, to: String| {
        let at = line as usize - 1;
        let mut all: Vec<&str> = lines.clone();
        all[at] = &to;
        all.join("\n")
    };
    let mut all = Vec::new();
    for f in &module.functions {
        let body: Vec<&Stmt> = f.body.iter().flatten().collect();
        for (i, stmt) in body.iter().enumerate() {
            let Stmt::Inst(inst) = stmt else { continue };
            let (effects, line) = (inst.op.row.effects, inst.line);
            let own = lines[line as usize - 1];
            let name = word(own);
            let mut push = |what: &str, line, to: String| {
                all.push(Mutant {
                    what: format!("{what} {name}"),
                    line,
                    text: with(line, to),
                });
            };
            let block = matches!(effects.barrier, Barrier::Block | Barrier::Object);
            let groups = matches!(effects.group, Part::Commits(_) | Part::Waits(_));
            // A wait on a barrier object is a loop around a test: a branch back, or past it.
            let after = body[i + 1..].iter().take(2).find_map(|s| match s {
                Stmt::Inst(next) if next.op.row.effects.flow == Flow::Branch => Some(next.line),
                _ => None,
            });
            let tests = effects.barrier == Barrier::Object && own.contains("wait");
            if tests && let Some(branch) = after {
                push("no wait by", branch, String::new());
                let parity = own.rfind(',').expect("operands");
                for fixed in [0, 1] {
                    push(
                        &format!("parity {fixed} in"),
                        line,
                        format!("{}, {fixed};", &own[..parity]),
                    );
                }
            } else if block || groups || (effects.fence && inst.operands.is_empty()) {
                push("no", line, String::new());
            }
            if let (Part::Waits(_), Some(end)) = (effects.group, own.rfind(';')) {
                let digits = own[..end]
                    .trim_end_matches(|c: char| c.is_ascii_digit())
                    .len();
                if let Ok(n) = own[digits..end].parse::<u32>() {
                    push(
                        "one group less by",
                        line,
                        format!("{}{};", &own[..digits], n + 1),
                    );
                }
            }
        }
    }
    all
}

/// Runs an artefact on new outputs: all their bytes.
type Run<'a> = &'a dyn Fn(&Device, &'static Artifact) -> Result<Vec<u8>, LaunchError>;

fn device(capability: (u32, u32), completion: Async) -> Device {
    let options = Options {
        completion,
        checks: Checks::All,
        max_steps: 300_000,
        ..Options::default()
    };
    machine(capability, options)
}

/// What is found of a kernel's mutants: those that nothing shows, counted by what they are.
fn survivors(
    kernel: &'static str,
    capability: (u32, u32),
    artifact: &'static Artifact,
    run: Run<'_>,
) {
    let ways = [Async::Late, Async::Eager, Async::Seed(1)];
    let devices = ways.map(|way| device(capability, way));
    let right = devices
        .each_ref()
        .map(|d| run(d, artifact).expect("the kernel is right"));
    let all = mutants(artifact.ptx);
    assert!(all.len() >= 5, "{kernel}: {} mutants", all.len());
    let mut left = BTreeMap::<String, usize>::new();
    let count = all.len();
    let every = if count < 40 || std::env::var("TIKI_MUTANTS").is_ok() {
        1
    } else {
        12
    };
    for mutant in all.into_iter().step_by(every) {
        let altered: &'static Artifact = Box::leak(Box::new(Artifact {
            ptx: mutant.text.leak(),
            ..artifact.clone()
        }));
        let found = devices
            .iter()
            .zip(&right)
            .any(|(device, right)| run(device, altered).map_or(true, |bytes| bytes != *right));
        println!(
            "{kernel}: line {}: {} {}",
            mutant.line,
            mutant.what,
            if found { "found" } else { "NOT FOUND" }
        );
        if !found {
            *left.entry(mutant.what).or_default() += 1;
        }
    }
    println!("{kernel}: {count} mutants, not found {left:?}");
    let spare = SPARE.iter().filter(|s| s.0 == kernel);
    let spare: BTreeMap<String, usize> = spare.map(|s| (s.1.to_string(), s.2)).collect();
    if every == 1 {
        assert_eq!(left, spare, "{kernel}: mutants that nothing shows");
    }
    for (what, times) in left {
        let known = spare.get(&what).is_some_and(|most| times <= *most);
        assert!(
            known,
            "{kernel}: {times} times {what}, and nothing shows it"
        );
    }
}

/// Queries and keys of a pass: every ring goes round twice.
const FORWARD: (usize, usize) = (150, 700);
const BACKWARD: (usize, usize) = (330, 150);

fn inputs(
    device: &Device,
    (queries, keys): (usize, usize),
    width: usize,
) -> Result<[Tensor<f16, 4>; 4], LaunchError> {
    let mut random = Random(5);
    let mut of = |length: usize| {
        let own = random.tensor::<f16>(length * width);
        device.tensor_from(&own, [1, 1, length, width])
    };
    Ok([of(queries)?, of(keys)?, of(keys)?, of(queries)?])
}

fn bytes(parts: &[Vec<f32>]) -> Vec<u8> {
    parts
        .iter()
        .flatten()
        .flat_map(|x| x.to_le_bytes())
        .collect()
}

fn wide<const R: usize>(t: &Tensor<f16, R>) -> Result<Vec<f32>, LaunchError> {
    Ok(t.to_vec()?.iter().map(|x| x.to_f32()).collect())
}

/// Forward, causal.
fn forward(
    device: &Device,
    artifact: &'static Artifact,
    grid: [u64; 3],
    lengths: (usize, usize),
) -> Result<Vec<u8>, LaunchError> {
    let [q, k, v, _] = inputs(device, lengths, 64)?;
    let mut out = device.zeros::<f16, 4>(q.shape())?;
    let mut lse = device.zeros::<f32, 3>([1, 1, lengths.0])?;
    let stream = device.stream();
    {
        let mut call = Call::new(&stream, artifact)?;
        call.tensor(0, &q)?.tensor(1, &k)?.tensor(2, &v)?;
        call.tensor_mut(3, &mut out)?.tensor_mut(4, &mut lse)?;
        call.scalar(5, 0.18_f32)?
            .scalar(6, 1_u32 << 30)?
            .scalar(7, 0_u32)?;
        call.grid(grid)?.launch()?;
    }
    Ok(bytes(&[wide(&out)?, lse.to_vec()?]))
}

/// Backward, of statistics as good as any.
fn backward(
    device: &Device,
    artifact: &'static Artifact,
    grid: [u64; 3],
    sums: [usize; 4],
    width: usize,
) -> Result<Vec<u8>, LaunchError> {
    let [q, k, v, g] = inputs(device, BACKWARD, width)?;
    let padded = BACKWARD.0.next_multiple_of(128);
    let top: Vec<f32> = (0..padded)
        .map(|r| if r < BACKWARD.0 { 4.0 } else { f32::INFINITY })
        .collect();
    let top = device.tensor_from(&top, [1, 1, padded])?;
    let delta = device.tensor_from(&vec![0.125_f32; padded], [1, 1, padded])?;
    let mut sums = device.zeros::<f32, 4>(sums)?;
    let mut turns = device.zeros::<u32, 3>([1, 1, padded / 32 + 1])?;
    let (mut dk, mut dv) = (
        device.zeros::<f16, 4>(k.shape())?,
        device.zeros::<f16, 4>(k.shape())?,
    );
    let stream = device.stream();
    {
        let mut call = Call::new(&stream, artifact)?;
        call.tensor(0, &q)?
            .tensor(1, &k)?
            .tensor(2, &v)?
            .tensor(3, &g)?;
        call.tensor(4, &top)?.tensor(5, &delta)?;
        call.tensor_mut(6, &mut sums)?.tensor_mut(7, &mut turns)?;
        call.tensor_mut(8, &mut dk)?.tensor_mut(9, &mut dv)?;
        call.scalar(10, 0.125_f32)?.scalar(11, 0.18_f32)?;
        call.scalar(12, 1_u32 << 30)?.scalar(13, 1_u32 << 30)?;
        call.grid(grid)?.launch()?;
    }
    let told = turns.to_vec()?.iter().map(|t| *t as f32).collect();
    Ok(bytes(&[sums.to_vec()?, told, wide(&dk)?, wide(&dv)?]))
}

#[test]
fn forward_on_ampere() {
    let artifact = attention_ampere::<f16, 64, 64>::ARTIFACT;
    let grid = [FORWARD.0.div_ceil(64) as u64, 1, 1];
    survivors("forward_ampere", (8, 0), artifact, &|d, a| {
        forward(d, a, grid, FORWARD)
    });
}

#[test]
fn backward_on_ampere() {
    let artifact = attention_backward_ampere::<f16, 64, 64>::ARTIFACT;
    let grid = [BACKWARD.1.div_ceil(64) as u64, 1, 1];
    let sums = [1, 1, BACKWARD.0, 64];
    survivors("backward_ampere", (8, 0), artifact, &|d, a| {
        backward(d, a, grid, sums, 64)
    });
}

#[test]
fn forward_on_hopper() {
    // One block takes all five tiles of queries.
    let artifact = attention_hopper::<f16, 64, 128, 2, 2, 1>::ARTIFACT;
    survivors("forward_hopper", (9, 0), artifact, &|d, a| {
        forward(d, a, [1, 1, 1], (600, 350))
    });
}

/// What dQ in order does without is what it does without in any order.
fn backward_by_hopper(artifact: &'static Artifact) {
    let grid = [BACKWARD.1.div_ceil(128) as u64, 1, 1];
    let sums = [1, 1, BACKWARD.0.next_multiple_of(128), 128];
    survivors("backward_hopper", (9, 0), artifact, &|d, a| {
        backward(d, a, grid, sums, 128)
    });
}

#[test]
fn backward_on_hopper() {
    backward_by_hopper(attention_backward_hopper::<f16, 128, 64, 0>::ARTIFACT);
}

#[test]
fn backward_in_order_on_hopper() {
    backward_by_hopper(attention_backward_hopper::<f16, 128, 64, 1>::ARTIFACT);
}
