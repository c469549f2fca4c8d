//! The procedural macros of Tiki.
