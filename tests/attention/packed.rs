//! Sequences end to end against each of them alone, by the definition.

use crate::reference::{Case, Narrow, Random, backward, forward, wide};
use tiki::Device;
use tiki::attention::{Sequences, backward_packed, forward_packed};
use tiki::prelude::{bf16, f16};

/// The sequences of a case: queries and keys of each, and how many keys and queries come after the last.
#[derive(Debug, Clone)]
pub struct Lengths {
    pub each: Vec<(usize, usize)>,
    pub after: (usize, usize),
}

/// Heads, options and lengths drawn at random; sequences without queries or keys among them.
pub fn draw(random: &mut Random, longest: usize, widths: &[usize]) -> (Case, Lengths) {
    let mut case = crate::forward::draw(random, longest, widths);
    let count = 1 + random.below(5);
    let length = |random: &mut Random| match random.below(6) {
        0 => 0,
        _ => 1 + random.below(longest / count),
    };
    let each = (0..count).map(|_| {
        let queries = length(random);
        let keys = if case.queries == case.keys {
            queries
        } else {
            length(random)
        };
        (queries, keys)
    });
    let lengths = Lengths {
        each: each.collect(),
        after: (random.below(3), 1 + random.below(3)),
    };
    case.batch = 1;
    case.queries = lengths.each.iter().map(|l| l.0).sum::<usize>() + lengths.after.0;
    case.keys = lengths.each.iter().map(|l| l.1).sum::<usize>() + lengths.after.1;
    (case, lengths)
}

/// A sequence's part of a tensor `[heads, length, width]`.
fn cut(t: &[f64], heads: usize, from: usize, count: usize, width: usize) -> Vec<f64> {
    let length = t.len() / heads / width;
    let head = |h: usize| &t[(h * length + from) * width..][..count * width];
    (0..heads).flat_map(|h| head(h).to_vec()).collect()
}

/// Puts it back.
fn put(t: &mut [f64], part: &[f64], heads: usize, from: usize, count: usize, width: usize) {
    let length = t.len() / heads / width;
    for h in 0..heads {
        t[(h * length + from) * width..][..count * width]
            .copy_from_slice(&part[h * count * width..][..count * width]);
    }
}

