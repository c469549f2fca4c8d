#![allow(missing_docs, dead_code)]
use tiki::prelude::*;

mod lib {
    use tiki::prelude::*;
    #[tiki::device]
    pub const HALF_WIDTH: usize = 16;
    #[tiki::device]
    pub const WIDTH: usize = 2 * HALF_WIDTH;
    #[tiki::device]
    fn private_one(x: f32) -> f32 {
        x + 1.0
    }
    #[tiki::device]
    pub fn scale(x: f32) -> f32 {
        private_one(x) * WIDTH as f32
    }
    #[tiki::module]
    pub mod inner {
        use tiki::prelude::*;
        pub fn twice(x: f32) -> f32 {
            fma(x, 2.0, other(x))
        }
        fn other(x: f32) -> f32 {
            x
        }
    }
}
use lib::scale as rescale;

#[tiki::kernel(threads = 256, grid = [x.dim(0).div_ceil(1024)])]
pub fn uses(x: &Global<f32, 1>, out: &mut Global<f32, 1>) {
    let map = ThreadMap::linear(256).vector_up_to(4);
    let at = [block_idx().x];
    require!(x.dim(0) == out.dim(0) && x.shape() == out.shape());
    let y = x
        .tile([1024], at)
        .load(map)
        .map(|x| rescale(x) + lib::inner::twice(x) + lib::WIDTH as f32);
    out.tile_mut([1024], at).store(&y);
}

#[test]
fn a_fact_that_does_not_hold_is_an_error_with_both_sides() {
    let (x, mut y) = (tiki::Tensor::<f32, 1>::of([7]), tiki::Tensor::of([8]));
    let error = uses::launch(&tiki::Stream, &x, &mut y).unwrap_err();
    println!("{error}");
}
