//! What a pass is held to: the options of its forward pass, and offsets that sequences can have.

use super::AttentionError;
use super::options::FAR;
use std::fmt;

/// What a forward pass computed, so that its backward pass can be held to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pass {
    pub kind: Kind,
    pub scale: f32,
    /// Keys seen before and after the diagonal; a kernel of one's own sees what it will.
    pub band: (u32, u32),
}

/// Which of the forward passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// [`super::forward`].
    Whole,
    /// [`super::forward_packed`], of so many sequences.
    Packed(usize),
    /// [`super::forward_with`].
    Custom,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Whole => f.write_str("sequences of one length"),
            Kind::Packed(1) => f.write_str("1 packed sequence"),
            Kind::Packed(n) => write!(f, "{n} packed sequences"),
            Kind::Custom => f.write_str("what a kernel of the caller's sees"),
        }
    }
}

impl Pass {
    /// Holds a backward pass to its forward pass.
    pub fn is_that_of(&self, forward: &Pass) -> Result<(), AttentionError> {
        let differs = |what, forward: String, backward: String| {
            Err(AttentionError::Forward {
                what,
                forward,
                backward,
            })
        };
        if self.kind != forward.kind {
            return differs(
                "attention over",
                forward.kind.to_string(),
                self.kind.to_string(),
            );
        }
        if self.scale.to_bits() != forward.scale.to_bits() {
            let [own, theirs] = [self.scale, forward.scale].map(|s| format!("{s:?}"));
            return differs("scale", theirs, own);
        }
        if self.kind == Kind::Custom {
            return Ok(());
        }
        let said = |keys: u32| match keys {
            FAR => "all".to_owned(),
            keys => keys.to_string(),
        };
        let sides = [
            (
                "a window before the diagonal of",
                self.band.0,
                forward.band.0,
            ),
            (
                "a window after the diagonal of",
                self.band.1,
                forward.band.1,
            ),
        ];
        match sides.into_iter().find(|(_, own, theirs)| own != theirs) {
            Some((what, own, theirs)) => differs(what, said(theirs), said(own)),
            None => Ok(()),
        }
    }
}

/// Holds offsets of sequences to what they must be: never less than the one before, and inside the tensor's rows.
pub(super) fn are_offsets(
    name: &'static str,
    offsets: &[u32],
    rows: usize,
) -> Result<(), AttentionError> {
    let wrong = |at: usize, wanted: String| {
        let value = offsets[at];
        Err(AttentionError::Offsets {
            name,
            at,
            value,
            wanted,
        })
    };
    if let Some(at) = offsets.windows(2).position(|w| w[1] < w[0]) {
        let before = offsets[at];
        return wrong(at + 1, format!("at least {before}, the one before it"));
    }
    match offsets.last() {
        Some(last) if *last as usize > rows => {
            let wanted = format!("at most {rows}, the rows of the tensor");
            wrong(offsets.len() - 1, wanted)
        }
        _ => Ok(()),
    }
}
