//! 16-bit floating point, single and in pairs, exact with one rounding.
//!
//! A NaN result is `7fff`. Pairs compute in each half of a 32-bit register.

use super::super::effects::PURE;
use super::super::row::table;
use super::{ALWAYS, AMPERE, HOPPER};

table! { $ half:
    #[doc = "d = a + b"]
    ADD = "add rnd?:rn ftz? sat? t:f16|f16x2", "=d:t a:t b:t", ALWAYS, PURE, Lanes(half::add);
    #[doc = "d = a - b"]
    SUB = "sub rnd?:rn ftz? sat? t:f16|f16x2", "=d:t a:t b:t", ALWAYS, PURE, Lanes(half::sub);
    #[doc = "d = a * b"]
    MUL = "mul rnd?:rn ftz? sat? t:f16|f16x2", "=d:t a:t b:t", ALWAYS, PURE, Lanes(half::mul);
    #[doc = "d = a * b + c, rounded once"]
    FMA = "fma rnd:rn ftz? sat? relu? t:f16|f16x2", "=d:t a:t b:t c:t", ALWAYS, PURE, Lanes(half::fma);
    #[doc = "d = a + b"]
    ADD_BF = "add rnd?:rn t:bf16|bf16x2", "=d:t a:t b:t", HOPPER, PURE, Lanes(half::add);
    #[doc = "d = a - b"]
    SUB_BF = "sub rnd?:rn t:bf16|bf16x2", "=d:t a:t b:t", HOPPER, PURE, Lanes(half::sub);
    #[doc = "d = a * b"]
    MUL_BF = "mul rnd?:rn t:bf16|bf16x2", "=d:t a:t b:t", HOPPER, PURE, Lanes(half::mul);
    #[doc = "d = a * b + c, rounded once"]
    FMA_BF = "fma rnd:rn relu? t:bf16|bf16x2", "=d:t a:t b:t c:t", AMPERE, PURE, Lanes(half::fma);
    #[doc = "d = |a|"]
    ABS = "abs ftz? t:f16|f16x2|bf16|bf16x2", "=d:t a:t", AMPERE, PURE, Lanes(half::abs);
    #[doc = "d = -a"]
    NEG = "neg ftz? t:f16|f16x2|bf16|bf16x2", "=d:t a:t", AMPERE, PURE, Lanes(half::neg);
    #[doc = "d = the smaller; the number if one is NaN, unless it says NaN"]
    MIN = "min ftz? NaN? xorsign? abs? t:f16|f16x2|bf16|bf16x2", "=d:t a:t b:t", AMPERE, PURE, Lanes(half::min);
    #[doc = "d = the larger; the number if one is NaN, unless it says NaN"]
    MAX = "max ftz? NaN? xorsign? abs? t:f16|f16x2|bf16|bf16x2", "=d:t a:t b:t", AMPERE, PURE, Lanes(half::max);
    #[doc = "p = comparison of a and b; of pairs, p for the low half and q for the high one"]
    SETP = "setp cmp:eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz? t:f16|f16x2|bf16|bf16x2", "=d:pred|p a:t b:t", ALWAYS, PURE, Lanes(half::setp);
    #[doc = "p = comparison of a and b, combined with c"]
    SETP_BOOL = "setp cmp:eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan bool:and|or|xor ftz? t:f16|f16x2|bf16|bf16x2", "=d:pred|p a:t b:t !c:pred", ALWAYS, PURE, Lanes(half::setp);
    #[doc = "d = 1.0 in each half where the comparison holds, else 0"]
    SET = "set cmp:eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz? d:f16|f16x2|bf16|bf16x2 t:f16|f16x2|bf16|bf16x2", "=d:d a:t b:t", ALWAYS, PURE, Lanes(half::set);
    #[doc = "d = all ones in each half where the comparison holds, else 0"]
    SET_BITS = "set cmp:eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz? d:u16|s16|u32|s32 t:f16|f16x2|bf16|bf16x2", "=d:d a:t b:t", ALWAYS, PURE, Lanes(half::set_bits);
}
