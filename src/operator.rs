//! Differentiable operators as values: a forward pass, what it keeps, a backward pass, and the rules of its inputs.
//!
//! An [`Operator`] owns nothing but functions, so a plain Rust training loop can hold several, call [`Operator::run`] on
//! the way up and [`Run::back`] on the way down. Inputs and gradients are tensors or tuples of them. An operator
//! without a backward pass says so by [`OperatorError::NoBackward`]; nothing is differentiated by guesswork.
//!
//! [`check_gradients`] compares a backward pass with differences of the forward pass along random directions.

use crate::{Element, LaunchError, Stream, Tensor};
use std::fmt;

/// Why an operator did not run.
#[derive(Debug)]
#[non_exhaustive]
pub enum OperatorError {
    /// It has no backward pass.
    NoBackward {
        /// Its name.
        operator: &'static str,
    },
    /// Its inputs break one of its rules.
    Inputs {
        /// Its name.
        operator: &'static str,
        /// The rule and the numbers.
        why: String,
    },
    /// The output's gradient has not the output's shape.
    Gradient {
        /// Its name.
        operator: &'static str,
        /// The gradient's shape.
        given: Vec<usize>,
        /// The output's.
        expected: Vec<usize>,
    },
    /// A launch failed.
    Launch(LaunchError),
    /// A pass failed in its own way.
    Pass(Box<dyn std::error::Error + Send + Sync>),
}

impl fmt::Display for OperatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OperatorError::NoBackward { operator } => {
                write!(f, "operator `{operator}` has no backward pass")
            }
            OperatorError::Inputs { operator, why } => write!(f, "operator `{operator}`: {why}"),
            OperatorError::Gradient {
                operator,
                given,
                expected,
            } => write!(
                f,
                "operator `{operator}`: the output has shape {expected:?}, its gradient {given:?}"
            ),
            OperatorError::Launch(error) => error.fmt(f),
            OperatorError::Pass(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OperatorError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OperatorError::Launch(error) => error.source(),
            OperatorError::Pass(error) => error.source(),
            _ => None,
        }
    }
}

impl From<LaunchError> for OperatorError {
    fn from(error: LaunchError) -> Self {
        OperatorError::Launch(error)
    }
}

type Forward<I, O, S> = Box<dyn Fn(&Stream, &I) -> Result<(O, S), OperatorError>>;
type Backward<I, O, S> = Box<dyn Fn(&Stream, &I, &O, &S, &O) -> Result<I, OperatorError>>;
type Rules<I> = Box<dyn Fn(&I) -> Result<(), String>>;

/// An operator from inputs `I` to an output `O` that keeps `S` for its backward pass.
pub struct Operator<I, O, S = ()> {
    name: &'static str,
    rules: Rules<I>,
    forward: Forward<I, O, S>,
    backward: Option<Backward<I, O, S>>,
}

impl<I, O, S> fmt::Debug for Operator<I, O, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operator")
            .field("name", &self.name)
            .field("backward", &self.backward.is_some())
            .finish_non_exhaustive()
    }
}

impl<I, O, S> Operator<I, O, S> {
    /// An operator with a forward pass, which gives the output and what the backward pass wants of it.
    pub fn new(
        name: &'static str,
        forward: impl Fn(&Stream, &I) -> Result<(O, S), OperatorError> + 'static,
    ) -> Self {
        Operator {
            name,
            rules: Box::new(|_| Ok(())),
            forward: Box::new(forward),
            backward: None,
        }
    }

    /// With rules of shapes and types, asked before anything runs.
    #[must_use]
    pub fn rules(mut self, rules: impl Fn(&I) -> Result<(), String> + 'static) -> Self {
        self.rules = Box::new(rules);
        self
    }

    /// With a backward pass: inputs, output, what was kept and the output's gradient to the inputs' gradients.
    #[must_use]
    pub fn backward(
        mut self,
        backward: impl Fn(&Stream, &I, &O, &S, &O) -> Result<I, OperatorError> + 'static,
    ) -> Self {
        self.backward = Some(Box::new(backward));
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs it forward.
    pub fn run(&self, stream: &Stream, inputs: I) -> Result<Run<'_, I, O, S>, OperatorError> {
        (self.rules)(&inputs).map_err(|why| OperatorError::Inputs {
            operator: self.name,
            why,
        })?;
        let (out, saved) = (self.forward)(stream, &inputs)?;
        Ok(Run {
            operator: self,
            inputs,
            out,
            saved,
        })
    }
}

/// A forward pass that was made.
#[derive(Debug)]
pub struct Run<'a, I, O, S> {
    operator: &'a Operator<I, O, S>,
    /// What it was made of.
    pub inputs: I,
    /// What it gave.
    pub out: O,
    saved: S,
}

impl<I, O, S> Run<'_, I, O, S> {
    /// Gradients of the inputs, given the output's.
    pub fn back(&self, stream: &Stream, d_out: &O) -> Result<I, OperatorError> {
        let Some(backward) = &self.operator.backward else {
            return Err(OperatorError::NoBackward {
                operator: self.operator.name,
            });
        };
        backward(stream, &self.inputs, &self.out, &self.saved, d_out)
    }
}

