//! Invariant: products of a batch, of rows by groups and of a list are those one by one. Witness: f64 and the
//! products themselves, in every order of completion.

use crate::orders::in_all_orders;
use crate::products;
use tiki::gemm::{Epilogue, GemmError, batched, by_groups, grouped};
use tiki::prelude::{bf16, e4m3, f16};
use tiki::{Device, Tensor};

/// Batches, rows by groups and lists, against products one by one.
pub fn batches_and_groups<E, O>(
    device: &Device,
    (count, m, n, k): (usize, usize, usize, usize),
) -> Vec<u8>
where
    E: products::Real + tiki::gemm::Product<O>,
    O: products::Real + PartialEq,
{
    let stream = device.stream();
    let (a, b) = (
        products::values::<E>(count * m * k, 5),
        products::values::<E>(count * n * k, 6),
    );
    let (da, db) = (
        device.tensor_from(&a, [count, m, k]).unwrap(),
        device.tensor_from(&b, [count, n, k]).unwrap(),
    );
    let mut c = device
        .tensor_from(&vec![O::of(-77.0); count * m * n], [count, m, n])
        .unwrap();
    let chosen = batched(&stream, &da, &db, &mut c, &Epilogue::default()).unwrap();
    let all = c.to_vec().unwrap();
    for i in 0..count {
        for (r, q) in [(0, 0), (m / 2, n / 3), (m - 1, n - 1)] {
            let (x, y) = (&a[(i * m + r) * k..][..k], &b[(i * n + q) * k..][..k]);
            let terms = || x.iter().zip(y).map(|(x, y)| x.wide() * y.wide());
            let (want, size) = (terms().sum::<f64>(), terms().map(f64::abs).sum::<f64>());
            let got = all[(i * m + r) * n + q].wide();
            let eight = if size_of::<E>() == 1 {
                (k as f64 / 32.0 + 2.0) * 2f64.powi(-13)
            } else {
                0.0
            };
            let slack = (k as f64 + 8.0) * 2f64.powi(-23) + eight;
            let bound = slack * size + want.abs() * O::HALF.0 * 1.01 + O::HALF.1;
            assert!(
                (got - want).abs() <= bound,
                "{}: matrix {i}, ({r}, {q}): {got} for {want}",
                chosen.instance
            );
        }
    }
    // The same as a list.
    let mut parts = Vec::new();
    for i in 0..count {
        parts.push((
            da.at::<1, 2>([i]).unwrap(),
            db.at::<1, 2>([i]).unwrap(),
            device.zeros::<O, 2>([m, n]).unwrap(),
        ));
    }
    let mut members: Vec<_> = parts.iter_mut().map(|(a, b, c)| (&*a, &*b, c)).collect();
    let choices = grouped(&stream, &mut members, &Epilogue::default()).unwrap();
    assert_eq!(choices.len(), count);
    // Rows that belong to different matrices: those of the batch turned, each 128 rows by another one.
    let table: Vec<u32> = (0..(count * m).div_ceil(128))
        .map(|t| ((2 * t + 1) % count) as u32)
        .collect();
    let rows = da.reshape([count * m, k]).unwrap();
    let mut by = device
        .tensor_from(&vec![O::of(-77.0); count * m * n], [count * m, n])
        .unwrap();
    let groups = device.tensor_from(&table, [table.len()]).unwrap();
    by_groups(&stream, &rows, &db, &groups, &mut by, &Epilogue::default()).unwrap();
    let found = by.to_vec().unwrap();
    for (t, &g) in table.iter().enumerate() {
        let range = 128 * t..(128 * t + 128).min(count * m);
        let left = rows.slice(0, range.clone()).unwrap();
        let mut one = device.zeros::<O, 3>([1, range.len(), n]).unwrap();
        let right = db.at::<1, 2>([g as usize]).unwrap().with_rank().unwrap();
        let left = left.with_rank().unwrap();
        batched(&stream, &left, &right, &mut one, &Epilogue::default()).unwrap();
        assert!(
            found[range.start * n..range.end * n] == one.to_vec().unwrap()[..],
            "rows of group {t}"
        );
    }
    all.into_iter()
        .chain(found)
        .flat_map(|x| x.bytes())
        .collect()
}

#[test]
fn many_products_in_one_kernel() {
    in_all_orders("sm_90a", |device| {
        vec![
            batches_and_groups::<f16, f16>(device, (3, 136, 136, 72)),
            batches_and_groups::<bf16, bf16>(device, (3, 24, 35, 17)),
            batches_and_groups::<e4m3, bf16>(device, (2, 130, 72, 144)),
            batches_and_groups::<e4m3, e4m3>(device, (2, 130, 72, 144)),
        ]
    });
    in_all_orders("sm_80", |device| {
        vec![
            batches_and_groups::<f16, f16>(device, (3, 136, 136, 72)),
            batches_and_groups::<i8, i32>(device, (3, 70, 35, 17)),
        ]
    });
    let device = Device::vm().unwrap();
    let a: Tensor<f16, 3> = device.zeros([3, 24, 16]).unwrap();
    let short: Tensor<f16, 3> = device.zeros([2, 40, 16]).unwrap();
    let mut c: Tensor<f16, 3> = device.zeros([3, 24, 40]).unwrap();
    assert!(matches!(
        batched(&device.stream(), &a, &short, &mut c, &Epilogue::default()),
        Err(GemmError::Shape { .. })
    ));
    let mut none: Tensor<f16, 3> = device.zeros([3, 0, 40]).unwrap();
    let rows = a.slice(1, 0..0).unwrap();
    let b: Tensor<f16, 3> = device.zeros([3, 40, 16]).unwrap();
    batched(&device.stream(), &rows, &b, &mut none, &Epilogue::default()).unwrap();
}
