//! Arguments of a launch, laid out as the kernel's parameters.

use super::fault::Fault;
use super::launch;
use super::program::Program;

/// An argument of a launch.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// An address.
    Address(u64),
    /// A 32-bit integer.
    U32(u32),
    /// A 64-bit integer.
    U64(u64),
    /// A 32-bit float.
    F32(f32),
    /// A 64-bit float.
    F64(f64),
    /// The bytes of a parameter.
    Bytes(Vec<u8>),
}

impl Arg {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Arg::Address(x) | Arg::U64(x) => x.to_le_bytes().to_vec(),
            Arg::U32(x) => x.to_le_bytes().to_vec(),
            Arg::F32(x) => x.to_le_bytes().to_vec(),
            Arg::F64(x) => x.to_le_bytes().to_vec(),
            Arg::Bytes(b) => b.clone(),
        }
    }
}

/// Bytes of an entry's parameters.
pub(super) fn parameters(
    program: &Program,
    entry: &str,
    args: &[Arg],
) -> Result<Vec<u8>, Box<Fault>> {
    let Some(kernel) = program.kernels.get(entry) else {
        return Err(launch::refusal(
            entry,
            "the program has no such entry".into(),
        ));
    };
    if args.len() != kernel.params.len() {
        return Err(launch::refusal(
            entry,
            format!(
                "{} arguments are given, the kernel takes {}",
                args.len(),
                kernel.params.len()
            ),
        ));
    }
    let mut params = vec![0; kernel.param_bytes as usize];
    for (n, (arg, (at, size))) in args.iter().zip(&kernel.params).enumerate() {
        let bytes = arg.bytes();
        if bytes.len() != *size as usize {
            return Err(launch::refusal(
                entry,
                format!(
                    "argument {n} has {} bytes, the parameter {size}",
                    bytes.len()
                ),
            ));
        }
        params[*at as usize..(at + size) as usize].copy_from_slice(&bytes);
    }
    Ok(params)
}
