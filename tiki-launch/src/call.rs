//! One launch: what generated code calls.
//!
//! 1. [`Call::new`] refuses a device the kernel is not built for.
//! 2. Each argument, in the order of the signature (whose index it carries; an absent optional one is left
//!    out, as it is from the instance's parameters), is checked against its parameter: device, type, rank,
//!    row-major order unless strided, alignment, 32-bit extents.
//! 3. [`Call::fact`] checks what `require!` states, [`Call::grid`] the grid, [`Call::whole_waves`] that it
//!    divides into waves.
//! 4. [`Call::launch`] checks that no output shares elements with another argument; if the grid is empty it
//!    stops here, with everything checked and nothing run. Then, under the device's lock, it lets the
//!    stream wait for other streams where they touched the same buffers, and hands the kernel over.
//!
//! All checks happen on the host before anything runs. A warm launch allocates nothing.
//!
//! What generated code calls is compiled into it, down to [`Call::launch`]: there the artefact, types and ranks are known,
//! so that of most checks nothing is left to run. For that, failures are boxed (an answer is a word, not memory), and
//! made in functions of their own.

mod check;
mod enqueue;
mod lend;

use arrayvec::ArrayVec;
use tiki_kernel::artifact::{Artifact, Param, ParamKind};

use crate::args::Args;
use crate::element::Element;
use crate::error::LaunchError;
use crate::fact::ArithmeticError;
use crate::kernel::{Kernel, Plan, elsewhere, wrong_target};
use crate::machine::Kind;
use crate::stream::Stream;
use crate::tensor::{Operand, Tensor};

/// Tensors a kernel can take.
const TENSORS: usize = 32;

/// Workspaces a kernel can take.
const WORKSPACES: usize = 4;

/// A tensor that was given, its place among the parameters, and whether the kernel writes it.
type Given<'a> = (Operand<'a>, u8, bool);

/// What comes of a step.
type Answer<T> = Result<T, Box<LaunchError>>;

/// A launch under construction.
#[derive(Debug)]
pub struct Call<'a> {
    stream: &'a Stream,
    plan: Plan<'a>,
    params: &'a [Param],
    /// Arguments given.
    given: usize,
    /// Lowest index in the signature that may come next.
    next: usize,
    args: Args,
    operands: ArrayVec<Given<'a>, TENSORS>,
    /// Arguments that the launcher lends: the place of their address among the words, and their bytes.
    lent: ArrayVec<(u8, u64), WORKSPACES>,
    grid: [u64; 3],
}

impl<'a> Call<'a> {
    /// Begins a launch of an artefact.
    #[inline(always)] // a copy of the arrays inside would be dear
    pub fn new(stream: &'a Stream, artifact: &'static Artifact) -> Answer<Call<'a>> {
        if !stream.device().runs_artifact(artifact) {
            return Err(wrong_target(stream.device(), artifact));
        }
        Ok(Call::of(stream, Plan::Artifact(artifact)))
    }

    /// Begins a launch of a kernel made from PTX text.
    #[inline(always)]
    pub fn raw(stream: &'a Stream, kernel: &'a Kernel) -> Answer<Call<'a>> {
        if kernel.device() != stream.device() {
            return Err(elsewhere(stream.device(), kernel));
        }
        Ok(Call::of(stream, Plan::Kernel(kernel)))
    }

    #[inline(always)]
    fn of(stream: &'a Stream, plan: Plan<'a>) -> Call<'a> {
        Call {
            stream,
            plan,
            params: plan.params(),
            given: 0,
            next: 0,
            args: Args::default(),
            operands: ArrayVec::new(),
            lent: ArrayVec::new(),
            grid: [1; 3],
        }
    }

    /// Gives an input.
    #[inline(always)]
    pub fn tensor<E: Element, const R: usize>(
        &mut self,
        index: usize,
        tensor: &'a Tensor<E, R>,
    ) -> Answer<&mut Self> {
        self.operand(index, tensor, false)?;
        Ok(self)
    }

    /// Gives an output (or a tensor that is both read and written).
    #[inline(always)]
    pub fn tensor_mut<E: Element, const R: usize>(
        &mut self,
        index: usize,
        tensor: &'a mut Tensor<E, R>,
    ) -> Answer<&mut Self> {
        self.operand(index, tensor, true)?;
        Ok(self)
    }

    /// Gives a value.
    #[inline(always)]
    pub fn scalar<E: Element>(&mut self, index: usize, value: E) -> Answer<&mut Self> {
        let place = self.in_turn(index)?;
        match self.params[place].kind {
            ParamKind::Scalar(dtype) if dtype == E::DTYPE => {}
            _ => return Err(self.wrong_value(place, E::DTYPE)),
        }
        self.push(value.word())?;
        Ok(self)
    }

    /// States a fact the kernel was compiled on: refused, with the values of its operands, unless it holds.
    #[inline]
    pub fn fact(
        &self,
        holds: bool,
        fact: &'static str,
        values: impl FnOnce() -> Vec<(&'static str, Option<String>)>,
    ) -> Answer<()> {
        if holds {
            return Ok(());
        }
        Err(self.not_so(fact, values()))
    }

    /// A computation of the launcher that has no result.
    #[cold]
    pub fn no_result(
        &self,
        place: &'static str,
        expression: &'static str,
        numbers: impl std::fmt::Display,
    ) -> LaunchError {
        ArithmeticError {
            kernel: self.plan.name().into(),
            place: place.into(),
            expression: expression.into(),
            numbers: numbers.to_string(),
        }
        .into()
    }

    /// The grid, in blocks; one block unless said. If an extent is 0, nothing is launched.
    #[inline(always)]
    pub fn grid(&mut self, grid: [u64; 3]) -> Answer<&mut Self> {
        let cluster = u64::from(self.plan.cluster());
        let fits = grid
            .iter()
            .zip(check::GRID)
            .all(|(&blocks, limit)| blocks <= limit);
        if !fits || (cluster > 1 && !grid[0].is_multiple_of(cluster)) {
            return Err(self.no_grid(grid));
        }
        self.grid = grid;
        Ok(self)
    }

    /// Refuses a grid whose last wave of blocks leaves some of the GPU idle. The virtual machine has no waves.
    pub fn whole_waves(&mut self) -> Answer<&mut Self> {
        let device = self.stream.device();
        if let Plan::Artifact(artifact) = self.plan
            && device.kind() != Kind::Vm
        {
            let blocks: u64 = self.grid.iter().product();
            let resident = device.persistent_grid(artifact)[0];
            if !blocks.is_multiple_of(resident) {
                return Err(Box::new(LaunchError::PartialWave {
                    kernel: self.plan.name().into(),
                    blocks,
                    resident,
                    multiprocessors: device.multiprocessors(),
                }));
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
pub(crate) mod tests;
