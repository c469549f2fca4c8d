//! Formats against what the C library of a host prints.

use super::*;

struct Given(Vec<u64>);
impl Arguments for Given {
    type Wrong = ();
    fn number(&mut self, _: Want) -> Result<u64, ()> {
        if self.0.is_empty() {
            return Err(());
        }
        Ok(self.0.remove(0))
    }
    fn string(&mut self, at: u64) -> Result<Vec<u8>, ()> {
        Ok(format!("text {at}").into_bytes())
    }
}

/// What the C library of a host prints.
#[test]
fn formats_print_as_in_c() {
    let f = |x: f64| x.to_bits();
    let cases: &[(&str, Vec<u64>, &str, u32)] = &[
        ("plain\n", vec![], "plain\n", 0),
        (
            "%d|%5d|%-5d|%05d",
            vec![7, 7, 7, 7],
            "7|    7|7    |00007",
            4,
        ),
        (
            "%d %i",
            vec![u64::from(u32::MAX), 0x8000_0000],
            "-1 -2147483648",
            2,
        ),
        (
            "%u %x %#X %o %#o",
            vec![4_294_967_295, 255, 255, 8, 8],
            "4294967295 ff 0XFF 10 010",
            5,
        ),
        ("%lld %lx", vec![u64::MAX, 1 << 40], "-1 10000000000", 2),
        ("%hhd %hd", vec![0x1ff, 0x1_8000], "-1 -32768", 2),
        (
            "%+d % d %.3d|%5.3d|%.0d|",
            vec![3, 3, 3, 3, 0],
            "+3  3 003|  003||",
            5,
        ),
        (
            "%*d|%-*d|%.*f",
            vec![4, 1, 4, 1, 2, f(1.0)],
            "   1|1   |1.00",
            6,
        ),
        (
            "%c%c %s|%10s|%.3s",
            vec![65, 66, 1, 2, 3],
            "AB text 1|    text 2|tex",
            5,
        ),
        (
            "%f %.2f %8.3f %-8.1f| %+.0f %#.0f",
            vec![f(1.5), f(2.675), f(-1.0), f(0.25), f(2.5), f(3.0)],
            "1.500000 2.67   -1.000 0.2     | +2 3.",
            6,
        ),
        (
            "%e %.0e %E",
            vec![f(12345.678), f(5e-7), f(0.0)],
            "1.234568e+04 5e-07 0.000000E+00",
            3,
        ),
        (
            "%g %g %g %g %g %#g",
            vec![
                f(0.0001),
                f(0.00001),
                f(123456.0),
                f(1234567.0),
                f(0.5),
                f(0.5),
            ],
            "0.0001 1e-05 123456 1.23457e+06 0.5 0.500000",
            6,
        ),
        (
            "%g %g %G %f",
            vec![
                f(f64::INFINITY),
                f(f64::NAN),
                f(f64::NEG_INFINITY),
                f(f64::NAN),
            ],
            "inf nan -INF nan",
            4,
        ),
        (
            "%a %a %.1a %A %a",
            vec![f(1.0), f(-0.15625), f(1.96875), f(10.0), f(0.0)],
            "0x1p+0 -0x1.4p-3 0x2.0p+0 0X1.4P+3 0x0p+0",
            5,
        ),
        (
            "%08.2f|%010x|%-#10x|",
            vec![f(-3.25), 0xabc, 0xabc],
            "-0003.25|0000000abc|0xabc     |",
            3,
        ),
        ("100%% %p", vec![0x1234], "100% 0x1234", 1),
        ("%y %", vec![], "%y %", 0),
    ];
    for (format, args, want, taken) in cases {
        let mut out = vec![];
        let n = print(format.as_bytes(), &mut Given(args.clone()), &mut out);
        assert_eq!(
            (n, String::from_utf8_lossy(&out).as_ref()),
            (Ok(*taken), *want),
            "{format}"
        );
    }
    assert!(print(b"%d", &mut Given(vec![]), &mut vec![]).is_err());
}
