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
//! [`batched`] multiplies the matrices of a batch in one kernel, [`by_groups`] rows by the matrix that each belongs
//! to, [`listed`] a list of products of any shapes; [`grouped`] launches such a list one by one. Where tiles are few and K is
//! long, [`product`] multiplies K in parts and adds them in their order.
//!
//! Accuracy: products are exact, sums are accumulated in f32 (`i32` for bytes) in an order that depends on
//! the instance alone, and rounded once into `c`'s type; into an 8-bit float, what is past the largest
//! becomes the largest, infinities too. f32 is multiplied as tf32 or as three products of
//! tf32, as [`Precision`] says.

pub mod ampere;
pub mod batch;
mod epilogue;
mod error;
pub mod hopper;
#[macro_use]
mod instances;
pub mod list;
mod members;
mod pick;
pub mod rows;
pub mod schedule;
pub mod table;
pub mod uneven;

use crate::operator::{Operator, OperatorError, alike};
use crate::{Element, LaunchError, Stream, Tensor};
pub use error::GemmError;
pub use members::listed;
pub use pick::choose;
use pick::{around, extents, fits, pick};
pub use rows::Product;
pub use table::Row;
use table::{Asked, Parts, Run};

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
#[repr(u32)]
pub enum Activation {
    /// The value itself.
    #[default]
    None = 0,
    /// `max(x, 0)`; NaN stays.
    Relu = epilogue::RELU,
    /// GELU in its form by tanh.
    Gelu = epilogue::GELU,
    /// `x / (1 + exp(-x))`.
    Silu = epilogue::SILU,
}

/// What happens to the sums, and how f32 is multiplied.
#[derive(Debug)]
pub struct Epilogue<'a, O: Element, const R: usize = 2> {
    /// Factor of the product.
    pub alpha: f32,
    /// Added to every row.
    pub bias: Option<&'a Tensor<O, 1>>,
    /// Applied to `alpha a @ b.T + bias`.
    pub activation: Activation,
    /// Factor of what is added last; with 0, nothing is read.
    pub beta: f32,
    /// What is added last; the result as it was unless given.
    pub residual: Option<&'a Tensor<O, R>>,
    /// Of f32 operands.
    pub precision: Precision,
}

impl<O: Element, const R: usize> Default for Epilogue<'_, O, R> {
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

impl<O: Element, const R: usize> Epilogue<'_, O, R> {
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
    /// Parts of K that are multiplied apart and then added, first to last.
    pub parts: u64,
    /// See `tiles`.
    pub processors: u32,
}

