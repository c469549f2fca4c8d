//! Integers and bits. Arithmetic wraps unless it says `sat`.

use super::super::effects::PURE;
use super::super::row::table;
use super::{ALWAYS, VOLTA};

table! { $ int:
    #[doc = "d = a + b"]
    ADD = "add t:s16|u16|s32|u32|s64|u64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(int::add);
    #[doc = "d = a + b, clamped"]
    ADD_SAT = "add sat t:s32", "=d:t a:t b:t", ALWAYS, PURE, Lanes(int::add_sat);
    #[doc = "d = a - b"]
    SUB = "sub t:s16|u16|s32|u32|s64|u64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(int::sub);
    #[doc = "d = a - b, clamped"]
    SUB_SAT = "sub sat t:s32", "=d:t a:t b:t", ALWAYS, PURE, Lanes(int::sub_sat);
    #[doc = "d = a + b, carry out kept"]
    ADD_CC = "add cc t:s32|u32|s64|u64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(int::add_cc);
    #[doc = "d = a + b + carry"]
    ADDC = "addc cc? t:s32|u32|s64|u64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(int::addc);
    #[doc = "d = a - b, borrow out kept"]
    SUB_CC = "sub cc t:s32|u32|s64|u64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(int::sub_cc);
    #[doc = "d = a - b - borrow"]
    SUBC = "subc cc? t:s32|u32|s64|u64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(int::subc);
    #[doc = "d = the low or high half of a * b"]
    MUL = "mul half:lo|hi t:s16|u16|s32|u32|s64|u64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(int::mul);
    #[doc = "d = a * b, twice as wide"]
    MUL_WIDE = "mul wide t:s16|u16|s32|u32", "=d:2xt a:t b:t", ALWAYS, PURE, Lanes(int::mul_wide);
    #[doc = "d = the low or high half of a * b, plus c"]
    MAD = "mad half:lo|hi t:s16|u16|s32|u32|s64|u64", "=d:t a:t b:t c:t", ALWAYS, PURE, Lanes(int::mad);
    #[doc = "d = the high half of a * b, plus c, clamped"]
    MAD_SAT = "mad hi sat t:s32", "=d:t a:t b:t c:t", ALWAYS, PURE, Lanes(int::mad_sat);
    #[doc = "d = a * b twice as wide, plus c"]
    MAD_WIDE = "mad wide t:s16|u16|s32|u32", "=d:2xt a:t b:t c:2xt", ALWAYS, PURE, Lanes(int::mad_wide);
    #[doc = "d = half of a * b, plus c, carry out kept"]
    MAD_CC = "mad half:lo|hi cc t:s32|u32|s64|u64", "=d:t a:t b:t c:t", ALWAYS, PURE, Lanes(int::mad_cc);
    #[doc = "d = half of a * b, plus c and carry"]
    MADC = "madc half:lo|hi cc? t:s32|u32|s64|u64", "=d:t a:t b:t c:t", ALWAYS, PURE, Lanes(int::madc);
    #[doc = "d = a * b of 24-bit values"]
    MUL24 = "mul24 half:lo|hi t:s32|u32", "=d:t a:t b:t", ALWAYS, PURE, Lanes(int::mul24);
    #[doc = "d = a * b of 24-bit values, plus c"]
    MAD24 = "mad24 half:lo|hi t:s32|u32", "=d:t a:t b:t c:t", ALWAYS, PURE, Lanes(int::mad24);
    #[doc = "d = a / b, toward zero; all ones if b is zero"]
    DIV = "div t:s16|u16|s32|u32|s64|u64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(int::div);
    #[doc = "d = remainder of a / b, with the sign of a"]
    REM = "rem t:s16|u16|s32|u32|s64|u64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(int::rem);
    #[doc = "d = |a|"]
    ABS = "abs t:s16|s32|s64", "=d:t a:t", ALWAYS, PURE, Lanes(int::abs);
    #[doc = "d = -a"]
    NEG = "neg t:s16|s32|s64", "=d:t a:t", ALWAYS, PURE, Lanes(int::neg);
    #[doc = "d = the smaller"]
    MIN = "min t:s16|u16|s32|u32|s64|u64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(int::min);
    #[doc = "d = the larger"]
    MAX = "max t:s16|u16|s32|u32|s64|u64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(int::max);
    #[doc = "d = c + |a - b|"]
    SAD = "sad t:s16|u16|s32|u32|s64|u64", "=d:t a:t b:t c:t", ALWAYS, PURE, Lanes(int::sad);
    #[doc = "d = c + the sum of four byte products"]
    DP4A = "dp4a at:s32|u32 bt:s32|u32", "=d:s32 a:b32 b:b32 c:s32", ALWAYS, PURE, Lanes(int::dp4a);
    #[doc = "d = c + the sum of two products of a half word and a byte"]
    DP2A = "dp2a half:lo|hi at:s32|u32 bt:s32|u32", "=d:s32 a:b32 b:b32 c:s32", ALWAYS, PURE, Lanes(int::dp2a);

    #[doc = "d = a and b, bit by bit"]
    AND = "and t:pred|b16|b32|b64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(bits::and);
    #[doc = "d = a or b, bit by bit"]
    OR = "or t:pred|b16|b32|b64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(bits::or);
    #[doc = "d = a exclusive-or b, bit by bit"]
    XOR = "xor t:pred|b16|b32|b64", "=d:t a:t b:t", ALWAYS, PURE, Lanes(bits::xor);
    #[doc = "d = not a, bit by bit"]
    NOT = "not t:pred|b16|b32|b64", "=d:t a:t", ALWAYS, PURE, Lanes(bits::not);
    #[doc = "d = 1 if a is zero, else 0"]
    CNOT = "cnot t:b16|b32|b64", "=d:t a:t", ALWAYS, PURE, Lanes(int::cnot);
    #[doc = "d = the function of three bits that a table names, bit by bit"]
    LOP3 = "lop3 t:b32", "=d:t a:t b:t c:t #lut:b32", ALWAYS, PURE, Lanes(bits::lop3);
    #[doc = "d = a shifted left; zero from the width on"]
    SHL = "shl t:b16|b32|b64", "=d:t a:t b:u32", ALWAYS, PURE, Lanes(bits::shl);
    #[doc = "d = a shifted right; signed types keep the sign"]
    SHR = "shr t:b16|b32|b64|u16|u32|u64|s16|s32|s64", "=d:t a:t b:u32", ALWAYS, PURE, Lanes(bits::shr);
    #[doc = "d = one word of the two words {b, a} shifted by c"]
    SHF = "shf dir:l|r mode:wrap|clamp t:b32", "=d:t a:t b:t c:u32", ALWAYS, PURE, Lanes(bits::shf);
    #[doc = "d = number of ones"]
    POPC = "popc t:b32|b64", "=d:u32 a:t", ALWAYS, PURE, Lanes(bits::popc);
    #[doc = "d = number of leading zeros"]
    CLZ = "clz t:b32|b64", "=d:u32 a:t", ALWAYS, PURE, Lanes(bits::clz);
    #[doc = "d = place of the first significant bit, all ones if none"]
    BFIND = "bfind shiftamt? t:u32|s32|u64|s64", "=d:u32 a:t", ALWAYS, PURE, Lanes(bits::bfind);
    #[doc = "d = bits in the opposite order"]
    BREV = "brev t:b32|b64", "=d:t a:t", ALWAYS, PURE, Lanes(bits::brev);
    #[doc = "d = c bits of a from place b on"]
    BFE = "bfe t:u32|s32|u64|s64", "=d:t a:t b:u32 c:u32", ALWAYS, PURE, Lanes(bits::bfe);
    #[doc = "f = b with d bits at place c replaced by a"]
    BFI = "bfi t:b32|b64", "=f:t a:t b:t c:u32 d:u32", ALWAYS, PURE, Lanes(bits::bfi);
    #[doc = "d = a mask of b ones from place a on"]
    BMSK = "bmsk mode:clamp|wrap t:b32", "=d:t a:u32 b:u32", VOLTA, PURE, Lanes(bits::bmsk);
    #[doc = "d = sign or zero extension of the low b bits of a"]
    SZEXT = "szext mode:clamp|wrap t:u32|s32", "=d:t a:t b:u32", VOLTA, PURE, Lanes(bits::szext);
    #[doc = "d = four bytes chosen from the eight of {b, a}"]
    PRMT = "prmt t:b32", "=d:t a:t b:t c:b32", ALWAYS, PURE, Lanes(bits::prmt);
    #[doc = "d = four bytes chosen from the eight of {b, a} by a pattern"]
    PRMT_MODE = "prmt t:b32 mode:f4e|b4e|rc8|ecl|ecr|rc16", "=d:t a:t b:t c:b32", ALWAYS, PURE, Lanes(bits::prmt_mode);

    #[doc = "p = comparison of a and b"]
    SETP = "setp cmp:eq|ne|lt|le|gt|ge|lo|ls|hi|hs t:b16|b32|b64|u16|u32|u64|s16|s32|s64", "=d:pred|p a:t b:t", ALWAYS, PURE, Lanes(compare::setp);
    #[doc = "p = comparison of a and b, combined with c"]
    SETP_BOOL = "setp cmp:eq|ne|lt|le|gt|ge|lo|ls|hi|hs bool:and|or|xor t:b16|b32|b64|u16|u32|u64|s16|s32|s64", "=d:pred|p a:t b:t !c:pred", ALWAYS, PURE, Lanes(compare::setp);
    #[doc = "d = all ones (or 1.0) if the comparison holds, else zero"]
    SET = "set cmp:eq|ne|lt|le|gt|ge|lo|ls|hi|hs d:u32|s32|f32 t:b16|b32|b64|u16|u32|u64|s16|s32|s64", "=d:d a:t b:t", ALWAYS, PURE, Lanes(compare::set);
    #[doc = "d = c ? a : b"]
    SELP = "selp t:b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64", "=d:t a:t b:t c:pred", ALWAYS, PURE, Lanes(compare::selp);
    #[doc = "d = c >= 0 ? a : b"]
    SLCT = "slct t:b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64 s32", "=d:t a:t b:t c:s32", ALWAYS, PURE, Lanes(compare::slct);
}
