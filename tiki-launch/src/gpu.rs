//! The GPU side: [`crate::machine::Machine`] over the NVIDIA driver.
//!
//! All of it that touches the driver is in [`driver`]; this crate has no other `unsafe` on the GPU's path.

pub(crate) mod driver;

use crate::error::LaunchError;
use crate::machine::Machine;

/// Opens the GPU of this number.
pub(crate) fn open(ordinal: usize) -> Result<Box<dyn Machine>, LaunchError> {
    driver::probe::present()?;
    Ok(Box::new(driver::context::Gpu::open(ordinal)?))
}
