//! What can go wrong between a tensor and a result.
//!
//! Every error names what the user wrote (kernel, parameter, tensor shape) and the numbers that
//! disagree; [`LaunchError::code`] is its machine-readable name, a row of [`crate::codes`].

mod fields;

use std::borrow::Cow;
use std::fmt;

use tiki_kernel::dtype::DType;

use crate::checkpoint::DataError;
use crate::codes::Code;
use crate::fact::{ArithmeticError, FactError};

/// An answer of the driver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The driver's number for it.
    pub number: i32,
    /// The driver's name for it.
    pub name: String,
    /// The driver's words.
    pub text: String,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.name, self.number, self.text)
    }
}

impl std::error::Error for Status {}

/// Which argument of which kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The kernel's instance.
    pub kernel: String,
    /// The parameter's name.
    pub argument: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "argument `{}` of kernel `{}`",
            self.argument, self.kernel
        )
    }
}

/// Shape and strides of a tensor, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// Extents, outermost first.
    pub shape: Vec<usize>,
    /// Strides in elements.
    pub strides: Vec<usize>,
}

/// Why a launch, or what leads to it, did not happen.
#[non_exhaustive]
#[allow(missing_docs)] // the message of each says what its fields are
pub enum LaunchError {
    NoDriver {
        reason: String,
    },
    OldDriver {
        missing: &'static str,
    },
    NoDevice {
        ordinal: usize,
        count: usize,
    },
    DeviceName {
        given: String,
        /// `TIKI_DEVICE` says so.
        variable: bool,
    },
    WrongTarget {
        kernel: String,
        target: String,
        device: String,
        capability: (u32, u32),
    },
    Refused {
        kernel: String,
        log: String,
        status: Box<Status>,
    },
    NoEntry {
        kernel: String,
        entry: String,
    },
    Spills {
        kernel: String,
        local_bytes: u32,
        registers: u32,
    },
    Driver {
        doing: Cow<'static, str>,
        status: Box<Status>,
    },
    Fault {
        doing: Cow<'static, str>,
        report: String,
        /// Where the virtual machine found it; a GPU does not tell.
        fault: Option<Box<crate::vm::Fault>>,
    },
    OutOfMemory {
        bytes: u64,
    },
    TooLarge {
        shape: Vec<usize>,
        dtype: DType,
    },
    OtherDevice {
        place: Box<Place>,
        there: String,
        here: String,
    },
    ArgumentType {
        place: Box<Place>,
        expected: String,
        given: String,
    },
    NotContiguous {
        place: Box<Place>,
        form: Box<Form>,
        expected: Vec<usize>,
    },
    Misaligned {
        place: Box<Place>,
        address: u64,
        align: u32,
    },
    Extent {
        place: Box<Place>,
        axis: usize,
        extent: usize,
    },
    Overlap {
        place: Box<Place>,
        other: String,
    },
    Fact(Box<FactError>),
    Grid {
        kernel: String,
        grid: [u64; 3],
        limit: [u64; 3],
        cluster: u32,
    },
    Arguments {
        kernel: String,
        given: usize,
        expected: usize,
    },
    Shared {
        kernel: String,
        bytes: u32,
        limit: u32,
    },
    Length {
        shape: Vec<usize>,
        expected: usize,
        given: usize,
    },
    Shape {
        expected: Vec<usize>,
        given: Vec<usize>,
    },
    View {
        shape: Vec<usize>,
        wanted: String,
    },
    InCapture {
        doing: &'static str,
    },
    Streams {
        limit: usize,
    },
    Parameters {
        kernel: String,
        index: usize,
        declared: Option<usize>,
        described: Option<usize>,
    },
    TensorMap {
        place: Box<Place>,
        why: String,
    },
    Arithmetic(Box<ArithmeticError>),
    PartialWave {
        kernel: String,
        blocks: u64,
        resident: u64,
        multiprocessors: u32,
    },
    Data(Box<DataError>),
}

