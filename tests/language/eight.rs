//! 8-bit floats: what a conversion into them and out of them gives.
//!
//! Invariant: into them the nearest of their numbers, of two equally near the one whose last bit is 0, past the largest
//! the largest, and NaN of NaN; out of them their value, exactly. Each through every type with a conversion.
//! Witness: all 256 codes out; in, all f16 numbers, the middles between neighbours and f32 and f64 numbers beside
//! them, against a search over the codes.

use tiki::prelude::*;
use tiki::{Device, Element as Host};

#[tiki::kernel(target = "sm_90a", threads = 128, grid = [x.dim(0).div_ceil(512)], build(
    (A = f32, B = e4m3), (A = f32, B = e5m2), (A = f64, B = e4m3), (A = f64, B = e5m2),
    (A = f16, B = e4m3), (A = f16, B = e5m2), (A = bf16, B = e4m3), (A = bf16, B = e5m2),
    (A = e4m3, B = f32), (A = e5m2, B = f32), (A = e4m3, B = f16), (A = e5m2, B = bf16),
    (A = e4m3, B = f64), (A = e4m3, B = e5m2), (A = e5m2, B = e4m3),
    (A = i32, B = e4m3), (A = e5m2, B = i32),
))]
fn converted<A: Element, B: Element>(x: &Global<A, 1>, out: &mut Global<B, 1>) {
    require!(x.dim(0) == out.dim(0));
    let map = ThreadMap::linear(128).vector_up_to(4);
    let v = x.tile([512], [block_idx().x]).load(map);
    out.tile_mut([512], [block_idx().x]).store(&v.cast::<B>());
}

/// Through shared memory: four neighbours a thread.
#[tiki::kernel(target = "sm_90a", threads = 128, grid = [1], build((B = e4m3), (B = e5m2)))]
fn kept<B: Element>(x: &Global<f32, 1>, out: &mut Global<B, 1>) {
    require!(x.dim(0) == 512 && out.dim(0) == 512);
    let own = Shared::<B>::new(Layout::row_major([512]));
    let v = x.tile([512], [0]).load(ThreadMap::linear(128).vector(4));
    own.store(&v.cast::<B>());
    sync_block();
    out.tile_mut([512], [0])
        .store(&own.load(ThreadMap::linear(128)));
}

/// Numbers that the author wrote.
#[tiki::kernel(target = "sm_90a", threads = 32, grid = [1])]
fn written(x: &Global<f32, 1>, out: &mut Global<e4m3, 1>) {
    let v = x.tile([32], [0]).load(ThreadMap::linear(32));
    out.tile_mut([32], [0])
        .store(&v.map(|_| 0.3f32.cast::<e4m3>()));
    out.tile_mut([32], [1])
        .store(&v.map(|_| 1000.cast::<e4m3>()));
}

/// An 8-bit float by its bits: sign, exponent, significand of so many bits.
struct Eight {
    significand: u32,
    bias: i32,
    /// The largest finite code.
    largest: u8,
}

const E4M3: Eight = Eight {
    significand: 3,
    bias: 7,
    largest: 0x7e,
};
const E5M2: Eight = Eight {
    significand: 2,
    bias: 15,
    largest: 0x7b,
};

impl Eight {
    fn value(&self, code: u8) -> f64 {
        let magnitude = code & 0x7f;
        let sign = if code & 0x80 == 0 { 1.0 } else { -1.0 };
        if magnitude > self.largest {
            let infinite = self.significand == 2 && magnitude == 0x7c;
            return if infinite {
                sign * f64::INFINITY
            } else {
                f64::NAN
            };
        }
        let (e, f) = (
            i32::from(magnitude >> self.significand),
            f64::from(magnitude & ((1 << self.significand) - 1)),
        );
        let unit = 2f64.powi(e.max(1) - self.bias - self.significand as i32);
        let hidden = if e > 0 {
            f64::from(1 << self.significand)
        } else {
            0.0
        };
        sign * (hidden + f) * unit
    }

    /// The code of the nearest number, by looking at all of them.
    fn nearest(&self, x: f64) -> Option<u8> {
        if x.is_nan() {
            return None;
        }
        let magnitude = x.abs().min(self.value(self.largest));
        let mut best = 0u8;
        for code in 0..=self.largest {
            let (near, far) = (
                (self.value(code) - magnitude).abs(),
                (self.value(best) - magnitude).abs(),
            );
            if near < far || (near == far && code % 2 == 0) {
                best = code;
            }
        }
        Some(best | if x.is_sign_negative() { 0x80 } else { 0 })
    }

