//! Whole kernels: rows, columns, tiles, loops and atomics.

use super::*;

#[test]
fn rows_are_normalised() {
    for t in FLOATS {
        for (width, threads) in [
            (1, 32),
            (31, 32),
            (129, 64),
            (576, 96),
            (1024, 128),
            (4096, 256),
        ] {
            let name = format!("rms_norm {t} {width}");
            let rows = 3;
            let (x, w) = (random(t, rows * width, 11), random(t, width, 13));
            let eps = 1e-6_f32;
            let all = run(
                &name,
                by_hand::rms_norm(t, width, threads),
                [rows, 1, 1],
                vec![
                    tensor(x.clone(), &[rows, width]),
                    tensor(w.clone(), &[width]),
                    tensor(vec![0; x.len()], &[rows, width]),
                    Given::F32(eps),
                ],
            );
            let (x, w, got) = (elements(t, &x), elements(t, &w), elements(t, &all[2]));
            for row in 0..rows as usize {
                let r = &x[row * width as usize..(row + 1) * width as usize];
                let mean = r.iter().map(|x| x * x).sum::<f64>() / f64::from(width);
                let inv = 1.0 / (mean + f64::from(eps)).sqrt();
                for (i, x) in r.iter().enumerate() {
                    let want = x * inv * w[i];
                    let error = (got[row * width as usize + i] - want).abs();
                    let unit = 2_f64.powi(-(t.row().significand as i32)) * want.abs() + 1e-30;
                    assert!(
                        error <= unit * if t == DType::F32 { 4.0 } else { 1.0 },
                        "{name}: {i}: {error}"
                    );
                }
            }
        }
    }
}

