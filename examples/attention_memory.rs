//! The device memory that attention takes, forward and backward, by the length of the sequence.
//!
//! ```text
//! cargo run --release --features attention --example attention_memory -- [LONGEST [OUT.csv]]
//! ```
//!
//! Lengths go up by fours to LONGEST (65536 on a GPU; on the virtual machine 4096, and queries see the 16 keys before them:
//! memory is the same, and there is less to compute). `bytes` is the most that tensors and workspaces held at once, with
//! inputs, gradients and what the passes take for themselves; `driver` is the driver's own count for the whole process. Both
//! stand beside a matrix of queries by keys in f16, for all heads: what is never made. Exits with 1 if a token takes more
//! bytes in a long sequence than in the shortest.

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::attention::{self, Options};
use tiki::bench::Record;
use tiki::prelude::f16;
use tiki::{Device, Kind, LaunchError, Tensor};

const SHORTEST: usize = 1024;
const HEADS: usize = 4;
const WIDTH: usize = 128;

/// Both passes, once. Tensors are zeros: what is held does not depend on them.
fn passes(
    device: &Device,
    length: usize,
    options: &Options,
) -> Result<(), Box<dyn std::error::Error>> {
    let stream = device.stream();
    let one = || -> Result<Tensor<f16, 4>, LaunchError> { device.zeros([1, HEADS, length, WIDTH]) };
    let (q, k, v, slope) = (one()?, one()?, one()?, one()?);
    let forward = attention::forward(&stream, &q, &k, &v, options)?;
    attention::backward(&stream, &q, &k, &v, &forward, &slope, None, options)?;
    Ok(stream.synchronize()?)
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let device = Device::open_default()?;
    let (window, longest) = match device.kind() {
        Kind::Vm => (Some((16, 0)), 4096),
        _ => (None, 65536),
    };
    let longest = program::number(1, "the longest sequence", longest)?;
    let mut record = Record::new(
        &device,
        "examples/attention_memory",
        &[
            "passes",
            "tokens",
            "heads",
            "width",
            "bytes",
            "driver",
            "bytes a token",
            "scores",
        ],
    );
    // What was held at most goes through the process: no case takes less than those before it, because
    // lengths ascend and the pass in order has its turns besides.
    let mut least = f64::INFINITY;
    let mut linear = true;
    let lengths = std::iter::successors(Some(SHORTEST), |length| length.checked_mul(4));
    for length in lengths.take_while(|length| *length <= longest) {
        for (name, deterministic) in [("forward, backward", false), ("the same, in order", true)] {
            let options = Options {
                window,
                deterministic,
                ..Options::default()
            };
            passes(&device, length, &options)?;
            let memory = device.memory();
            let token = memory.peak as f64 / length as f64;
            // A hundredth: some tables have a row a tile.
            linear &= token <= 1.01 * least;
            least = least.min(token);
            let driver = memory
                .driver_peak
                .map_or("none".to_string(), |bytes| bytes.to_string());
            let scores = 2 * HEADS as u64 * (length as u64).pow(2);
            let token = format!("{token:.0}");
            record.row(&[
                &name,
                &length,
                &HEADS,
                &WIDTH,
                &memory.peak,
                &driver,
                &token,
                &scores,
            ]);
        }
    }
    print!("{}", record.to_csv());
    if let Some(path) = std::env::args_os().nth(2) {
        std::fs::write(path, record.to_csv())?;
    }
    Ok(linear)
}

fn main() -> ExitCode {
    program::end(run())
}