    /// Numbers at which a wrong rounding shows.
    fn inputs(&self) -> Vec<f64> {
        let mut out = vec![0.0, -0.0, f64::INFINITY, f64::NAN, 1e30, -1e30, 1e-30, 0.1];
        for code in 0..self.largest {
            let (low, high) = (self.value(code), self.value(code + 1));
            let middle = (low + high) / 2.0;
            for x in [
                low,
                high,
                middle,
                middle * (1.0 + 1e-6),
                middle * (1.0 - 1e-6),
            ] {
                out.extend([x, -x]);
            }
        }
        let past = self.value(self.largest);
        out.extend([past * 1.01, -past * 1.04, past * 1.07, past * 1.2]);
        out
    }
}

fn machine() -> Device {
    let target = tiki::compiler::target::Target::by_name("sm_90a").expect("a target");
    Device::vm_of(target).expect("the virtual machine")
}

/// A generated launcher of [`converted`].
type Launch<A, B> = fn(
    &tiki::Stream,
    &tiki::Tensor<A, 1>,
    &mut tiki::Tensor<B, 1>,
) -> Result<(), tiki::LaunchError>;

fn through<A: Host, B: Host>(launch: Launch<A, B>, x: &[A], zero: B) -> Vec<B> {
    let device = machine();
    let mut out = device.tensor_from(&vec![zero; x.len()], [x.len()]).unwrap();
    let x = device.tensor_from(x, [x.len()]).unwrap();
    launch(&device.stream(), &x, &mut out).unwrap();
    out.to_vec().unwrap()
}

/// Every input of a format, as an `A`, comes out as the nearest code; an A may have moved it first.
fn lands<A: Host, B: Host>(
    format: &Eight,
    launch: Launch<A, B>,
    of: impl Fn(f64) -> A,
    back: impl Fn(A) -> f64,
    zero: B,
    bits: impl Fn(B) -> u8,
) {
    let mut inputs = format.inputs();
    inputs.extend(
        (0..=u16::MAX)
            .map(|b| f16::from_bits(b).to_f64())
            .step_by(13),
    );
    let x: Vec<A> = inputs.into_iter().map(of).collect();
    for (x, got) in x.iter().zip(through(launch, &x, zero)) {
        let got = bits(got);
        match format.nearest(back(*x)) {
            Some(code) => assert_eq!(got, code, "{}: {got:#x} for {code:#x}", back(*x)),
            None => assert!(format.value(got).is_nan(), "{got:#x} of NaN"),
        }
    }
}

#[test]
fn the_nearest_number_goes_in() {
    let (zero, wide) = (e4m3::from_bits(0), e5m2::from_bits(0));
    let (narrow, broad) = (|c: e4m3| c.to_bits(), |c: e5m2| c.to_bits());
    let (single, double) = (|x: f64| x as f32, f64::from);
    lands(
        &E4M3,
        converted::<f32, e4m3>::launch,
        single,
        double,
        zero,
        narrow,
    );
    lands(
        &E5M2,
        converted::<f32, e5m2>::launch,
        single,
        double,
        wide,
        broad,
    );
    lands(
        &E4M3,
        converted::<f64, e4m3>::launch,
        |x| x,
        |x| x,
        zero,
        narrow,
    );
    lands(
        &E5M2,
        converted::<f64, e5m2>::launch,
        |x| x,
        |x| x,
        wide,
        broad,
    );
    lands(
        &E4M3,
        converted::<f16, e4m3>::launch,
        f16::from_f64,
        f16::to_f64,
        zero,
        narrow,
    );
    lands(
        &E5M2,
        converted::<f16, e5m2>::launch,
        f16::from_f64,
        f16::to_f64,
        wide,
        broad,
    );
    lands(
        &E4M3,
        converted::<bf16, e4m3>::launch,
        bf16::from_f64,
        bf16::to_f64,
        zero,
        narrow,
    );
    lands(
        &E5M2,
        converted::<bf16, e5m2>::launch,
        bf16::from_f64,
        bf16::to_f64,
        wide,
        broad,
    );
    lands(
        &E4M3,
        converted::<i32, e4m3>::launch,
        |x| x as i32,
        f64::from,
        zero,
        narrow,
    );
}

