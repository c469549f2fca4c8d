//! The checks of a launch's arguments.

use tiki_kernel::artifact::ParamKind;
use tiki_kernel::dtype::DType;

use super::{Answer, Call, Given};
use crate::element::Element;
use crate::error::{Form, LaunchError, Place};
use crate::fact::FactError;
use crate::tensor::{Operand, Tensor, form};

/// Blocks along x, y and z.
pub(super) const GRID: [u64; 3] = [0x7fff_ffff, 0xffff, 0xffff];

impl<'a> Call<'a> {
    /// Compiled into the caller, where rank and type are known, and what the artefact says too: most of it is settled there.
    #[inline(always)]
    pub(super) fn operand<E: Element, const R: usize>(
        &mut self,
        index: usize,
        tensor: &'a Tensor<E, R>,
        writable: bool,
    ) -> Answer<()> {
        let index = self.in_turn(index)?;
        let (shape, strides) = tensor.form();
        let kind = self.params[index].kind;
        let ParamKind::Tensor {
            dtype,
            rank,
            writes,
            strided,
            align,
        } = kind
        else {
            return Err(self.wrong_tensor(index, &tensor.operand(), writable));
        };
        let bare = self.plan.bare();
        if dtype != E::DTYPE || (!bare && rank as usize != R) || writes != writable {
            return Err(self.wrong_tensor(index, &tensor.operand(), writable));
        }
        if tensor.device() != self.stream.device() {
            return Err(self.other_device(index, &tensor.operand()));
        }
        let row_major = form::is_row_major(shape, strides);
        if !strided && !row_major {
            return Err(self.not_contiguous(index, &tensor.operand()));
        }
        let address = tensor.address();
        if !is_aligned(address, align) {
            return Err(self.misaligned(index, address, align));
        }
        if writes && !row_major && form::reaches_twice(shape, strides) {
            return Err(self.overlaps_itself(index));
        }
        let mut fits = self.args.push(address);
        if !bare {
            if shape.iter().any(|&extent| extent > u32::MAX as usize) {
                return Err(self.too_long(index, shape));
            }
            fits &= self.args.extend(&shape.map(|extent| extent as u64));
            if strided {
                fits &= self.args.extend(&strides.map(|stride| stride as u64));
            }
        }
        let given = (tensor.operand(), index as u8, writes);
        if !fits || self.operands.try_push(given).is_err() {
            return Err(self.wrong_count(self.given));
        }
        Ok(())
    }

    /// No output may share elements with any other argument.
    #[inline(always)]
    pub(super) fn must_not_overlap(&self) -> Answer<()> {
        let mut rest = self.operands.as_slice();
        while let [a, others @ ..] = rest {
            for b in others {
                if std::sync::Arc::ptr_eq(a.0.buffer, b.0.buffer) && (a.2 || b.2) {
                    self.must_be_apart(a, b)?;
                }
            }
            rest = others;
        }
        Ok(())
    }

    /// Of two views of one buffer, of which one is written.
    #[inline(never)]
    fn must_be_apart(&self, a: &Given<'_>, b: &Given<'_>) -> Answer<()> {
        if form::disjoint(a.0.extent(), b.0.extent()) {
            return Ok(());
        }
        let (out, other) = if a.2 { (a.1, b.1) } else { (b.1, a.1) };
        Err(Box::new(LaunchError::Overlap {
            place: self.place(out.into()),
            other: self.params[usize::from(other)].name.into(),
        }))
    }

    /// Arguments come in the order of the signature; the answer is the place among the parameters.
    #[inline(always)]
    pub(super) fn in_turn(&mut self, index: usize) -> Answer<usize> {
        if index < self.next || self.given >= self.params.len() {
            return Err(self.wrong_count(self.given + 1));
        }
        self.next = index + 1;
        self.given += 1;
        Ok(self.given - 1)
    }

    #[inline(always)]
    pub(super) fn push(&mut self, word: u64) -> Answer<()> {
        if self.args.push(word) {
            Ok(())
        } else {
            Err(self.wrong_count(self.given))
        }
    }

    #[cold]
    pub(super) fn wrong_count(&self, given: usize) -> Box<LaunchError> {
        Box::new(LaunchError::Arguments {
            kernel: self.plan.name().into(),
            given,
            expected: self.params.len(),
        })
    }

