//! Given inputs: the recorded tensors, and rows of special values.

use super::cases::*;
use super::{Outcome, judge};
use tiki::Device;
use tiki::prelude::*;

/// The recorded tensors of `examples/data`: RMSNorm, causal softmax and silu of a real layer.
pub(super) fn real(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    let name = "examples/data/smollm2_layer15.safetensors";
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/");
    let path = if std::path::Path::new(name).exists() {
        name.to_string()
    } else {
        format!("{own}{name}")
    };
    let file = tiki::checkpoint::Checkpoint::open(path).expect("the recorded tensors");
    let read = |name: &str| file.read::<f16>(name).expect(name);
    let wide64 = |name: &str| file.read::<f64>(name).expect(name).values;
    let stream = device.stream();

    let (hidden, weight) = (read("hidden"), read("norm_weight"));
    let (rows, width) = (hidden.shape[0], hidden.shape[1]);
    let mut y = poisoned::<f16, 2>(device, [rows, width])?;
    f16::rms_norm(
        width,
        &stream,
        &device.tensor_from(&hidden.values, [rows, width])?,
        &device.tensor_from(&weight.values, [width])?,
        &mut y,
        1e-5,
    )?;
    let got = y.to_vec()?;
    let verdict = judge(&got, &wide64("rms_norm_expected"), 0.0);
    push(
        out,
        format!("real rms_norm f16 {rows} x {width}"),
        Some(NORM),
        &got,
        verdict,
    );

    let scores = file.read::<f32>("scores").expect("scores");
    let shape = [scores.shape[0], scores.shape[1]];
    let mut y = poisoned::<f32, 2>(device, shape)?;
    f32::softmax(
        shape[1],
        &stream,
        &device.tensor_from(&scores.values, shape)?,
        &mut y,
        true,
    )?;
    let half: Vec<f16> = y.to_vec()?.into_iter().map(f16::from_f32).collect();
    let verdict = judge(&half, &wide64("softmax_expected"), 0.0);
    push(
        out,
        format!("real causal softmax f32 {} x {}", shape[0], shape[1]),
        Some(SOFT),
        &half,
        verdict,
    );

    let (gate, up) = (read("gate"), read("up"));
    let n = gate.values.len();
    let mut y = poisoned::<f16, 1>(device, [n])?;
    f16::silu(
        &stream,
        &device.tensor_from(&gate.values, [n])?,
        &device.tensor_from(&up.values, [n])?,
        &mut y,
    )?;
    let got = y.to_vec()?;
    let silu = |g: f64| g / (1.0 + (-g).exp());
    let expected: Vec<f64> = gate
        .values
        .iter()
        .zip(&up.values)
        .map(|(g, u)| silu(g.to_f64()) * u.to_f64())
        .collect();
    push(
        out,
        format!("real silu_mul f16 {n}"),
        Some(GATE),
        &got,
        judge(&got, &expected, 0.0),
    );

    // The greatest of each row of the same tensor: exact.
    let mut place = device.tensor_from(&vec![u32::MAX; rows], [rows])?;
    f16::row_argmax(
        width,
        &stream,
        &device.tensor_from(&hidden.values, [rows, width])?,
        &mut place,
    )?;
    let places = place.to_vec()?;
    let first = |row: &[f16]| {
        (0..width)
            .rev()
            .max_by(|&a, &b| row[a].total_cmp(&row[b]))
            .unwrap_or(0) as u32
    };
    let wrong = hidden
        .values
        .chunks(width)
        .zip(&places)
        .filter(|(row, p)| first(row) != **p)
        .count();
    let verdict = if wrong == 0 {
        Ok("exact".into())
    } else {
        Err(format!("{wrong} wrong"))
    };
    let as_float: Vec<f32> = places.iter().map(|&i| i as f32).collect();
    push(
        out,
        format!("real row_argmax f16 {rows} x {width}"),
        None,
        &as_float,
        verdict,
    );
    Ok(())
}

