//! The compiler of Tiki: from syntax tree to PTX.
