//! Forms of products and their operands.

use tiki_kernel::isa::Ty;

pub const KINDS: usize = 7;

/// A form: an entry of `forms.ptx`.
pub struct Form {
    pub name: &'static str,
    pub a: Ty,
    pub b: Ty,
    pub sums: Ty,
    pub k: usize,
    /// A warpgroup's 64 x 16 rather than a warp's 16 x 8.
    pub group: bool,
}

const fn form(name: &'static str, a: Ty, b: Ty, sums: Ty, k: usize, group: bool) -> Form {
    Form {
        name,
        a,
        b,
        sums,
        k,
        group,
    }
}

pub const FORMS: &[Form] = &[
    form("f16", Ty::F16, Ty::F16, Ty::F32, 16, false),
    form("f16_8", Ty::F16, Ty::F16, Ty::F32, 8, false),
    form("f16_f16", Ty::F16, Ty::F16, Ty::F16, 16, false),
    form("bf16", Ty::BF16, Ty::BF16, Ty::F32, 16, false),
    form("bf16_8", Ty::BF16, Ty::BF16, Ty::F32, 8, false),
    form("tf32", Ty::TF32, Ty::TF32, Ty::F32, 8, false),
    form("tf32_4", Ty::TF32, Ty::TF32, Ty::F32, 4, false),
    form("e4m3", Ty::E4M3, Ty::E4M3, Ty::F32, 32, false),
    form("e5m2", Ty::E5M2, Ty::E5M2, Ty::F32, 32, false),
    form("e4m3_e5m2_16", Ty::E4M3, Ty::E5M2, Ty::F32, 16, false),
    form("e4m3_f16", Ty::E4M3, Ty::E4M3, Ty::F16, 32, false),
    form("s8", Ty::S8, Ty::S8, Ty::S32, 32, false),
    form("s8_clamped", Ty::S8, Ty::S8, Ty::S32, 32, false),
    form("u8_s8", Ty::U8, Ty::S8, Ty::S32, 16, false),
    form("group_f16", Ty::F16, Ty::F16, Ty::F32, 16, true),
    form("group_f16_negative", Ty::F16, Ty::F16, Ty::F32, 16, true),
    form("group_f16_f16", Ty::F16, Ty::F16, Ty::F16, 16, true),
    form("group_bf16", Ty::BF16, Ty::BF16, Ty::F32, 16, true),
    form("group_tf32", Ty::TF32, Ty::TF32, Ty::F32, 8, true),
    form("group_e4m3", Ty::E4M3, Ty::E4M3, Ty::F32, 32, true),
    form("group_e5m2", Ty::E5M2, Ty::E5M2, Ty::F32, 32, true),
    form("group_s8", Ty::S8, Ty::S8, Ty::S32, 32, true),
];

/// A generator of numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
}

/// Bits of exponent and fraction.
fn fields(t: Ty) -> (u32, u32) {
    match t {
        Ty::F16 => (5, 10),
        Ty::BF16 => (8, 7),
        Ty::TF32 | Ty::F32 => (8, 23),
        Ty::E4M3 => (4, 3),
        _ => (5, 2),
    }
}

fn number(r: &mut Random, t: Ty, kind: usize) -> u32 {
    let bits = r.next();
    if matches!(t, Ty::S8 | Ty::U8 | Ty::S32) {
        // Bytes; sums near the ends of their range every other time.
        let near = (bits & 0xffff) as u32;
        return match (t, kind % 3) {
            (Ty::S32, 1) => i32::MAX as u32 - near,
            (Ty::S32, 2) => i32::MIN as u32 + near,
            (Ty::S32, _) => bits as u32,
            _ => bits as u32 & 0xff,
        };
    }
    let (exponents, fraction) = fields(t);
    let top = (1u64 << exponents) - 1;
    let middle = top / 2;
    let any = bits & ((1 << (exponents + fraction + 1)) - 1);
    let (some, rare) = (bits >> 33 & 31, bits >> 38 & 255);
    let with = |e: u64| (any & !(top << fraction) | e << fraction) as u32;
    match kind {
        0 => with(middle - 3 + some % 6),
        1 => any as u32,
        2 if some < 9 => with((middle + 5).min(top - 1)),
        2 => with(middle - some.min(middle)),
        3 => with(some % 2),
        4 if some < 5 => with(middle),
        4 => (any & 1 << (exponents + fraction)) as u32,
        5 => with(top - 1 - some % 3),
        _ => match rare {
            0 => (top << fraction) as u32,
            1 => (top << fraction | 1 << (exponents + fraction)) as u32,
            2 => with(top),
            _ => with(middle + some % 2),
        },
    }
}

