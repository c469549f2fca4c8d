//! The checks of a launch's arguments.

use tiki_kernel::artifact::ParamKind;

use super::Call;
use crate::error::{Form, LaunchError, Place};
use crate::tensor::{Operand, form};

/// Blocks along x, y and z.
pub(super) const GRID: [u64; 3] = [0x7fff_ffff, 0xffff, 0xffff];

impl<'a> Call<'a> {
    pub(super) fn operand(
        &mut self,
        index: usize,
        operand: Operand<'a>,
        writable: bool,
    ) -> Result<(), LaunchError> {
        let index = self.in_turn(index)?;
        let kind = self.plan.params()[index].kind;
        let ParamKind::Tensor {
            dtype,
            rank,
            writes,
            strided,
            align,
        } = kind
        else {
            return Err(self.wrong_type(index, kind, describe(&operand, writable)));
        };
        let bare = self.plan.bare();
        if dtype != operand.dtype
            || (!bare && rank as usize != operand.shape.len())
            || writes != writable
        {
            return Err(self.wrong_type(index, kind, describe(&operand, writable)));
        }
        if operand.buffer.device() != self.stream.device() {
            return Err(LaunchError::OtherDevice {
                place: self.place(index),
                there: operand.buffer.device().to_string(),
                here: self.stream.device().to_string(),
            });
        }
        let row_major = form::is_row_major(operand.shape, operand.strides);
        if !strided && !row_major {
            return Err(self.not_contiguous(index, &operand));
        }
        let address = operand.buffer.address() + operand.offset;
        if !is_aligned(address, align) {
            return Err(LaunchError::Misaligned {
                place: self.place(index),
                address,
                align,
            });
        }
        if writes && !row_major && form::reaches_twice(operand.shape, operand.strides) {
            let place = self.place(index);
            let other = place.argument.clone();
            return Err(LaunchError::Overlap { place, other });
        }
        self.push(address, 8)?;
        if !bare {
            for (axis, &extent) in operand.shape.iter().enumerate() {
                if extent > u32::MAX as usize {
                    return Err(LaunchError::Extent {
                        place: self.place(index),
                        axis,
                        extent,
                    });
                }
                self.push(extent as u64, 4)?;
            }
            if strided {
                for &stride in operand.strides {
                    self.push(stride as u64, 8)?;
                }
            }
        }
        if self
            .operands
            .try_push((operand, index as u8, writes))
            .is_err()
        {
            return Err(self.wrong_count(self.given));
        }
        Ok(())
    }

    /// No output may share elements with any other argument.
    #[inline]
    pub(super) fn must_not_overlap(&self) -> Result<(), LaunchError> {
        for (i, (a, a_index, a_writes)) in self.operands.iter().enumerate() {
            for (b, b_index, b_writes) in &self.operands[i + 1..] {
                if (*a_writes || *b_writes) && std::sync::Arc::ptr_eq(a.buffer, b.buffer) {
                    let (out, other) = if *a_writes {
                        (*a_index, *b_index)
                    } else {
                        (*b_index, *a_index)
                    };
                    if !form::disjoint(a.extent(), b.extent()) {
                        return Err(LaunchError::Overlap {
                            place: self.place(out.into()),
                            other: self.plan.params()[usize::from(other)].name.into(),
                        });
                    }
                }
            }
        }
        Ok(())
    }

    /// Arguments come in the order of the signature; the answer is the place among the parameters.
    #[inline]
    pub(super) fn in_turn(&mut self, index: usize) -> Result<usize, LaunchError> {
        if index < self.next || self.given >= self.plan.params().len() {
            return Err(self.wrong_count(self.given + 1));
        }
        self.next = index + 1;
        self.given += 1;
        Ok(self.given - 1)
    }

    #[inline]
    pub(super) fn push(&mut self, word: u64, width: u8) -> Result<(), LaunchError> {
        if self.args.push(word, width) {
            Ok(())
        } else {
            Err(self.wrong_count(self.given))
        }
    }

    #[cold]
    pub(super) fn wrong_count(&self, given: usize) -> LaunchError {
        LaunchError::Arguments {
            kernel: self.plan.name().into(),
            given,
            expected: self.plan.params().len(),
        }
    }

    #[cold]
    pub(super) fn wrong_type(&self, index: usize, kind: ParamKind, given: String) -> LaunchError {
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
        LaunchError::ArgumentType {
            place: self.place(index),
            expected,
            given,
        }
    }

    #[cold]
    fn not_contiguous(&self, index: usize, operand: &Operand<'_>) -> LaunchError {
        let mut expected = vec![1; operand.shape.len()];
        for i in (1..operand.shape.len()).rev() {
            expected[i - 1] = expected[i] * operand.shape[i].max(1);
        }
        let form = Form {
            shape: operand.shape.to_vec(),
            strides: operand.strides.to_vec(),
        };
        LaunchError::NotContiguous {
            place: self.place(index),
            form: Box::new(form),
            expected,
        }
    }

    #[cold]
    pub(super) fn place(&self, index: usize) -> Box<Place> {
        Box::new(Place {
            kernel: self.plan.name().into(),
            argument: self.plan.params()[index].name.into(),
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
