use tiki::prelude::*;

#[tiki::module]
mod elsewhere;

fn main() {}
