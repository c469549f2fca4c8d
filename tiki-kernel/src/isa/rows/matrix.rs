//! Matrices of a warp: loads and stores of 8 x 8 tiles, and multiplies.

use super::super::Space;
use super::super::effects::{
    Effects, PURE,
    Where::{Chosen, In},
};
use super::super::row::{Since, since, table};
use super::{AMPERE, HOPPER};

const TURING: Since = since((6, 5), (7, 5));
const F8: Since = since((8, 4), (8, 9));
const SPARSE: Since = since((7, 1), (8, 0));
const ORDERED: Since = since((8, 5), (8, 0));
const ORDERED_F8: Since = since((8, 5), (8, 9));
const TOGETHER: Effects = PURE.convergent();

table! { $ matrix:
    #[doc = "load 8 x 8 matrices of 16-bit elements, spread over the warp"]
    LDMATRIX = "ldmatrix sync aligned m8n8 num:x1|x2|x4 trans? space?:shared|shared::cta b16", "=d:b32*num [a]", TURING, TOGETHER.reads(In(Space::Shared)), Asks(matrix::load);
    #[doc = "store 8 x 8 matrices of 16-bit elements"]
    STMATRIX = "stmatrix sync aligned m8n8 num:x1|x2|x4 trans? space?:shared|shared::cta b16", "[a] b:b32*num", HOPPER, TOGETHER.writes(In(Space::Shared)), Asks(matrix::store);
    #[doc = "transpose an 8 x 8 matrix across the warp"]
    MOVMATRIX = "movmatrix sync aligned m8n8 trans b16", "=d:b32 a:b32", since((7, 8), (7, 5)), TOGETHER, Asks(matrix::transpose);

    #[doc = "D = A B + C, 16 x 8 x 16, 16-bit inputs, f32 sums"]
    MMA_16 = "mma sync aligned shape:m16n8k16 row col dt:f32 at:f16|bf16 bt:f16|bf16 ct:f32", "=d:f32*4 a:b32*4 b:b32*2 c:f32*4", AMPERE, TOGETHER, Asks(matrix::multiply);
    #[doc = "D = A B + C, 16 x 8 x 16, f16 inputs and sums"]
    MMA_16_F16 = "mma sync aligned shape:m16n8k16 row col dt:f16 at:f16 bt:f16 ct:f16", "=d:b32*2 a:b32*4 b:b32*2 c:b32*2", AMPERE, TOGETHER, Asks(matrix::multiply);
    #[doc = "D = A B + C, 16 x 8 x 8, 16-bit inputs, f32 sums"]
    MMA_8 = "mma sync aligned shape:m16n8k8 row col dt:f32 at:f16|bf16 bt:f16|bf16 ct:f32", "=d:f32*4 a:b32*2 b:b32*1 c:f32*4", AMPERE, TOGETHER, Asks(matrix::multiply);
    #[doc = "D = A B + C, 16 x 8 x 8, 16-bit inputs, f32 sums, b without braces"]
    MMA_8_PLAIN = "mma sync aligned shape:m16n8k8 row col dt:f32 at:f16|bf16 bt:f16|bf16 ct:f32", "=d:f32*4 a:b32*2 b:b32 c:f32*4", AMPERE, TOGETHER, Asks(matrix::multiply);
    #[doc = "D = A B + C, 16 x 8 x 8, f16 inputs and sums"]
    MMA_8_F16 = "mma sync aligned shape:m16n8k8 row col dt:f16 at:f16 bt:f16 ct:f16", "=d:b32*2 a:b32*2 b:b32*1 c:b32*2", AMPERE, TOGETHER, Asks(matrix::multiply);
    #[doc = "D = A B + C, 16 x 8 x 8, tf32 inputs, f32 sums"]
    MMA_TF32 = "mma sync aligned shape:m16n8k8 row col dt:f32 at:tf32 bt:tf32 ct:f32", "=d:f32*4 a:b32*4 b:b32*2 c:f32*4", AMPERE, TOGETHER, Asks(matrix::multiply);
    #[doc = "D = A B + C, 16 x 8 x 4, tf32 inputs, f32 sums"]
    MMA_TF32_4 = "mma sync aligned shape:m16n8k4 row col dt:f32 at:tf32 bt:tf32 ct:f32", "=d:f32*4 a:b32*2 b:b32*1 c:f32*4", AMPERE, TOGETHER, Asks(matrix::multiply);
    #[doc = "D = A B + C, 16 x 8 x 32, 8-bit floats, f32 sums"]
    MMA_F8 = "mma sync aligned shape:m16n8k32 row col dt:f32 at:e4m3|e5m2 bt:e4m3|e5m2 ct:f32", "=d:f32*4 a:b32*4 b:b32*2 c:f32*4", F8, TOGETHER, Asks(matrix::multiply);
    #[doc = "D = A B + C, 16 x 8 x 16, 8-bit floats, f32 sums"]
    MMA_F8_16 = "mma sync aligned shape:m16n8k16 row col dt:f32 at:e4m3|e5m2 bt:e4m3|e5m2 ct:f32", "=d:f32*4 a:b32*2 b:b32*1 c:f32*4", F8, TOGETHER, Asks(matrix::multiply);
    #[doc = "D = A B + C, 16 x 8 x 32, 8-bit floats, f16 sums"]
    MMA_F8_F16 = "mma sync aligned shape:m16n8k32 row col dt:f16 at:e4m3|e5m2 bt:e4m3|e5m2 ct:f16", "=d:b32*2 a:b32*4 b:b32*2 c:b32*2", F8, TOGETHER, Asks(matrix::multiply);
    #[doc = "D = A B + C, 16 x 8 x 32, bytes"]
    MMA_S8 = "mma sync aligned shape:m16n8k32 row col satfinite? dt:s32 at:s8|u8 bt:s8|u8 ct:s32", "=d:s32*4 a:b32*4 b:b32*2 c:s32*4", AMPERE, TOGETHER, Asks(matrix::multiply);
    #[doc = "D = A B + C, 16 x 8 x 16, bytes"]
    MMA_S8_16 = "mma sync aligned shape:m16n8k16 row col satfinite? dt:s32 at:s8|u8 bt:s8|u8 ct:s32", "=d:s32*4 a:b32*2 b:b32*1 c:s32*4", AMPERE, TOGETHER, Asks(matrix::multiply);
    #[doc = "D = A B + C, 16 x 8 x 16, 16-bit inputs, f32 sums, of A only what is not zero"]
    MMA_SP_16 = "mma sp sync aligned shape:m16n8k16 row col dt:f32 at:f16|bf16 bt:f16|bf16 ct:f32", "=d:f32*4 a:b32*2 b:b32*2 c:f32*4 m:b32 #s:u32", SPARSE, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 32, 16-bit inputs, f32 sums, of A only what is not zero"]
    MMA_SP_32 = "mma sp sync aligned shape:m16n8k32 row col dt:f32 at:f16|bf16 bt:f16|bf16 ct:f32", "=d:f32*4 a:b32*4 b:b32*4 c:f32*4 m:b32 #s:u32", SPARSE, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 16, f16 inputs and sums, of A only what is not zero"]
    MMA_SP_16_F16 = "mma sp sync aligned shape:m16n8k16 row col dt:f16 at:f16 bt:f16 ct:f16", "=d:b32*2 a:b32*2 b:b32*2 c:b32*2 m:b32 #s:u32", SPARSE, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 32, f16 inputs and sums, of A only what is not zero"]
    MMA_SP_32_F16 = "mma sp sync aligned shape:m16n8k32 row col dt:f16 at:f16 bt:f16 ct:f16", "=d:b32*2 a:b32*4 b:b32*4 c:b32*2 m:b32 #s:u32", SPARSE, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 8, tf32 inputs, f32 sums, of A only what is not zero"]
    MMA_SP_TF32_8 = "mma sp sync aligned shape:m16n8k8 row col dt:f32 at:tf32 bt:tf32 ct:f32", "=d:f32*4 a:b32*2 b:b32*2 c:f32*4 m:b32 #s:u32", SPARSE, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 16, tf32 inputs, f32 sums, of A only what is not zero"]
    MMA_SP_TF32 = "mma sp sync aligned shape:m16n8k16 row col dt:f32 at:tf32 bt:tf32 ct:f32", "=d:f32*4 a:b32*4 b:b32*4 c:f32*4 m:b32 #s:u32", SPARSE, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 32, bytes, of A only what is not zero"]
    MMA_SP_S8_32 = "mma sp sync aligned shape:m16n8k32 row col satfinite? dt:s32 at:s8|u8 bt:s8|u8 ct:s32", "=d:s32*4 a:b32*2 b:b32*2 c:s32*4 m:b32 #s:u32", SPARSE, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 64, bytes, of A only what is not zero"]
    MMA_SP_S8 = "mma sp sync aligned shape:m16n8k64 row col satfinite? dt:s32 at:s8|u8 bt:s8|u8 ct:s32", "=d:s32*4 a:b32*4 b:b32*4 c:s32*4 m:b32 #s:u32", SPARSE, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 64, 8-bit floats, f32 sums, of A only what is not zero"]
    MMA_SP_F8 = "mma sp sync aligned shape:m16n8k64 row col dt:f32 at:e4m3|e5m2 bt:e4m3|e5m2 ct:f32", "=d:f32*4 a:b32*4 b:b32*4 c:f32*4 m:b32 #s:u32", F8, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 16, 16-bit inputs, f32 sums, of A only what is not zero"]
    MMA_SPO_16 = "mma sp::ordered_metadata sync aligned shape:m16n8k16 row col dt:f32 at:f16|bf16 bt:f16|bf16 ct:f32", "=d:f32*4 a:b32*2 b:b32*2 c:f32*4 m:b32 #s:u32", ORDERED, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 32, 16-bit inputs, f32 sums, of A only what is not zero"]
    MMA_SPO_32 = "mma sp::ordered_metadata sync aligned shape:m16n8k32 row col dt:f32 at:f16|bf16 bt:f16|bf16 ct:f32", "=d:f32*4 a:b32*4 b:b32*4 c:f32*4 m:b32 #s:u32", ORDERED, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 16, f16 inputs and sums, of A only what is not zero"]
    MMA_SPO_16_F16 = "mma sp::ordered_metadata sync aligned shape:m16n8k16 row col dt:f16 at:f16 bt:f16 ct:f16", "=d:b32*2 a:b32*2 b:b32*2 c:b32*2 m:b32 #s:u32", ORDERED, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 32, f16 inputs and sums, of A only what is not zero"]
    MMA_SPO_32_F16 = "mma sp::ordered_metadata sync aligned shape:m16n8k32 row col dt:f16 at:f16 bt:f16 ct:f16", "=d:b32*2 a:b32*4 b:b32*4 c:b32*2 m:b32 #s:u32", ORDERED, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 8, tf32 inputs, f32 sums, of A only what is not zero"]
    MMA_SPO_TF32_8 = "mma sp::ordered_metadata sync aligned shape:m16n8k8 row col dt:f32 at:tf32 bt:tf32 ct:f32", "=d:f32*4 a:b32*2 b:b32*2 c:f32*4 m:b32 #s:u32", ORDERED, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 16, tf32 inputs, f32 sums, of A only what is not zero"]
    MMA_SPO_TF32 = "mma sp::ordered_metadata sync aligned shape:m16n8k16 row col dt:f32 at:tf32 bt:tf32 ct:f32", "=d:f32*4 a:b32*4 b:b32*4 c:f32*4 m:b32 #s:u32", ORDERED, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 32, bytes, of A only what is not zero"]
    MMA_SPO_S8_32 = "mma sp::ordered_metadata sync aligned shape:m16n8k32 row col satfinite? dt:s32 at:s8|u8 bt:s8|u8 ct:s32", "=d:s32*4 a:b32*2 b:b32*2 c:s32*4 m:b32 #s:u32", ORDERED, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 64, bytes, of A only what is not zero"]
    MMA_SPO_S8 = "mma sp::ordered_metadata sync aligned shape:m16n8k64 row col satfinite? dt:s32 at:s8|u8 bt:s8|u8 ct:s32", "=d:s32*4 a:b32*4 b:b32*4 c:s32*4 m:b32 #s:u32", ORDERED, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 16 x 8 x 64, 8-bit floats, f32 sums, of A only what is not zero"]
    MMA_SPO_F8 = "mma sp::ordered_metadata sync aligned shape:m16n8k64 row col dt:f32 at:e4m3|e5m2 bt:e4m3|e5m2 ct:f32", "=d:f32*4 a:b32*4 b:b32*4 c:f32*4 m:b32 #s:u32", ORDERED_F8, TOGETHER, Asks(matrix::sparse);
    #[doc = "D = A B + C, 8 x 8 x 4, f64"]
    MMA_F64 = "mma sync aligned shape:m8n8k4 row col dt:f64 at:f64 bt:f64 ct:f64", "=d:f64*2 a:f64*1 b:f64*1 c:f64*2", AMPERE, TOGETHER, Asks(matrix::multiply);

    #[doc = "load a 16 x 16 fragment of 16-bit elements"]
    WMMA_LOAD = "wmma load frag:a|b sync aligned layout:row|col shape:m16n16k16|m32n8k16|m8n32k16 space?:global|shared|shared::cta t:f16", "=d:b32*8 [a] stride:u32?", VOLTA_WMMA, TOGETHER.reads(Chosen), Asks(matrix::wmma_load);
    #[doc = "load a 16 x 16 accumulator of f32"]
    WMMA_LOAD_C = "wmma load frag:c sync aligned layout:row|col shape:m16n16k16|m32n8k16|m8n32k16 space?:global|shared|shared::cta t:f32", "=d:f32*8 [a] stride:u32?", VOLTA_WMMA, TOGETHER.reads(Chosen), Asks(matrix::wmma_load);
    #[doc = "D = A B + C of fragments, f16 inputs, f32 sums"]
    WMMA = "wmma mma sync aligned al:row|col bl:row|col shape:m16n16k16|m32n8k16|m8n32k16 dt:f32 ct:f32", "=d:f32*8 a:b32*8 b:b32*8 c:f32*8", VOLTA_WMMA, TOGETHER, Asks(matrix::wmma);
    #[doc = "store a 16 x 16 accumulator of f32"]
    WMMA_STORE = "wmma store frag:d sync aligned layout:row|col shape:m16n16k16|m32n8k16|m8n32k16 space?:global|shared|shared::cta t:f32", "[a] b:f32*8 stride:u32?", VOLTA_WMMA, TOGETHER.writes(Chosen), Asks(matrix::wmma_store);
}
const VOLTA_WMMA: Since = since((6, 0), (7, 0));
