//! The virtual machine as a device.

use tiki_kernel::target::Target;

use crate::error::LaunchError;
use crate::machine::Machine;

/// Opens a virtual machine that imitates a card of this target.
pub(crate) fn open(target: Target) -> Result<Box<dyn Machine>, LaunchError> {
    Err(LaunchError::NoMachine {
        target: target.name().into(),
    })
}
