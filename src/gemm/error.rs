//! Why there is no product.

use crate::LaunchError;

/// Why there is no product.
pub enum GemmError {
    /// Extents that do not fit together.
    Shape {
        /// Which.
        what: &'static str,
        /// As they must be.
        wanted: Vec<usize>,
        /// As they are.
        found: Vec<usize>,
    },
    /// No instance of the table can do it: each with its reason.
    NotBuilt {
        /// The product.
        what: String,
        /// Instance and reason.
        reasons: Vec<(&'static str, String)>,
    },
    /// A product of a list, numbered from 0.
    Member {
        /// Which.
        index: usize,
        /// Why there is none.
        error: Box<GemmError>,
    },
    /// The launch failed.
    Launch(LaunchError),
}

tiki_launch::debug_of_error! {
    GemmError {
        Shape { what, wanted, found }
        NotBuilt { what, reasons }
        Member { index, error }
    }
    as Launch
}

impl GemmError {
    pub(super) fn of_member(self, index: usize) -> GemmError {
        let error = Box::new(self);
        GemmError::Member { index, error }
    }
}

impl std::fmt::Display for GemmError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GemmError::Shape {
                what,
                wanted,
                found,
            } => write!(f, "{what} is {found:?}; the product needs {wanted:?}"),
            GemmError::NotBuilt { what, reasons } => {
                write!(f, "no instance multiplies {what}")?;
                for (instance, reason) in reasons {
                    write!(f, "\n  {instance}: {reason}")?;
                }
                Ok(())
            }
            GemmError::Member { index, error } => write!(f, "product {index} of the list: {error}"),
            GemmError::Launch(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for GemmError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            GemmError::Launch(error) => error.source(),
            GemmError::Member { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl From<LaunchError> for GemmError {
    fn from(error: LaunchError) -> Self {
        GemmError::Launch(error)
    }
}
