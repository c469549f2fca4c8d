//! A launch examined in every way in which asynchronous work may complete.
//!
//! Each run begins with the same memory. What any of them finds is found, once; where their results differ,
//! the kernel depends on an order that nobody promised, and that is a finding too. Memory is left as the
//! first run leaves it.

use super::arg::Arg;
use super::fault::{Code, Fault};
use super::findings::{Findings, is_error};
use super::launch::Report;
use super::memory::Buffer;
use super::options::{Async, Options};
use super::program::Program;
use super::written::Written;
use super::{Cost, Vm};
use std::sync::Arc;

/// What is launched.
#[derive(Debug, Clone)]
pub struct Shot<'a> {
    /// Program.
    pub program: &'a Program,
    /// Entry.
    pub entry: &'a str,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Arguments.
    pub args: &'a [Arg],
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// How each run's asynchronous work completed, and what it reported.
    pub runs: Vec<(Async, Report)>,
    /// Findings of all runs.
    pub findings: Vec<Fault>,
}

impl Survey {
    /// Remarks about costs, from the first run.
    #[must_use]
    pub fn remarks(&self, kernel: &str) -> Vec<Fault> {
        let costs = self.runs.first().map_or(&[][..], |r| &r.1.costs);
        costs
            .iter()
            .flat_map(|c: &Cost| c.remarks(kernel))
            .collect()
    }
}

fn content(b: &Arc<Buffer>) -> Vec<u8> {
    let mut out = vec![0; b.bytes.len()];
    b.bytes.read(0, &mut out);
    out
}

impl Vm {
    /// Runs a launch with work completing at once, as late as possible, and by as many seeds.
    ///
    /// # Errors
    /// A launch that does not fit the kernel.
    pub fn survey(
        &self,
        shot: &Shot<'_>,
        options: &Options,
        seeds: u64,
    ) -> Result<Survey, Box<Fault>> {
        let table = self.memory.table();
        let before: Vec<Option<Vec<u8>>> = table.iter().map(|b| b.as_ref().map(content)).collect();
        let known: Vec<_> = table
            .iter()
            .map(|b| b.as_ref()?.written.as_ref().map(Written::snapshot))
            .collect();
        let mut out = Survey::default();
        let mut found = Findings::default();
        let mut first: Option<Vec<Option<Vec<u8>>>> = None;
        let ways = [Async::Eager, Async::Late]
            .into_iter()
            .chain((1..=seeds).map(Async::Seed));
        for way in ways {
            for ((b, bytes), known) in table.iter().zip(&before).zip(&known) {
                if let (Some(b), Some(bytes)) = (b, bytes) {
                    b.bytes.write(0, bytes);
                }
                if let (Some(w), Some(known)) = (b.as_ref().and_then(|b| b.written.as_ref()), known)
                {
                    w.restore(known);
                }
            }
            let options = Options {
                completion: way,
                ..options.clone()
            };
            let report = self.examine(
                shot.program,
                shot.entry,
                shot.grid,
                shot.block,
                shot.dynamic_shared,
                shot.args,
                &options,
            )?;
            let now: Vec<Option<Vec<u8>>> = table.iter().map(|b| b.as_ref().map(content)).collect();
            // Once something is wrong, results mean nothing.
            let sound = !report.findings.iter().any(is_error);
            report.findings.iter().cloned().for_each(|f| found.add(f));
            out.runs.push((way, report));
            if !sound {
                continue;
            }
            let Some(first) = &first else {
                first = Some(now);
                continue;
            };
            for (n, (a, b)) in first.iter().zip(&now).enumerate() {
                let (Some(a), Some(b)) = (a, b) else { continue };
                let Some(at) = a.iter().zip(b).position(|(x, y)| x != y) else {
                    continue;
                };
                let name = table[n].as_ref().map_or(String::new(), |b| b.name.clone());
                let many = a.iter().zip(b).filter(|(x, y)| x != y).count();
                let text = format!(
                    "`{name}` differs in {many} bytes, from byte {at} on, between work that completes at once and {}",
                    say(way)
                );
                let mut f = Fault::new(Code::OrderSensitive, shot.entry, text);
                f.buffer = Some(name);
                f.index = Some(at as u64);
                // One for each buffer, whatever the way: they have no line.
                if !out.findings.iter().any(|o| o.buffer == f.buffer) {
                    out.findings.push(f);
                }
            }
        }
        if let Some(first) = first {
            for (b, bytes) in table.iter().zip(&first) {
                if let (Some(b), Some(bytes)) = (b, bytes) {
                    b.bytes.write(0, bytes);
                }
            }
        }
        let mut all = found.into_list();
        all.append(&mut out.findings);
        out.findings = all;
        Ok(out)
    }
}

fn say(way: Async) -> String {
    match way {
        Async::Eager => "at once".into(),
        Async::Late => "as late as possible".into(),
        Async::Seed(n) => format!("by seed {n}"),
    }
}
