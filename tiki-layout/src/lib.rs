//! The layout algebra of Tiki: functions from coordinates to offsets.

pub mod sym;
