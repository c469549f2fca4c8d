use tiki::prelude::*;

#[tiki::device]
enum Mode {
    A,
}

fn main() {}
