//! Uses another crate's device items every way a path can be written, and `tiki` under another name.

use gpu::prelude::*;
use tiki_test_library::{self as lib, Config, diamond as twofold, maths, third_power};

mod glob {
    pub use tiki_test_library::*;
}

/// Renamed, re-exported, absolute, through a module; constants and an assumption.
#[gpu::kernel(
    crate = ::gpu,
    threads = 256,
    grid = [x.dim(0).div_ceil(lib::WIDTH)],
    assume(tiki_test_library::PLAIN == 128)
)]
pub fn every_way(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    require!(x.dim(0) == out.dim(0));
    let config = Config {
        scale: 2.0,
        offset: tiki_test_library::PLAIN as f32,
    };
    let y = lib::load_with(x, block_idx().x, |x| x * config.scale + config.offset);
    let y = y.map(|x| twofold(x) + third_power(x) + maths::cube(x));
    let y = y.map(|x| ::tiki_test_library::gelu_like(x) + glob::gelu_like(x));
    out.tile_mut([lib::WIDTH], [block_idx().x]).store(&y);
}

gpu::kernel_set! {
    crate = ::gpu;
    /// Instances of the library's kernels that this crate needs.
    pub struct Mine;
    activate = lib::activate<E = f16>;
    activate = lib::activate<E = bf16>;
}
