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
    /// Buffer or shared variable.
    pub buffer: Option<String>,
    /// Byte in it.
    pub index: Option<u64>,
    /// The other access, where there are two.
    pub other: Option<Other>,
}

/// The other of two accesses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// Block.
    pub block: [u32; 3],
    /// Warp in the block.
    pub warp: u32,
    /// Line of the PTX text.
    pub ptx_line: u32,
    /// Place in the author's source.
    pub source: Option<Source>,
    /// What it did.
    pub what: String,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Works on the cards there are, against the rules of PTX.
    Warning,
    /// Wrong.
    Error,
}

impl Severity {
    /// As SARIF spells it.
    #[must_use]
    pub fn text(self) -> &'static str {
        ["note", "warning", "error"][self as usize]
    }
}

impl Fault {
    /// A finding without a place.
    pub(super) fn new(code: Code, kernel: &str, text: String) -> Fault {
        Fault {
            code,
            text,
            kernel: kernel.to_string(),
            block: [0; 3],
            warp: 0,
            lanes: 0,
            ptx_line: 0,
            source: None,
            buffer: None,
            index: None,
            other: None,
        }
    }
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
    ($($(#[$m:meta])* $id:ident = $code:literal, $severity:ident, $title:literal;)*) => {
        /// Codes of findings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $(#[doc = $title] $(#[$m])* $id),* }
        impl Code {
            /// All of them.
            pub const ALL: &'static [Code] = &[$(Code::$id),*];
            /// As printed.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self { $(Code::$id => $code),* }
            }
            /// What it means, in a few words.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Code::$id => $title),* }
            }
            /// How bad it is.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Code::$id => Severity::$severity),* }
            }
        }
    };
}

codes! {
    Bounds = "V01", Error, "an access outside its buffer";
    Alignment = "V02", Error, "an access that is not aligned to its size";
    Undefined = "V03", Error, "a read of what nothing wrote";
    SharedRace = "V04", Error, "accesses to shared memory that nothing orders";
    WarpSynchronous = "V05", Warning, "lanes of a warp exchange data without meeting";
    GlobalRace = "V06", Error, "accesses to global memory that nothing orders";
    DivergentBarrier = "V07", Error, "a barrier that not all threads reach together";
    Mask = "V08", Error, "a mask that names lanes that do not come, or a warp that is not together";
    Object = "V09", Error, "misuse of a barrier object";
    Bytes = "V10", Error, "a barrier object expects other bytes than come";
    Init = "V11", Error, "a barrier object is used where its making is not seen";
    ProxyFence = "V12", Error, "the asynchronous path need not see an ordinary write";
    InFlight = "V13", Error, "data is used before its copy has landed";
    Overwritten = "V14", Error, "data is overwritten while it is still being copied or read";
    Warpgroup = "V15", Error, "misuse of a warpgroup's multiply";
    TensorMap = "V16", Error, "a tensor map that is not valid";
    Banks = "V17", Note, "lanes meet in banks of shared memory";
    Sectors = "V18", Note, "an access moves more of global memory than it uses";
    Registers = "V19", Warning, "more registers are alive than a thread may have";
    Resources = "V20", Error, "more of a resource than there is";
    Deadlock = "V21", Error, "nothing can go on";
    Livelock = "V22", Error, "nothing gets done";
    Overflow = "V23", Warning, "an index wraps before it becomes an address";
    Divergence = "V24", Note, "few lanes of a warp take part";
    OrderSensitive = "V25", Warning, "results depend on the order of asynchronous work";
    Pipeline = "V26", Warning, "a stage is filled again before anybody has read it";
    NotANumber = "V27", Note, "a NaN or infinity comes out of finite numbers";
    Launch = "V28", Error, "the launch does not fit the kernel";
    Trap = "trap", Error, "the kernel stopped itself";
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
        if let Some(o) = &self.other {
            let [x, y, z] = o.block;
            write!(
                f,
                "\n  the other: {}, block ({x}, {y}, {z}), warp {}",
                o.what, o.warp
            )?;
            write!(f, ", PTX line {}", o.ptx_line)?;
            if let Some(s) = &o.source {
                write!(f, ", {}:{}:{}", s.file, s.line, s.col)?;
            }
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
