//! Matrix products out of a table: [`product`] picks the instance for a shape, a type and a device.
//!
//! ```text
//! c = act(alpha a @ b.T + bias) + beta d         a (M, K)   b (N, K)   c, d (M, N)   bias (N)
//! ```
//!
//! Operands are views: any strides. Of 16-bit types each may run along K or along its other axis
//! (`b.transpose()` of a tensor (K, N)), with any leading dimension.
//!
//! An instance is *eligible* if the device runs its target and the call is what it was built for: types, how
//! the operands lie, alignment, an epilogue or none. Of the eligible ones the least estimated time wins,
//! by the figures of [`table`]; the choice is in the returned [`Choice`], and [`choose`] tells it without a
//! launch. If none is eligible, [`GemmError::NotBuilt`] lists each with its reason: nothing is converted,
//! copied or run elsewhere silently.
//!
//! Accuracy: products are exact, sums are accumulated in f32 (`i32` for bytes) in an order that depends on
//! the instance alone, and rounded once into `c`'s type. f32 is multiplied as tf32 or as three products of
//! tf32, as [`Precision`] says.

pub mod ampere;
mod epilogue;
pub mod hopper;
pub mod schedule;
pub mod table;

use crate::{Device, Element, LaunchError, Stream, Tensor};
pub use table::{Product, Row};

/// What f32 operands are multiplied as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Precision {
    /// Three products of tf32: 22 bits of each factor.
    #[default]
    Tf32x3,
    /// One product: 11 bits of each factor.
    Tf32,
}

/// A function of each sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Activation {
    /// The value itself.
    #[default]
    None,
    /// `max(x, 0)`; NaN stays.
    Relu,
    /// GELU in its form by tanh.
    Gelu,
    /// `x / (1 + exp(-x))`.
    Silu,
}

/// What happens to the sums, and how f32 is multiplied.
#[derive(Debug)]
pub struct Epilogue<'a, O: Element> {
    /// Factor of the product.
    pub alpha: f32,
    /// Added to every row.
    pub bias: Option<&'a Tensor<O, 1>>,
    /// Applied to `alpha a @ b.T + bias`.
    pub activation: Activation,
    /// Factor of what is added last; with 0, nothing is read.
    pub beta: f32,
    /// What is added last; `c` itself unless given.
    pub residual: Option<&'a Tensor<O, 2>>,
    /// Of f32 operands.
    pub precision: Precision,
}

impl<O: Element> Default for Epilogue<'_, O> {
    fn default() -> Self {
        Epilogue {
            alpha: 1.0,
            bias: None,
            activation: Activation::None,
            beta: 0.0,
            residual: None,
            precision: Precision::default(),
        }
    }
}

impl<O: Element> Epilogue<'_, O> {
    /// Nothing but the conversion.
    fn is_plain(&self) -> bool {
        self.alpha == 1.0
            && self.beta == 0.0
            && self.bias.is_none()
            && self.activation == Activation::None
    }
}

/// An instance and why it was taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Its name, as the report and the recorded measurements have it.
    pub instance: &'static str,
    /// Its report: budget, proofs, what is unproven.
    pub report: &'static str,
    /// Output tiles and the multiprocessors they are dealt to.
    pub tiles: u64,
    /// See `tiles`.
    pub processors: u32,
}

/// Why there is no product.
#[derive(Debug)]
pub enum GemmError {
    /// Extents that do not fit together.
    Shape {
        /// Which.
        what: &'static str,
        /// As they must be.
        wanted: Vec<usize>,
        /// As they are.
        found: Vec<usize>,
    },
    /// No instance of the table can do it: each with its reason.
    NotBuilt {
        /// The product.
        what: String,
        /// Instance and reason.
        reasons: Vec<(&'static str, String)>,
    },
    /// The launch failed.
    Launch(LaunchError),
}

impl std::fmt::Display for GemmError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GemmError::Shape {
                what,
                wanted,
                found,
            } => write!(f, "{what} is {found:?}; the product needs {wanted:?}"),
            GemmError::NotBuilt { what, reasons } => {
                write!(f, "no instance multiplies {what}")?;
                for (instance, reason) in reasons {
                    write!(f, "\n  {instance}: {reason}")?;
                }
                Ok(())
            }
            GemmError::Launch(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for GemmError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            GemmError::Launch(error) => error.source(),
            _ => None,
        }
    }
}

impl From<LaunchError> for GemmError {
    fn from(error: LaunchError) -> Self {
        GemmError::Launch(error)
    }
}

