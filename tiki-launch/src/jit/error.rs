//! Why an instance could not be compiled at run time: what a build would have shown, as values.

use std::fmt;

use tiki_kernel::ast::text::TextError;
use tiki_kernel::instance::InstanceError;

/// One message of the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its code, as a build shows it: `TK501`.
    pub code: &'static str,
    /// The author's file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The message with its notes and helps.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem {
            file, line, column, ..
        } = self;
        write!(f, "{}\n  --> {file}:{line}:{column}", self.text)
    }
}

/// Why an instance could not be compiled at run time.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum JitError {
    /// The text is of another version of the compiler, or damaged.
    Text(TextError),
    /// The values make no instance of this kernel.
    Instance {
        /// The kernel.
        kernel: String,
        /// Why not.
        reason: InstanceError,
    },
    /// This parameter is the type's: an argument's type depends on it.
    OfTheType {
        /// The kernel.
        kernel: String,
        /// The parameter.
        name: String,
    },
    /// The instance has errors.
    Refused {
        /// `gemm<E = f16, BM = 256>`.
        instance: String,
        /// All of them.
        problems: Vec<Problem>,
    },
    /// The compiler failed: a defect of Tiki, not of the kernel.
    Defect {
        /// `gemm<E = f16, BM = 256>`.
        instance: String,
        /// What it said.
        text: String,
    },
}

impl fmt::Display for JitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JitError::Text(error) => write!(
                f,
                "this compiler cannot read the kernel: {error}; build the kernel's crate again"
            ),
            JitError::Instance { kernel, reason } => write!(f, "kernel `{kernel}`: {reason}"),
            JitError::OfTheType { kernel, name } => write!(
                f,
                "kernel `{kernel}`: `{name}` decides the type of an argument, so it is given by the kernel's \
                 type and not by name"
            ),
            JitError::Refused { instance, problems } => {
                write!(f, "`{instance}` does not compile")?;
                for problem in problems {
                    write!(f, "\nerror: {problem}")?;
                }
                Ok(())
            }
            JitError::Defect { instance, text } => write!(
                f,
                "the compiler of Tiki failed at `{instance}`: {text}; this is a defect of Tiki, not of the \
                 kernel: please report it, with the kernel and this text"
            ),
        }
    }
}

impl std::error::Error for JitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            JitError::Text(error) => error.source(),
            JitError::Instance { reason, .. } => reason.source(),
            _ => None,
        }
    }
}
