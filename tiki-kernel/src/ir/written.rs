//! Instructions that the author wrote, between values of the typed program.
//!
//! They are read once, by the checker; every pass looks at their rows. Registers are numbered within the
//! fragment: outputs first, inputs after them, then those it declares itself. Inputs are never written,
//! outputs always are.

use crate::isa::Ty;
use crate::ptx::Inst;

/// A fragment of instructions.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// As written, numbers put in.
    pub text: String,
    /// Types of its registers.
    pub registers: Vec<Ty>,
    /// How many of them are results.
    pub outputs: u32,
    /// In order.
    pub body: Vec<Inst>,
    /// What it touches in memory, as the author declares.
    pub touches: Vec<Touch>,
}

/// A tensor that is read or written, somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// Which one.
    pub tensor: Touched,
    /// Written rather than read.
    pub writes: bool,
}

/// A tensor as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touched {
    /// An argument: index into [`super::Kernel::params`].
    Global(usize),
    /// An allocation: index into [`super::Kernel::shared`].
    Shared(usize),
}

impl Written {
    /// It only computes: it may be moved, repeated and left out.
    #[must_use]
    pub fn is_pure(&self) -> bool {
        self.touches.is_empty() && self.body.iter().all(Inst::is_pure)
    }
    /// All lanes of the warp must come to it together.
    #[must_use]
    pub fn is_convergent(&self) -> bool {
        self.body.iter().any(|i| i.op.row.effects.convergent)
    }
    /// Its results follow from its inputs alone, so that equal inputs give equal results in all threads.
    #[must_use]
    pub fn follows_from_inputs(&self) -> bool {
        let special = |i: &Inst| {
            let any = |o: &crate::ptx::Operand| matches!(o, crate::ptx::Operand::Special(_));
            i.operands.iter().any(any)
        };
        self.is_pure() && !self.is_convergent() && !self.body.iter().any(special)
    }
}