#[test]
fn their_value_comes_out() {
    let narrow: Vec<e4m3> = (0..=255).map(e4m3::from_bits).collect();
    let wide: Vec<e5m2> = (0..=255).map(e5m2::from_bits).collect();
    let same = |code: usize, got: f64, wanted: f64| {
        let equal = got.to_bits() == wanted.to_bits() || (got.is_nan() && wanted.is_nan());
        assert!(equal, "code {code:#x}: {got} for {wanted}");
    };
    let to_f32 = through(converted::<e4m3, f32>::launch, &narrow, 0.0);
    let to_f16 = through(converted::<e4m3, f16>::launch, &narrow, f16::ZERO);
    let to_f64 = through(converted::<e4m3, f64>::launch, &narrow, 0.0);
    for code in 0..=255u8 {
        let (i, wanted) = (usize::from(code), E4M3.value(code));
        same(i, to_f32[i].into(), wanted);
        same(i, to_f16[i].to_f64(), wanted);
        same(i, to_f64[i], wanted);
    }
    let to_f32 = through(converted::<e5m2, f32>::launch, &wide, 0.0);
    let to_bf16 = through(converted::<e5m2, bf16>::launch, &wide, bf16::ZERO);
    let to_i32 = through(converted::<e5m2, i32>::launch, &wide, 0);
    for code in 0..=255u8 {
        let (i, wanted) = (usize::from(code), E5M2.value(code));
        same(i, to_f32[i].into(), wanted);
        same(i, to_bf16[i].to_f64(), wanted);
        assert_eq!(to_i32[i], wanted as i32, "code {i:#x}");
    }
    let crossed = through(converted::<e4m3, e5m2>::launch, &narrow, e5m2::from_bits(0));
    let other = through(converted::<e5m2, e4m3>::launch, &wide, e4m3::from_bits(0));
    for code in 0..=255u8 {
        let i = usize::from(code);
        for (value, format, got) in [
            (E4M3.value(code), &E5M2, crossed[i].to_bits()),
            (E5M2.value(code), &E4M3, other[i].to_bits()),
        ] {
            match format.nearest(value) {
                Some(wanted) => assert_eq!(got, wanted, "code {i:#x}"),
                None => assert!(format.value(got).is_nan(), "code {i:#x}"),
            }
        }
    }
}

#[test]
fn what_the_author_wrote_is_rounded_too() {
    let device = machine();
    let mut out = device.tensor_from(&[e4m3::from_bits(1); 64], [64]).unwrap();
    let x = device.tensor_from(&[0f32; 32], [32]).unwrap();
    written::launch(&device.stream(), &x, &mut out).unwrap();
    let got = out.to_vec().unwrap();
    assert!(
        got[..32]
            .iter()
            .all(|c| Some(c.to_bits()) == E4M3.nearest(0.3))
    );
    assert!(got[32..].iter().all(|c| c.to_bits() == E4M3.largest));
}

/// Neighbours are converted together and stored as one, and are what each is alone.
#[test]
fn neighbours_are_converted_in_pairs() {
    let x: Vec<f32> = (0..512).map(|i| (i as f32 - 255.5) * 1.37).collect();
    let alone = through(converted::<f32, e4m3>::launch, &x, e4m3::from_bits(0x55));
    let pairs = through(kept::<e4m3>::launch, &x, e4m3::from_bits(0x55));
    let narrow = |v: &[e4m3]| v.iter().map(|c| c.to_bits()).collect::<Vec<_>>();
    assert_eq!(narrow(&pairs), narrow(&alone));
    let alone = through(converted::<f32, e5m2>::launch, &x, e5m2::from_bits(0x55));
    let pairs = through(kept::<e5m2>::launch, &x, e5m2::from_bits(0x55));
    let broad = |v: &[e5m2]| v.iter().map(|c| c.to_bits()).collect::<Vec<_>>();
    assert_eq!(broad(&pairs), broad(&alone));
    let count = |word: &str| kept::<e4m3>::PTX.matches(word).count();
    let converted = count("cvt.rn.satfinite.e4m3x2.f32");
    assert_eq!((converted, count("st.shared.v2.b16")), (2, 1));
}
