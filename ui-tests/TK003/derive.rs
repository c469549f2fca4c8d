use tiki::prelude::*;

#[tiki::device]
struct Debug {
    a: usize,
}

fn main() {}
