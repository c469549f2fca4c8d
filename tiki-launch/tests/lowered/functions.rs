//! Functions that the hardware approximates, and their 16-bit forms.

use super::*;

/// Distance in units in the last place of f32 from the exact value.
fn ulps(got: f64, exact: f64) -> f64 {
    if got == exact
        || (got.is_nan() && exact.is_nan())
        || (exact.abs() > f64::from(f32::MAX) && got == exact.signum() * f64::INFINITY)
    {
        return 0.0;
    }
    let exponent = exact.abs().log2().floor().max(-126.0);
    ((got - exact) / 2_f64.powf(exponent - 23.0)).abs()
}

#[test]
fn functions_are_within_their_bounds() {
    type Row = (Unary, fn(f64) -> f64, f64, f64, f64);
    // Function, reference, range, bound in ulp.
    let rows: [Row; 12] = [
        (Unary::Exp, f64::exp, -104.0, 89.0, 2.0),
        (Unary::Exp2, f64::exp2, -150.0, 128.0, 2.0),
        (Unary::Sqrt, f64::sqrt, 0.0, 1e30, 0.5),
        (Unary::Rsqrt, |x| 1.0 / x.sqrt(), 1e-20, 1e20, 1.0),
        (Unary::Recip, |x| 1.0 / x, 1e-20, 1e20, 1.0),
        (Unary::Tanh, f64::tanh, -12.0, 12.0, 4.0),
        (Unary::Floor, f64::floor, -1e5, 1e5, 0.0),
        (Unary::Ceil, f64::ceil, -1e5, 1e5, 0.0),
        (Unary::Round, f64::round_ties_even, -1e5, 1e5, 0.0),
        (Unary::Trunc, f64::trunc, -1e5, 1e5, 0.0),
        (Unary::Abs, f64::abs, -1e5, 1e5, 0.0),
        (Unary::Neg, |x| -x, -1e5, 1e5, 0.0),
    ];
    let n = 16384_u32;
    for (f, reference, lo, hi, bound) in rows {
        let mut x: Vec<f32> = (0..n - 8)
            .map(|i| (lo + (hi - lo) * f64::from(i) / f64::from(n - 9)) as f32)
            .collect();
        x.extend([0.0, -0.0, f32::NAN, 1e-3, 1e-8, 0.5, 1.0, 2.0]);
        if lo < 0.0 {
            x[0] = f32::INFINITY;
            x[1] = f32::NEG_INFINITY;
        }
        let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
        let all = run(
            &format!("{f:?}"),
            by_hand::unary(f, DType::F32),
            [n / 128, 1, 1],
            vec![
                tensor(bytes.clone(), &[n]),
                tensor(vec![0; bytes.len()], &[n]),
            ],
        );
        let mut worst = (0.0, 0.0);
        for (x, got) in x.iter().zip(elements(DType::F32, &all[1])) {
            let u = ulps(got, reference((*x).into()));
            if u > worst.0 || u.is_nan() {
                worst = (u, *x);
            }
        }
        println!("{f:?}: {:.2} ulp at {:?}", worst.0, worst.1);
        assert!(worst.0 <= bound, "{f:?}: {} ulp at {:?}", worst.0, worst.1);
    }
    for (f, reference, bound) in [
        (Unary::Sin, f64::sin as fn(f64) -> f64, 2_f64.powi(-20)),
        (Unary::Cos, f64::cos, 2_f64.powi(-20)),
    ] {
        let x: Vec<f32> = (0..n)
            .map(|i| (f64::from(i) * 4.1 - 33000.0) as f32)
            .collect();
        let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
        let all = run(
            &format!("{f:?}"),
            by_hand::unary(f, DType::F32),
            [n / 128, 1, 1],
            vec![
                tensor(bytes.clone(), &[n]),
                tensor(vec![0; bytes.len()], &[n]),
            ],
        );
        let worst = x
            .iter()
            .zip(elements(DType::F32, &all[1]))
            .map(|(x, got)| (got - reference(f64::from(*x))).abs())
            .fold(0.0, f64::max);
        println!("{f:?}: 2^{:.1}", worst.log2());
        assert!(worst <= bound, "{f:?}: {worst}");
    }
}

#[test]
fn sixteen_bit_functions_round_the_f32_result() {
    for t in [DType::F16, DType::BF16] {
        for (f, reference) in [
            (Unary::Sqrt, f64::sqrt as fn(f64) -> f64),
            (Unary::Neg, |x| -x),
            (Unary::Abs, f64::abs),
            (Unary::Floor, f64::floor),
            (Unary::Round, f64::round_ties_even),
        ] {
            let n = 65536;
            let x: Vec<u8> = (0..n).flat_map(|i| (i as u16).to_le_bytes()).collect();
            let all = run(
                &format!("{f:?} {t}"),
                by_hand::unary(f, t),
                [n / 128, 1, 1],
                vec![tensor(x.clone(), &[n]), tensor(vec![0; x.len()], &[n])],
            );
            for (x, got) in elements(t, &x).into_iter().zip(elements(t, &all[1])) {
                let want = get(t, &put(t, reference(x), 0));
                assert!(
                    same(got, want),
                    "{f:?} {t}: {x:?} gives {got:?}, not {want:?}"
                );
            }
        }
    }
}