fn extents(what: &'static str, wanted: &[usize], found: &[usize]) -> Result<(), GemmError> {
    if wanted == found {
        return Ok(());
    }
    Err(GemmError::Shape {
        what,
        wanted: wanted.to_vec(),
        found: found.to_vec(),
    })
}

/// Checks the extents and picks the instance.
pub fn choose<E: Product<O>, O: Element>(
    device: &Device,
    a: &Tensor<E, 2>,
    b: &Tensor<E, 2>,
    c: &Tensor<O, 2>,
    epilogue: &Epilogue<'_, O>,
) -> Result<Choice, GemmError> {
    pick(device, a, b, c, epilogue).map(|(_, choice)| choice)
}

type Picked<E, O> = (&'static Row<E, O>, Choice);

fn pick<E: Product<O>, O: Element>(
    device: &Device,
    a: &Tensor<E, 2>,
    b: &Tensor<E, 2>,
    c: &Tensor<O, 2>,
    epilogue: &Epilogue<'_, O>,
) -> Result<Picked<E, O>, GemmError> {
    let ([m, k], [n, _]) = (a.shape(), b.shape());
    extents("the right operand", &[n, k], &b.shape())?;
    extents("the result", &[m, n], &c.shape())?;
    if let Some(bias) = epilogue.bias {
        extents("the bias", &[n], &bias.shape())?;
    }
    if let Some(d) = epilogue.residual {
        extents("the residual", &[m, n], &d.shape())?;
    }
    let call = table::Asked::of(device, a, b, c, epilogue);
    let mut best: Option<(f64, &'static Row<E, O>)> = None;
    let mut reasons = Vec::new();
    for row in E::rows() {
        match row.eligible(&call) {
            Ok(()) => {
                let time = row.estimate(&call);
                if best.is_none_or(|(t, _)| time < t) {
                    best = Some((time, row));
                }
            }
            Err(reason) => reasons.push((row.instance, reason)),
        }
    }
    match best {
        Some((_, row)) => Ok((
            row,
            Choice {
                instance: row.instance,
                report: row.report(),
                tiles: row.tiles(&call),
                processors: call.processors,
            },
        )),
        None => Err(GemmError::NotBuilt {
            what: call.to_string(),
            reasons,
        }),
    }
}

/// `c = act(alpha a @ b.T + bias) + beta d` on a stream. Nothing is launched for an empty result.
pub fn product<E: Product<O>, O: Element>(
    stream: &Stream,
    a: &Tensor<E, 2>,
    b: &Tensor<E, 2>,
    c: &mut Tensor<O, 2>,
    epilogue: &Epilogue<'_, O>,
) -> Result<Choice, GemmError> {
    let (row, choice) = pick(stream.device(), a, b, c, epilogue)?;
    if !c.is_empty() {
        (row.launch)(stream, a, b, c, epilogue)?;
    }
    Ok(choice)
}

/// A product for each matrix of a batch, in the order of the stream.
pub fn batched<E: Product<O>, O: Element>(
    stream: &Stream,
    a: &Tensor<E, 3>,
    b: &Tensor<E, 3>,
    c: &mut Tensor<O, 3>,
    epilogue: &Epilogue<'_, O>,
) -> Result<(), GemmError> {
    let count = c.dim(0);
    extents("the batch of the left operand", &[count], &[a.dim(0)])?;
    extents("the batch of the right operand", &[count], &[b.dim(0)])?;
    for i in 0..count {
        let (a, b) = (a.at::<1, 2>([i])?, b.at::<1, 2>([i])?);
        product(stream, &a, &b, &mut c.at::<1, 2>([i])?, epilogue)?;
    }
    Ok(())
}

/// A product of a list: shapes may differ.
pub type Member<'a, E, O> = (&'a Tensor<E, 2>, &'a Tensor<E, 2>, &'a mut Tensor<O, 2>);

/// Products of a list, in the order of the stream.
pub fn grouped<E: Product<O>, O: Element>(
    stream: &Stream,
    members: &mut [Member<'_, E, O>],
    epilogue: &Epilogue<'_, O>,
) -> Result<Vec<Choice>, GemmError> {
    // All are looked at before the first is launched.
    for (a, b, c) in members.iter() {
        pick(stream.device(), a, b, c, epilogue)?;
    }
    members
        .iter_mut()
        .map(|(a, b, c)| product(stream, a, b, c, epilogue))
        .collect()
}
