//! Why values make no instance: with the parameter, what it takes and what it was given.

use super::Arg;
use crate::dtype::{Bound, DType};
use crate::near;
use std::fmt;

/// Why values make no instance of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstanceError {
    /// There is no parameter of this name; there are these.
    Unknown {
        /// The name.
        name: String,
        /// What there is.
        parameters: Vec<String>,
    },
    /// A parameter got a value of the wrong kind.
    Kind {
        /// The parameter.
        name: String,
        /// What it takes.
        takes: &'static str,
        /// What was given.
        given: Arg,
    },
    /// A number that the parameter's type does not hold.
    Range {
        /// The parameter.
        name: String,
        /// Its type.
        ty: String,
        /// What was given.
        given: i128,
    },
    /// A type that a bound of the parameter leaves out.
    Bound {
        /// The parameter.
        name: String,
        /// Its bound.
        bound: &'static Bound,
        /// What was given.
        given: DType,
    },
    /// A parameter got no value.
    Missing {
        /// The parameter.
        name: String,
    },
}

impl fmt::Display for InstanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstanceError::Unknown { name, parameters } if parameters.is_empty() => {
                write!(f, "there is no parameter `{name}`: the kernel has none")
            }
            InstanceError::Unknown { name, parameters } => {
                let list = near::quoted(parameters.iter().map(String::as_str));
                write!(f, "there is no parameter `{name}`; there are {list}")?;
                let question = near::question(name, parameters.iter().map(String::as_str));
                question.map_or(Ok(()), |q| write!(f, "; {q}"))
            }
            InstanceError::Kind { name, takes, given } => {
                write!(f, "parameter `{name}` takes {takes}, not `{given}`")
            }
            InstanceError::Range { name, ty, given } => {
                write!(f, "parameter `{name}` is a `{ty}`: it cannot be {given}")
            }
            InstanceError::Bound { name, bound, given } => {
                let (known, what) = (bound.name, bound.what);
                let types = near::quoted(bound.types());
                write!(
                    f,
                    "parameter `{name}` is bounded by `{known}`, {what}: it cannot be `{given}`; it can be {types}"
                )
            }
            InstanceError::Missing { name } => write!(f, "parameter `{name}` has no value"),
        }
    }
}

impl std::error::Error for InstanceError {}
