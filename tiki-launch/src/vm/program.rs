//! A loaded module: what the run loop reads.
//!
//! Loading turns every entry, with the functions it calls, into a list of [`Step`]s: labels become places,
//! operands become planes of one register file (immediates and special registers too), variables become
//! addresses. Functions have planes of their own, so recursion is refused. Anything that the table or the
//! machine does not have is refused here, all of it at once.

use super::looks::Looks;
use crate::vm::meaning::{Args, Ask, Run};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;
use tiki_kernel::budget::registers::Bound;
use tiki_kernel::isa::Special;
use tiki_kernel::ptx::{self, Directive, Loc, Module};

/// A loaded module.
#[derive(Debug)]
pub struct Program {
    pub(super) kernels: HashMap<String, Kernel>,
    pub(super) files: Vec<(u32, String)>,
    /// Constant memory.
    pub(super) consts: Vec<u8>,
    /// Addresses of the module's global variables, freed with it.
    pub(super) globals: Vec<u64>,
}

impl Program {
    /// Names of the entries.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(String::as_str)
    }
    /// Facts of an entry that a launcher asks for: bytes of static shared memory and of local memory.
    #[must_use]
    pub fn usage(&self, entry: &str) -> Option<(u32, u32)> {
        self.kernels
            .get(entry)
            .map(|k| (k.shared_bytes, k.local_bytes))
    }
    /// Offsets and bytes of the parameters of an entry.
    #[must_use]
    pub fn params(&self, entry: &str) -> Option<&[(u32, u32)]> {
        self.kernels.get(entry).map(|k| k.params.as_slice())
    }
}

/// Why a text was not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError(pub Vec<String>);

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}
impl std::error::Error for LoadError {}

/// An entry, ready to run.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) code: Vec<Step>,
    /// What of it is plain, step for step.
    pub(super) plain: Vec<super::straight::Plain>,
    /// Planes and predicates of a warp.
    pub(super) words: usize,
    pub(super) preds: usize,
    /// Planes that hold the same word in all lanes.
    pub(super) fills: Vec<(u32, u32)>,
    /// Planes of special registers.
    pub(super) specials: Vec<(u32, Special)>,
    pub(super) params: Vec<(u32, u32)>,
    pub(super) param_bytes: u32,
    pub(super) shared_bytes: u32,
    /// Shared variables: first byte, bytes (all that the launch adds, if zero), name.
    pub(super) shared_vars: Vec<(u32, u32, String)>,
    pub(super) local_bytes: u32,
    pub(super) directives: Vec<Directive>,
    /// Registers that each step reads and writes.
    pub(super) uses: Vec<Box<[Use]>>,
    /// Products that feed addresses, in order.
    pub(super) products: Vec<super::index::Product>,
    /// The entry's own text, and what bounds its registers, once somebody asked.
    pub(super) text: ptx::Function,
    pub(super) registers: OnceLock<BTreeMap<Option<u32>, Bound>>,
    /// Steps that take one of two values.
    pub(super) choices: HashSet<u32>,
    /// Planes of the entry's registers.
    pub(super) slots: Vec<u32>,
    pub(super) looks: OnceLock<Looks>,
    /// It has a warpgroup's multiplies, which hold registers.
    pub(super) multiplies: bool,
    /// Blocks may wait for one another or depend on their order.
    pub(super) communicates: bool,
}

/// A register that a step reads or writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Use {
    /// First plane.
    pub(super) slot: u32,
    pub(super) planes: u8,
    /// As the instruction takes it.
    pub(super) ty: tiki_kernel::isa::Ty,
    pub(super) write: bool,
}

/// What a step does.
#[derive(Debug)]
pub(super) enum Act {
    Lanes(Run),
    Ask(Ask),
    /// Widens a value into the second plane.
    Extend {
        slot: u32,
        signed: bool,
    },
    /// Copies bytes of a thread's own memory: from, to, how many.
    Copies(Vec<(u32, u32, u32)>),
    /// A function that has no body here.
    Outside(super::outside::Outside),
    /// Sets planes of a counter.
    Clock {
        slot: u32,
        wide: bool,
    },
}

/// Start of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// A 32-bit register.
    Narrow(u32),
    /// A 64-bit register.
    Wide(u32),
    /// Nothing.
    Fixed,
}

/// An address operand.
#[derive(Debug, Clone)]
pub(super) struct Address {
    pub(super) start: Start,
    pub(super) offset: i64,
    /// The address is of a thread's own memory, whatever the instruction says.
    pub(super) own: bool,
    /// Planes of coordinates.
    pub(super) coords: Vec<u32>,
}

/// An instruction, resolved.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) act: Act,
    /// Predicate and whether it is negated.
    pub(super) guard: Option<(u32, bool)>,
    pub(super) args: Args,
    pub(super) addresses: Vec<Address>,
    /// Places that it can go to.
    pub(super) targets: Vec<u32>,
    pub(super) line: u32,
    pub(super) loc: Option<Loc>,
}

/// An operand that is not there.
pub(super) const ABSENT: u32 = u32::MAX;

impl Kernel {
    /// Where the watch looks closer.
    pub(super) fn looks(&self) -> &Looks {
        self.looks.get_or_init(|| Looks::of(self))
    }
    pub(super) fn block_limit(&self) -> Option<(bool, [u32; 3])> {
        self.directives.iter().find_map(|d| match d {
            Directive::ReqNtid(n) => Some((true, *n)),
            Directive::MaxNtid(n) => Some((false, *n)),
            _ => None,
        })
    }
    pub(super) fn cluster(&self) -> Option<[u32; 3]> {
        self.directives.iter().find_map(|d| match d {
            Directive::ReqNctaPerCluster(n) => Some(*n),
            _ => None,
        })
    }
}

/// Reads and checks a text.
pub(super) fn read(text: &str) -> Result<Module, LoadError> {
    let m = Module::parse(text)
        .map_err(|e| LoadError(e.0.iter().map(|(l, t)| format!("line {l}: {t}")).collect()))?;
    let faults: Vec<String> = ptx::verify(&m).iter().map(ToString::to_string).collect();
    if faults.is_empty() {
        Ok(m)
    } else {
        Err(LoadError(faults))
    }
}
