//! Conversions. An integer operand narrower than its register uses the low bits.

use super::super::effects::PURE;
use super::super::row::{since, table};
use super::{ADA, ALWAYS, AMPERE, HOPPER};

table! { $ convert:
    #[doc = "d = a: integer to integer, wrapped, or clamped if it says so"]
    INT = "cvt sat? d:u8|s8|u16|s16|u32|s32|u64|s64 a:u8|s8|u16|s16|u32|s32|u64|s64", "=d:~d a:~a", ALWAYS, PURE, Lanes(convert::int);
    #[doc = "d = a: integer to floating point"]
    INT_FLOAT = "cvt rnd:rn|rz|rm|rp d:f16|f32|f64 a:u8|s8|u16|s16|u32|s32|u64|s64", "=d:~d a:~a", ALWAYS, PURE, Lanes(convert::int_float);
    #[doc = "d = a: integer to bfloat"]
    INT_BF16 = "cvt rnd:rn|rz|rm|rp d:bf16 a:u8|s8|u16|s16|u32|s32|u64|s64", "=d:~d a:~a", HOPPER, PURE, Lanes(convert::int_float);
    #[doc = "d = a: floating point to integer, clamped; NaN gives zero"]
    FLOAT_INT = "cvt rnd:rni|rzi|rmi|rpi ftz? sat? d:u8|s8|u16|s16|u32|s32|u64|s64 a:f16|f32|f64", "=d:~d a:~a", ALWAYS, PURE, Lanes(convert::float_int);
    #[doc = "d = a: bfloat to integer, clamped; NaN gives zero"]
    BF16_INT = "cvt rnd:rni|rzi|rmi|rpi d:u8|s8|u16|s16|u32|s32|u64|s64 a:bf16", "=d:~d a:~a", HOPPER, PURE, Lanes(convert::float_int);
    #[doc = "d = a: between floating-point types; the integral roundings keep the type"]
    FLOAT = "cvt rnd?:rn|rz|rm|rp|rni|rzi|rmi|rpi ftz? sat? d:f16|f32|f64 a:f16|f32|f64", "=d:~d a:~a", ALWAYS, PURE, Lanes(convert::float);
    #[doc = "d = a: f32 to a 16-bit float"]
    NARROW = "cvt rnd:rn|rz relu? satfinite? d:f16|bf16 a:f32", "=d:~d a:~a", AMPERE, PURE, Lanes(convert::narrow);
    #[doc = "d = a: bfloat to f32, exact"]
    WIDEN = "cvt ftz? d:f32 a:bf16", "=d:~d a:~a", since((7, 1), (8, 0)), PURE, Lanes(convert::widen);
    #[doc = "d = a: other conversions of bfloat"]
    BF16 = "cvt rnd?:rn|rz|rm|rp|rni|rzi|rmi|rpi d:bf16 a:bf16|f16|f64", "=d:~d a:~a", HOPPER, PURE, Lanes(convert::float);
    #[doc = "d = a: bfloat to f16 or f64"]
    FROM_BF16 = "cvt rnd?:rn|rz|rm|rp d:f16|f64 a:bf16", "=d:~d a:~a", HOPPER, PURE, Lanes(convert::float);
    #[doc = "d = two 16-bit floats: a in the high half, b in the low half"]
    PAIR = "cvt rnd:rn|rz relu? satfinite? d:f16x2|bf16x2 f32", "=d:d a:f32 b:f32", AMPERE, PURE, Lanes(convert::pair);
    #[doc = "d = a with ten bits of fraction, ties away from zero"]
    TF32_RNA = "cvt rnd:rna satfinite? d:tf32 f32", "=d:b32 a:f32", AMPERE, PURE, Lanes(convert::tf32);
    #[doc = "d = a with ten bits of fraction"]
    TF32 = "cvt rnd:rn|rz relu? satfinite? d:tf32 f32", "=d:b32 a:f32", HOPPER, PURE, Lanes(convert::tf32);
    #[doc = "d = two 8-bit floats: a in the high byte, b in the low byte, clamped"]
    F8_PAIR = "cvt rnd:rn satfinite relu? d:e4m3x2|e5m2x2 f32", "=d:d a:f32 b:f32", ADA, PURE, Lanes(convert::f8_pair);
    #[doc = "d = two 8-bit floats from two 16-bit ones, clamped"]
    F8_HALF = "cvt rnd:rn satfinite relu? d:e4m3x2|e5m2x2 a:f16x2", "=d:d a:a", ADA, PURE, Lanes(convert::f8_half);
    #[doc = "d = two 16-bit floats from two 8-bit ones, exact"]
    F8_WIDEN = "cvt rnd:rn relu? d:f16x2 a:e4m3x2|e5m2x2", "=d:d a:a", ADA, PURE, Lanes(convert::f8_widen);
    #[doc = "d = pair of clamped integers"]
    PACK = "cvt pack sat d:u16|s16|u8|s8 s32", "=d:b32 a:s32 b:s32", ALWAYS, PURE, Lanes(convert::pack);
    #[doc = "d = pair of clamped bytes, above the low half of c"]
    PACK_B32 = "cvt pack sat d:u8|s8|u4|s4 s32 b32", "=d:b32 a:s32 b:s32 c:b32", ALWAYS, PURE, Lanes(convert::pack);
}
