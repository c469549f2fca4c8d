//! What can be asked of attention, and what can be wrong with the asking.

use crate::LaunchError;
use std::fmt;

/// Keys a query may see on either side of its diagonal at most; more is all of them.
pub(super) const FAR: u32 = 1 << 30;

/// Options of attention; the default sees every key at `1 / sqrt(D)`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Options {
    /// Factor of the scores; `None` is `1 / sqrt(D)`.
    pub scale: Option<f32>,
    /// No query sees a key behind its diagonal.
    pub causal: bool,
    /// Sliding window: how many keys before and after its diagonal a query sees.
    pub window: Option<(usize, usize)>,
    /// dQ is the same bits on every run; slower. (Everything else always is.)
    pub deterministic: bool,
}

impl Options {
    /// Every query sees the keys up to its diagonal.
    #[must_use]
    pub fn causal() -> Options {
        Options {
            causal: true,
            ..Options::default()
        }
    }

    /// Keys seen before and after the diagonal.
    pub(super) fn band(&self) -> (u32, u32) {
        let (before, after) = self.window.unwrap_or((usize::MAX, usize::MAX));
        let clamp = |n: usize| u32::try_from(n).unwrap_or(FAR).min(FAR);
        let after = if self.causal { 0 } else { clamp(after) };
        (clamp(before), after)
    }

    /// The factor of the scores.
    pub(super) fn scale_of(&self, width: usize) -> Result<f32, AttentionError> {
        let scale = self.scale.unwrap_or(1.0 / (width as f32).sqrt());
        // Exponents are binary: that factor has to be a number, too.
        if (scale * std::f32::consts::LOG2_E).is_finite() && scale > 0.0 {
            Ok(scale)
        } else {
            Err(AttentionError::Scale { scale })
        }
    }
}

/// The extents of one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub batch: usize,
    pub heads: usize,
    pub queries: usize,
    pub keys: usize,
    pub width: usize,
}

impl Shape {
    /// Checks q, k and v against each other.
    pub fn of(q: [usize; 4], k: [usize; 4], v: [usize; 4]) -> Result<Shape, AttentionError> {
        let fits = k == v && q[0] == k[0] && q[3] == k[3];
        if !fits {
            return Err(AttentionError::Shapes { q, k, v });
        }
        if k[1] == 0 || !q[1].is_multiple_of(k[1]) {
            return Err(AttentionError::Heads {
                queries: q[1],
                keys: k[1],
            });
        }
        Ok(Shape {
            batch: q[0],
            heads: q[1],
            queries: q[2],
            keys: k[2],
            width: q[3],
        })
    }

    /// Of what there is one of for each query.
    pub fn rows(&self) -> [usize; 3] {
        [self.batch, self.heads, self.queries]
    }
}

/// Checks that a head dimension is built.
pub(super) fn is_built(given: usize, built: &'static [usize]) -> Result<(), AttentionError> {
    if built.contains(&given) {
        return Ok(());
    }
    Err(AttentionError::HeadDim { given, built })
}

/// Checks a tensor's shape against its counterpart's.
pub(super) fn alike(
    name: &'static str,
    given: &[usize],
    expected: &[usize],
) -> Result<(), AttentionError> {
    if given == expected {
        return Ok(());
    }
    Err(AttentionError::Gradient {
        name,
        given: given.to_vec(),
        expected: expected.to_vec(),
    })
}

/// Why attention was not computed.
#[non_exhaustive]
pub enum AttentionError {
    /// q, k and v are not of one batch, head dimension and (k and v) shape.
    Shapes {
        /// Shape of q.
        q: [usize; 4],
        /// Shape of k.
        k: [usize; 4],
        /// Shape of v.
        v: [usize; 4],
    },
    /// Query heads are not a multiple of key heads.
    Heads {
        /// Query heads.
        queries: usize,
        /// Key heads.
        keys: usize,
    },
    /// A tensor of the backward pass has not the shape of its counterpart.
    Gradient {
        /// Which tensor.
        name: &'static str,
        /// Its shape.
        given: Vec<usize>,
        /// What it must be.
        expected: Vec<usize>,
    },
    /// Nothing is built for this head dimension.
    HeadDim {
        /// The head dimension.
        given: usize,
        /// What is built.
        built: &'static [usize],
    },
    /// An option that the call cannot follow.
    Option {
        /// Which.
        option: &'static str,
        /// Of what.
        call: &'static str,
    },
    /// The backward pass is asked for other options than the forward pass had.
    Forward {
        /// What differs.
        what: &'static str,
        /// As the forward pass had it.
        forward: String,
        /// As the backward pass is asked for it.
        backward: String,
    },
    /// Offsets that no sequences have.
    Offsets {
        /// Which tensor: `queries` or `keys`.
        name: &'static str,
        /// Which of them.
        at: usize,
        /// What it is.
        value: u32,
        /// What it must be.
        wanted: String,
    },
    /// The scale is not a positive number.
    Scale {
        /// What it is.
        scale: f32,
    },
    /// The launch failed.
    Launch(LaunchError),
}

tiki_launch::debug_of_error! {
    AttentionError {
        Shapes { q, k, v }
        Heads { queries, keys }
        Gradient { name, given, expected }
        HeadDim { given, built }
        Option { option, call }
        Scale { scale }
        Forward { what, forward, backward }
        Offsets { name, at, value, wanted }
    }
    as Launch
}

impl fmt::Display for AttentionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttentionError::Shapes { q, k, v } => write!(
                f,
                "attention takes q, k and v of one batch and head dimension, k and v alike; q is {q:?}, k {k:?}, v {v:?}"
            ),
            AttentionError::Heads { queries, keys } => write!(
                f,
                "{queries} query heads are not a multiple of {keys} key heads"
            ),
            AttentionError::Gradient {
                name,
                given,
                expected,
            } => {
                write!(f, "`{name}` has shape {given:?}; it must be {expected:?}")
            }
            AttentionError::HeadDim { given, built } => write!(
                f,
                "no attention of head dimension {given} is built; built are {built:?}"
            ),
            AttentionError::Option { option, call } => {
                write!(f, "`{call}` cannot follow the option `{option}`")
            }
            AttentionError::Scale { scale } => {
                write!(
                    f,
                    "the scale of attention is a positive number, and finite times log2(e), not {scale:?}"
                )
            }
            AttentionError::Forward {
                what,
                forward,
                backward,
            } => write!(
                f,
                "the forward pass had {what} {forward}, its backward pass is asked for {backward}: both take the same options"
            ),
            AttentionError::Offsets {
                name,
                at,
                value,
                wanted,
            } => write!(
                f,
                "offset {at} of the {name} is {value}; it must be {wanted}"
            ),
            AttentionError::Launch(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AttentionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            AttentionError::Launch(error) => error.source(),
            _ => None,
        }
    }
}

impl From<LaunchError> for AttentionError {
    fn from(error: LaunchError) -> Self {
        AttentionError::Launch(error)
    }
}
