//! From checked arguments to the machine: one lock, under which streams are ordered and the kernel is handed over.

use std::time::{Duration, Instant};

use arrayvec::ArrayVec;
use tiki_kernel::artifact::Hidden;

use super::Call;
use crate::args::MAPS;
use crate::device::State;
use crate::error::LaunchError;
use crate::kernel::Plan;
use crate::machine::{Machine, RawStream, Shot};
use crate::order::Order;
use crate::tensor_map::{Described, Maps};

type Done = Result<(), LaunchError>;

impl Call<'_> {
    /// Hands the kernel over to the stream. May be called again: the same launch once more.
    pub fn launch(&mut self) -> Result<(), LaunchError> {
        self.launch_by(|machine, shot, at| machine.launch(shot, at))
    }

    /// The time of the driver's own call alone, the least part of a launch that there can be: the mean of so many in a row,
    /// each of which launches the kernel. None for an empty grid.
    pub fn driver_time(&mut self, times: u32) -> Result<Duration, LaunchError> {
        let mut spent = Duration::ZERO;
        self.launch_by(|machine, shot, at| {
            let begun = Instant::now();
            machine.launch_times(shot, at, times)?;
            spent = begun.elapsed() / times.max(1);
            Ok(())
        })?;
        Ok(spent)
    }

    /// Checks, and hands over in this way.
    #[inline]
    fn launch_by(&mut self, by: impl FnOnce(&dyn Machine, &Shot<'_>, RawStream) -> Done) -> Done {
        if self.given != self.params.len() {
            return Err(self.wrong_count(self.given).into());
        }
        self.must_not_overlap()?;
        if self.grid.contains(&0) {
            return Ok(());
        }
        let (device, stream) = (self.stream.device(), self.stream.id());
        let machine = device.machine();
        let mut lock = device.lock();
        let function = match self.plan {
            Plan::Kernel(kernel) => kernel.function().entry.function,
            Plan::Artifact(artifact) => match lock.function(artifact) {
                Some(function) => function,
                None => {
                    drop(lock);
                    let loaded = self.plan.function(device)?;
                    lock = device.lock();
                    loaded.entry.function
                }
            },
        };
        if !self.lent.is_empty() {
            lock = self.lend_workspaces(lock)?;
        }
        let State { order, maps, .. } = &mut *lock;
        let described = match self.plan {
            Plan::Artifact(artifact) if !artifact.hidden.is_empty() => {
                let address = std::ptr::from_ref(artifact).addr();
                maps.of_launch(address, self.args.words(), |maps| {
                    self.describe(artifact.hidden, machine, maps)
                })?
            }
            _ => Described::default(),
        };
        let capturing = order.capturing(stream);
        if capturing {
            self.enter_graph(order);
        } else {
            for (operand, _, writes) in &self.operands {
                order.before(machine, stream, operand.buffer.id(), *writes)?;
            }
        }
        let form = self.plan.form();
        let shot = Shot {
            kernel: self.plan.name(),
            function,
            grid: self.grid.map(|blocks| blocks as u32),
            block: form.block,
            cluster: form.cluster,
            dynamic_shared: form.dynamic_shared,
            dependent: form.dependent,
            params: self.params,
            bare: self.plan.bare(),
            words: self.args.words(),
            maps: described,
        };
        let launched = by(machine, &shot, order.raw(stream));
        if launched.is_ok() && !capturing {
            let mark = order.next(stream);
            for (operand, _, writes) in &self.operands {
                order.touched(mark, operand.buffer.id(), *writes);
            }
        }
        launched
    }

    /// What a graph under capture must know of the launch.
    #[cold]
    fn enter_graph(&self, order: &mut Order) {
        let stream = self.stream.id();
        if let Plan::Kernel(kernel) = self.plan {
            order.keep(stream, kernel.module());
        }
        for (operand, _, writes) in &self.operands {
            order.capture(stream, operand.buffer, *writes);
        }
    }

    /// Finds the tensor maps that the kernel takes behind its arguments, or has them made.
    fn describe(
        &self,
        hidden: &[Hidden],
        machine: &dyn Machine,
        maps: &mut Maps,
    ) -> Result<ArrayVec<u32, MAPS>, LaunchError> {
        let mut places = ArrayVec::new();
        for hidden in hidden {
            let Hidden::TensorMap {
                param,
                tile,
                swizzle,
            } = *hidden;
            let param = param as usize;
            let mut given = self.operands.iter();
            let Some((operand, ..)) = given.find(|(_, i, _)| usize::from(*i) == param) else {
                return Err(self.wrong_count(self.given).into());
            };
            let place = maps.place(machine, operand, tile, swizzle, || self.place(param))?;
            if places.try_push(place).is_err() {
                return Err(self.wrong_count(self.given).into());
            }
        }
        Ok(places)
    }
}
