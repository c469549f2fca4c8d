//! The kernels of `examples/`, and instances of them at the widths of the cases.

#[path = "../../examples/add.rs"]
pub mod add;
#[path = "../../examples/cast.rs"]
pub mod cast;
#[path = "../../examples/cross_entropy.rs"]
pub mod cross_entropy;
#[path = "../../examples/layer_norm.rs"]
pub mod layer_norm;
#[path = "../../examples/layer_norm_backward.rs"]
pub mod layer_norm_backward;
#[path = "../../examples/long_rows.rs"]
pub mod long_rows;
#[path = "../../examples/permute.rs"]
pub mod permute;
#[path = "../../examples/recurrence.rs"]
pub mod recurrence;
#[path = "../../examples/recurrence_hopper.rs"]
pub mod recurrence_hopper;
#[path = "../../examples/recurrence_rows.rs"]
pub mod recurrence_rows;
#[path = "../../examples/rms_norm.rs"]
pub mod rms_norm;
#[path = "../../examples/rms_norm_backward.rs"]
pub mod rms_norm_backward;
#[path = "../../examples/rope.rs"]
pub mod rope;
#[path = "../../examples/row_sum.rs"]
pub mod row_sum;
#[path = "../../examples/scan.rs"]
pub mod scan;
#[path = "../../examples/scan_columns.rs"]
pub mod scan_columns;
#[path = "../../examples/scan_columns_hopper.rs"]
pub mod scan_columns_hopper;
#[path = "../../examples/silu.rs"]
pub mod silu;
#[path = "../../examples/softmax.rs"]
pub mod softmax;
#[path = "../../examples/softmax_backward.rs"]
pub mod softmax_backward;
#[path = "../../examples/transpose.rs"]
pub mod transpose;

use tiki::prelude::*;

tiki::kernel_set! {
    /// RMSNorm at the widths that the example does not build.
    pub struct Widths;
    rms_norm = rms_norm::rms_norm<E = f32, N = 1, T = 32>;
    rms_norm = rms_norm::rms_norm<E = f16, N = 1, T = 32>;
    rms_norm = rms_norm::rms_norm<E = bf16, N = 1, T = 32>;
    rms_norm = rms_norm::rms_norm<E = f32, N = 31, T = 32>;
    rms_norm = rms_norm::rms_norm<E = f16, N = 31, T = 32>;
    rms_norm = rms_norm::rms_norm<E = bf16, N = 31, T = 32>;
    rms_norm = rms_norm::rms_norm<E = f32, N = 129, T = 64>;
    rms_norm = rms_norm::rms_norm<E = f16, N = 129, T = 64>;
    rms_norm = rms_norm::rms_norm<E = bf16, N = 129, T = 64>;
    rms_norm = rms_norm::rms_norm<E = f32, N = 576, T = 96>;
    rms_norm = rms_norm::rms_norm<E = f16, N = 576, T = 96>;
    rms_norm = rms_norm::rms_norm<E = bf16, N = 576, T = 96>;
    rms_norm = rms_norm::rms_norm<E = f32, N = 1024, T = 128>;
    rms_norm = rms_norm::rms_norm<E = f16, N = 1024, T = 128>;
    rms_norm = rms_norm::rms_norm<E = bf16, N = 1024, T = 128>;
    rms_norm = rms_norm::rms_norm<E = f32, N = 4096, T = 256>;
    rms_norm = rms_norm::rms_norm<E = f16, N = 4096, T = 256>;
    rms_norm = rms_norm::rms_norm<E = bf16, N = 4096, T = 256>;
}

tiki::kernel_set! {
    /// Gradients at the widths that the examples do not build.
    pub struct Edges;
    softmax_backward = softmax_backward::softmax_backward<E = f32, N = 1, T = 32>;
    softmax_backward = softmax_backward::softmax_backward<E = f32, N = 31, T = 32>;
    softmax_backward = softmax_backward::softmax_backward<E = f32, N = 129, T = 64>;
    softmax_backward = softmax_backward::softmax_backward<E = f32, N = 1024, T = 128>;
    softmax_backward = softmax_backward::softmax_backward<E = f32, N = 16384, T = 512>;
    log_softmax_backward = softmax_backward::log_softmax_backward<E = f32, N = 1, T = 32>;
    log_softmax_backward = softmax_backward::log_softmax_backward<E = f32, N = 31, T = 32>;
    log_softmax_backward = softmax_backward::log_softmax_backward<E = f32, N = 129, T = 64>;
    log_softmax_backward = softmax_backward::log_softmax_backward<E = f32, N = 1024, T = 128>;
    log_softmax_backward = softmax_backward::log_softmax_backward<E = f32, N = 16384, T = 512>;
    rms_norm_backward = rms_norm_backward::rms_norm_backward<E = f32, N = 1, T = 32>;
    rms_norm_backward = rms_norm_backward::rms_norm_backward<E = f32, N = 31, T = 32>;
    rms_norm_backward = rms_norm_backward::rms_norm_backward<E = f32, N = 129, T = 64>;
    rms_norm_backward = rms_norm_backward::rms_norm_backward<E = f32, N = 1024, T = 128>;
    layer_norm_backward = layer_norm_backward::layer_norm_backward<E = f32, N = 1, T = 32>;
    layer_norm_backward = layer_norm_backward::layer_norm_backward<E = f32, N = 31, T = 32>;
    layer_norm_backward = layer_norm_backward::layer_norm_backward<E = f32, N = 129, T = 64>;
    layer_norm_backward = layer_norm_backward::layer_norm_backward<E = f32, N = 1024, T = 128>;
}
