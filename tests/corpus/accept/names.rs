//! A name means what is bound where it stands: the right side of a `let` does not see its left one.
use tiki::prelude::*;

#[tiki::device]
fn half(x: f32) -> f32 {
    x * 0.5
}

#[tiki::device]
fn twice(x: f32) -> f32 {
    x + x
}

#[tiki::kernel(threads = 32, grid = [1])]
fn of_the_right_side(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let i = thread_idx();
    let half = half(x.get([i]));
    out.set([i], half);
}

#[tiki::kernel(threads = 32, grid = [1])]
fn of_another_scope(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let i = thread_idx();
    let small = {
        let twice = x.get([i]);
        twice * 0.25
    };
    let f = |half: f32| half + small;
    let v = f(2.0);
    out.set([i], twice(v) + half(small));
}

fn main() {}
