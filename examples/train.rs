//! A training loop in plain Rust: a layer of attention learns a row of tokens by heart.
//!
//! ```text
//! h = rms_norm(x, g)   q, k, v = h Wq', h Wk', h Wv'   y = softmax(attention(q, k, v) Wo')   loss = sum((y - target)^2) / 2
//! ```
//!
//! Every step is an operator: forward kernels on the way up, backward kernels on the way down, and the order of both is
//! ordinary Rust. Weights are kept in f32 on the host and rounded to f16 for the kernels.
//!
//! `cargo run --release --features attention --example train -- [STEPS]`

#[path = "program/mod.rs"]
mod program;

use std::process::ExitCode;
use tiki::attention::{self, Options};
use tiki::gemm::{self, Precision};
use tiki::prelude::f16;
use tiki::{Device, Tensor, rows};

const TOKENS: usize = 24;
const WIDTH: usize = 64;
const RATE: f32 = 0.5;

type Any<T> = Result<T, Box<dyn std::error::Error>>;

/// A weight: f32 on the host, f16 for the kernels.
struct Weight<const R: usize> {
    host: Vec<f32>,
    own: Tensor<f16, R>,
}

fn rounded<const R: usize>(
    device: &Device,
    host: &[f32],
    shape: [usize; R],
) -> Any<Tensor<f16, R>> {
    let own: Vec<f16> = host.iter().map(|x| f16::from_f32(*x)).collect();
    Ok(device.tensor_from(&own, shape)?)
}

impl<const R: usize> Weight<R> {
    fn new(device: &Device, shape: [usize; R], at: impl Fn(usize) -> f32) -> Any<Self> {
        let host: Vec<f32> = (0..shape.iter().product()).map(at).collect();
        let own = rounded(device, &host, shape)?;
        Ok(Weight { host, own })
    }

    /// A step down the slope.
    fn step(&mut self, slope: &Tensor<f16, R>) -> Any<()> {
        for (w, s) in self.host.iter_mut().zip(slope.to_vec()?) {
            *w -= RATE * s.to_f32();
        }
        self.own = rounded(self.own.device(), &self.host, self.own.shape())?;
        Ok(())
    }
}

fn run() -> Any<bool> {
    let steps = program::number(1, "a number of steps", 12)?;
    let device = Device::open_default()?;
    let stream = device.stream();
    let noise =
        |seed: usize| move |i: usize| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0;
    let square = |seed| Weight::new(&device, [WIDTH, WIDTH], move |i| 0.2 * noise(seed)(i));
    let mut gain = Weight::new(&device, [WIDTH], |_| 1.0)?;
    let (mut w_q, mut w_k, mut w_v, mut w_o) = (square(1)?, square(2)?, square(3)?, square(4)?);
    let x = Weight::new(&device, [TOKENS, WIDTH], noise(5))?.own;
    // Token i is to be followed by token 5 i + 3.
    let wanted = |i: usize| (5 * i + 3) % WIDTH;

    let norm = rows::rms_norm::<f16>(1e-5);
    let product = gemm::operator::<f16>(Precision::default());
    let attend = attention::operator::<f16>(Options::causal());
    let softmax = rows::softmax::<f16>();
    let head = |t: &Tensor<f16, 2>| t.reshape([1, 1, TOKENS, WIDTH]);
    let flat = |t: &Tensor<f16, 4>| t.reshape([TOKENS, WIDTH]);
    let mut losses = Vec::new();
    for step in 0..steps {
        let h = norm.run(&stream, (x.view(), gain.own.view()))?;
        let q = product.run(&stream, (h.out.view(), w_q.own.view()))?;
        let k = product.run(&stream, (h.out.view(), w_k.own.view()))?;
        let v = product.run(&stream, (h.out.view(), w_v.own.view()))?;
        let a = attend.run(&stream, (head(&q.out)?, head(&k.out)?, head(&v.out)?))?;
        let z = product.run(&stream, (flat(&a.out)?, w_o.own.view()))?;
        let y = softmax.run(&stream, z.out.view())?;

        let mut off: Vec<f32> = y.out.to_vec()?.iter().map(|p| p.to_f32()).collect();
        for i in 0..TOKENS {
            off[i * WIDTH + wanted(i)] -= 1.0;
        }
        let loss = off.iter().map(|d| d * d).sum::<f32>() / 2.0;
        println!("step {step}: loss {loss:.4}");
        losses.push(loss);

        let d_z = y.back(&stream, &rounded(&device, &off, [TOKENS, WIDTH])?)?;
        let (d_a, d_o) = z.back(&stream, &d_z)?;
        let (d_q, d_k, d_v) = a.back(&stream, &head(&d_a)?)?;
        let (h_q, d_wq) = q.back(&stream, &flat(&d_q)?)?;
        let (h_k, d_wk) = k.back(&stream, &flat(&d_k)?)?;
        let (h_v, d_wv) = v.back(&stream, &flat(&d_v)?)?;
        let mut d_h = h_q.to_vec()?;
        for ((d, b), c) in d_h.iter_mut().zip(h_k.to_vec()?).zip(h_v.to_vec()?) {
            *d = f16::from_f32(d.to_f32() + b.to_f32() + c.to_f32());
        }
        let (_, d_gain) = h.back(&stream, &device.tensor_from(&d_h, [TOKENS, WIDTH])?)?;
        gain.step(&d_gain)?;
        w_q.step(&d_wq)?;
        w_k.step(&d_wk)?;
        w_v.step(&d_wv)?;
        w_o.step(&d_o)?;
    }
    let (Some(first), Some(last)) = (losses.first(), losses.last()) else {
        return Ok(true);
    };
    println!(
        "{}: loss {first:.4} before, {last:.4} after {} steps",
        device.name(),
        steps - 1
    );
    Ok(steps < 2 || last < first)
}

fn main() -> ExitCode {
    program::end(run())
}
