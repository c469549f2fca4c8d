use tiki::prelude::*;

#[tiki::kernel(threads = N, grid = [1], build((N = 32)))]
fn twice<const N: usize>(x: &mut Global<f32, 1>) {
    let i = thread_idx();
    x.set([i], x.get([i]) * 2.0);
}

#[tiki::kernel(threads = N, grid = [1], build((N = 32)))]
fn half<const N: usize>(x: &mut Global<f32, 1>) {
    let i = thread_idx();
    x.set([i], x.get([i]) * 0.5);
}

tiki::kernel_set! {
    pub struct Mine;
    twice = twice<N = 64>;
    twice = half<N = 128>;
}

fn main() {}
