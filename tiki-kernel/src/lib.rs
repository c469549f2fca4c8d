//! The compiler of Tiki: pure, without input or output, without a clock, without tokens.
//!
//! ```text
//! ast --check--> ir --schedule--> ir --lower--> ptx::Module --simplify--> --print--> PTX text
//!                        `---- budget looks at ir and ptx ----'
//! ```
//!
//! The same input gives the same bytes.

#![forbid(unsafe_code)]

pub mod artifact;
pub mod ast;
pub mod budget;
pub mod check;
pub mod compile;
pub mod diag;
pub mod dtype;
pub mod fit;
pub mod hazard;
pub mod instance;
pub mod ir;
pub mod isa;
pub mod lower;
pub mod near;
pub mod ops;
pub mod ptx;
pub mod record;
pub mod report;
pub mod schedule;
pub mod simplify;
pub mod stages;
pub mod target;
pub mod tuned;