/// Runs a case forward and backward; how far the output, the log-sum-exp, dQ, dK and dV are off, in units of their bounds.
pub fn check<E: Narrow>(device: &Device, case: &Case, lengths: &Lengths, seed: u64) -> [f64; 5] {
    let mut random = Random(seed);
    let count = |s: [usize; 4]| s.iter().product::<usize>();
    let (q, k) = (case.q_shape(), case.k_shape());
    let [hq, hk, hv, hg] = [q, k, k, q].map(|s| random.tensor::<E>(count(s)));
    let to = |t: &[E], s| device.tensor_from(t, s).expect("a tensor is made");
    let (tq, tk, tv, tg) = (to(&hq, q), to(&hk, k), to(&hv, k), to(&hg, q));
    let offsets = |side: fn(&(usize, usize)) -> usize| {
        let mut sums = vec![0_u32];
        for one in &lengths.each {
            sums.push(sums[sums.len() - 1] + side(one) as u32);
        }
        device.tensor_from(&sums, [sums.len()]).expect("offsets")
    };
    let (queries, keys) = (offsets(|l| l.0), offsets(|l| l.1));
    let sequences = Sequences {
        queries: &queries,
        keys: &keys,
    };
    let (stream, options) = (device.stream(), case.options());
    let got = forward_packed(&stream, &tq, &tk, &tv, sequences, &options)
        .unwrap_or_else(|e| panic!("{case:?}, {lengths:?}: {e}"));
    let back = backward_packed(&stream, &tq, &tk, &tv, sequences, &got, &tg, None, &options)
        .unwrap_or_else(|e| panic!("{case:?}, {lengths:?}: {e}"));
    let [hq, hk, hv, hg] = [hq, hk, hv, hg].map(|t| wide(&t));
    let mut out = vec![0.0; hq.len()];
    let mut lse = vec![f64::NEG_INFINITY; case.heads * case.queries];
    let (mut dq, mut dk, mut dv) = (out.clone(), vec![0.0; hk.len()], vec![0.0; hk.len()]);
    let (mut at_q, mut at_k) = (0, 0);
    let (heads, shared, width) = (case.heads, case.key_heads, case.width);
    for &(own, seen) in &lengths.each {
        let one = Case {
            queries: own,
            keys: seen,
            ..*case
        };
        let [q, g] = [&hq, &hg].map(|t| cut(t, heads, at_q, own, width));
        let [k, v] = [&hk, &hv].map(|t| cut(t, shared, at_k, seen, width));
        let result = forward(&one, &q, &k, &v);
        put(&mut out, &result.out, heads, at_q, own, width);
        put(&mut lse, &result.lse, heads, at_q, own, 1);
        let gradients = backward(&one, [&q, &k, &v], &g, None);
        put(&mut dq, &gradients.q, heads, at_q, own, width);
        put(&mut dk, &gradients.k, shared, at_k, seen, width);
        put(&mut dv, &gradients.v, shared, at_k, seen, width);
        (at_q, at_k) = (at_q + own, at_k + seen);
    }
    let largest = hv.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    let worst = |off: &mut dyn Iterator<Item = f64>| {
        off.fold(0.0_f64, |a, b| {
            a.max(if b.is_nan() { f64::INFINITY } else { b })
        })
    };
    let bound = 2.5 * largest * E::HALF_ULP;
    let host = wide(&got.out.to_vec().unwrap());
    let off_out = worst(&mut host.iter().zip(&out).map(|(g, e)| (g - e).abs() / bound));
    let host = got.lse.to_vec().unwrap();
    let off_lse = worst(&mut host.iter().zip(&lse).map(|(g, e)| {
        let natural = f64::from(*g) * std::f64::consts::LN_2;
        if natural == *e {
            0.0
        } else {
            (natural - e).abs() / 1e-4
        }
    }));
    let far = |got: Vec<E>, expected: &[f64]| {
        // Relative to the whole tensor's size, since what is summed cancels.
        let norm = expected.iter().map(|e| e * e).sum::<f64>().sqrt();
        let off = wide(&got)
            .iter()
            .zip(expected)
            .map(|(g, e)| (g - e).powi(2))
            .sum::<f64>();
        let far = off.sqrt() / (norm.max(1e-9) * 2.0 * E::HALF_ULP);
        if far.is_nan() { f64::INFINITY } else { far }
    };
    [
        off_out,
        off_lse,
        far(back.q.to_vec().unwrap(), &dq),
        far(back.k.to_vec().unwrap(), &dk),
        far(back.v.to_vec().unwrap(), &dv),
    ]
}

#[test]
fn random_sequences() {
    let mut random = Random(21);
    for device in crate::machines() {
        for i in 0..4 {
            let (case, lengths) = draw(&mut random, 300, &[64, 128]);
            let off = if i % 2 == 0 {
                check::<f16>(&device, &case, &lengths, i)
            } else {
                check::<bf16>(&device, &case, &lengths, i)
            };
            assert!(
                off.iter().all(|o| *o <= 1.0),
                "{}, case {i}, {case:?}, {lengths:?}: {off:.2?} times the bounds",
                device.name()
            );
        }
    }
}

#[test]
fn tiles_that_cut_sequences() {
    // Ends at, before and after the edges of tiles; a sequence longer than several tiles between short ones.
    let device = Device::vm().expect("the virtual machine opens");
    let lengths = Lengths {
        each: vec![
            (1, 1),
            (63, 64),
            (64, 63),
            (0, 5),
            (300, 280),
            (7, 0),
            (30, 130),
        ],
        after: (0, 0),
    };
    let sum = |side: fn(&(usize, usize)) -> usize| lengths.each.iter().map(side).sum();
    let case = Case {
        batch: 1,
        heads: 2,
        key_heads: 1,
        queries: sum(|l| l.0),
        keys: sum(|l| l.1),
        width: 64,
        causal: true,
        window: Some((100, 0)),
        scale: 0.125,
        deterministic: true,
    };
    let off = check::<f16>(&device, &case, &lengths, 3);
    assert!(off.iter().all(|o| *o <= 1.0), "{off:.2?} times the bounds");
}
