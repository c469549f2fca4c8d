//! The layout algebra of Tiki: functions from coordinates to offsets.
