use tiki::prelude::*;

mod lib {
    use tiki::prelude::*;

    #[tiki::device]
    pub const ROWS: usize = 8;

    #[tiki::device]
    pub fn clamp<T: Number>(x: T, low: T, high: T) -> T {
        max(low, min(x, high))
    }

    #[tiki::device]
    pub fn softplus(x: f32) -> f32 {
        if x > 20.0 { x } else { log(1.0 + exp(x)) }
    }

    #[tiki::device]
    pub fn apply<E: Element>(v: &Register<E>, f: impl Fn(E) -> E) -> Register<E> {
        v.map(f)
    }

    #[tiki::device]
    pub fn load_tile<E: Element, const N: usize>(x: &Global<E>, row: usize) -> Register<E> {
        x.tile([ROWS, N], [row, 0]).load(ThreadMap::linear(64))
    }

    #[tiki::device]
    pub fn save(out: &mut Global<f32>, value: &Register<f32>) {
        out.tile_mut([ROWS, 32], [0, 0]).store(value);
    }
}

#[tiki::kernel(threads = 64, grid = [1])]
fn calls(x: &Global<f32>, out: &mut Global<f32>) {
    let v = lib::load_tile::<f32, 32>(x, 0);
    let w = lib::apply(&v, |a| lib::clamp(a, 0.0, 1.0)).map(lib::softplus);
    lib::save(out, &w);
}

fn main() {}