#[test]
fn rows_become_probabilities() {
    for t in FLOATS {
        for (width, threads) in [
            (1, 32),
            (31, 32),
            (129, 64),
            (576, 96),
            (1024, 128),
            (4096, 256),
        ] {
            for known in [true, false] {
                let name = format!("softmax {t} {width} {known}");
                // A partial row is narrower than its tile, by whole vectors.
                let vector = if width % (16 / t.bytes()) == 0 {
                    16 / t.bytes()
                } else {
                    1
                };
                let n = if known || width <= vector {
                    width
                } else {
                    width - vector
                };
                let mut x = random(t, 4 * n, 17);
                let low = put(t, f64::NEG_INFINITY, 0);
                let row = (n * t.bytes()) as usize;
                for e in x[row..2 * row].chunks_mut(t.bytes() as usize) {
                    e.copy_from_slice(&low);
                }
                x[2 * row..2 * row + t.bytes() as usize].copy_from_slice(&put(t, f64::NAN, 0));
                let all = run(
                    &name,
                    by_hand::softmax(t, width, threads, known),
                    [4, 1, 1],
                    vec![
                        tensor(x.clone(), &[4, n]),
                        tensor(vec![0xff; x.len()], &[4, n]),
                    ],
                );
                let (x, got) = (elements(t, &x), elements(t, &all[1]));
                let n = n as usize;
                assert!(
                    got[n..2 * n].iter().all(|p| *p == 0.0),
                    "{name}: a masked row"
                );
                assert!(
                    got[2 * n..3 * n].iter().all(|p| p.is_nan()),
                    "{name}: a row with NaN"
                );
                for r in [0, 3] {
                    let row = &x[r * n..(r + 1) * n];
                    let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let sum: f64 = row.iter().map(|x| (x - top).exp()).sum();
                    for (i, x) in row.iter().enumerate() {
                        let want = (x - top).exp() / sum;
                        let error = (got[r * n + i] - want).abs();
                        let unit = 2_f64.powi(-(t.row().significand as i32)) * want + 6e-8;
                        assert!(
                            error <= unit * if t == DType::F32 { 8.0 } else { 1.0 },
                            "{name}: {i}: {error}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn places_of_extremes_are_exact() {
    for t in [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::F64,
        DType::I32,
        DType::U32,
        DType::I64,
    ] {
        for op in [ReduceOp::ArgMax, ReduceOp::ArgMin] {
            for (rows, per, width, n) in [
                (4, 32, 100, 100),
                (1, 128, 1000, 990),
                (4, 24, 100, 77),
                (8, 8, 64, 64),
                (4, 32, 100, 1),
            ] {
                let name = format!("{op:?} {t} {rows} x {per}");
                let count = 3 * rows - 1;
                let mut r = Random(23);
                let mut x: Vec<u8> = (0..count * n)
                    .flat_map(|_| {
                        let k = r.next() % 50;
                        put(t, k as f64 - 25.0, k.into())
                    })
                    .collect();
                let w = t.bytes() as usize;
                if t.is_float() {
                    // A NaN, signed zeros, infinities.
                    for (i, v) in [f64::NAN, -0.0, 0.0, f64::NEG_INFINITY, f64::INFINITY]
                        .iter()
                        .enumerate()
                    {
                        let at = (i as u32 * 37 % (count * n)) as usize;
                        x[at * w..(at + 1) * w].copy_from_slice(&put(t, *v, 0));
                    }
                }
                let all = run(
                    &name,
                    by_hand::arg(t, op, rows, per, width),
                    [count.div_ceil(rows), 1, 1],
                    vec![
                        tensor(x.clone(), &[count, n]),
                        tensor(vec![0; 4 * count as usize], &[count]),
                    ],
                );
                let x = elements(t, &x);
                for (row, got) in all[1].chunks(4).enumerate() {
                    let r = &x[row * n as usize..(row + 1) * n as usize];
                    let nan = r.iter().position(|x| x.is_nan());
                    let best = |a: f64, b: f64| if op == ReduceOp::ArgMax { b > a } else { b < a };
                    let want = nan.unwrap_or_else(|| {
                        (1..r.len()).fold(0, |k, i| if best(r[k], r[i]) { i } else { k })
                    });
                    assert_eq!(
                        u32::from_le_bytes(got.try_into().unwrap()),
                        want as u32,
                        "{name}: row {row}"
                    );
                }
            }
        }
    }
}

#[test]
fn columns_are_summed() {
    for t in [DType::I32, DType::U32, DType::I64, DType::F32, DType::F64] {
        let (rows, cols) = (61, 72);
        let mut r = Random(31);
        let x: Vec<u8> = (0..rows * cols)
            .flat_map(|_| {
                let k = r.next() % 100;
                put(t, k as f64, k.into())
            })
            .collect();
        let all = run(
            &format!("column sum {t}"),
            by_hand::column_sum(t),
            [3, 1, 1],
            vec![
                tensor(x.clone(), &[rows, cols]),
                tensor(vec![0; (cols * t.bytes()) as usize], &[cols]),
            ],
        );
        let x = elements(t, &x);
        for (c, got) in elements(t, &all[1]).into_iter().enumerate() {
            let want: f64 = (0..rows as usize).map(|r| x[r * cols as usize + c]).sum();
            assert_eq!(got, want, "{t} column {c}");
        }
    }
}

#[test]
fn tiles_are_transposed() {
    for t in [DType::F32, DType::F16] {
        for x in [
            None,
            Some(Xor {
                bits: 5,
                base: 0,
                shift: 5,
            }),
            Some(Xor {
                bits: 3,
                base: 2,
                shift: 3,
            }),
        ] {
            let (rows, cols) = (50_u32, 97_u32);
            let data = random(t, rows * cols, 19);
            let all = run(
                "transpose",
                by_hand::transpose(t, x, true),
                [cols.div_ceil(32), rows.div_ceil(32), 1],
                vec![
                    tensor(data.clone(), &[rows, cols]),
                    tensor(vec![0; data.len()], &[cols, rows]),
                ],
            );
            let (x, y) = (elements(t, &data), elements(t, &all[1]));
            for r in 0..rows as usize {
                for c in 0..cols as usize {
                    assert_eq!(y[c * rows as usize + r], x[r * cols as usize + c]);
                }
            }
        }
    }
}

#[test]
fn loops_branches_and_atomics_work_together() {
    let n = 1000;
    let x: Vec<i32> = (0..n).map(|i| i * 7 - 3000).collect();
    let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
    let all = run(
        "scalars",
        by_hand::scalars(),
        [1, 1, 1],
        vec![
            tensor(bytes, &[n as u32]),
            tensor(vec![0; 4], &[1]),
            tensor(vec![0; 4], &[1]),
        ],
    );
    let odd: Vec<i32> = x.into_iter().filter(|x| x & 1 == 1).collect();
    assert_eq!(
        i32::from_le_bytes(all[1][..].try_into().unwrap()),
        odd.iter().sum::<i32>()
    );
    assert_eq!(
        u32::from_le_bytes(all[2][..].try_into().unwrap()),
        odd.len() as u32
    );
}