/// A gradient has its value's shape.
#[cfg(any(feature = "attention", feature = "gemm"))]
pub(crate) fn alike(
    operator: &'static str,
    expected: &[usize],
    given: &[usize],
) -> Result<(), OperatorError> {
    if given == expected {
        return Ok(());
    }
    Err(OperatorError::Gradient {
        operator,
        given: given.to_vec(),
        expected: expected.to_vec(),
    })
}

/// Tensors whose numbers the checker can read and replace.
pub trait Leaves: Sized {
    /// All numbers, tensor after tensor.
    fn numbers(&self) -> Result<Vec<f64>, LaunchError>;
    /// Tensors of the same shapes with the next numbers, each rounded to its type.
    fn of(&self, numbers: &mut impl Iterator<Item = f64>) -> Result<Self, LaunchError>;
}

impl<E: Element + crate::report::Float + Rounded, const R: usize> Leaves for Tensor<E, R> {
    fn numbers(&self) -> Result<Vec<f64>, LaunchError> {
        Ok(self.to_vec()?.into_iter().map(Rounded::wide).collect())
    }
    fn of(&self, numbers: &mut impl Iterator<Item = f64>) -> Result<Self, LaunchError> {
        let own: Vec<E> = numbers.take(self.len()).map(E::rounded).collect();
        self.device().tensor_from(&own, self.shape())
    }
}

/// Floats that f64 is rounded to.
pub trait Rounded {
    /// Rounds.
    fn rounded(x: f64) -> Self;
    /// Exactly.
    fn wide(self) -> f64;
}

macro_rules! rounded {
    ($($t:ty: $from:expr, $to:expr;)*) => {$(
        impl Rounded for $t {
            fn rounded(x: f64) -> Self { $from(x) }
            fn wide(self) -> f64 { $to(self) }
        }
    )*};
}

rounded! {
    f32: |x| x as f32, f64::from;
    crate::prelude::f16: crate::prelude::f16::from_f64, crate::prelude::f16::to_f64;
    crate::prelude::bf16: crate::prelude::bf16::from_f64, crate::prelude::bf16::to_f64;
}

macro_rules! leaves {
    ($($t:ident $i:tt),*) => {
        impl<$($t: Leaves),*> Leaves for ($($t,)*) {
            fn numbers(&self) -> Result<Vec<f64>, LaunchError> {
                let mut all = Vec::new();
                $(all.extend(self.$i.numbers()?);)*
                Ok(all)
            }
            fn of(&self, numbers: &mut impl Iterator<Item = f64>) -> Result<Self, LaunchError> {
                Ok(($(self.$i.of(numbers)?,)*))
            }
        }
    };
}

leaves!(A 0, B 1);
leaves!(A 0, B 1, C 2);

/// How far a backward pass is from differences of its forward pass: of so many random directions the largest
/// difference of the two derivatives, in units of what a derivative along a random direction usually is.
///
/// The output's gradient is a random vector `w`; along a direction, inputs move by about `step` each (as their type
/// rounds it), and `sum(w * out)` moves by what the gradients say, but for the forward pass' rounding and its curvature.
/// NaN on either side, and gradients that are zero throughout, count as infinitely far.
pub fn check_gradients<I: Leaves, O: Leaves, S>(
    operator: &Operator<I, O, S>,
    stream: &Stream,
    inputs: I,
    directions: usize,
    step: f64,
) -> Result<f64, OperatorError> {
    if directions == 0 {
        return Err(OperatorError::Inputs {
            operator: operator.name,
            why: "gradients are compared along one direction at least".into(),
        });
    }
    let mut state = 1_u64;
    let mut next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
    };
    let at = inputs.numbers()?;
    let run = operator.run(stream, inputs)?;
    let width = run.out.numbers()?.len();
    let w: Vec<f64> = (0..width).map(|_| next()).collect();
    let d_out = run.out.of(&mut w.iter().copied())?;
    let w = d_out.numbers()?;
    let gradient = run.back(stream, &d_out)?.numbers()?;
    let size = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    let mut worst = 0.0_f64;
    for _ in 0..directions {
        let along: Vec<f64> = at.iter().map(|_| next() * step).collect();
        let moved = |sign: f64| -> Result<(Vec<f64>, f64), OperatorError> {
            let to = at.iter().zip(&along).map(|(x, a)| x + sign * a);
            let inputs = run.inputs.of(&mut to.collect::<Vec<_>>().into_iter())?;
            let there = inputs.numbers()?;
            let out = operator.run(stream, inputs)?.out.numbers()?;
            Ok((there, out.iter().zip(&w).map(|(o, w)| o * w).sum()))
        };
        let ((up, above), (down, below)) = (moved(1.0)?, moved(-1.0)?);
        let path: Vec<f64> = up.iter().zip(&down).map(|(a, b)| a - b).collect();
        let expected: f64 = gradient.iter().zip(&path).map(|(g, p)| g * p).sum();
        let length = path.iter().map(|p| p * p).sum::<f64>().sqrt();
        let usual = size * length / (at.len() as f64).sqrt();
        let off = (above - below - expected).abs() / usual;
        // What is no number, or of no size at all, agrees with nothing.
        worst = worst.max(if off.is_nan() { f64::INFINITY } else { off });
    }
    Ok(worst)
}
