//! Arguments of a launch from the command line: `x=4096,4096`, `eps=1e-5`.
//!
//! A tensor is given by its extents, a value by a number; the kernel knows the types. Inputs are numbers of a fixed generator
//! (integers are 0: they may be indices), outputs are zeros.

use crate::outcome::{Kind, Result};
use half::{bf16, f16};
use tiki_kernel::ast::{GenericArg, Lit, Type, TypeKind};
use tiki_kernel::dtype::DType;
use tiki_launch::{Call, Device, Element, LaunchError, Tensor, e4m3, e5m2};

/// An argument as far as facts can ask.
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    /// A tensor's extents.
    Tensor(Vec<u64>),
    /// An optional tensor that is not given.
    Absent,
    /// A value.
    Number(Lit),
}

type Launched = std::result::Result<(), Box<LaunchError>>;

/// A tensor of any type and rank.
pub trait Held {
    /// Gives it to a launch to read.
    fn input<'a>(&'a self, call: &mut Call<'a>, index: usize) -> Launched;
    /// Gives it to a launch to write.
    fn output<'a>(&'a mut self, call: &mut Call<'a>, index: usize) -> Launched;
}

impl<E: Element, const R: usize> Held for Tensor<E, R> {
    fn input<'a>(&'a self, call: &mut Call<'a>, index: usize) -> Launched {
        call.tensor(index, self).map(drop)
    }
    fn output<'a>(&'a mut self, call: &mut Call<'a>, index: usize) -> Launched {
        call.tensor_mut(index, self).map(drop)
    }
}

/// An argument of the signature.
pub enum Slot {
    Input(Box<dyn Held>),
    Output(Box<dyn Held>),
    /// A value of this type.
    Value(DType, f64),
}

impl Slot {
    /// Gives it to a launch.
    pub fn give<'a>(&'a mut self, call: &mut Call<'a>, index: usize) -> Launched {
        match self {
            Slot::Input(tensor) => tensor.input(call, index),
            Slot::Output(tensor) => tensor.output(call, index),
            Slot::Value(dtype, value) => scalar(call, index, *dtype, *value),
        }
    }
}

/// A value as the argument's type has it; what the type does not hold is refused.
pub fn value(name: &str, dtype: DType, lit: &Lit) -> Result<f64> {
    let wrong = |given: &str| {
        let text = format!("`{name}={given}`: `{name}` is of type {dtype}");
        Err(Kind::Usage.because(text))
    };
    // All types' integers up to here are numbers of an f64.
    const EXACT: i128 = 1 << 53;
    match lit {
        Lit::Bool(b) if dtype == DType::BOOL => Ok(f64::from(u8::from(*b))),
        Lit::Int(n, _) if dtype.is_float() => Ok(*n as f64),
        Lit::Float(text, _) if dtype.is_float() => Ok(text.parse().unwrap_or(f64::NAN)),
        Lit::Int(n, _) => match dtype.integers() {
            Some((least, greatest)) if (least..=greatest).contains(n) && n.abs() <= EXACT => {
                Ok(*n as f64)
            }
            _ => wrong(&n.to_string()),
        },
        Lit::Bool(b) => wrong(&b.to_string()),
        Lit::Float(text, _) | Lit::Str(text) => wrong(text),
    }
}

macro_rules! types {
    ($($t:ty: $from:expr;)*) => {
        fn scalar(call: &mut Call<'_>, index: usize, dtype: DType, value: f64) -> Launched {
            $(if dtype == <$t>::DTYPE {
                let from: fn(f64) -> $t = $from;
                return call.scalar(index, from(value)).map(drop);
            })*
            call.scalar(index, value != 0.0).map(drop)
        }

        /// A tensor of this type, with numbers of the generator or with zeros.
        pub fn tensor(device: &Device, dtype: DType, shape: &[u64], seed: Option<u64>) -> Result<Box<dyn Held>> {
            $(if dtype == <$t>::DTYPE {
                let from: fn(f64) -> $t = $from;
                return made(device, shape, seed.filter(|_| dtype.is_float()), from);
            })*
            Err(Kind::Usage.because(format!("the command makes no tensors of {dtype}")))
        }
    };
}

types! {
    f32: |x| x as f32;
    f16: f16::from_f64;
    bf16: bf16::from_f64;
    f64: |x| x;
    i32: |x| x as i32;
    u32: |x| x as u32;
    i64: |x| x as i64;
    u64: |x| x as u64;
    i8: |x| x as i8;
    u8: |x| x as u8;
    i16: |x| x as i16;
    u16: |x| x as u16;
    e4m3: e4m3::from_f64;
    e5m2: e5m2::from_f64;
}

fn made<E: Element>(
    device: &Device,
    shape: &[u64],
    seed: Option<u64>,
    from: fn(f64) -> E,
) -> Result<Box<dyn Held>> {
    let count = shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
    let count = count.filter(|n| *n <= 1 << 34);
    let count = count.ok_or_else(|| Kind::Usage.because("a tensor is too large"))? as usize;
    let extents: Vec<usize> = shape.iter().map(|d| *d as usize).collect();
    let values = seed.map(|seed| {
        let mut state = seed | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        (0..count).map(|_| from(next())).collect::<Vec<E>>()
    });
    macro_rules! ranks {
        ($($r:literal)*) => {
            match extents.len() {
                $($r => {
                    let mut shape = [0; $r];
                    shape.copy_from_slice(&extents);
                    let tensor = match &values {
                        Some(values) => device.tensor_from(values, shape),
                        None => device.zeros::<E, $r>(shape),
                    };
                    tensor.map(|t| Box::new(t) as Box<dyn Held>)
                })*
                n => return Err(Kind::Usage.because(format!("a tensor has 1 to 6 axes, not {n}"))),
            }
        };
    }
    ranks!(1 2 3 4 5 6).map_err(|e| Kind::Wrong.because(e.to_string()))
}

/// Whether a tensor argument is written to; `None` for a value.
pub fn writes(ty: &Type) -> Option<bool> {
    match &ty.kind {
        TypeKind::Ref { mutable, inner } => match &inner.kind {
            TypeKind::Path(path) if path.segments.last()?.name.text == "Global" => Some(*mutable),
            _ => None,
        },
        TypeKind::Path(path) => match path.segments.last() {
            Some(last) if last.name.text == "Option" => match last.generics.first() {
                Some(GenericArg::Type(t)) => writes(t),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}