impl Form {
    /// Words of the operands of one launch: of A, of B, of the sums.
    fn parts(&self) -> [usize; 3] {
        let (m, n) = if self.group { (64, 16) } else { (16, 8) };
        let words = |count: usize, t: Ty| count * t.bits() as usize / 32;
        [
            words(m * self.k, self.a),
            words(n * self.k, self.b),
            words(m * n, self.sums),
        ]
    }
    pub fn words(&self) -> usize {
        self.parts().iter().sum()
    }
    pub fn outputs(&self) -> usize {
        self.parts()[2]
    }
    /// Operands of a batch of tiles of 16 x 8.
    pub fn inputs(&self, batch: usize, tiles: usize) -> Vec<u32> {
        let kind = batch % KINDS;
        let named = self.name.bytes().fold(batch as u64 + 1, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut r = Random(named | 1);
        for _ in 0..8 {
            r.next();
        }
        let mut out = Vec::new();
        for _ in 0..tiles / if self.group { 8 } else { 1 } {
            let types = [(self.a, false), (self.b, false), (self.sums, true)];
            for (count, (t, sums)) in self.parts().into_iter().zip(types) {
                for _ in 0..count {
                    let mut word = 0;
                    for e in 0..32 / t.bits() {
                        // Some sums are any bits, whatever the kind.
                        let odd = sums && r.next().is_multiple_of(16);
                        let kind = if odd { 1 } else { kind };
                        word |= number(&mut r, t, kind) << (e * t.bits());
                    }
                    out.push(word);
                }
            }
        }
        out
    }

    /// What led to an output: the row of A, the column of B and the sum before.
    pub fn explain(&self, words: &[u32], at: usize, theirs: u32, ours: u32) -> String {
        let (tile, i) = (at / self.outputs(), at % self.outputs());
        let [na, nb, _] = self.parts();
        let all = &words[tile * self.words()..(tile + 1) * self.words()];
        let (a, rest) = all.split_at(na);
        let (b, c) = rest.split_at(nb);
        let threads = if self.group { 128 } else { 32 };
        let (reg, thread) = (i / threads, i % threads);
        let lane = thread % 32;
        let half = self.sums.bits() == 16;
        let old = c[i];
        let mut text = format!("tile {tile} gpu {theirs:08x} machine {ours:08x} from {old:08x};");
        // Of packed sums, say the low one if it differs.
        let high = half && theirs & 0xffff == ours & 0xffff;
        let j = if half {
            2 * reg + usize::from(high)
        } else {
            reg
        };
        let row = 16 * (thread / 32) + lane / 4 + 8 * (j / 2 % 2);
        let col = 8 * (j / 4) + 2 * (lane % 4) + j % 2;
        for (what, words, t, line, warp) in [("a", a, self.a, row, 16), ("b", b, self.b, col, 8)] {
            let (bits, per) = (t.bits() as usize, 32 / t.bits() as usize);
            text += &format!(" {what}");
            for k in 0..self.k {
                let word = if self.group {
                    let chunk = 16 * 8 / bits;
                    let byte =
                        line / 8 * 256 + k / chunk * 128 + line % 8 * 16 + k % chunk * bits / 8;
                    words[byte / 4]
                } else {
                    let r = k / (4 * per);
                    let r = if warp == 16 { line / 8 + 2 * r } else { r };
                    words[32 * r + 4 * (line % 8) + k / per % 4]
                };
                let ones = u32::MAX >> (32 - bits);
                text += &format!(" {:x}", word >> (bits * (k % per)) & ones);
            }
        }
        text
    }
}