    #[cold]
    pub(super) fn wrong_type(
        &self,
        index: usize,
        kind: ParamKind,
        given: String,
    ) -> Box<LaunchError> {
        let expected = match kind {
            ParamKind::Scalar(dtype) => format!("a value of type {dtype}"),
            ParamKind::Tensor { dtype, writes, .. } if self.plan.bare() => {
                format!(
                    "{} tensor of {dtype}",
                    if writes { "a mutable" } else { "a" }
                )
            }
            ParamKind::Tensor {
                dtype,
                rank,
                writes,
                ..
            } => {
                format!(
                    "{} tensor of {dtype} and rank {rank}",
                    if writes { "a mutable" } else { "a" }
                )
            }
        };
        Box::new(LaunchError::ArgumentType {
            place: self.place(index),
            expected,
            given,
        })
    }

    #[cold]
    pub(super) fn wrong_value(&self, index: usize, dtype: DType) -> Box<LaunchError> {
        let given = format!("a value of type {dtype}");
        self.wrong_type(index, self.params[index].kind, given)
    }

    #[cold]
    pub(super) fn not_so(
        &self,
        fact: &'static str,
        values: Vec<(&'static str, Option<String>)>,
    ) -> Box<LaunchError> {
        let values = values.into_iter();
        let fact = FactError {
            kernel: self.plan.name().into(),
            fact: fact.into(),
            values: values
                .filter_map(|(operand, value)| Some((operand.into(), value?)))
                .collect(),
        };
        Box::new(fact.into())
    }

    #[cold]
    pub(super) fn no_grid(&self, grid: [u64; 3]) -> Box<LaunchError> {
        Box::new(LaunchError::Grid {
            kernel: self.plan.name().into(),
            grid,
            limit: GRID,
            cluster: self.plan.cluster(),
        })
    }

    #[cold]
    fn wrong_tensor(
        &self,
        index: usize,
        operand: &Operand<'_>,
        writable: bool,
    ) -> Box<LaunchError> {
        self.wrong_type(index, self.params[index].kind, describe(operand, writable))
    }

    #[cold]
    fn other_device(&self, index: usize, operand: &Operand<'_>) -> Box<LaunchError> {
        Box::new(LaunchError::OtherDevice {
            place: self.place(index),
            there: operand.buffer.device().to_string(),
            here: self.stream.device().to_string(),
        })
    }

    #[cold]
    fn misaligned(&self, index: usize, address: u64, align: u32) -> Box<LaunchError> {
        Box::new(LaunchError::Misaligned {
            place: self.place(index),
            address,
            align,
        })
    }

    #[cold]
    fn overlaps_itself(&self, index: usize) -> Box<LaunchError> {
        let place = self.place(index);
        let other = place.argument.clone();
        Box::new(LaunchError::Overlap { place, other })
    }

    #[cold]
    pub(super) fn too_long(&self, index: usize, shape: &[usize]) -> Box<LaunchError> {
        let long = |extent: &usize| *extent > u32::MAX as usize;
        let axis = shape.iter().position(long).unwrap_or_default();
        Box::new(LaunchError::Extent {
            place: self.place(index),
            axis,
            extent: shape[axis],
        })
    }

    #[cold]
    fn not_contiguous(&self, index: usize, operand: &Operand<'_>) -> Box<LaunchError> {
        let mut expected = vec![1; operand.shape.len()];
        for i in (1..operand.shape.len()).rev() {
            expected[i - 1] = expected[i] * operand.shape[i].max(1);
        }
        let form = Form {
            shape: operand.shape.to_vec(),
            strides: operand.strides.to_vec(),
        };
        Box::new(LaunchError::NotContiguous {
            place: self.place(index),
            form: Box::new(form),
            expected,
        })
    }

    #[cold]
    pub(super) fn place(&self, index: usize) -> Box<Place> {
        Box::new(Place {
            kernel: self.plan.name().into(),
            argument: self.params[index].name.into(),
        })
    }
}

/// Alignments are powers of two, which need no division.
#[inline]
fn is_aligned(address: u64, align: u32) -> bool {
    let align = u64::from(align.max(1));
    if align.is_power_of_two() {
        address & (align - 1) == 0
    } else {
        address.is_multiple_of(align)
    }
}

fn describe(operand: &Operand<'_>, writable: bool) -> String {
    let a = if writable { "a mutable" } else { "a" };
    format!(
        "{a} tensor of {} and rank {}",
        operand.dtype,
        operand.shape.len()
    )
}
