//! Kernels and device items for another crate: public and private, nested, in modules, re-exported.

use tiki::prelude::*;

/// A width built from another constant.
#[tiki::device]
pub const WIDTH: usize = 4 * QUARTER;

#[tiki::device]
const QUARTER: usize = 256;

/// A plain constant, known to nobody's macro.
pub const PLAIN: usize = 128;

#[tiki::device]
fn private_half(x: f32) -> f32 {
    x * 0.5
}

/// Uses a private callee.
#[tiki::device]
pub fn gelu_like(x: f32) -> f32 {
    private_half(x) * (1.0 + tanh(x))
}

/// Both ways lead to one callee.
#[tiki::device]
pub fn diamond(x: f32) -> f32 {
    gelu_like(x) + private_half(x)
}

/// Numbers under one name.
#[tiki::device]
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// Scale.
    pub scale: f32,
    /// Offset.
    pub offset: f32,
}

/// A generic function with a closure as parameter.
#[tiki::device]
pub fn load_with<E: Element>(x: &Global<E, 1>, at: usize, f: impl Fn(E) -> f32) -> Register<f32> {
    x.tile([WIDTH], [at])
        .load(ThreadMap::linear(256).vector_up_to(4))
        .map(f)
}

/// Functions of one module need no attributes.
#[tiki::module]
pub mod maths {
    #[allow(unused_imports)]
    use tiki::prelude::*;

    /// Uses its neighbour.
    pub fn cube(x: f32) -> f32 {
        x * square(x)
    }

    fn square(x: f32) -> f32 {
        x * x
    }
}

pub use maths::cube as third_power;

/// `out = f(x)`, in any element type.
#[tiki::kernel(threads = 256, grid = [x.dim(0).div_ceil(WIDTH)], build((E = f32)))]
pub fn activate<E: Element>(x: &Global<E, 1>, out: &mut Global<f32, 1>) {
    require!(out.dim(0) == x.dim(0));
    let y = x
        .tile([WIDTH], [block_idx().x])
        .load(ThreadMap::linear(256).vector_up_to(4))
        .cast::<f32>()
        .map(|x| gelu_like(x));
    out.tile_mut([WIDTH], [block_idx().x]).store(&y);
}

/// `out = x * factor`, a tile of `N` elements a block, in lists and ranges of instances.
#[tiki::kernel(
    threads = T,
    grid = [x.dim(0) / N],
    build((E = [f32, f16], N = 256..=1024, T = 64, N % 256 == 0, N != 768), (E = f32, N = 256, T = 32)),
    tune(N = [256, 512, 1000, 4096], T = [32, 64, 48], N >= 2 * T)
)]
pub fn scaled<E: Element, const N: usize, const T: usize>(
    x: &Global<E, 1>,
    out: &mut Global<E, 1>,
    factor: f32,
) {
    require!(x.dim(0) % N == 0 && out.dim(0) == x.dim(0));
    let map = ThreadMap::linear(T).vector_up_to(4);
    let at = [block_idx().x];
    let y = x.tile([N], at).load(map).cast::<f32>().map(|x| x * factor);
    out.tile_mut([N], at).store(&y.cast::<E>());
}

/// Each calls the two before it: unshared, their tokens would double at every step.
#[tiki::module]
pub mod steps {
    fn step0(x: f32) -> f32 {
        x
    }
    fn step1(x: f32) -> f32 {
        step0(x) + 1.0
    }
    fn step2(x: f32) -> f32 {
        step1(x) + step0(x)
    }
    fn step3(x: f32) -> f32 {
        step2(x) + step1(x)
    }
    fn step4(x: f32) -> f32 {
        step3(x) + step2(x)
    }
    fn step5(x: f32) -> f32 {
        step4(x) + step3(x)
    }
    fn step6(x: f32) -> f32 {
        step5(x) + step4(x)
    }
    fn step7(x: f32) -> f32 {
        step6(x) + step5(x)
    }
    fn step8(x: f32) -> f32 {
        step7(x) + step6(x)
    }
    fn step9(x: f32) -> f32 {
        step8(x) + step7(x)
    }
    /// The last.
    pub fn step10(x: f32) -> f32 {
        step9(x) + step8(x)
    }
}
