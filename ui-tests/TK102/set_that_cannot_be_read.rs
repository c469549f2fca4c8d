use tiki::prelude::*;

tiki::kernel_set! {
    pub struct Mine;
    gemm: lib::gemm<E = f16>;
}

fn main() {}
