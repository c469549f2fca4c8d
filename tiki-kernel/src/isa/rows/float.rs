//! 32- and 64-bit floating point, exact by IEEE 754.
//!
//! A NaN result is the canonical one (`7fffffff`, `7ff8000000000000`). `ftz` turns subnormal operands and results into zeros of
//! the same sign. Without a rounding suffix the assembler may fuse a product and a sum; the machine
//! does not, and what we emit always has one.

use super::super::effects::PURE;
use super::super::row::table;
use super::{ALWAYS, AMPERE};

table! { $ float:
    #[doc = "d = a + b"]
    ADD = "add rnd?:rn|rz|rm|rp ftz? sat? t:f32", "=d:t a:t b:t", ALWAYS, PURE, Lanes(float::add);
    #[doc = "d = a + b"]
    ADD64 = "add rnd?:rn|rz|rm|rp t:f64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(float::add);
    #[doc = "d = a - b"]
    SUB = "sub rnd?:rn|rz|rm|rp ftz? sat? t:f32", "=d:t a:t b:t", ALWAYS, PURE, Lanes(float::sub);
    #[doc = "d = a - b"]
    SUB64 = "sub rnd?:rn|rz|rm|rp t:f64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(float::sub);
    #[doc = "d = a * b"]
    MUL = "mul rnd?:rn|rz|rm|rp ftz? sat? t:f32", "=d:t a:t b:t", ALWAYS, PURE, Lanes(float::mul);
    #[doc = "d = a * b"]
    MUL64 = "mul rnd?:rn|rz|rm|rp t:f64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(float::mul);
    #[doc = "d = a * b + c, rounded once"]
    FMA = "fma rnd:rn|rz|rm|rp ftz? sat? t:f32", "=d:t a:t b:t c:t", ALWAYS, PURE, Lanes(float::fma);
    #[doc = "d = a * b + c, rounded once"]
    FMA64 = "fma rnd:rn|rz|rm|rp t:f64", "=d:t a:t b:t c:t", ALWAYS, PURE, Lanes(float::fma);
    #[doc = "d = a * b + c, rounded once"]
    MAD = "mad rnd?:rn|rz|rm|rp ftz? sat? t:f32", "=d:t a:t b:t c:t", ALWAYS, PURE, Lanes(float::fma);
    #[doc = "d = a * b + c, rounded once"]
    MAD64 = "mad rnd:rn|rz|rm|rp t:f64", "=d:t a:t b:t c:t", ALWAYS, PURE, Lanes(float::fma);
    #[doc = "d = a / b"]
    DIV = "div rnd:rn|rz|rm|rp ftz? t:f32", "=d:t a:t b:t", ALWAYS, PURE, Lanes(float::div);
    #[doc = "d = a / b"]
    DIV64 = "div rnd:rn|rz|rm|rp t:f64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(float::div);
    #[doc = "d = square root of a"]
    SQRT = "sqrt rnd:rn|rz|rm|rp ftz? t:f32", "=d:t a:t", ALWAYS, PURE, Lanes(float::sqrt);
    #[doc = "d = square root of a"]
    SQRT64 = "sqrt rnd:rn|rz|rm|rp t:f64", "=d:t a:t", ALWAYS, PURE, Lanes(float::sqrt);
    #[doc = "d = 1 / a"]
    RCP = "rcp rnd:rn|rz|rm|rp ftz? t:f32", "=d:t a:t", ALWAYS, PURE, Lanes(float::rcp);
    #[doc = "d = 1 / a"]
    RCP64 = "rcp rnd:rn|rz|rm|rp t:f64", "=d:t a:t", ALWAYS, PURE, Lanes(float::rcp);
    #[doc = "d = |a|"]
    ABS = "abs ftz? t:f32|f64", "=d:t a:t", ALWAYS, PURE, Lanes(float::abs);
    #[doc = "d = -a"]
    NEG = "neg ftz? t:f32|f64", "=d:t a:t", ALWAYS, PURE, Lanes(float::neg);
    #[doc = "d = the smaller; the number if one is NaN; -0 below +0"]
    MIN = "min ftz? t:f32|f64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(float::min);
    #[doc = "d = the larger; the number if one is NaN; +0 above -0"]
    MAX = "max ftz? t:f32|f64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(float::max);
    #[doc = "d = the smaller; NaN if one is NaN; optionally by magnitude with the sign of both"]
    MIN_NAN = "min ftz? NaN? xorsign? abs? t:f32", "=d:t a:t b:t", AMPERE, PURE, Lanes(float::min_nan);
    #[doc = "d = the larger; NaN if one is NaN; optionally by magnitude with the sign of both"]
    MAX_NAN = "max ftz? NaN? xorsign? abs? t:f32", "=d:t a:t b:t", AMPERE, PURE, Lanes(float::max_nan);
    #[doc = "d = the magnitude of b with the sign of a"]
    COPYSIGN = "copysign t:f32|f64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(float::copysign);
    #[doc = "p = whether a is of a kind"]
    TESTP = "testp kind:finite|infinite|number|notanumber|normal|subnormal t:f32|f64", "=d:pred a:t", ALWAYS, PURE, Lanes(compare::testp);
    #[doc = "p = comparison of a and b; the u forms are true if an operand is NaN"]
    SETP = "setp cmp:eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz? t:f32|f64", "=d:pred|p a:t b:t", ALWAYS, PURE, Lanes(float::setp);
    #[doc = "p = comparison of a and b, combined with c"]
    SETP_BOOL = "setp cmp:eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan bool:and|or|xor ftz? t:f32|f64", "=d:pred|p a:t b:t !c:pred", ALWAYS, PURE, Lanes(float::setp);
    #[doc = "d = all ones (or 1.0) if the comparison holds, else zero"]
    SET = "set cmp:eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz? d:u32|s32|f32 t:f32|f64", "=d:d a:t b:t", ALWAYS, PURE, Lanes(float::set);
}
