//! Words that reach the corners of every type, and random ones.

/// A generator of words.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

const F32: &[u32] = &[
    0,
    1,
    0x007f_ffff,
    0x0080_0000,
    0x3f00_0000,
    0x3f7f_ffff,
    0x3f80_0000,
    0x3f80_0001,
    0x3fc0_0000,
    0x4000_0000,
    0x4020_0000,
    0x4b00_0000,
    0x4b7f_ffff,
    0x4eff_ffff,
    0x4f00_0000,
    0x4f80_0000,
    0x5f00_0000,
    0x5f80_0000,
    0x7f7f_ffff,
    0x7f80_0000,
    0x7f80_0001,
    0x7fc0_0000,
    0x7fff_ffff,
    0x477f_e000,
    0x477f_f000,
    0x3880_0000,
    0x387f_ffff,
    0x3300_0000,
    0x3300_0001,
    0x43e0_0000,
    0x4760_0000,
    0x1f80_0000,
    0x5f7f_ffff,
];
const F64: &[u64] = &[
    0,
    1,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x3fe0_0000_0000_0000,
    0x3fef_ffff_ffff_ffff,
    0x3ff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x3ff8_0000_0000_0000,
    0x4004_0000_0000_0000,
    0x41df_ffff_ffc0_0000,
    0x41e0_0000_0000_0000,
    0x43e0_0000_0000_0000,
    0x43f0_0000_0000_0000,
    0x47ef_ffff_e000_0000,
    0x47ef_ffff_f000_0000,
    0x36a0_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0x3cb0_0000_0000_0000,
    0x1ff0_0000_0000_0000,
];
const F16: &[u16] = &[
    0, 1, 0x03ff, 0x0400, 0x0401, 0x3800, 0x3bff, 0x3c00, 0x3c01, 0x3e00, 0x4000, 0x4100, 0x5bff,
    0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7fff, 0x0080, 0x3f80, 0x3f81, 0x7f7f, 0x7f80, 0x7fc0, 0x0100,
    0x1c00,
];
const INT: &[u64] = &[
    0,
    1,
    2,
    3,
    7,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
    u64::MAX - 1,
    0xff_ffff,
    0x80_0000,
    0x0123_4567_89ab_cdef,
];

fn corner(r: &mut Random) -> u64 {
    let pick = r.next();
    let (kind, n, sign) = (pick % 6, (pick >> 8) as usize, pick >> 63);
    match kind {
        0 => u64::from(F32[n % F32.len()]) | sign << 31 | r.next() << 32,
        1 => F64[n % F64.len()] | sign << 63,
        2 | 3 => {
            let h = |x: u64| u64::from(F16[(x >> 3) as usize % F16.len()]) | (x & 1) << 15;
            let (a, b) = (r.next(), r.next());
            h(a) | h(b) << 16 | h(a >> 32) << 32 | h(b >> 32) << 48
        }
        4 => INT[n % INT.len()],
        _ => INT[n % INT.len()].wrapping_neg(),
    }
}

/// Words near one another in size, so that sums cancel and products stay finite.
fn tame(r: &mut Random) -> u64 {
    let x = r.next();
    match x % 3 {
        0 => {
            let f = ((x >> 40) as f64 / (1u64 << 23) as f64 - 1.0)
                * f64::powi(2.0, (r.next() % 12) as i32 - 6);
            u64::from((f as f32).to_bits()) | r.next() << 32
        }
        1 => (((x >> 12) as f64 / (1u64 << 51) as f64 - 1.0)
            * f64::powi(2.0, (r.next() % 12) as i32 - 6))
        .to_bits(),
        _ => {
            let h = |x: u64| (x & 0x8000) | (0x3400 + (x & 0x0fff)) & 0x7fff;
            h(x >> 3) | h(x >> 17) << 16 | h(x >> 31) << 32 | h(x >> 45) << 48
        }
    }
}

/// The inputs of `operands` operands on `lanes` lanes.
pub fn inputs(seed: u64, operands: usize, lanes: usize) -> Vec<u64> {
    let mut r = Random(seed);
    (0..operands * lanes)
        .map(|i| match i % lanes % 4 {
            0 | 1 => corner(&mut r),
            2 => tame(&mut r),
            _ => r.next(),
        })
        .collect()
}
