use tiki::prelude::*;

#[tiki::device]
const test: usize = 1;

fn main() {}
