//! PTX text as data: modules, functions and instructions.
//!
//! [`Module`] prints ([`std::fmt::Display`]) and parses ([`Module::parse`]); the printed form is
//! canonical: registers are numbered by type in the order of their declaration, scopes are flattened,
//! debug sections dropped, so that `print(parse(print(m))) == print(m)`. The parser reads what nvcc and
//! Triton emit, and on failure lists every unknown instruction with its line.
//!
//! - [`FnBuilder`] writes functions from Rust (see [`crate::isa`] for an example).
//! - [`verify`] holds a module against the table and its target.
//! - [`liveness`] gives the live registers at every instruction and the pressure.
//!
//! A function owns its registers, labels and call parameters; an operand names them by index. A
//! [`Stmt`] is an instruction, a label, or something that changes no meaning (comment, pragma).

mod build;
mod fragment;
mod lex;
pub mod liveness;
mod operand;
mod parse;
mod parse_body;
mod print;
mod regs;
mod verify;

pub use build::FnBuilder;
pub(crate) use fragment::fragment;
pub use operand::{Base, Imm, Label, Operand, Reg};
pub use parse::ParseErrors;
pub use regs::Regs;
pub(crate) use verify::targets;
pub use verify::{Fault, verify};

use crate::isa::{Op, Space, Ty};
use crate::target::Arch;

/// A module.
#[derive(Debug, Clone, PartialEq)]
pub struct Module {
    /// PTX ISA version.
    pub version: (u32, u32),
    /// Architecture.
    pub target: Arch,
    /// Lines of comment on top.
    pub comments: Vec<String>,
    /// Source files: number and path.
    pub files: Vec<(u32, String)>,
    /// Variables of the module.
    pub vars: Vec<Var>,
    /// Functions and entries.
    pub functions: Vec<Function>,
}

/// Who else sees a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Linkage {
    /// Nobody.
    #[default]
    Local,
    /// Everybody.
    Visible,
    /// It is defined elsewhere.
    Extern,
    /// Everybody; another definition may replace it.
    Weak,
}

/// A variable in memory, or a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Var {
    /// Linkage.
    pub linkage: Linkage,
    /// Space.
    pub space: Space,
    /// Alignment in bytes; the element's if `None`.
    pub align: Option<u32>,
    /// Element type.
    pub ty: Ty,
    /// Name.
    pub name: String,
    /// Elements: `None` for a single one, 0 for an array whose size the launch gives.
    pub count: Option<u64>,
    /// Initial bytes, possibly fewer than its size.
    pub init: Vec<u8>,
    /// Places in the initial bytes that hold the address of another variable.
    pub init_addresses: Vec<(u64, String)>,
    /// For a pointer parameter: the space it points to and the alignment promised.
    pub pointer: Option<(Option<Space>, u32)>,
}

impl Var {
    /// A variable of `count` elements; a single one if `None`.
    #[must_use]
    pub fn new(space: Space, ty: Ty, name: &str, count: Option<u64>) -> Var {
        Var {
            linkage: Linkage::Local,
            space,
            align: None,
            ty,
            name: name.to_string(),
            count,
            init: vec![],
            init_addresses: vec![],
            pointer: None,
        }
    }
    /// Dynamic shared memory: its size comes with the launch.
    #[must_use]
    pub fn dynamic_shared(name: &str, align: u32) -> Var {
        Var {
            linkage: Linkage::Extern,
            align: Some(align),
            ..Var::new(Space::Shared, Ty::B8, name, Some(0))
        }
    }
    /// The same with an alignment.
    #[must_use]
    pub fn aligned(mut self, bytes: u32) -> Var {
        self.align = Some(bytes);
        self
    }
    /// Bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        u64::from(self.ty.bytes()) * self.count.unwrap_or(1)
    }
    /// Alignment in bytes.
    #[must_use]
    pub fn alignment(&self) -> u64 {
        u64::from(self.align.unwrap_or(self.ty.bytes()).max(1))
    }
}

/// A directive of an entry about its launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directive {
    /// Exactly these threads.
    ReqNtid([u32; 3]),
    /// At most these threads.
    MaxNtid([u32; 3]),
    /// Blocks resident on a processor.
    MinNctaPerSm(u32),
    /// Registers of a thread.
    MaxNreg(u32),
    /// Launched with clusters.
    ExplicitCluster,
    /// Exactly these blocks a cluster.
    ReqNctaPerCluster([u32; 3]),
    /// At most this many blocks a cluster.
    MaxClusterRank(u32),
    /// Does not return.
    NoReturn,
    /// A pragma.
    Pragma(String),
}