/// NaN, infinities and fully masked rows.
pub(super) fn special_rows<E: Kernels>(device: &Device, out: &mut Vec<Outcome>) -> Result<()> {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let rows: [[f64; 31]; 6] = [
        [0.5; 31],
        std::array::from_fn(|i| if i == 30 { nan } else { i as f64 }),
        std::array::from_fn(|i| if i == 29 { inf } else { i as f64 }),
        [-inf; 31],
        std::array::from_fn(|i| if i % 2 == 0 { -inf } else { i as f64 / 8.0 }),
        std::array::from_fn(|i| if i == 7 { -inf } else { -(i as f64) }),
    ];
    let values: Vec<f64> = rows.concat();
    let x = typed::<E>(&values);
    let input = device.tensor_from(&x, [6, 31])?;
    let zeros = std::array::from_fn::<f64, 31, _>(|i| if i % 3 == 0 { -0.0 } else { 0.0 });
    let below = std::array::from_fn::<f64, 31, _>(|i| if i < 4 { -inf } else { -1e-7 });
    let twice = std::array::from_fn::<f64, 31, _>(|i| if i % 9 == 5 { nan } else { inf });
    let placed = [&values[..], &zeros[..], &below[..], &twice[..]].concat();
    let mut place = device.tensor_from(&[u32::MAX; 9], [9])?;
    E::row_argmax(
        31,
        &device.stream(),
        &device.tensor_from(&typed::<E>(&placed), [9, 31])?,
        &mut place,
    )?;
    let (got, expected) = (place.to_vec()?, placed.chunks(31).map(first_greatest));
    let verdict = if expected.clone().eq(got.iter().copied()) {
        Ok("exact".into())
    } else {
        Err(format!("{got:?}, not {:?}", expected.collect::<Vec<_>>()))
    };
    let as_float: Vec<f32> = got.iter().map(|&i| i as f32).collect();
    push(
        out,
        format!("special rows, row_argmax {}", E::NAME),
        None,
        &as_float,
        verdict,
    );
    for causal in [false, true] {
        let mut y = poisoned::<E, 2>(device, [6, 31])?;
        E::softmax(31, &device.stream(), &input, &mut y, causal)?;
        let got = y.to_vec()?;
        let verdict = judge(
            &got,
            &softmax_reference(&wide(&x), 6, 31, causal),
            120.0 * U,
        );
        push(
            out,
            format!("special rows, softmax {} causal {causal}", E::NAME),
            Some(SOFT),
            &got,
            verdict,
        );
    }
    let w = typed::<E>(&[1.0; 31]);
    let mut y = poisoned::<E, 2>(device, [6, 31])?;
    E::rms_norm(
        31,
        &device.stream(),
        &input,
        &device.tensor_from(&w, [31])?,
        &mut y,
        1e-5,
    )?;
    let got = wide(&y.to_vec()?);
    // x / sqrt(mean): a row with NaN is NaN; a row with an infinity has NaN at it and 0 elsewhere.
    let mut wrong = Vec::new();
    for (r, row) in rows.iter().enumerate() {
        for (c, v) in row.iter().enumerate() {
            let g = got[r * 31 + c];
            let ok = match () {
                () if row.iter().any(|v| v.is_nan()) => g.is_nan(),
                () if v.is_infinite() => g.is_nan(),
                () if row.iter().any(|v| v.is_infinite()) => g == 0.0,
                () => g.is_finite(),
            };
            if !ok {
                wrong.push((r, c, g));
            }
        }
    }
    let verdict = if wrong.is_empty() {
        Ok("as the formula says".into())
    } else {
        Err(format!("{wrong:?}"))
    };
    push(
        out,
        format!("special rows, rms_norm {}", E::NAME),
        Some(NORM),
        &y.to_vec()?,
        verdict,
    );
    Ok(())
}
