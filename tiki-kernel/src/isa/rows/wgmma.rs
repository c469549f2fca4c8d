//! Matrices of a warpgroup: four warps multiply 64 x N tiles, asynchronously.
//!
//! A lies in registers (`_R`) or, like B always, in shared memory behind a descriptor. The first
//! immediates negate A and B; the last ones transpose them.

use super::super::Space;
use super::super::effects::{Async, Effects, Group, PURE, Where::In};
use super::super::row::table;
use super::WARPGROUP;

const ISSUE: Effects = PURE
    .reads(In(Space::Shared))
    .through_async()
    .group(Async::Issues(Group::Multiply))
    .convergent();

macro_rules! text {
    ($k:literal, $rest:literal) => {
        text!(@ $rest, $k, "8" "16" "24" "32" "40" "48" "56" "64" "72" "80" "88" "96" "104" "112" "120" "128" "136" "144" "152" "160" "168"
            "176" "184" "192" "200" "208" "216" "224" "232" "240" "248" "256")
    };
    (@ $rest:literal, $k:literal, $first:literal $($n:literal)*) => {
        concat!("wgmma mma_async sync aligned shape:m64n", $first, "k", $k, $("|m64n", $n, "k", $k,)* " ", $rest)
    };
}

table! { $ wgmma:
    #[doc = "order registers before the multiplies that follow"]
    FENCE = "wgmma fence sync aligned", "", WARPGROUP, PURE.fence().convergent(), Asks(wgmma::fence);
    #[doc = "close the group of multiplies"]
    COMMIT = "wgmma commit_group sync aligned", "", WARPGROUP, PURE.group(Async::Commits(Group::Multiply)).fence().convergent(), Asks(wgmma::commit);
    #[doc = "wait until at most n groups are under way"]
    WAIT = "wgmma wait_group sync aligned", "#n:u32", WARPGROUP, PURE.group(Async::Waits(Group::Multiply)).fence().convergent(), Asks(wgmma::wait);
    #[doc = "D (+)= A B, 16-bit inputs, f32 sums"]
    MMA = text!("16", "dt:f32 at:f16|bf16 bt:f16|bf16"), "+d:f32*shape/2 a:b64 b:b64 !sd:pred #sa:s32 #sb:s32 #ta:s32 #tb:s32", WARPGROUP, ISSUE, Asks(wgmma::multiply);
    #[doc = "D (+)= A B, 16-bit inputs, f32 sums, A in registers"]
    MMA_R = text!("16", "dt:f32 at:f16|bf16 bt:f16|bf16"), "+d:f32*shape/2 a:b32*4 b:b64 !sd:pred #sa:s32 #sb:s32 #tb:s32", WARPGROUP, ISSUE, Asks(wgmma::multiply);
    #[doc = "D (+)= A B, f16 inputs and sums"]
    MMA_F16 = text!("16", "dt:f16 at:f16 bt:f16"), "+d:b32*shape/4 a:b64 b:b64 !sd:pred #sa:s32 #sb:s32 #ta:s32 #tb:s32", WARPGROUP, ISSUE, Asks(wgmma::multiply);
    #[doc = "D (+)= A B, f16 inputs and sums, A in registers"]
    MMA_F16_R = text!("16", "dt:f16 at:f16 bt:f16"), "+d:b32*shape/4 a:b32*4 b:b64 !sd:pred #sa:s32 #sb:s32 #tb:s32", WARPGROUP, ISSUE, Asks(wgmma::multiply);
    #[doc = "D (+)= A B, tf32 inputs, f32 sums"]
    MMA_TF32 = text!("8", "dt:f32 at:tf32 bt:tf32"), "+d:f32*shape/2 a:b64 b:b64 !sd:pred #sa:s32 #sb:s32", WARPGROUP, ISSUE, Asks(wgmma::multiply);
    #[doc = "D (+)= A B, tf32 inputs, f32 sums, A in registers"]
    MMA_TF32_R = text!("8", "dt:f32 at:tf32 bt:tf32"), "+d:f32*shape/2 a:b32*4 b:b64 !sd:pred #sa:s32 #sb:s32", WARPGROUP, ISSUE, Asks(wgmma::multiply);
    #[doc = "D (+)= A B, 8-bit floats, f32 sums"]
    MMA_F8 = text!("32", "dt:f32 at:e4m3|e5m2 bt:e4m3|e5m2"), "+d:f32*shape/2 a:b64 b:b64 !sd:pred #sa:s32 #sb:s32", WARPGROUP, ISSUE, Asks(wgmma::multiply);
    #[doc = "D (+)= A B, 8-bit floats, f32 sums, A in registers"]
    MMA_F8_R = text!("32", "dt:f32 at:e4m3|e5m2 bt:e4m3|e5m2"), "+d:f32*shape/2 a:b32*4 b:b64 !sd:pred #sa:s32 #sb:s32", WARPGROUP, ISSUE, Asks(wgmma::multiply);
    #[doc = "D (+)= A B, bytes"]
    MMA_S8 = text!("32", "dt:s32 at:s8|u8 bt:s8|u8 satfinite?"), "+d:s32*shape/2 a:b64 b:b64 !sd:pred", WARPGROUP, ISSUE, Asks(wgmma::multiply);
    #[doc = "D (+)= A B, bytes, A in registers"]
    MMA_S8_R = text!("32", "dt:s32 at:s8|u8 bt:s8|u8 satfinite?"), "+d:s32*shape/2 a:b32*4 b:b64 !sd:pred", WARPGROUP, ISSUE, Asks(wgmma::multiply);
    #[doc = "D (+)= number of ones of A and B"]
    MMA_B1 = text!("256", "dt:s32 at:b1 bt:b1 op:and popc"), "+d:s32*shape/2 a:b64 b:b64 !sd:pred", WARPGROUP, ISSUE, Asks(wgmma::multiply);
    #[doc = "D (+)= number of ones of A and B, A in registers"]
    MMA_B1_R = text!("256", "dt:s32 at:b1 bt:b1 op:and popc"), "+d:s32*shape/2 a:b32*4 b:b64 !sd:pred", WARPGROUP, ISSUE, Asks(wgmma::multiply);
}
