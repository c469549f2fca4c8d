//! Thirty-two sums of a tensor core at once: an accumulator's plane for one group of terms.
//!
//! [`crate::vm::meaning::tensor`] says what is computed: every product and the accumulator are cut
//! toward zero to a multiple of `2^(top - F)`, where `top` is the largest exponent among them, and the cut
//! terms are summed exactly. Here that is done with ordinary float operations, and gives the same bits:
//!
//! - Inputs have at most 11 significant bits, so `a * b` is exact in f32 as long as it is a normal number.
//!   `(a * b) * 2^(F - top)` is then exact too, and converting it to an integer cuts toward zero: the model's
//!   `shifted`. With `top >= LOW`, a product that is not normal (below `2^-126`) is below `2^(top - F)`
//!   whatever it was rounded to, and is cut to zero in either account. Products cannot overflow: the caller
//!   takes this path only if the largest exponents of A and B add up to at most [`HIGH`].
//! - A cut product is at most `2047^2 * 2^(F - 20)`, and 16 of them are below `2^31` for `F = 25` (32 of them
//!   for `F = 13`, whose inputs have four bits): the sum of products fits an i32.
//! - The accumulator, cut the same way, is below `2^26`. Both sums are exact in f64, and so is the scaled
//!   result, since the power of two is within f32's range. Clearing 29 bits of the f64's fraction cuts it to
//!   24 bits toward zero, and the conversion to f32 is exact, since `2^(top - F)` is a normal f32.
//! - For f16 sums the cut value gets a last bit that says whether something was cut off (rounding to odd);
//!   24 bits are more than two above f16's 11, so one rounding to nearest even from there is the rounding of
//!   the exact value. What rounds to zero is positive.
//!
//! Lanes for which that does not hold ([`LOW`], [`HIGH`], accumulators that are not finite) are left alone
//! and reported; the model itself computes them.

/// The exponent of zero: far below all others.
pub(super) const NOTHING: i32 = -100_000;
/// Exponents between which lanes are computed here.
const LOW: i32 = -90;
pub(super) const HIGH: i32 = 120;

/// One group of terms: eight vectors of A a depth, half a vector of B (the other half is the same).
#[derive(Debug, Clone, Copy)]
pub(super) struct Strip<'a> {
    pub(super) a_value: &'a [[f32; 8]],
    pub(super) a_exp: &'a [[i32; 8]],
    pub(super) b_value: &'a [[f32; 4]],
    pub(super) b_exp: &'a [[i32; 4]],
    /// Vectors four times this and up: rows 0 to 7 or 8 to 15.
    pub(super) rows: usize,
    /// Fraction bits.
    pub(super) fraction: i32,
    /// Accumulators are f16, in the low halves.
    pub(super) half: bool,
}

/// Adds the group to a plane of accumulators; lanes that were left alone.
#[inline(always)]
pub(super) fn plain(s: &Strip<'_>, c: &mut [u32; 32]) -> u32 {
    let mut left = 0;
    for lane in 0..32 {
        let (v, j, t) = (4 * s.rows + lane / 8, lane % 8, lane % 4);
        let a = |k: usize| (s.a_value[8 * k + v][j], s.a_exp[8 * k + v][j]);
        let (acc, e, finite) = accumulator(c[lane], s.half);
        let mut top = e;
        for k in 0..s.b_exp.len() {
            top = top.max(a(k).1 + s.b_exp[k][t]);
        }
        let nothing = top < NOTHING / 2;
        if !finite || top > HIGH || (top < LOW && !nothing) {
            left |= 1 << lane;
            continue;
        }
        if nothing {
            c[lane] = 0;
            continue;
        }
        let power = |e: i32| f32::from_bits(((e + 127) as u32) << 23);
        let scale = power(s.fraction - top);
        let mut sum = 0i32;
        for k in 0..s.b_exp.len() {
            sum += (a(k).0 * s.b_value[k][t] * scale) as i32;
        }
        let exact =
            (f64::from(sum) + f64::from((acc * scale) as i32)) * f64::from(power(top - s.fraction));
        let kept = exact.to_bits() & !CUT;
        c[lane] = if s.half {
            let sticky = u64::from(exact.to_bits() & CUT != 0) << 29;
            match half::f16::from_f32(f64::from_bits(kept | sticky) as f32).to_bits() {
                0x8000 => 0,
                bits => bits.into(),
            }
        } else {
            (f64::from_bits(kept) as f32).to_bits() & narrow(s.fraction)
        };
    }
    left
}

