//! What the programs of the examples share: their arguments, and how they end.
//!
//! A program leaves with 0 if its result is right, with 1 if it is not and with 2 if it could not run; in both cases one
//! `error:` line says so.

#![allow(dead_code, reason = "each program uses its part")]
#![allow(
    clippy::duplicate_mod,
    reason = "tests take several programs in, each with its own"
)]

pub mod scans;

use std::error::Error;
use std::process::ExitCode;
use tiki::checkpoint::Checkpoint;

/// Argument `nth` as a number: `what` says what it ought to be where it is none.
pub fn number(nth: usize, what: &str, default: usize) -> Result<usize, String> {
    match std::env::args().nth(nth) {
        Some(text) => text.parse().map_err(|_| format!("`{text}` is not {what}")),
        None => Ok(default),
    }
}

/// The file of tensors that the first argument names, or the one beside the examples.
pub fn tensors() -> Result<Checkpoint, Box<dyn Error>> {
    let default = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/data/smollm2_layer15.safetensors"
    );
    let named = std::env::args().nth(1);
    Ok(Checkpoint::open(named.as_deref().unwrap_or(default))?)
}

/// The larger of two distances, for a fold over all: a NaN is further than any, where `f64::max` would pass over it.
pub fn further(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::INFINITY
    } else {
        a.max(b)
    }
}

/// The program's end, of whether its result is right.
pub fn end(result: Result<bool, Box<dyn Error>>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("error: the result is not what it ought to be");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
