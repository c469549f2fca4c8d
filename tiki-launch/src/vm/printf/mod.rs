//! What a format of C prints: the conversions of a card's `printf`.
//!
//! Arguments lie one behind the other, each at a multiple of its size: 4 bytes for a narrow integer or a character, 8
//! for a wide integer, a float (always f64), a pointer or a string's address. What a conversion does with flags, width
//! and precision is C's; one that is not known is printed as it stands.

mod digits;
#[cfg(test)]
mod tests;

use digits::{number, pad, real};

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
