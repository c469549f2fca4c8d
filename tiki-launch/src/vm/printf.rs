//! What a format of C prints: the conversions of a card's `printf`.
//!
//! Arguments lie one behind the other, each at a multiple of its size: 4 bytes for a narrow integer or a character, 8
//! for a wide integer, a float (always f64), a pointer or a string's address. What a conversion does with flags, width
//! and precision is C's; one that is not known is printed as it stands.

/// An argument, as the conversion wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    Narrow,
    Wide,
    Text,
}

/// Flags, width and precision of a conversion.
#[derive(Debug, Default, Clone)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    /// Bytes of an integer.
    bytes: u32,
}

/// Widest field: more is the format's mistake.
const WIDEST: usize = 4096;

/// Where arguments come from.
pub(super) trait Arguments {
    /// What is wrong with one that cannot be read.
    type Wrong;
    /// The next argument's bits.
    fn number(&mut self, want: Want) -> Result<u64, Self::Wrong>;
    /// The bytes of a string.
    fn string(&mut self, at: u64) -> Result<Vec<u8>, Self::Wrong>;
}

/// Prints a format; how many arguments it took.
pub(super) fn print<A: Arguments>(
    format: &[u8],
    from: &mut A,
    out: &mut Vec<u8>,
) -> Result<u32, A::Wrong> {
    let (mut i, mut taken) = (0, 0);
    while i < format.len() {
        if format[i] != b'%' {
            out.push(format[i]);
            i += 1;
            continue;
        }
        let first = i;
        i += 1;
        let mut s = Spec {
            bytes: 4,
            ..Spec::default()
        };
        while let Some(c) = format.get(i) {
            match c {
                b'-' => s.left = true,
                b'+' => s.plus = true,
                b' ' => s.space = true,
                b'#' => s.alternate = true,
                b'0' => s.zeros = true,
                _ => break,
            }
            i += 1;
        }
        let mut field = |i: &mut usize, taken: &mut u32| -> Result<Option<i32>, A::Wrong> {
            if format.get(*i) == Some(&b'*') {
                *i += 1;
                *taken += 1;
                return Ok(Some(from.number(Want::Narrow)? as u32 as i32));
            }
            let start = *i;
            let mut n = 0i32;
            while let Some(d) = format.get(*i).filter(|d| d.is_ascii_digit()) {
                n = n.saturating_mul(10).saturating_add(i32::from(d - b'0'));
                *i += 1;
            }
            Ok((*i > start).then_some(n))
        };
        if let Some(n) = field(&mut i, &mut taken)? {
            s.left |= n < 0;
            s.width = (n.unsigned_abs() as usize).min(WIDEST);
        }
        if format.get(i) == Some(&b'.') {
            i += 1;
            let n = field(&mut i, &mut taken)?.unwrap_or(0);
            s.precision = usize::try_from(n).ok().map(|n| n.min(WIDEST));
        }
        while let Some(c) = format.get(i) {
            match c {
                b'l' | b'z' | b'j' | b't' => s.bytes = 8,
                b'h' => s.bytes = if s.bytes == 2 { 1 } else { 2 },
                _ => break,
            }
            i += 1;
        }
        let Some(c) = format.get(i).copied() else {
            out.extend(&format[first..]);
            break;
        };
        i += 1;
        let integer = if s.bytes == 8 {
            Want::Wide
        } else {
            Want::Narrow
        };
        let want = match c {
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' => Some(integer),
            b'c' => Some(Want::Narrow),
            b'p' | b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => Some(Want::Wide),
            b's' => Some(Want::Text),
            _ => None,
        };
        let Some(want) = want else {
            match c {
                b'%' => out.push(b'%'),
                _ => out.extend(&format[first..i]),
            }
            continue;
        };
        taken += 1;
        let bits = from.number(want)?;
        match c {
            b's' => {
                let mut text = from.string(bits)?;
                text.truncate(s.precision.unwrap_or(usize::MAX));
                pad(&s, text, out);
            }
            b'c' => pad(&s, vec![bits as u8], out),
            b'p' => {
                let text = format!("0x{bits:x}");
                pad(&s, text.into_bytes(), out);
            }
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' => number(&s, c, bits, out),
            _ => real(&s, c, f64::from_bits(bits), out),
        }
    }
    Ok(taken)
}

fn pad(s: &Spec, text: Vec<u8>, out: &mut Vec<u8>) {
    let lack = s.width.saturating_sub(text.len());
    let blanks = std::iter::repeat_n(b' ', lack);
    if s.left {
        out.extend(text);
        out.extend(blanks);
    } else {
        out.extend(blanks);
        out.extend(text);
    }
}

/// A sign or prefix, and digits; zeros go between.
fn signed(s: &Spec, sign: &str, digits: &str, zeros: bool, out: &mut Vec<u8>) {
    let lack = s.width.saturating_sub(sign.len() + digits.len());
    let fill = if zeros && !s.left { lack } else { 0 };
    let text = format!("{sign}{}{digits}", "0".repeat(fill));
    pad(s, text.into_bytes(), out);
}

