//! Deterministic inputs: normals with outliers, subnormals and zeros.

/// A small counter-based generator (splitmix64): the same numbers everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
    /// A standard normal.
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform().max(1e-300), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

/// Normals; one in 97 is an outlier of hundreds, one in 89 tiny, one in 61 zero.
pub fn mixed(count: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|_| {
            let x = random.normal();
            match random.next() % (97 * 89 * 61) {
                k if k % 97 == 0 => x * 300.0,
                k if k % 89 == 0 => x * 1e-7,
                k if k % 61 == 0 => 0.0,
                _ => x,
            }
        })
        .collect()
}