/// Bits of an f64's fraction that an f32 does not have.
const CUT: u64 = (1 << 29) - 1;

/// With few fraction bits the result too has no more.
#[inline(always)]
fn narrow(fraction: i32) -> u32 {
    if fraction < 23 {
        !((1 << (23 - fraction)) - 1)
    } else {
        u32::MAX
    }
}

/// Value, exponent and finiteness of an accumulator.
#[inline(always)]
fn accumulator(bits: u32, half: bool) -> (f32, i32, bool) {
    if half {
        let (w, e) = (bits & 0x7fff, bits >> 10 & 31);
        let value = f32::from_bits(w << 13) * f32::from_bits((127 + 112) << 23);
        let value = f32::from_bits(value.to_bits() | (bits & 0x8000) << 16);
        let exp = if w == 0 {
            NOTHING
        } else {
            e.max(1) as i32 - 15
        };
        (value, exp, e != 31)
    } else {
        let e = bits >> 23 & 255;
        let zero = bits & 0x7fff_ffff == 0;
        let exp = if zero { NOTHING } else { e.max(1) as i32 - 127 };
        (f32::from_bits(bits), exp, e != 255)
    }
}

/// The same by vectors of eight.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
pub(super) fn fast(s: &Strip<'_>, c: &mut [u32; 32]) -> u32 {
    use bytemuck::cast;
    use std::arch::x86_64::*;
    let set = |x: i32| _mm256_set1_epi32(x);
    let terms = s.b_exp.len();
    let first = 4 * s.rows;
    let mut top = [set(NOTHING); 4];
    for (k, e) in s.b_exp.iter().enumerate() {
        let b = _mm256_broadcastsi128_si256(cast(*e));
        let row = &s.a_exp[8 * k + first..8 * k + first + 4];
        for v in 0..4 {
            top[v] = _mm256_max_epi32(top[v], _mm256_add_epi32(cast(row[v]), b));
        }
    }
    let mut acc = [_mm256_setzero_ps(); 4];
    let mut scale = [_mm256_setzero_ps(); 4];
    let mut back = [_mm256_setzero_ps(); 4];
    let mut left = 0u32;
    for v in 0..4 {
        let mut old = [0u32; 8];
        old.copy_from_slice(&c[8 * v..8 * v + 8]);
        let bits: __m256i = cast(old);
        let (value, field, zero, infinite, bias);
        if s.half {
            let w = _mm256_and_si256(bits, set(0x7fff));
            let scaled = _mm256_mul_ps(
                _mm256_castsi256_ps(_mm256_slli_epi32::<13>(w)),
                _mm256_set1_ps(f32::from_bits((127 + 112) << 23)),
            );
            let sign = _mm256_slli_epi32::<16>(_mm256_and_si256(bits, set(0x8000)));
            value = _mm256_or_ps(scaled, _mm256_castsi256_ps(sign));
            field = _mm256_srli_epi32::<10>(w);
            zero = _mm256_cmpeq_epi32(w, _mm256_setzero_si256());
            (infinite, bias) = (31, 15);
        } else {
            let w = _mm256_and_si256(bits, set(0x7fff_ffff));
            value = _mm256_castsi256_ps(bits);
            field = _mm256_srli_epi32::<23>(w);
            zero = _mm256_cmpeq_epi32(w, _mm256_setzero_si256());
            (infinite, bias) = (255, 127);
        }
        let e = _mm256_sub_epi32(_mm256_max_epi32(field, set(1)), set(bias));
        let e = _mm256_blendv_epi8(e, set(NOTHING), zero);
        let t = _mm256_max_epi32(top[v], e);
        let nothing = _mm256_cmpgt_epi32(set(NOTHING / 2), t);
        let odd = _mm256_or_si256(
            _mm256_cmpeq_epi32(field, set(infinite)),
            _mm256_or_si256(
                _mm256_cmpgt_epi32(t, set(HIGH)),
                _mm256_andnot_si256(nothing, _mm256_cmpgt_epi32(set(LOW), t)),
            ),
        );
        left |= (_mm256_movemask_ps(_mm256_castsi256_ps(odd)) as u32) << (8 * v);
        let none = _mm256_or_si256(odd, nothing);
        let power = |e: __m256i| {
            let p = _mm256_slli_epi32::<23>(_mm256_add_epi32(e, set(127)));
            _mm256_castsi256_ps(_mm256_andnot_si256(none, p))
        };
        scale[v] = power(_mm256_sub_epi32(set(s.fraction), t));
        back[v] = power(_mm256_sub_epi32(t, set(s.fraction)));
        acc[v] = _mm256_andnot_ps(_mm256_castsi256_ps(none), value);
    }
    let mut sum = [_mm256_setzero_si256(); 4];
    for (k, b) in s.b_value[..terms].iter().enumerate() {
        let b = _mm256_castsi256_ps(_mm256_broadcastsi128_si256(cast(*b)));
        let row = &s.a_value[8 * k + first..8 * k + first + 4];
        for v in 0..4 {
            let p = _mm256_mul_ps(_mm256_mul_ps(cast(row[v]), b), scale[v]);
            sum[v] = _mm256_add_epi32(sum[v], _mm256_cvttps_epi32(p));
        }
    }
    for v in 0..4 {
        let own = _mm256_cvttps_epi32(_mm256_mul_ps(acc[v], scale[v]));
        let finish = |sum: __m128i, own: __m128i, back: __m128| {
            let total = _mm256_add_pd(_mm256_cvtepi32_pd(sum), _mm256_cvtepi32_pd(own));
            let exact = _mm256_castpd_si256(_mm256_mul_pd(total, _mm256_cvtps_pd(back)));
            let cut = _mm256_set1_epi64x(CUT as i64);
            let mut kept = _mm256_andnot_si256(cut, exact);
            if s.half {
                let rest = _mm256_and_si256(cut, exact);
                let whole = _mm256_cmpeq_epi64(rest, _mm256_setzero_si256());
                let sticky = _mm256_andnot_si256(whole, _mm256_set1_epi64x(1 << 29));
                kept = _mm256_or_si256(kept, sticky);
            }
            _mm256_cvtpd_ps(_mm256_castsi256_pd(kept))
        };
        let low = finish(
            _mm256_castsi256_si128(sum[v]),
            _mm256_castsi256_si128(own),
            _mm256_castps256_ps128(back[v]),
        );
        let high = finish(
            _mm256_extracti128_si256::<1>(sum[v]),
            _mm256_extracti128_si256::<1>(own),
            _mm256_extractf128_ps::<1>(back[v]),
        );
        let both = _mm256_set_m128(high, low);
        let out: [u32; 8] = if s.half {
            let rounded = _mm256_cvtepu16_epi32(_mm256_cvtps_ph::<0>(both));
            let negative_zero = _mm256_cmpeq_epi32(rounded, set(0x8000));
            cast(_mm256_andnot_si256(negative_zero, rounded))
        } else {
            let mask = set(narrow(s.fraction) as i32);
            cast(_mm256_and_si256(_mm256_castps_si256(both), mask))
        };
        if left == 0 {
            c[8 * v..8 * v + 8].copy_from_slice(&out);
        } else {
            for (j, o) in out.iter().enumerate() {
                if left >> (8 * v + j) & 1 == 0 {
                    c[8 * v + j] = *o;
                }
            }
        }
    }
    left
}
