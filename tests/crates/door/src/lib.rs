//! Kernels whose builds `tests/builds.rs` looks at: two of one name, and sets of one of them.

use tiki::prelude::*;

/// A kernel.
pub mod first {
    use super::*;

    /// `out = x + 1`.
    #[tiki::kernel(threads = 32, grid = [1], build((N = 32), (N = 64)))]
    pub fn shift<const N: usize>(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
        let map = ThreadMap::linear(32);
        let y = x.tile([N], [0]).load(map).map(|v| v + 1.0);
        out.tile_mut([N], [0]).store(&y);
    }
}

/// Another kernel of the same name.
pub mod second {
    use super::*;

    /// `out = x + 2`.
    #[tiki::kernel(threads = 32, grid = [1], build((N = 32)))]
    pub fn shift<const N: usize>(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
        let map = ThreadMap::linear(32);
        let y = x.tile([N], [0]).load(map).map(|v| v + 2.0);
        out.tile_mut([N], [0]).store(&y);
    }
}

tiki::kernel_set! {
    /// Instances of the first.
    pub struct Mine;
    shift = first::shift<N = 96>;
}

tiki::kernel_set! {
    /// And others of it.
    pub struct Yours;
    shift = first::shift<N = 128>;
}
