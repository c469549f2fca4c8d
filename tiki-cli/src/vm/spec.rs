//! How launches are spelled on the command line.

use std::path::PathBuf;
use std::str::FromStr;
use tiki_kernel::isa::Ty;
use tiki_launch::vm::{Async, Checks, Swizzle};

type Parsed<T> = Result<T, String>;

/// Three extents.
#[derive(Debug, Clone, Copy)]
pub struct Dims(pub [u32; 3]);

impl FromStr for Dims {
    type Err = String;
    fn from_str(text: &str) -> Parsed<Dims> {
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > 3 {
            return Err(format!("`{text}` has more than three extents"));
        }
        let mut out = [1; 3];
        for (o, p) in out.iter_mut().zip(&parts) {
            *o = number(p)?;
        }
        Ok(Dims(out))
    }
}

/// `NAME=FILE`.
#[derive(Debug, Clone)]
pub struct Named {
    pub name: String,
    pub file: PathBuf,
    /// Behind a `#`.
    pub tensor: Option<String>,
}

pub fn named(text: &str) -> Parsed<Named> {
    let (name, file) = text.split_once('=').ok_or("NAME=FILE is wanted")?;
    let (file, tensor) = match file.split_once('#') {
        Some((f, t)) => (f, Some(t.to_string())),
        None => (file, None),
    };
    Ok(Named {
        name: name.into(),
        file: file.into(),
        tensor,
    })
}

pub fn completion(text: &str) -> Parsed<Async> {
    match (text, text.strip_prefix("seed:")) {
        ("eager", _) => Ok(Async::Eager),
        ("late", _) => Ok(Async::Late),
        (_, Some(n)) => Ok(Async::Seed(number(n)?)),
        _ => Err(format!("`{text}`: eager, late or seed:N are possible")),
    }
}

pub fn checks(text: &str) -> Parsed<Checks> {
    match text {
        "run" => Ok(Checks::Run),
        "check" => Ok(Checks::Check),
        "all" => Ok(Checks::All),
        _ => Err(format!("`{text}`: run, check or all are possible")),
    }
}

/// An element type and a shape.
#[derive(Debug, Clone)]
pub struct Form {
    pub ty: Ty,
    pub shape: Vec<usize>,
}

/// Bytes of a buffer.
const MOST: u64 = 1 << 37;

impl Form {
    /// Bytes of so many elements: as many as a card holds at most.
    pub fn bytes(&self) -> Parsed<usize> {
        let mut n = self.ty.bytes() as usize;
        for d in &self.shape {
            n = n.checked_mul(*d).ok_or("the shape is too large")?;
        }
        if n as u64 > MOST {
            return Err(format!("{n} bytes are more than the {MOST} of a buffer"));
        }
        Ok(n)
    }
}

/// What a buffer holds at first.
#[derive(Debug, Clone)]
pub enum Content {
    Zeros(Form),
    /// Nothing: reading it before it is written is a finding.
    Unset(Form),
    Random(Form, u64),
    File(PathBuf, Option<String>),
}

/// An argument.
#[derive(Debug, Clone)]
pub enum Spec {
    /// Bytes of a scalar.
    Bytes(Vec<u8>),
    Buffer(String, Content),
    Map {
        buffer: String,
        form: Form,
        extent: Vec<u32>,
        swizzle: Swizzle,
    },
}

fn number<T: FromStr>(text: &str) -> Parsed<T> {
    text.trim()
        .parse()
        .map_err(|_| format!("`{text}` is not such a number"))
}

/// `f32[16,4]`.
fn form(text: &str) -> Parsed<Form> {
    let (ty, shape) = text
        .strip_suffix(']')
        .and_then(|t| t.split_once('['))
        .ok_or_else(|| format!("`{text}`: a type and a shape are wanted, as f32[16,4]"))?;
    let ty = Ty::by_name(ty).filter(|t| t.bytes() > 0);
    let shape: Parsed<Vec<usize>> = shape
        .split(',')
        .filter(|s| !s.is_empty())
        .map(number)
        .collect();
    Ok(Form {
        ty: ty.ok_or_else(|| format!("`{text}` begins with no type"))?,
        shape: shape?,
    })
}

/// What stands behind `NAME=`.
pub fn content(text: &str) -> Parsed<Content> {
    if let Some(f) = text.strip_prefix("zeros:") {
        return form(f).map(Content::Zeros);
    }
    if let Some(f) = text.strip_prefix("unset:") {
        return form(f).map(Content::Unset);
    }
    if let Some(f) = text.strip_prefix("random:") {
        let (f, seed) = match f.rsplit_once(':') {
            Some((f, seed)) => (f, number(seed)?),
            None => (f, 1),
        };
        return Ok(Content::Random(form(f)?, seed));
    }
    let (file, tensor) = match text.split_once('#') {
        Some((f, t)) => (f, Some(t.to_string())),
        None => (text, None),
    };
    Ok(Content::File(file.into(), tensor))
}

