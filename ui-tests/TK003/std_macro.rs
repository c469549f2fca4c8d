use tiki::prelude::*;

#[tiki::device]
fn vec(x: f32) -> f32 {
    x
}

fn main() {}
