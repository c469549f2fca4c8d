use tiki::prelude::*;

#[tiki::kernel(threads = 32, grid = [1], build((E = f32)))]
fn k<E>(x: &Global<E, 1>)
where
    E: Element,
{
}

fn main() {}
