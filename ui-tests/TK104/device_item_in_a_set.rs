use tiki::prelude::*;

#[tiki::device]
fn twice(x: f32) -> f32 {
    x + x
}

tiki::kernel_set! {
    pub struct Mine;
    twice = twice;
}

fn main() {}
