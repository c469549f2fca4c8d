use tiki::prelude::*;

mod lib {
    use tiki::prelude::*;

    #[tiki::device]
    pub const ROWS: usize = 8;

    #[tiki::device]
    #[derive(Clone, Copy)]
    pub struct Config {
        pub scale: f32,
        pub width: usize,
    }

    #[tiki::device]
    pub const WIDE: Config = Config { scale: 2.0, width: 32 };

    #[tiki::device]
    pub fn scaled(x: f32, config: Config) -> f32 {
        x * config.scale
    }

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
    let config = lib::Config { width: lib::WIDE.width, scale: 0.5 };
    let w = w.map(|a| lib::scaled(a, config) + lib::scaled(a, lib::WIDE) + config.width as f32);
    lib::save(out, &w);
}

fn main() {}
