//! Tensors that a kernel reaches through a table, beside its arguments.
//!
//! A launch orders its arguments among streams, keeps them alive, and refuses outputs that share elements with other
//! arguments. What a kernel finds in a table of its own (where windows of an argument lie, say) no launch sees: whoever
//! makes the table names the tensors, and launches within [`Stream::reaching`].

use crate::element::Element;
use crate::error::{LaunchError, Place};
use crate::stream::Stream;
use crate::tensor::{Operand, Tensor, form};

/// A tensor that a kernel reaches, and whether it writes it.
#[derive(Debug, Clone, Copy)]
pub struct Reached<'a> {
    operand: Operand<'a>,
    writes: bool,
}

impl<E: Element, const R: usize> Tensor<E, R> {
    /// As a kernel's table may name it, to be read.
    #[must_use]
    pub fn reached(&self) -> Reached<'_> {
        Reached {
            operand: self.operand(),
            writes: false,
        }
    }
    /// As a kernel's table may name it, to be written (or read and written).
    #[must_use]
    pub fn reached_mut(&mut self) -> Reached<'_> {
        Reached {
            operand: self.operand(),
            writes: true,
        }
    }
}

impl Stream {
    /// What `launch` puts on this stream comes after whatever wrote these tensors and, where it writes them, after whatever
    /// reads them, on any stream; what touches them later comes after it. A graph under capture keeps them. `kernel` is a
    /// name for messages.
    ///
    /// # Errors
    ///
    /// If a tensor is another device's, if one that is written shares elements with another, and whatever `launch` returns.
    pub fn reaching<T, F: From<LaunchError>>(
        &self,
        kernel: &str,
        tensors: &[Reached<'_>],
        launch: impl FnOnce() -> Result<T, F>,
    ) -> Result<T, F> {
        self.must_be_apart(kernel, tensors)?;
        let (device, id) = (self.device(), self.id());
        let machine = device.machine();
        let mut lock = device.lock();
        let capturing = lock.order.capturing(id);
        for Reached { operand, writes } in tensors {
            if capturing {
                lock.order.capture(id, operand.buffer, *writes);
            } else {
                let buffer = operand.buffer.id();
                lock.order.before(machine, id, buffer, *writes)?;
            }
        }
        drop(lock);
        let launched = launch();
        if !capturing {
            let mut lock = device.lock();
            let mark = lock.order.next(id);
            for Reached { operand, writes } in tensors {
                lock.order.touched(mark, operand.buffer.id(), *writes);
            }
        }
        launched
    }

    /// Along the addresses, each tensor against those that begin before it ends.
    fn must_be_apart(&self, kernel: &str, tensors: &[Reached<'_>]) -> Result<(), LaunchError> {
        let place = |i: usize| {
            Box::new(Place {
                kernel: kernel.into(),
                argument: format!("tensor {i}"),
            })
        };
        let mut order: Vec<usize> = (0..tensors.len()).collect();
        for (i, Reached { operand, writes }) in tensors.iter().enumerate() {
            if operand.buffer.device() != self.device() {
                return Err(LaunchError::OtherDevice {
                    place: place(i),
                    there: operand.buffer.device().to_string(),
                    here: self.device().to_string(),
                });
            }
            if *writes && form::reaches_twice(operand.shape, operand.strides) {
                return Err(LaunchError::Overlap {
                    place: place(i),
                    other: format!("tensor {i}"),
                });
            }
        }
        let begins = |i: usize| tensors[i].operand.buffer.address() + tensors[i].operand.offset;
        order.sort_by_key(|&i| begins(i));
        for (n, &i) in order.iter().enumerate() {
            let (a, end) = (&tensors[i], begins(i) + tensors[i].operand.extent().bytes());
            let near = order[n + 1..].iter().take_while(|&&j| begins(j) < end);
            for &j in near {
                let b = &tensors[j];
                if (a.writes || b.writes)
                    && std::sync::Arc::ptr_eq(a.operand.buffer, b.operand.buffer)
                    && !form::disjoint(a.operand.extent(), b.operand.extent())
                {
                    let (out, other) = if a.writes { (i, j) } else { (j, i) };
                    return Err(LaunchError::Overlap {
                        place: place(out),
                        other: format!("tensor {other}"),
                    });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