/// A function or an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// Name.
    pub name: String,
    /// It can be launched.
    pub entry: bool,
    /// Linkage.
    pub linkage: Linkage,
    /// Parameters.
    pub params: Vec<Var>,
    /// Results, in parameter space.
    pub returns: Vec<Var>,
    /// Directives.
    pub directives: Vec<Directive>,
    /// Types of the registers; [`Reg`] is an index.
    pub regs: Vec<Ty>,
    /// Variables of the function: local, shared, and parameters of its calls.
    pub vars: Vec<Var>,
    /// Names of the labels; [`Label`] is an index.
    pub labels: Vec<String>,
    /// Tables of labels: name and entries.
    pub tables: Vec<(String, Vec<Label>)>,
    /// Prototypes of indirect calls, as text.
    pub body: Option<Vec<Stmt>>,
}

/// A line of a function.
#[derive(Debug, Clone, PartialEq)]
pub enum Stmt {
    /// An instruction.
    Inst(Inst),
    /// The place of a label.
    Label(Label),
    /// A comment on a line of its own.
    Comment(String),
    /// A pragma.
    Pragma(String),
}

/// A place in a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Loc {
    /// Number of the file in [`Module::files`].
    pub file: u32,
    /// Line.
    pub line: u32,
    /// Column.
    pub col: u32,
}

/// A predicate that an instruction hangs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// Predicate register.
    pub reg: Reg,
    /// Executed where it is false.
    pub negated: bool,
}

/// An instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Inst {
    /// Guard.
    pub guard: Option<Guard>,
    /// Row and modifiers.
    pub op: Op,
    /// Operands, in the order of the row's patterns; operands left out are missing at the end.
    pub operands: Vec<Operand>,
    /// Place in the source.
    pub loc: Option<Loc>,
    /// Line in the PTX text, 0 if it was never text.
    pub line: u32,
}

impl Inst {
    /// Whether it gives the same whenever it is executed, and does nothing else: such an instruction may be
    /// moved, shared and repeated. A reading of a clock is none, nor what passes a carry on.
    #[must_use]
    pub fn is_pure(&self) -> bool {
        self.op.row.effects.is_pure() && !self.counts() && !self.op.row.carries()
    }
    /// Whether it reads a counter that runs.
    #[must_use]
    pub fn counts(&self) -> bool {
        let counts = |o: &Operand| matches!(o, Operand::Special(s) if s.counts());
        self.operands.iter().any(counts)
    }
}

impl Function {
    /// An empty one; entries are visible.
    #[must_use]
    pub fn new(name: &str, entry: bool) -> Function {
        Function {
            name: name.to_string(),
            entry,
            linkage: if entry {
                Linkage::Visible
            } else {
                Linkage::Local
            },
            params: vec![],
            returns: vec![],
            directives: vec![],
            regs: vec![],
            vars: vec![],
            labels: vec![],
            tables: vec![],
            body: Some(vec![]),
        }
    }
    /// Type of a register.
    #[must_use]
    pub fn ty(&self, reg: Reg) -> Ty {
        self.regs[reg.0 as usize]
    }
    /// Instructions with their places in the body.
    pub fn insts(&self) -> impl Iterator<Item = (usize, &Inst)> {
        self.body
            .iter()
            .flatten()
            .enumerate()
            .filter_map(|(i, s)| match s {
                Stmt::Inst(inst) => Some((i, inst)),
                _ => None,
            })
    }
}

impl Module {
    /// An empty one for a target, in that target's PTX version.
    #[must_use]
    pub fn new(target: crate::target::Target) -> Module {
        Module {
            version: target.row().ptx_version,
            target: target.arch(),
            comments: vec![],
            files: vec![],
            vars: vec![],
            functions: vec![],
        }
    }
    /// Reads PTX text.
    ///
    /// # Errors
    /// All of them, with lines.
    pub fn parse(text: &str) -> Result<Module, ParseErrors> {
        parse::run(text)
    }
    /// The function of this name.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions
            .iter()
            .rfind(|f| f.name == name && f.body.is_some())
    }
    /// Whether a kernel of it waits for the launch before it.
    #[must_use]
    pub fn waits_for_predecessor(&self) -> bool {
        let wait = crate::isa::dependent_wait();
        let mut insts = self.functions.iter().flat_map(Function::insts);
        insts.any(|(_, inst)| inst.op == wait)
    }
    /// The variable of this name.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&Var> {
        self.vars.iter().find(|v| v.name == name)
    }
    /// The number of a source file, added if it is new. Anything but printable ASCII becomes `_`: the
    /// assembler refuses other text even in names of files.
    pub fn file(&mut self, path: &str) -> u32 {
        let path: String = path
            .chars()
            .map(|c| {
                if c.is_ascii_graphic() && c != '"' && c != '\\' || c == ' ' {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        if let Some((n, _)) = self.files.iter().find(|(_, p)| *p == path) {
            return *n;
        }
        let n = self.files.len() as u32 + 1;
        self.files.push((n, path));
        n
    }
}
