//! The example kernels on an NVIDIA GPU: against f64, and against the virtual machine.
//!
//! Invariant: where no approximate unit takes part, the GPU and the machine give the same bits; elsewhere
//! results differ by at most the stated number of units in the last place.
//! Witness: every case of `suite::cases`. With `TIKI_RESULTS` naming a file, one CSV line a case is
//! written there, with date, card and driver.
#![cfg(feature = "gpu")]

mod products;
mod suite;

use suite::Apart;
use tiki::bench::Record;

/// The largest distance between two results given as f32: relative, in units of 2^-24, or, for a 16-bit
/// type, in units in the last place.
fn distance(a: &[u8], b: &[u8], dtype: &str) -> f64 {
    let drop = match dtype {
        "f16" => 13,
        "bf16" => 16,
        _ => 0,
    };
    let word = |b: &[u8]| f32::from_le_bytes(b.try_into().expect("four bytes"));
    let place = |x: f32| {
        let m = i64::from(x.to_bits() & 0x7fff_ffff) >> drop;
        if x.is_sign_negative() { -m } else { m }
    };
    let tiny = f64::from(f32::MIN_POSITIVE);
    a.chunks(4)
        .zip(b.chunks(4))
        .map(|(a, b)| (word(a), word(b)))
        .filter(|(a, b)| !(a.is_nan() && b.is_nan()) && a.to_bits() != b.to_bits())
        .map(|(a, b)| match (f64::from(a), f64::from(b)) {
            (a, b) if a.is_nan() || b.is_nan() => f64::INFINITY,
            _ if drop > 0 => place(a).abs_diff(place(b)) as f64,
            // Their quotient would be NaN, which no maximum sees.
            (a, b) if a.is_infinite() || b.is_infinite() => f64::INFINITY,
            (a, b) => (a - b).abs() / a.abs().max(b.abs()).max(tiny) * f64::from(1 << 24),
        })
        .fold(0.0, f64::max)
}

/// The first element of two results, given as f32, that is further apart than it may be.
fn further(a: &[u8], b: &[u8], allowed: &[f64]) -> Option<String> {
    let word = |b: &[u8]| f64::from(f32::from_le_bytes(b.try_into().expect("four bytes")));
    let pairs = a
        .chunks(4)
        .zip(b.chunks(4))
        .map(|(a, b)| (word(a), word(b)));
    assert_eq!(a.len(), 4 * allowed.len());
    let mut all = pairs.zip(allowed).enumerate();
    all.find_map(|(i, ((a, b), allowed))| {
        let same = a == b || a.is_nan() && b.is_nan();
        // An infinity or a NaN beside a number is never near enough.
        let near = (a - b).abs() <= *allowed;
        (!same && !near)
            .then(|| format!("element {i} is {a:e} and {b:e}, {allowed:.1e} is allowed"))
    })
}

#[test]
fn kernels_agree_with_f64_and_with_the_machine() {
    let gpu = tiki::Device::cuda(0).expect("an NVIDIA GPU");
    let on_gpu = suite::cases::all(&gpu).expect("every case runs");
    let machine = tiki::Device::vm().and_then(|vm| suite::cases::all(&vm));
    let mut record = Record::new(
        &gpu,
        "cargo test --features gpu --test gpu",
        &["case", "gpu against f64", "machine", "units between them"],
    );
    let mut bad = Vec::new();
    for (i, outcome) in on_gpu.iter().enumerate() {
        if let Err(why) = &outcome.verdict {
            bad.push(format!("{}: {why}", outcome.name));
        }
        let verdict = match &outcome.verdict {
            Ok(text) => text.clone(),
            Err(_) => "wrong".into(),
        };
        let (state, apart) = match &machine {
            Err(error) => (error.to_string(), 0.0),
            Ok(all) => {
                let apart = distance(&all[i].bytes, &outcome.bytes, outcome.dtype);
                let same = all[i].bytes == outcome.bytes;
                let why = match &outcome.apart {
                    Apart::Bits => (!same).then(|| "the bits are to be the same".into()),
                    Apart::Units(units) => {
                        let allowed = if outcome.dtype == "f32" { *units } else { 1.0 };
                        (apart > allowed).then(|| format!("{allowed} are allowed"))
                    }
                    Apart::Each(allowed) => further(&all[i].bytes, &outcome.bytes, allowed),
                };
                if let Some(why) = why {
                    bad.push(format!(
                        "{}: the machine is {apart:.2} units away; {why}",
                        outcome.name
                    ));
                }
                (
                    if same {
                        "same bits".into()
                    } else {
                        "within the bound".into()
                    },
                    apart,
                )
            }
        };
        record.row(&[&outcome.name, &verdict, &state, &apart]);
    }
    if let Ok(path) = std::env::var("TIKI_RESULTS") {
        std::fs::write(path, record.to_csv()).expect("the results are written");
    }
    assert!(machine.is_ok(), "the machine ran too: {:?}", machine.err());
    assert!(
        bad.is_empty(),
        "{} of {} cases are wrong:\n{}",
        bad.len(),
        on_gpu.len(),
        bad.join("\n")
    );
}

/// Invariant: a product is the same bits on the GPU and on the machine's model of its tensor cores, wherever
/// both pick the same instance; where an approximate unit takes part, as far apart as two of its results may be. On both it
/// is within the bound of f64.
/// Witness: `products::all`.
#[test]
fn products_agree_with_f64_and_with_the_machine() {
    let gpu = tiki::Device::cuda(0).expect("an NVIDIA GPU");
    let machine = tiki::Device::vm().expect("the virtual machine");
    let (on_gpu, on_machine) = (products::all(&gpu, true), products::all(&machine, true));
    let mut record = Record::new(
        &gpu,
        "cargo test --features gpu --test gpu products",
        &["product", "gpu against f64", "bits of the machine"],
    );
    let (mut bad, mut same) = (Vec::new(), 0);
    for (g, m) in on_gpu.iter().zip(&on_machine) {
        bad.extend(g.verdict.clone().err());
        let state = if g.name != m.name {
            "another instance"
        } else if let Err(apart) = g.agrees(m) {
            bad.push(apart);
            "others"
        } else if g.bytes == m.bytes {
            same += 1;
            "same"
        } else {
            "as close as the unit"
        };
        let verdict = if g.verdict.is_ok() {
            "within the bound"
        } else {
            "wrong"
        };
        record.row(&[&g.name, &verdict, &state]);
    }
    if let Ok(path) = std::env::var("TIKI_RESULTS") {
        std::fs::write(path, record.to_csv()).expect("the results are written");
    }
    assert!(same >= 20, "{same} products by the same instance on both");
    assert!(
        bad.is_empty(),
        "{} of {}:\n{}",
        bad.len(),
        on_gpu.len(),
        bad.join("\n")
    );
}
