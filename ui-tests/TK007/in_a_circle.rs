use tiki::prelude::*;

#[tiki::module]
mod maths {
    pub fn even(n: usize) -> bool {
        n == 0 || odd(n - 1)
    }
    pub fn odd(n: usize) -> bool {
        n != 0 && even(n - 1)
    }
}

fn main() {}
