//! A change that brings an instance under its budgets, found by compiling the changed instance.
//!
//! Where nothing but budgets refuses an instance, it is compiled again with one of its numbers smaller: small numbers
//! (stages, warps) by one, others by halves, the nearest change first. What comes through every check is offered with
//! what it takes; nothing else is. So a help of this kind is never wrong, and it may be missing.

use crate::ast::Program;
use crate::budget::shared_memory::size;
use crate::compile::{Instance, compile_instance};
use crate::diag::{Code, Diag, Severity, Sink, codes};
use crate::instance::Arg;

/// Codes of errors that a smaller instance may not have.
const BUDGETS: [Code; 3] = [
    codes::SHARED_LIMIT,
    codes::REGISTER_LIMIT,
    codes::REGISTER_BUDGET,
];
/// Numbers up to this are counted down, greater ones are halved.
const COUNT: i128 = 8;
/// Changed instances that are compiled at most: somebody waits for the message.
const TRIES: usize = 12;

/// Adds a help to the first of an instance's errors, if they are all of budgets and one smaller number would do.
pub fn offer(program: &Program, instance: &Instance, diags: &mut [Diag]) {
    let mut errors = diags.iter_mut().filter(|d| d.severity == Severity::Error);
    let Some(first) = errors.next() else { return };
    if !BUDGETS.contains(&first.code) || errors.any(|d| !BUDGETS.contains(&d.code)) {
        return;
    }
    let fitting = smaller(instance)
        .into_iter()
        .take(TRIES)
        .find_map(|changed| {
            let mut sink = Sink::new();
            let output = compile_instance(program, &changed.instance, &mut sink, &mut |_, _, _| {});
            let clean = sink.take().is_empty();
            output
                .filter(|_| clean)
                .map(|output| (changed, output.usage))
        });
    if let Some((changed, usage)) = fitting {
        let Changed { name, value, .. } = changed;
        let shared = size(usage.shared);
        let registers = usage.registers;
        first.helps.push(format!(
            "`{name} = {value}` fits: {shared} of shared memory, {registers} registers a thread at most"
        ));
    }
}

struct Changed {
    name: String,
    value: i128,
    instance: Instance,
}

/// Instances with one number smaller, the nearest first.
fn smaller(instance: &Instance) -> Vec<Changed> {
    let mut all: Vec<(f64, Changed)> = Vec::new();
    for (i, (name, arg)) in instance.args.iter().enumerate() {
        let Arg::Int(whole) = *arg else { continue };
        let mut value = whole;
        loop {
            value = match value {
                ..=1 => break,
                2..=COUNT => value - 1,
                _ if value % 2 == 0 => value / 2,
                _ => break,
            };
            let mut changed = instance.clone();
            changed.args[i].1 = Arg::Int(value);
            all.push((
                value as f64 / whole as f64,
                Changed {
                    name: name.clone(),
                    value,
                    instance: changed,
                },
            ));
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.into_iter().map(|(_, changed)| changed).collect()
}
