use tiki::prelude::*;

/// Arithmetic of every number type, build-time and run-time.
#[tiki::kernel(threads = 32, grid = [1])]
fn arithmetic(a: f32, b: u32, c: i32, d: bool, out: &mut Global<f32, 1>) {
    let i = thread_idx();
    let x = a * 2.0 + 1.0 - a / 3.0;
    let y = (b + 3) * 5 % 7;
    let z = (c - 4) / 2;
    let bits = (b & 0xff) | (b << 2) ^ (b >> 1);
    let not = !b;
    let negative = -a + -1.0;
    let n = 3 * 4 + 2;
    let wide = y as u64 + 1;
    let signed = z as i64 - 1;
    let both = d && !d || i == 0;
    let value = x + negative + (y + bits + not) as f32 + z as f32 + n as f32 + wide as f32 + signed as f32;
    if both {
        out.set([i], value);
    }
}

#[tiki::kernel(threads = 32, grid = [1])]
fn methods(a: f32, b: u32, out: &mut Global<f32, 1>) {
    let i = thread_idx();
    let x = a.max(0.0).min(1.0).abs();
    let y = b.max(3).min(9);
    let n = i.min(7).max(1).div_ceil(3);
    let e = i.is_multiple_of(2);
    let c = b.count_ones() + b.leading_zeros() + b.reverse_bits();
    let w = if x.is_nan() { 0.0 } else { x };
    let r = f32::from_bits(w.to_bits() ^ 1);
    let m = f32::max(r, f32::NEG_INFINITY);
    let half = m.cast::<f16>();
    let back = half.cast::<f32>();
    let whole = back.cast::<i32>();
    if e {
        out.set([i], back + y as f32 + n as f32 + c as f32 + whole as f32);
    }
}

#[tiki::kernel(threads = 32, grid = [1])]
fn functions(a: f32, out: &mut Global<f32, 1>) {
    let x = exp2(a) + exp(a) + exp_fast(a) + log2(a) + log(a) + sqrt(a) + sqrt_fast(a) + rsqrt(a) + recip(a);
    let y = div_fast(x, a) + tanh(x) + tanh_fast(x) + sin(x) + cos(x) + abs(x) + floor(x) + ceil(x) + round(x);
    let z = trunc(y) + fma(x, y, 1.0) + min(x, y) + max(x, y) + min_propagate_nan(x, y) + max_propagate_nan(x, y);
    out.set([thread_idx()], z);
}

#[tiki::kernel(threads = 32, grid = [1])]
fn sixteen_bits(out: &mut Global<f16, 1>) {
    let i = thread_idx();
    let x = out.get([i]);
    let y = x * x + x - abs(x);
    out.set([i], fma(x, y, max(x, y)));
}

fn main() {}
