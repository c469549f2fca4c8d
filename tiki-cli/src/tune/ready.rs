//! Candidates that compiled, and what their launches need.
//!
//! A launch's numbers are computed from the command line ([`closed`](super::closed)). A fact that does not hold refuses the
//! candidate, as a launcher would; what cannot be computed here leaves it undecided.

use super::closed::{Geometry, Grid};
use super::given::Slot;
use super::signature;
use crate::kernels::Kernel;
use crate::outcome::{Kind, Result};
use tiki_kernel::compile::Instance;
use tiki_launch::tune::{Candidate, Verdict};
use tiki_launch::{Call, Compiled, FactError, LaunchError};

/// Why a launch has no geometry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Open {
    /// This fact does not hold.
    Fact(String),
    /// It depends on what is not known here.
    Unknown(String),
}

impl From<String> for Open {
    fn from(why: String) -> Open {
        Open::Unknown(why)
    }
}

/// A candidate that compiled, and what its launch needs.
pub struct Ready {
    pub compiled: Compiled,
    pub geometry: std::result::Result<Geometry, Open>,
}

impl AsRef<Compiled> for Ready {
    fn as_ref(&self) -> &Compiled {
        &self.compiled
    }
}

/// Instances whose launch cannot be computed here, and why.
pub type Undecided = Vec<(Instance, Verdict)>;

/// Those whose launch can be computed here, and of the others why not. If it is all of them, so is the command line's
/// kernel.
pub fn decidable(candidates: Vec<Candidate<Ready>>) -> Result<(Vec<Candidate<Ready>>, Undecided)> {
    let (mut kept, mut undecided) = (Vec::new(), Vec::new());
    for candidate in candidates {
        match &candidate.kernel {
            Ok(Ready {
                geometry: Err(Open::Unknown(why)),
                ..
            }) => {
                undecided.push((candidate.instance.clone(), Verdict::Refused(why.clone())));
            }
            _ => kept.push(candidate),
        }
    }
    match undecided.first() {
        Some((_, Verdict::Refused(why))) if !kept.iter().any(|c| c.kernel.is_ok()) => {
            Err(Kind::Usage.because(format!("no launch can be made: {why}")))
        }
        _ => Ok((kept, undecided)),
    }
}

/// One launch of a candidate.
pub fn launch(
    kernel: &Kernel,
    stream: &tiki_launch::Stream,
    ready: &Ready,
    slots: &mut [(usize, Slot)],
) -> std::result::Result<(), LaunchError> {
    let artifact = ready.compiled.artifact();
    let geometry = ready.geometry.as_ref().map_err(|open| FactError {
        kernel: artifact.instance.to_owned(),
        fact: match open {
            Open::Fact(fact) | Open::Unknown(fact) => fact.clone(),
        },
        values: Vec::new(),
    })?;
    let mut call = Call::new(stream, artifact)?;
    call.grid(match geometry.grid {
        Grid::Blocks(grid) => grid,
        Grid::Persistent => stream.device().persistent_grid(artifact),
    })?;
    let signature = signature(kernel);
    let mut given = slots.iter_mut().peekable();
    for (index, (name, ..)) in signature.iter().enumerate() {
        if let Some((_, slot)) = given.next_if(|(at, _)| *at == index) {
            slot.give(&mut call, index)?;
        } else if let Some((_, shape)) = geometry.workspaces.iter().find(|(n, _)| n == name) {
            call.workspace(index, shape)?;
        }
    }
    call.launch()
}
