use tiki::prelude::*;

#[tiki::device]
fn layout(x: f32) -> f32 {
    x
}

fn main() {}
