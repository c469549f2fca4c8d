//! The approximate unit.
//!
//! A GPU computes these from small tables; the machine gives the correctly rounded value, which lies
//! within the bound of what a card gives. Bounds: `rcp`, `ex2` 1 and 2 units in the last place, `sqrt` 2^-23
//! relative, `rsqrt` 2^-22.9, `lg2` 2^-22 (absolute within 0.5..2, relative outside), `sin` and `cos` 2^-20.9
//! absolute in -pi..pi, `tanh` 2^-11 relative, of halves 2^-10.9 and 2^-7.9 absolute, `ex2` of halves 2^-9.9 and
//! 2^-7 relative, quotients 2 units. They are as documented but for `lg2` (2^-22.6) and `tanh` of bf16 (2^-8), which an
//! H200 exceeds: every input was looked at (`benches/results/approximate_h200.csv`).

use super::super::effects::PURE;
use super::super::row::table;
use super::{ALWAYS, AMPERE, HOPPER};

table! { $ unit:
    #[doc = "d = 2 to the a"]
    EX2 = "ex2 approx ftz? t:f32", "=d:t a:t", ALWAYS, PURE, Lanes(unit::ex2);
    #[doc = "d = 2 to the a"]
    EX2_F16 = "ex2 approx t:f16|f16x2", "=d:t a:t", AMPERE, PURE, Lanes(unit::ex2_half);
    #[doc = "d = 2 to the a"]
    EX2_BF16 = "ex2 approx ftz t:bf16|bf16x2", "=d:t a:t", HOPPER, PURE, Lanes(unit::ex2_half);
    #[doc = "d = logarithm of a to the base 2"]
    LG2 = "lg2 approx ftz? t:f32", "=d:t a:t", ALWAYS, PURE, Lanes(unit::lg2);
    #[doc = "d = 1 / a"]
    RCP = "rcp approx ftz? t:f32", "=d:t a:t", ALWAYS, PURE, Lanes(unit::rcp);
    #[doc = "d = 1 / a from the high word of a; the low word of d is zero"]
    RCP64 = "rcp approx ftz t:f64", "=d:t a:t", ALWAYS, PURE, Lanes(unit::rcp64);
    #[doc = "d = 1 / square root of a"]
    RSQRT = "rsqrt approx ftz? t:f32", "=d:t a:t", ALWAYS, PURE, Lanes(unit::rsqrt);
    #[doc = "d = 1 / square root of a"]
    RSQRT64 = "rsqrt approx ftz? t:f64", "=d:t a:t", ALWAYS, PURE, Lanes(unit::rsqrt64);
    #[doc = "d = square root of a"]
    SQRT = "sqrt approx ftz? t:f32", "=d:t a:t", ALWAYS, PURE, Lanes(unit::sqrt);
    #[doc = "d = sine of a"]
    SIN = "sin approx ftz? t:f32", "=d:t a:t", ALWAYS, PURE, Lanes(unit::sin);
    #[doc = "d = cosine of a"]
    COS = "cos approx ftz? t:f32", "=d:t a:t", ALWAYS, PURE, Lanes(unit::cos);
    #[doc = "d = hyperbolic tangent of a"]
    TANH = "tanh approx t:f32", "=d:t a:t", ALWAYS, PURE, Lanes(unit::tanh);
    #[doc = "d = hyperbolic tangent of a"]
    TANH_F16 = "tanh approx t:f16|f16x2", "=d:t a:t", ALWAYS, PURE, Lanes(unit::tanh_half);
    #[doc = "d = hyperbolic tangent of a"]
    TANH_BF16 = "tanh approx t:bf16|bf16x2", "=d:t a:t", HOPPER, PURE, Lanes(unit::tanh_half);
    #[doc = "d = a / b, within 2 units in the last place"]
    DIV = "div kind:full|approx ftz? t:f32", "=d:t a:t b:t", ALWAYS, PURE, Lanes(unit::div);
}
