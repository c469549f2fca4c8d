use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1])]
struct K;

fn main() {}
