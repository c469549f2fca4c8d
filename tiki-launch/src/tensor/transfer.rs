//! Values between host and device, and between tensors.
//!
//! A transfer waits for what the tensor needs and for nothing else. A strided view is read by bringing
//! over the bytes it spans and picking its elements on the host; it is written by a host slice only if it is
//! row-major, because writing what lies between its elements could undo another kernel's work.

use super::{Tensor, form};
use crate::device::Device;
use crate::element::{Element, Sealed};
use crate::error::{Form, LaunchError, Place};

impl<E: Element, const R: usize> Tensor<E, R> {
    pub(crate) fn from_host(
        device: &Device,
        host: &[E],
        shape: [usize; R],
    ) -> Result<Self, LaunchError> {
        let mut tensor = Tensor::allocate(device, shape, false)?;
        tensor.copy_from(host)?;
        Ok(tensor)
    }

    /// Overwrites all elements with a host slice in row-major order.
    pub fn copy_from(&mut self, host: &[E]) -> Result<(), LaunchError> {
        if host.len() != self.len() {
            return Err(LaunchError::Length {
                shape: self.shape.to_vec(),
                expected: self.len(),
                given: host.len(),
            });
        }
        self.must_be_contiguous("host values")?;
        self.buffer.upload(
            (self.offset * size_of::<E>()) as u64,
            <E as Sealed>::bytes(host),
        )
    }

    /// The elements in row-major order, once everything that writes them has finished.
    pub fn to_vec(&self) -> Result<Vec<E>, LaunchError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let start = (self.offset * size_of::<E>()) as u64;
        let mut read = |to: &mut [u8]| self.buffer.download(start, to);
        if self.is_contiguous() {
            return <E as Sealed>::receive(self.len(), &mut read);
        }
        let spanned = <E as Sealed>::receive(form::span(&self.shape, &self.strides), &mut read)?;
        let mut picked = Vec::with_capacity(self.len());
        let mut at = [0; R];
        loop {
            picked.push(
                spanned[at
                    .iter()
                    .zip(&self.strides)
                    .map(|(i, s)| i * s)
                    .sum::<usize>()],
            );
            let Some(axis) = (0..R).rev().find(|&i| at[i] + 1 < self.shape[i]) else {
                break;
            };
            at[axis] += 1;
            at[axis + 1..].fill(0);
        }
        Ok(picked)
    }

    /// Overwrites all elements with those of another tensor of the same device, in stream order on the
    /// given stream. Both must be row-major.
    pub fn copy_from_tensor(
        &mut self,
        stream: &crate::Stream,
        from: &Tensor<E, R>,
    ) -> Result<(), LaunchError> {
        if from.shape != self.shape {
            return Err(LaunchError::Shape {
                expected: self.shape.to_vec(),
                given: from.shape.to_vec(),
            });
        }
        for device in [self.device(), from.device()] {
            if device != stream.device() {
                return Err(LaunchError::OtherDevice {
                    place: Box::new(copy_place("tensor")),
                    there: device.to_string(),
                    here: stream.device().to_string(),
                });
            }
        }
        self.must_be_contiguous("to")?;
        from.must_be_contiguous("from")?;
        if self.is_empty() {
            return Ok(());
        }
        if std::sync::Arc::ptr_eq(&self.buffer, &from.buffer)
            && !form::disjoint(self.operand().extent(), from.operand().extent())
        {
            return Err(LaunchError::Overlap {
                place: Box::new(copy_place("to")),
                other: "from".into(),
            });
        }
        let machine = stream.device().machine();
        let mut state = stream.device().lock();
        let order = &mut state.order;
        let bytes = (self.len() * size_of::<E>()) as u64;
        let (source, target) = (from.address(), self.address());
        if order.capturing(stream.id()) {
            order.capture(stream.id(), &from.buffer, false);
            order.capture(stream.id(), &self.buffer, true);
            return machine.copy(source, target, bytes, order.raw(stream.id()));
        }
        order.before(machine, stream.id(), from.buffer.id(), false)?;
        order.before(machine, stream.id(), self.buffer.id(), true)?;
        machine.copy(source, target, bytes, order.raw(stream.id()))?;
        let mark = order.next(stream.id());
        order.touched(mark, from.buffer.id(), false);
        order.touched(mark, self.buffer.id(), true);
        Ok(())
    }

    fn must_be_contiguous(&self, argument: &str) -> Result<(), LaunchError> {
        if self.is_contiguous() {
            return Ok(());
        }
        Err(LaunchError::NotContiguous {
            place: Box::new(copy_place(argument)),
            form: Box::new(Form {
                shape: self.shape.to_vec(),
                strides: self.strides.to_vec(),
            }),
            expected: form::row_major(&self.shape).to_vec(),
        })
    }
}

fn copy_place(argument: &str) -> Place {
    Place {
        kernel: "copy".into(),
        argument: argument.into(),
    }
}