/// `c = act(alpha a @ b.T + bias) + beta d` on a stream. Nothing is launched for an empty result.
///
/// Few tiles of a long K are multiplied in parts, which are added in their order: as reproducible as the rest. The
/// parts' memory is the call's own.
pub fn product<E: Product<O>, O: Element>(
    stream: &Stream,
    a: &Tensor<E, 2>,
    b: &Tensor<E, 2>,
    c: &mut Tensor<O, 2>,
    epilogue: &Epilogue<'_, O>,
) -> Result<Choice, GemmError> {
    fits(a, b, c, epilogue)?;
    let asked = Asked::of(stream.device(), a, b, c, epilogue);
    let picked = pick::<E, O>(&asked, true)?;
    if c.is_empty() {
        return Ok(picked.choice);
    }
    let with = Parts::of(&c.with_rank()?, epilogue)?;
    if let Some(Row {
        run: Run::Many(run),
        ..
    }) = picked.in_parts
    {
        let [m, n] = c.shape();
        let parts = usize::try_from(picked.choice.parts).unwrap_or(1);
        match stream.device().empty::<f32, 4>([parts, 1, m, n]) {
            Ok(mut sums) => {
                let plain = Parts::plain(&sums.at::<1, 3>([0])?)?;
                let (a, b, no) = (a.with_rank()?, b.with_rank()?, stream.device().empty([0])?);
                run(stream, &a, &b, &mut sums, &no, &plain)?;
                E::sum_parts(stream, &sums.reshape([parts, m, n])?, c, &with)?;
                return Ok(picked.choice);
            }
            // A capture of the default stream allocates nothing: in one piece, then.
            Err(LaunchError::InCapture { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let picked = pick::<E, O>(&asked, false)?;
    match picked.whole.map(|row| &row.run) {
        Some(Run::One(run)) => run(stream, a, b, c, &with)?,
        Some(Run::Many(run)) => {
            let (a, b, no) = (a.with_rank()?, b.with_rank()?, stream.device().empty([0])?);
            run(stream, &a, &b, &mut c.with_rank()?, &no, &with)?;
        }
        None => unreachable!("nothing else is picked"),
    }
    Ok(picked.choice)
}

/// A product for each matrix of a batch, in one kernel; the epilogue's bias is that of all.
pub fn batched<E: Product<O>, O: Element>(
    stream: &Stream,
    a: &Tensor<E, 3>,
    b: &Tensor<E, 3>,
    c: &mut Tensor<O, 3>,
    epilogue: &Epilogue<'_, O, 3>,
) -> Result<Choice, GemmError> {
    let ([count, m, k], [_, n, _]) = (a.shape(), b.shape());
    extents("the batch of the right operand", &[count, n, k], &b.shape())?;
    extents("the batch of the result", &[count, m, n], &c.shape())?;
    around(n, &c.shape(), epilogue)?;
    let asked = Asked::of(stream.device(), a, b, c, epilogue);
    let picked = pick::<E, O>(&asked, true)?;
    if let Some(Row {
        run: Run::Many(run),
        ..
    }) = picked.whole
        && !c.is_empty()
    {
        let with = Parts::of(c, epilogue)?;
        run(
            stream,
            a,
            b,
            &mut c.with_rank()?,
            &stream.device().empty([0])?,
            &with,
        )?;
    }
    Ok(picked.choice)
}

/// Rows by the matrix that each belongs to, in one kernel: rows `128 t` to `128 t + 127` of `a` are multiplied by matrix
/// `groups[t]` of `b`. What is past the last matrix is the last. The groups of a mixture of experts lie so, each filled up to
/// a multiple of 128 rows.
pub fn by_groups<E: Product<O>, O: Element>(
    stream: &Stream,
    a: &Tensor<E, 2>,
    b: &Tensor<E, 3>,
    groups: &Tensor<u32, 1>,
    c: &mut Tensor<O, 2>,
    epilogue: &Epilogue<'_, O>,
) -> Result<Choice, GemmError> {
    let ([m, k], [count, n, _]) = (a.shape(), b.shape());
    extents("the matrices", &[count.max(1), n, k], &b.shape())?;
    extents(
        "the table of groups",
        &[m.div_ceil(GROUP_ROWS)],
        &groups.shape(),
    )?;
    extents("the result", &[m, n], &c.shape())?;
    around(n, &c.shape(), epilogue)?;
    let (a, mut c4) = (a.with_rank::<3>()?, c.with_rank::<4>()?);
    let c3 = c.with_rank::<3>()?;
    let residual = epilogue.residual.map(Tensor::with_rank::<3>).transpose()?;
    let epilogue = Epilogue {
        alpha: epilogue.alpha,
        bias: epilogue.bias,
        activation: epilogue.activation,
        beta: epilogue.beta,
        residual: residual.as_ref(),
        precision: epilogue.precision,
    };
    let asked = Asked::of(stream.device(), &a, b, &c3, &epilogue);
    let picked = pick::<E, O>(&asked, true)?;
    if let Some(Row {
        run: Run::Many(run),
        ..
    }) = picked.whole
        && !c3.is_empty()
    {
        let with = Parts::of(&c3, &epilogue)?;
        run(stream, &a, b, &mut c4, groups, &with)?;
    }
    Ok(picked.choice)
}

/// Rows that an entry of [`by_groups`]'s table stands for.
pub const GROUP_ROWS: usize = 128;

/// A product of a list: shapes may differ.
pub type Member<'a, E, O> = (&'a Tensor<E, 2>, &'a Tensor<E, 2>, &'a mut Tensor<O, 2>);

/// Products of a list whose shapes may differ, one after the other in the order of the stream. All are looked at before the
/// first is launched.
pub fn grouped<E: Product<O>, O: Element>(
    stream: &Stream,
    members: &mut [Member<'_, E, O>],
    epilogue: &Epilogue<'_, O>,
) -> Result<Vec<Choice>, GemmError> {
    for (a, b, c) in members.iter() {
        choose(stream.device(), a, b, c, epilogue)?;
    }
    members
        .iter_mut()
        .map(|(a, b, c)| product(stream, a, b, c, epilogue))
        .collect()
}

/// `a @ b.T` as an operator of a training loop: of `(a, b)`, `a` (M, K) and `b` (N, K). Gradients are products of the same
/// table, `d_c @ b` and `d_c.T @ a`, of operands turned over; f32 is multiplied as `precision` says.
#[must_use]
pub fn operator<E: Product<E>>(
    precision: Precision,
) -> Operator<(Tensor<E, 2>, Tensor<E, 2>), Tensor<E, 2>> {
    let multiply = move |stream: &Stream, a: &Tensor<E, 2>, b: &Tensor<E, 2>| {
        let mut c = stream.device().zeros::<E, 2>([a.dim(0), b.dim(0)])?;
        let epilogue = Epilogue {
            precision,
            ..Epilogue::default()
        };
        match product(stream, a, b, &mut c, &epilogue) {
            Ok(_) => Ok(c),
            Err(GemmError::Launch(error)) => Err(OperatorError::Launch(error)),
            Err(error) => Err(OperatorError::Pass(Box::new(error))),
        }
    };
    Operator::new(
        "gemm",
        move |stream, (a, b): &(Tensor<E, 2>, Tensor<E, 2>)| Ok((multiply(stream, a, b)?, ())),
    )
    .rules(|(a, b)| {
        extents("the right operand", &[b.dim(0), a.dim(1)], &b.shape()).map_err(|e| e.to_string())
    })
    .backward(move |stream, (a, b), c, (), d_c| {
        alike("gemm", &c.shape(), &d_c.shape())?;
        let d_a = multiply(stream, d_c, &b.transpose())?;
        let d_b = multiply(stream, &d_c.transpose(), &a.transpose())?;
        Ok((d_a, d_b))
    })
}