fn sign_of(s: &Spec, negative: bool) -> &'static str {
    match (negative, s.plus, s.space) {
        (true, ..) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        _ => "",
    }
}

fn number(s: &Spec, c: u8, bits: u64, out: &mut Vec<u8>) {
    let up = 64 - 8 * s.bytes;
    let plain = bits << up >> up;
    let wide = (bits << up) as i64 >> up;
    let (sign, mut digits) = match c {
        b'd' | b'i' => (sign_of(s, wide < 0), wide.unsigned_abs().to_string()),
        b'u' => ("", plain.to_string()),
        b'o' => ("", format!("{plain:o}")),
        b'x' if s.alternate && plain != 0 => ("0x", format!("{plain:x}")),
        b'X' if s.alternate && plain != 0 => ("0X", format!("{plain:X}")),
        b'X' => ("", format!("{plain:X}")),
        _ => ("", format!("{plain:x}")),
    };
    if let Some(n) = s.precision {
        if n == 0 && plain == 0 {
            digits.clear();
        }
        digits = format!("{}{digits}", "0".repeat(n.saturating_sub(digits.len())));
    }
    if c == b'o' && s.alternate && !digits.starts_with('0') {
        digits.insert(0, '0');
    }
    signed(s, sign, &digits, s.zeros && s.precision.is_none(), out);
}

fn real(s: &Spec, c: u8, x: f64, out: &mut Vec<u8>) {
    let sign = sign_of(s, x.is_sign_negative());
    let (upper, a) = (c.is_ascii_uppercase(), x.abs());
    if !a.is_finite() {
        let word = if a.is_nan() { "nan" } else { "inf" };
        let word = if upper {
            word.to_uppercase()
        } else {
            word.into()
        };
        return signed(s, sign, &word, false, out);
    }
    let precision = s.precision.unwrap_or(6);
    let mut digits = match c.to_ascii_lowercase() {
        b'f' => fixed(a, precision, s.alternate),
        b'e' => scientific(a, precision, s.alternate),
        b'a' => hexadecimal(a, s.precision, s.alternate),
        _ => shortest(a, precision.max(1), s.alternate),
    };
    let mut sign = sign.to_string();
    if let Some(rest) = digits.strip_prefix("0x") {
        // Zeros stand behind the prefix.
        (sign, digits) = (format!("{sign}0x"), rest.to_string());
    }
    if upper {
        (sign, digits) = (sign.to_uppercase(), digits.to_uppercase());
    }
    signed(s, &sign, &digits, s.zeros, out);
}

fn fixed(a: f64, precision: usize, point: bool) -> String {
    let dot = if point && precision == 0 { "." } else { "" };
    format!("{a:.precision$}{dot}")
}

/// Digits and the decimal exponent, rounded to a number of places behind the point.
fn parts(a: f64, precision: usize) -> (String, i32) {
    let text = format!("{a:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_string(), exponent.parse().unwrap_or(0))
}

fn scientific(a: f64, precision: usize, point: bool) -> String {
    let (digits, exponent) = parts(a, precision);
    let dot = if point && precision == 0 { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}{dot}e{sign}{:02}", exponent.unsigned_abs())
}

fn shortest(a: f64, precision: usize, keep: bool) -> String {
    let exponent = if a == 0.0 {
        0
    } else {
        parts(a, precision - 1).1
    };
    let small = exponent < -4 || exponent >= precision as i32;
    let text = if small {
        scientific(a, precision - 1, keep)
    } else {
        fixed(a, (precision as i32 - 1 - exponent) as usize, keep)
    };
    if keep {
        return text;
    }
    let (digits, tail) = match text.find('e') {
        Some(at) => text.split_at(at),
        None => (text.as_str(), ""),
    };
    let digits = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    };
    format!("{digits}{tail}")
}

fn hexadecimal(a: f64, precision: Option<usize>, point: bool) -> String {
    let bits = a.to_bits();
    let (field, mut fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
    let mut first = u64::from(field != 0);
    let exponent = match (field, fraction) {
        (0, 0) => 0,
        (0, _) => -1022,
        _ => field - 1023,
    };
    let mut digits = 13;
    if let Some(n) = precision.filter(|n| *n < 13) {
        // To nearest, ties to even, at the digit that is the last.
        let drop = 4 * (13 - n) as u32;
        let all = first << 52 | fraction;
        let half = 1u64 << (drop - 1);
        let rest = all & ((1 << drop) - 1);
        let mut kept = all >> drop;
        kept += u64::from(rest > half || (rest == half && kept & 1 == 1));
        (first, fraction, digits) = (kept >> (4 * n), kept & ((1u64 << (4 * n)) - 1), n);
    }
    let mut text = format!("{fraction:0digits$x}");
    if digits == 0 {
        text.clear();
    }
    match precision {
        None => text.truncate(text.trim_end_matches('0').len()),
        Some(n) => text += &"0".repeat(n.saturating_sub(text.len())),
    }
    let dot = if text.is_empty() && !point { "" } else { "." };
    format!("0x{first}{dot}{text}p{exponent:+}")
}

#[cfg(test)]
mod tests {
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
}
