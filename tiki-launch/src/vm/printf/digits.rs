//! The digits of numbers, and the room around them.

use super::Spec;

pub(super) fn pad(s: &Spec, text: Vec<u8>, out: &mut Vec<u8>) {
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

pub(super) fn number(s: &Spec, c: u8, bits: u64, out: &mut Vec<u8>) {
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

pub(super) fn real(s: &Spec, c: u8, x: f64, out: &mut Vec<u8>) {
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
