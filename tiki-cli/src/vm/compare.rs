//! `tiki vm diff`: buffers after a run against recorded ones.

use super::Launch;
use super::buffers::{Bench, load};
use super::spec::{self, Named};
use crate::outcome::{Kind, Out, Result};
use serde_json::json;
use tiki_kernel::isa::Ty;
use tiki_launch::vm::{Async, Checks};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    launch: Launch,
    /// A buffer and what it should hold: NAME=FILE (.npy, .safetensors with #TENSOR, or raw bytes).
    #[arg(long = "expect", value_name = "NAME=FILE", required = true, value_parser = spec::named)]
    expect: Vec<Named>,
    /// Units in the last place by which floats may differ.
    #[arg(long, default_value_t = 0)]
    ulp: u64,
    /// When asynchronous work completes: eager, late or seed:N.
    #[arg(long, default_value = "eager", value_parser = spec::completion)]
    completion: Async,
}

/// How two buffers differ.
#[derive(Debug, Default, PartialEq, Eq)]
struct Difference {
    /// Elements that differ by more than is allowed.
    wrong: usize,
    elements: usize,
    /// Index of the first of them.
    first: Option<usize>,
    /// Largest distance in units in the last place (of integers, of the values).
    worst: u64,
}

/// Distance of two elements; none between two NaN.
fn distance(ty: Ty, a: &[u8], b: &[u8]) -> u64 {
    let read = |x: &[u8]| x.iter().rev().fold(0u64, |v, b| v << 8 | u64::from(*b));
    let (x, y) = (read(a), read(b));
    if !ty.is_float() {
        return x.abs_diff(y);
    }
    let nan = |v: u64| match ty {
        Ty::F64 => f64::from_bits(v).is_nan(),
        Ty::F32 => f32::from_bits(v as u32).is_nan(),
        Ty::F16 => v & 0x7fff > 0x7c00,
        Ty::BF16 => v & 0x7fff > 0x7f80,
        _ => false,
    };
    if nan(x) || nan(y) {
        return if nan(x) && nan(y) { 0 } else { u64::MAX };
    }
    // Bits of floats count upwards from zero on either side of it.
    let sign = 1u64 << (8 * a.len() - 1);
    let order = |v: u64| {
        if v & sign == 0 {
            i128::from(v)
        } else {
            -i128::from(v & (sign - 1))
        }
    };
    u64::try_from((order(x) - order(y)).unsigned_abs()).unwrap_or(u64::MAX)
}

fn compare(ty: Ty, want: &[u8], got: &[u8], allowed: u64) -> Difference {
    let width = ty.bytes().max(1) as usize;
    let mut out = Difference::default();
    for (i, (a, b)) in want.chunks(width).zip(got.chunks(width)).enumerate() {
        out.elements += 1;
        if a == b {
            continue;
        }
        let d = distance(ty, a, b);
        out.worst = out.worst.max(d);
        if d > allowed {
            out.wrong += 1;
            out.first.get_or_insert(i);
        }
    }
    out
}

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let bench = Bench::new(&args.launch)?;
    bench.run(&args.launch.options(args.completion, Checks::Check))?;
    let (mut values, mut lines, mut wrong) = (vec![], String::new(), 0);
    for e in &args.expect {
        let buffer = bench.buffer(&e.name)?;
        let (form, want) = load(&e.file, e.tensor.as_deref())?;
        let got = bench.read(buffer)?;
        if want.len() != got.len() {
            return Err(Kind::Wrong.because(format!(
                "`{}` has {} bytes, {} has {}",
                e.name,
                got.len(),
                e.file.display(),
                want.len()
            )));
        }
        // A file without types is read as the buffer's own.
        let ty = if form.ty == Ty::U8 {
            buffer.form.ty
        } else {
            form.ty
        };
        let d = compare(ty, &want, &got, args.ulp);
        wrong += d.wrong;
        values.push(json!({
            "buffer": e.name, "type": ty.to_string(), "elements": d.elements, "wrong": d.wrong,
            "first": d.first, "worst_ulp": d.worst,
        }));
        lines += &match d.first {
            None => format!(
                "{}: {} elements agree (worst {} ulp)\n",
                e.name, d.elements, d.worst
            ),
            Some(i) => format!(
                "{}: {} of {} elements differ, first [{i}], worst {} ulp\n",
                e.name, d.wrong, d.elements, d.worst
            ),
        };
    }
    out.say(
        json!({ "entry": bench.entry, "wrong": wrong, "buffers": values }),
        || lines,
    );
    if wrong > 0 {
        return Err(Kind::Wrong.because(format!("{wrong} elements differ")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_cross_zero_and_pass_nan() {
        let f = |x: f32| x.to_le_bytes();
        assert_eq!(distance(Ty::F32, &f(0.0), &f(-0.0)), 0);
        assert_eq!(distance(Ty::F32, &f(1.0), &f(1.0 + f32::EPSILON)), 1);
        assert_eq!(
            distance(Ty::F32, &f(f32::from_bits(1)), &f(-f32::from_bits(1))),
            2
        );
        assert_eq!(distance(Ty::F32, &f(f32::NAN), &f(f32::NAN)), 0);
        assert_eq!(distance(Ty::F32, &f(f32::NAN), &f(0.0)), u64::MAX);
        let d = compare(
            Ty::U32,
            &[1, 0, 0, 0, 9, 0, 0, 0],
            &[1, 0, 0, 0, 7, 0, 0, 0],
            1,
        );
        assert_eq!((d.wrong, d.elements, d.first, d.worst), (1, 2, Some(1), 2));
    }
}
