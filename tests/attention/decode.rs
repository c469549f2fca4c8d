//! A decoder's step against the definition.

use crate::reference::{Case, Random, forward, wide};
use tiki::Device;
use tiki::attention::{Cache, Options, PAGE, decode};
use tiki::prelude::f16;

#[test]
fn one_query_over_whole_and_paged_caches() {
    let device = Device::vm().expect("the virtual machine opens");
    let stream = device.stream();
    let mut random = Random(9);
    for (width, heads, key_heads, lengths) in [
        (64, 2, 1, [1_usize, 300]),
        (128, 3, 3, [64, 129]),
        (64, 4, 2, [0, 777]),
    ] {
        let (batch, longest) = (2, lengths[1].next_multiple_of(PAGE));
        let pages = longest / PAGE;
        let q = random.tensor::<f16>(batch * heads * width);
        let count = batch * key_heads * longest * width;
        let (k, v) = (random.tensor::<f16>(count), random.tensor::<f16>(count));
        let shape = [batch, key_heads, longest, width];
        let dq = device.tensor_from(&q, [batch, heads, width]).unwrap();
        let own: Vec<u32> = lengths.iter().map(|l| *l as u32).collect();
        let dl = device.tensor_from(&own, [batch]).unwrap();
        // The same keys in pages, dealt backwards.
        let page = |b: usize, p: usize| (batch * pages - 1) - (b * pages + p);
        let paged = |t: &[f16]| {
            let mut out = vec![f16::NAN; t.len()];
            for (i, x) in t.iter().enumerate() {
                let (d, c) = (i % width, i / width % longest);
                let (h, b) = (
                    i / width / longest % key_heads,
                    i / width / longest / key_heads,
                );
                let at = ((page(b, c / PAGE) * key_heads + h) * PAGE + c % PAGE) * width + d;
                out[at] = *x;
            }
            device
                .tensor_from(&out, [batch * pages, key_heads, PAGE, width])
                .unwrap()
        };
        let table: Vec<u32> = (0..batch * pages)
            .map(|i| page(i / pages, i % pages) as u32)
            .collect();
        let table = device.tensor_from(&table, [batch, pages]).unwrap();
        let (wk, wv) = (
            device.tensor_from(&k, shape).unwrap(),
            device.tensor_from(&v, shape).unwrap(),
        );
        let (pk, pv) = (paged(&k), paged(&v));
        for cache in [
            Cache::Whole { k: &wk, v: &wv },
            Cache::Paged {
                k: &pk,
                v: &pv,
                table: &table,
            },
        ] {
            let got = decode(&stream, &dq, &cache, &dl, &Options::default()).unwrap();
            let (out, lse) = (got.out.to_vec().unwrap(), got.lse.to_vec().unwrap());
            for b in 0..batch {
                let case = Case {
                    batch: 1,
                    heads,
                    key_heads,
                    queries: 1,
                    keys: lengths[b],
                    width,
                    causal: false,
                    window: None,
                    scale: 1.0 / (width as f64).sqrt(),
                    deterministic: false,
                };
                let cut = |t: &[f16]| {
                    let head = |h| ((b * key_heads + h) * longest) * width;
                    let all =
                        (0..key_heads).flat_map(|h| t[head(h)..][..lengths[b] * width].to_vec());
                    wide(&all.collect::<Vec<_>>())
                };
                let own = &q[b * heads * width..(b + 1) * heads * width];
                let expected = forward(&case, &wide(own), &cut(&k), &cut(&v));
                for (i, e) in expected.out.iter().enumerate() {
                    let got = out[b * heads * width + i].to_f64();
                    // Values lie below 4, where half a unit of f16 is 2^-10; as much again for the sums in f32.
                    assert!(
                        (got - e).abs() <= 2.0 * 2f64.powi(-10),
                        "{i}: {got} for {e}"
                    );
                }
                for (h, e) in expected.lse.iter().enumerate() {
                    let got = f64::from(lse[b * heads + h]) * std::f64::consts::LN_2;
                    assert!(got == *e || (got - e).abs() <= 1e-4, "lse {got} for {e}");
                }
            }
        }
    }
}

#[test]
fn lengths_past_the_end_and_options_that_do_not_fit() {
    let device = Device::vm().expect("the virtual machine opens");
    let stream = device.stream();
    let mut random = Random(10);
    let q = device
        .tensor_from(&random.tensor::<f16>(64), [1, 1, 64])
        .unwrap();
    let mut keys = || {
        let own = random.tensor::<f16>(64 * 64);
        device.tensor_from(&own, [1, 1, 64, 64]).unwrap()
    };
    let (k, v) = (keys(), keys());
    let table = device.tensor_from(&[0_u32], [1, 1]).unwrap();
    let whole = Cache::Whole { k: &k, v: &v };
    let (ks, vs) = (&k, &v);
    let paged = Cache::Paged {
        k: ks,
        v: vs,
        table: &table,
    };
    let plain = Options::default();
    for cache in [&whole, &paged] {
        let run = |length: u32| {
            let length = device.tensor_from(&[length], [1]).unwrap();
            let got = decode(&stream, &q, cache, &length, &plain).unwrap();
            (got.out.to_vec().unwrap(), got.lse.to_vec().unwrap())
        };
        // As many keys as there are, however many are said to be.
        let full = run(64);
        for more in [65, 128, 1000, u32::MAX] {
            assert!(run(more) == full, "{cache:?}, length {more}");
        }
    }
    let length = device.tensor_from(&[64_u32], [1]).unwrap();
    let window = Options {
        window: Some((16, 0)),
        ..plain
    };
    let error = decode(&stream, &q, &whole, &length, &window).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`decode` cannot follow the option `window`"
    );
}

/// A number of the table that no page has stands for no keys: not for keys of zeros, and not for memory of others.
#[test]
fn a_page_that_is_not_there_has_no_keys() {
    let device = Device::vm().expect("the virtual machine opens");
    let stream = device.stream();
    let mut random = Random(10);
    for width in [64, 128] {
        let (heads, pages) = (2, 3);
        let q = random.tensor::<f16>(heads * width);
        let q = device.tensor_from(&q, [1, heads, width]).unwrap();
        let shape = [pages, 1, PAGE, width];
        let mut one = || {
            let own = random.tensor::<f16>(pages * PAGE * width);
            device.tensor_from(&own, shape).unwrap()
        };
        let (k, v) = (one(), one());
        let run = |table: &[u32], length: u32| {
            let table = device.tensor_from(table, [1, table.len()]).unwrap();
            let cache = Cache::Paged {
                k: &k,
                v: &v,
                table: &table,
            };
            let length = device.tensor_from(&[length], [1]).unwrap();
            let got = decode(&stream, &q, &cache, &length, &Options::default()).unwrap();
            let out: Vec<f32> = got
                .out
                .to_vec()
                .unwrap()
                .iter()
                .map(|x| x.to_f32())
                .collect();
            (out, got.lse.to_vec().unwrap())
        };
        let (right, lse) = run(&[2, 0], 128);
        for absent in [3, 1000, u32::MAX] {
            let (out, top) = run(&[2, absent, 0], 192);
            let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 2e-3);
            assert!(
                near(&out, &right) && near(&top, &lse),
                "{absent}: {top:?} for {lse:?}"
            );
            let (out, top) = run(&[absent], 64);
            assert!(out.iter().all(|x| *x == 0.0));
            assert!(top.iter().all(|l| *l == f32::NEG_INFINITY));
        }
    }
}
