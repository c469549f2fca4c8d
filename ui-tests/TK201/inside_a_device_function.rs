use tiki::prelude::*;

mod lib {
    use tiki::prelude::*;

    #[tiki::device]
    pub fn first<E: Element>(x: &Register<E>) -> f32 {
        exp2(x.raw()[0].cast::<f32>()) + x.raw().len()
    }
}

#[tiki::kernel(threads = 32, grid = [1])]
fn k(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let map = ThreadMap::linear(32);
    out.set([0], lib::first(&x.tile([32], [0]).load(map)));
}

fn main() {}