/// `map:NAME:bf16[256,64]:box[64,64]:b128`; shapes list rows first, as everywhere else.
fn map(text: &str) -> Parsed<Spec> {
    let parts: Vec<&str> = text.split(':').collect();
    let (buffer, whole, part, swizzle) = match parts.as_slice() {
        [b, w, p] => (b, w, p, "none"),
        [b, w, p, s] => (b, w, p, *s),
        _ => {
            return Err(format!(
                "`{text}`: map:NAME:bf16[256,64]:box[64,64]:b128 is wanted"
            ));
        }
    };
    let extent = part
        .strip_prefix("box[")
        .and_then(|p| p.strip_suffix(']'))
        .ok_or_else(|| format!("`{part}`: box[64,64] is wanted"))?;
    let extent: Parsed<Vec<u32>> = extent.split(',').map(number).collect();
    let swizzle = match swizzle {
        "none" => Swizzle::None,
        "b32" => Swizzle::B32,
        "b64" => Swizzle::B64,
        "b128" => Swizzle::B128,
        s => return Err(format!("`{s}`: none, b32, b64 or b128 are possible")),
    };
    Ok(Spec::Map {
        buffer: (*buffer).into(),
        form: form(whole)?,
        extent: extent?,
        swizzle,
    })
}

/// An argument.
pub fn argument(text: &str) -> Parsed<Spec> {
    if let Some((name, what)) = text.split_once('=') {
        return Ok(Spec::Buffer(name.into(), content(what)?));
    }
    let (kind, value) = text
        .split_once(':')
        .ok_or_else(|| format!("`{text}`: TYPE:VALUE or NAME=SPEC are wanted"))?;
    macro_rules! scalar {
        ($t:ty) => {
            number::<$t>(value)?.to_le_bytes().to_vec()
        };
    }
    Ok(Spec::Bytes(match kind {
        "map" => return map(value),
        "u8" => scalar!(u8),
        "i8" => scalar!(i8),
        "u16" => scalar!(u16),
        "i16" => scalar!(i16),
        "u32" => scalar!(u32),
        "i32" => scalar!(i32),
        "u64" => scalar!(u64),
        "i64" => scalar!(i64),
        "f32" => scalar!(f32),
        "f64" => scalar!(f64),
        "f16" => half::f16::from_f64(number(value)?).to_le_bytes().to_vec(),
        "bf16" => half::bf16::from_f64(number(value)?).to_le_bytes().to_vec(),
        "raw" => raw(value)?,
        _ => return Err(format!("`{kind}` is no type of a scalar")),
    }))
}

/// Bytes in hexadecimal digits.
fn raw(text: &str) -> Parsed<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|c| c.to_digit(16).map(|d| d as u8))
        .collect();
    let digits = digits.filter(|d| d.len() % 2 == 0);
    let digits =
        digits.ok_or_else(|| format!("`{text}` is no even number of hexadecimal digits"))?;
    Ok(digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read() {
        assert!(matches!(argument("u32:7"), Ok(Spec::Bytes(b)) if b == [7, 0, 0, 0]));
        assert!(matches!(argument("i32:-1"), Ok(Spec::Bytes(b)) if b == [255; 4]));
        assert!(matches!(argument("raw:00ff"), Ok(Spec::Bytes(b)) if b == [0, 255]));
        assert!(
            matches!(argument("x=zeros:bf16[2,3]"), Ok(Spec::Buffer(n, Content::Zeros(f)))
            if n == "x" && f.bytes() == Ok(12))
        );
        assert!(matches!(
            argument("x=random:f32[4]:9"),
            Ok(Spec::Buffer(_, Content::Random(_, 9)))
        ));
        assert!(matches!(
            argument("map:x:bf16[256,64]:box[64,64]:b128"),
            Ok(Spec::Map { .. })
        ));
        for bad in [
            "u32:x",
            "u32",
            "x=zeros:f32",
            "q8:1",
            "raw:0",
            "map:x",
            "u8:256",
            "map:x:f32[4]:box[4]:b7",
        ] {
            assert!(argument(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn extents_have_at_most_three_parts() {
        assert_eq!("4,2".parse::<Dims>().map(|d| d.0), Ok([4, 2, 1]));
        assert!("1,2,3,4".parse::<Dims>().is_err());
    }
}
