//! Arguments that an instance may do without.
//!
//! Invariant: an instance computes with the tensor exactly if its facts say that it is given, and the launcher holds the
//! caller to them. Witness: both instances against Rust, and each wrong call.

use tiki::prelude::*;
use tiki::{Device, LaunchError};

#[tiki::kernel(threads = 64, grid = [x.dim(0).div_ceil(64)], build((BIAS = true), (BIAS = false)))]
fn scale<const BIAS: bool>(
    x: &Global<f32, 1>,
    bias: Option<&Global<f32, 1>>,
    by: f32,
    out: &mut Global<f32, 1>,
) {
    require!(bias.is_some() == BIAS && bias.is_none_or(|b| b.dim(0) == x.dim(0) + 1));
    require!(out.dim(0) == x.dim(0));
    let map = ThreadMap::linear(64);
    let at = [block_idx().x];
    let y = x.tile([64], at).load(map).map(|v| v * by);
    let y = match bias {
        Some(b) => y + b.tile([64], at).load(map),
        None => y,
    };
    let mut more = 0.0;
    if let Some(b) = bias {
        more = b.get([x.dim(0)]);
    }
    if bias.is_none() {
        more = 0.5;
    }
    out.tile_mut([64], at).store(&y.map(|v| v + more));
}

#[tiki::test]
fn given_or_not(device: &Device) -> Result<(), LaunchError> {
    let n = 150;
    let host: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let bias: Vec<f32> = (0..=n).map(|i| (1000 - i) as f32).collect();
    let x = device.tensor_from(&host, [n])?;
    let b = device.tensor_from(&bias, [n + 1])?;
    let mut out = device.zeros::<f32, 1>([n])?;
    let stream = device.stream();

    scale::<true>::launch(&stream, &x, Some(&b), 3.0, &mut out)?;
    let want: Vec<f32> = (0..n).map(|i| host[i] * 3.0 + bias[i] + bias[n]).collect();
    assert_eq!(out.to_vec()?, want);

    scale::<false>::launch(&stream, &x, None, 3.0, &mut out)?;
    let want: Vec<f32> = host.iter().map(|v| v * 3.0 + 0.5).collect();
    assert_eq!(out.to_vec()?, want);
    assert!(scale::<true>::PTX.contains("bias") && !scale::<false>::PTX.contains("bias"));

    let refused = |result: Result<(), LaunchError>, fact: &str| {
        let text = result.expect_err("a fact that does not hold").to_string();
        assert!(text.contains(fact), "{text}");
    };
    let fact = "bias.is_some() == BIAS";
    refused(
        scale::<true>::launch(&stream, &x, None, 3.0, &mut out),
        fact,
    );
    refused(
        scale::<false>::launch(&stream, &x, Some(&b), 3.0, &mut out),
        fact,
    );
    let fact = "bias.is_none_or";
    refused(
        scale::<true>::launch(&stream, &x, Some(&x), 3.0, &mut out),
        fact,
    );
    Ok(())
}