impl LaunchError {
    /// The stable, machine-readable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            LaunchError::NoDriver { .. } => Code::NoDriver,
            LaunchError::OldDriver { .. } => Code::OldDriver,
            LaunchError::NoDevice { .. } => Code::NoDevice,
            LaunchError::DeviceName { .. } => Code::DeviceName,
            LaunchError::WrongTarget { .. } => Code::WrongTarget,
            LaunchError::Refused { .. } => Code::Refused,
            LaunchError::NoEntry { .. } => Code::NoEntry,
            LaunchError::Spills { .. } => Code::Spills,
            LaunchError::Driver { .. } => Code::Driver,
            LaunchError::Fault { .. } => Code::Fault,
            LaunchError::OutOfMemory { .. } => Code::OutOfMemory,
            LaunchError::TooLarge { .. } => Code::TooLarge,
            LaunchError::OtherDevice { .. } => Code::OtherDevice,
            LaunchError::ArgumentType { .. } => Code::ArgumentType,
            LaunchError::NotContiguous { .. } => Code::NotContiguous,
            LaunchError::Misaligned { .. } => Code::Misaligned,
            LaunchError::Extent { .. } => Code::Extent,
            LaunchError::Overlap { .. } => Code::Overlap,
            LaunchError::Fact(_) => Code::Fact,
            LaunchError::Grid { .. } => Code::Grid,
            LaunchError::Arguments { .. } => Code::Arguments,
            LaunchError::Shared { .. } => Code::Shared,
            LaunchError::Length { .. } => Code::Length,
            LaunchError::Shape { .. } => Code::Shape,
            LaunchError::View { .. } => Code::View,
            LaunchError::InCapture { .. } => Code::InCapture,
            LaunchError::Streams { .. } => Code::Streams,
            LaunchError::Parameters { .. } => Code::Parameters,
            LaunchError::TensorMap { .. } => Code::TensorMap,
            LaunchError::Arithmetic(_) => Code::Arithmetic,
            LaunchError::PartialWave { .. } => Code::PartialWave,
            LaunchError::Data(error) => error.code(),
        }
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] ", self.code().as_str())?;
        match self {
            LaunchError::NoDriver { reason } => write!(f, "no NVIDIA driver: {reason}"),
            LaunchError::OldDriver { missing } => {
                write!(
                    f,
                    "the NVIDIA driver is too old: it has no `{missing}`; update it, or build for CUDA 12.8: `tiki = {{ default-features = false, features = [\"cuda-12080\"] }}`"
                )
            }
            LaunchError::NoDevice { ordinal, count: 0 } => {
                write!(
                    f,
                    "the NVIDIA driver reports no GPU (asked for number {ordinal})"
                )
            }
            LaunchError::NoDevice { ordinal, count } => {
                write!(
                    f,
                    "there is no GPU number {ordinal}: the driver reports {count}, counted from 0"
                )
            }
            LaunchError::DeviceName { given, variable } => {
                let says = if *variable { "TIKI_DEVICE says " } else { "" };
                write!(
                    f,
                    "{says}`{given}`, which is no device: it must be `vm`, `vm:TARGET` with one of "
                )?;
                for (i, target) in tiki_kernel::target::Target::all().enumerate() {
                    write!(f, "{}`{target}`", if i == 0 { "" } else { ", " })?;
                }
                f.write_str(", or `cuda:N`")
            }
            LaunchError::WrongTarget {
                kernel,
                target,
                device,
                capability: (major, minor),
            } => {
                write!(
                    f,
                    "kernel `{kernel}` is built for {target}, which does not run on {device} (capability {major}.{minor})"
                )
            }
            LaunchError::Refused {
                kernel,
                log,
                status,
            } => {
                write!(
                    f,
                    "the device refused the PTX of kernel `{kernel}`: {status}"
                )?;
                if log.is_empty() {
                    Ok(())
                } else {
                    write!(f, "\n{log}")
                }
            }
            LaunchError::NoEntry { kernel, entry } => {
                write!(f, "the PTX of kernel `{kernel}` has no entry `{entry}`")
            }
            LaunchError::Spills {
                kernel,
                local_bytes,
                registers,
            } => {
                write!(
                    f,
                    "kernel `{kernel}` carries deny(spills), but the driver gave it {registers} registers and {local_bytes} bytes of local memory a thread"
                )
            }
            LaunchError::Driver { doing, status } => write!(f, "{doing} failed: {status}"),
            LaunchError::Fault {
                doing,
                report,
                fault: Some(_),
            } => write!(f, "{doing}: {report}"),
            LaunchError::Fault { doing, report, .. } => write!(
                f,
                "a kernel failed while running, seen when {doing}: {report}"
            ),
            LaunchError::OutOfMemory { bytes } => {
                write!(f, "the device has no room for {bytes} bytes")
            }
            LaunchError::TooLarge { shape, dtype } => {
                write!(
                    f,
                    "a tensor of shape {shape:?} and type {dtype} is too large to address"
                )
            }
            LaunchError::OtherDevice { place, there, here } if there == here => {
                write!(f, "{place} lives on another {there} than the launch is on")
            }
            LaunchError::OtherDevice { place, there, here } => {
                write!(f, "{place} lives on {there}, but the launch is on {here}")
            }
            LaunchError::ArgumentType {
                place,
                expected,
                given,
            } => {
                write!(f, "{place} must be {expected}, but {given} was given")
            }
            LaunchError::NotContiguous {
                place,
                form,
                expected,
            } => {
                write!(
                    f,
                    "{place} must be row-major without gaps: shape {:?} needs strides {expected:?}, but it has {:?}",
                    form.shape, form.strides
                )
            }
            LaunchError::Misaligned {
                place,
                address,
                align,
            } => {
                write!(
                    f,
                    "{place} must start at a multiple of {align} bytes, but its address {address:#x} is {} past one",
                    address % u64::from((*align).max(1))
                )
            }
            LaunchError::Extent {
                place,
                axis,
                extent,
            } => {
                write!(
                    f,
                    "{place}: extent {extent} of axis {axis} does not fit in 32 bits"
                )
            }
            LaunchError::Overlap { place, other } if *other == place.argument => {
                write!(
                    f,
                    "{place} is written, but several of its coordinates reach the same element"
                )
            }
            LaunchError::Overlap { place, other } => {
                write!(
                    f,
                    "{place} is written, but shares elements of one buffer with argument `{other}`"
                )
            }
            LaunchError::Fact(fact) => fact.fmt(f),
            LaunchError::Grid {
                kernel,
                grid,
                limit,
                cluster,
            } => {
                write!(
                    f,
                    "kernel `{kernel}` would need a grid of {grid:?} blocks; the limit is {limit:?}"
                )?;
                if *cluster > 1 {
                    write!(f, ", and x must be a multiple of its cluster of {cluster}")
                } else {
                    Ok(())
                }
            }
            LaunchError::Arguments {
                kernel,
                given,
                expected,
            } => {
                write!(
                    f,
                    "kernel `{kernel}` has {expected} parameters, given in order; this call gives {given}"
                )
            }
            LaunchError::Shared {
                kernel,
                bytes,
                limit,
            } => {
                write!(
                    f,
                    "kernel `{kernel}` needs {bytes} bytes of shared memory a block; the device has {limit}"
                )
            }
            LaunchError::Length {
                shape,
                expected,
                given,
            } => {
                write!(
                    f,
                    "shape {shape:?} has {expected} elements, but {given} were given"
                )
            }
            LaunchError::Shape { expected, given } => {
                write!(
                    f,
                    "shape {expected:?} is needed, but the other tensor has {given:?}"
                )
            }
            LaunchError::View { shape, wanted } => {
                write!(f, "a tensor of shape {shape:?} has no view {wanted}")
            }
            LaunchError::InCapture { doing } => {
                write!(
                    f,
                    "{doing} is not possible while this stream is captured into a graph"
                )
            }
            LaunchError::Streams { limit } => {
                write!(
                    f,
                    "all {limit} streams of this device are open or still at work"
                )
            }
            LaunchError::Parameters {
                kernel,
                index,
                declared,
                described,
            } => {
                let bytes = |bytes: &Option<usize>| {
                    bytes.map_or("none".into(), |b| format!("one of {b} bytes"))
                };
                write!(
                    f,
                    "parameter {index} of kernel `{kernel}`: its PTX declares {}, its description says {}",
                    bytes(declared),
                    bytes(described)
                )
            }
            LaunchError::TensorMap { place, why } => {
                write!(
                    f,
                    "{place} cannot be read by the tensor memory accelerator: {why}"
                )
            }
            LaunchError::Arithmetic(error) => error.fmt(f),
            LaunchError::PartialWave {
                kernel,
                blocks,
                resident,
                multiprocessors,
            } => {
                let rest = blocks % resident;
                write!(
                    f,
                    "kernel `{kernel}` carries deny(partial_waves), but of its {blocks} blocks {rest} are left for \
                     the last wave: {multiprocessors} multiprocessors hold {resident} at once"
                )
            }
            LaunchError::Data(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LaunchError {
    // A message contains the words of its cause, here and in all errors of the library: `source` is what comes
    // after, so that a chain says nothing twice.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LaunchError::Data(error) => error.source(),
            _ => None,
        }
    }
}

/// Builders of a launch answer in a word.
impl From<Box<LaunchError>> for LaunchError {
    #[cold]
    #[inline(never)]
    fn from(error: Box<LaunchError>) -> LaunchError {
        *error
    }
}

impl From<FactError> for LaunchError {
    fn from(error: FactError) -> Self {
        LaunchError::Fact(Box::new(error))
    }
}

impl From<ArithmeticError> for LaunchError {
    fn from(error: ArithmeticError) -> Self {
        LaunchError::Arithmetic(Box::new(error))
    }
}

impl From<DataError> for LaunchError {
    fn from(error: DataError) -> Self {
        LaunchError::Data(Box::new(error))
    }
}
