use tiki::prelude::*;

#[tiki::kernel(threads = 64, grid = [1])]
fn loops(n: u32, out: &mut Global<f32, 1>) {
    let i = thread_idx();
    let mut sum = 0.0f32;
    for k in 0..n {
        if k == 3 {
            continue;
        }
        if k > 100 {
            break;
        }
        sum += k as f32;
    }
    #[unroll]
    for k in 0..4 {
        sum += k as f32;
    }
    #[unroll(2)]
    for k in 0..8 {
        sum *= 1.0 + k as f32;
    }
    let mut j = 0u32;
    while j < n {
        j += 2;
    }
    'outer: loop {
        for k in 0..=n {
            if k == 7 {
                break 'outer;
            }
        }
        break;
    }
    for k in (0..16).step_by(4) {
        sum -= k as f32;
    }
    out.set([i], sum + j as f32);
}

#[tiki::kernel(threads = 64, grid = [1], build((MODE = 0), (MODE = 1), (MODE = 2)))]
fn matches<const MODE: usize>(n: u32, out: &mut Global<f32, 1>) {
    let x = match MODE {
        0 => 1.0f32,
        1 | 2 => 2.0,
        _ => 3.0,
    };
    let y = match n {
        0 => 1.0f32,
        1..=4 => 2.0,
        k if k % 2 == 0 => 3.0,
        _ => 4.0,
    };
    let z = if MODE == 1 { x } else if n > 3 { y } else { x + y };
    out.set([thread_idx()], z);
}

#[tiki::kernel(threads = 64, grid = [1])]
fn early_return(out: &mut Global<f32, 1>) {
    if thread_idx() >= out.dim(0) {
        return;
    }
    out.set([thread_idx()], 1.0);
}

#[tiki::kernel(threads = 64, grid = [1])]
fn bindings(out: &mut Global<f32, 1>) {
    let (a, b) = (1.0f32, 2u32);
    let [c, d] = [3usize, 4];
    let ((e, _), f) = ((a, b), c);
    let late;
    late = d + f;
    const K: usize = 5;
    let closure = |x: f32, y: f32| x * y + e;
    let nested = |x| closure(x, 2.0);
    let block = {
        let inner = nested(a);
        inner + 1.0
    };
    let mut pair = (block, late);
    pair.0 += 1.0;
    let values = [1.0f32, 2.0, 3.0];
    let n = values.len();
    out.set([thread_idx()], pair.0 + values[1] + (pair.1 + K + n) as f32);
}

fn main() {}
