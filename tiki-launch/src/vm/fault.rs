//! What the machine found, and where.

use std::fmt;

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Stable code.
    pub code: Code,
    /// Words, with the numbers.
    pub text: String,
    /// Kernel.
    pub kernel: String,
    /// Block.
    pub block: [u32; 3],
    /// Warp in the block.
    pub warp: u32,
    /// Lanes.
    pub lanes: u32,
    /// Line of the PTX text.
    pub ptx_line: u32,
    /// Place in the author's source.
    pub source: Option<Source>,
    /// Buffer.
    pub buffer: Option<String>,
}

/// A place in a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Path.
    pub file: String,
    /// Line.
    pub line: u32,
    /// Column.
    pub col: u32,
}

macro_rules! codes {
    ($($(#[$m:meta])* $id:ident = $code:literal;)*) => {
        /// Codes of findings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$m])* $id),* }
        impl Code {
            /// As printed.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self { $(Code::$id => $code),* }
            }
        }
    };
}

codes! {
    /// An access outside its buffer.
    Bounds = "V01";
    /// An access that is not aligned to its size.
    Alignment = "V02";
    /// A read of what nothing wrote.
    Undefined = "V03";
    /// A barrier that not all threads reach together.
    DivergentBarrier = "V07";
    /// A mask that names lanes that do not come, or a warp that is not together.
    Mask = "V08";
    /// Misuse of a barrier object.
    Object = "V09";
    /// Misuse of a warpgroup's multiply.
    Warpgroup = "V15";
    /// A tensor map that is not valid.
    TensorMap = "V16";
    /// More of a resource than there is.
    Resources = "V20";
    /// Nothing can go on.
    Deadlock = "V21";
    /// Nothing gets done.
    Livelock = "V22";
    /// The launch does not fit the kernel.
    Launch = "V28";
    /// The kernel stopped itself.
    Trap = "trap";
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.code.text(), self.text)?;
        write!(f, "\n  kernel {}", self.kernel)?;
        if self.ptx_line > 0 {
            let [x, y, z] = self.block;
            write!(f, ", block ({x}, {y}, {z}), warp {}", self.warp)?;
            if self.lanes != 0 {
                write!(f, ", lanes {}", lanes(self.lanes))?;
            }
            write!(f, ", PTX line {}", self.ptx_line)?;
        }
        if let Some(s) = &self.source {
            write!(f, "\n  at {}:{}:{}", s.file, s.line, s.col)?;
        }
        Ok(())
    }
}
impl std::error::Error for Fault {}

/// Lanes of a mask as ranges: `0-3, 7`.
#[must_use]
pub fn lanes(mask: u32) -> String {
    let mut out = String::new();
    let mut i = 0;
    while i < 32 {
        if mask >> i & 1 == 0 {
            i += 1;
            continue;
        }
        let end = (i..32)
            .take_while(|k| mask >> k & 1 == 1)
            .last()
            .unwrap_or(i);
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push_str(&if end == i {
            i.to_string()
        } else {
            format!("{i}-{end}")
        });
        i = end + 1;
    }
    out
}
