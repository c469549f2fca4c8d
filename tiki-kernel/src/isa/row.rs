//! What a row of the instruction table is, and how its short notations are read.
//!
//! **Text.** A row's text is a list of words, joined with dots in PTX:
//!
//! ```text
//! add                 this word
//! sat?                this word or nothing
//! rnd:rn|rz|rm|rp     a modifier named `rnd` with exactly one of these values
//! rnd?:rn|rz          the same, or nothing
//! ```
//!
//! **Meaning.** The last column names a function of the machine (`tiki-launch`, `vm::meaning`): one over 32 lanes,
//! `Lanes(float::add)`, or one that says what is asked of memory, other lanes or threads, `Asks(memory::load)`. The
//! compiler only hands it on.
//!
//! A modifier whose values are all type names is a type of the instruction; operands refer to it.
//!
//! **Operands.** A list of patterns in the order of the text:
//!
//! ```text
//! a:t        a value of the type named t: register, immediate, special register or symbol
//! =d:t       a register that is written              +d:t    one that is read and written
//! a:~t       the same, but the register may be wider (loads, stores, conversions)
//! a:t*vec    a braced list as long as the modifier `vec` says (v2, x4, or the n of m64n128k16)
//! a:t*4      a braced list of four;  a:t*n/2  half the n of the modifier `n`
//! =d:t|p     a register and, optionally, a predicate: `d|p`
//! !c:pred    a predicate that may be negated
//! #i:u32     an immediate
//! [a]        an address;  [a,c] a tensor map's address and coordinates
//! @l         a label;  @f a function;  @t a table of labels
//! (r)        a parenthesised list of call parameters
//! x?         any of these, or nothing (only at the end)
//! ```

use super::Ty;
use super::effects::Effects;
use std::sync::OnceLock;

/// One instruction family.
pub struct Row {
    /// The row's own name, unique in the table.
    pub name: &'static str,
    /// Its words; see the module's page.
    pub text: &'static str,
    /// Its operands; see the module's page.
    pub operands: &'static str,
    /// What it does, in words.
    pub doc: &'static str,
    /// The first PTX version and architecture that have it.
    pub since: Since,
    /// What it does to memory, to other threads and to the flow of control.
    pub effects: Effects,
    #[doc(hidden)]
    pub form: OnceLock<Form>,
}

/// First PTX version and architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Since {
    /// PTX ISA version.
    pub ptx: (u32, u32),
    /// Compute capability.
    pub capability: (u32, u32),
    /// Only with the architecture-specific feature set of that capability.
    pub exact: bool,
}

/// Since this PTX version and this compute capability.
#[must_use]
pub const fn since(ptx: (u32, u32), capability: (u32, u32)) -> Since {
    Since {
        ptx,
        capability,
        exact: false,
    }
}

impl Since {
    /// Only with the architecture-specific feature set.
    #[must_use]
    pub const fn exact(mut self) -> Since {
        self.exact = true;
        self
    }
}

/// A row's notations, read.
#[derive(Debug)]
pub struct Form {
    /// Words.
    pub slots: Vec<Slot>,
    /// Operands.
    pub pats: Vec<Pat>,
    /// It reads or writes the carry, a register that no operand names.
    carries: bool,
    /// One of the operands is a condition.
    pub conditional: bool,
}

/// One word of a row's text.
#[derive(Debug)]
pub struct Slot {
    /// The modifier's name; the word itself for a plain word.
    pub name: &'static str,
    /// Legal values.
    pub values: Vec<&'static str>,
    /// May be left out.
    pub optional: bool,
    /// A modifier rather than a fixed word.
    pub modifier: bool,
}

/// What may stand at an operand's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Register, immediate, special register or symbol.
    Value,
    /// A predicate that may be negated.
    Condition,
    /// Immediate only.
    Imm,
    /// Address.
    Addr,
    /// Tensor map and coordinates.
    Tensor,
    /// Label.
    Label,
    /// Function.
    Func,
    /// Table of labels.
    Table,
    /// Call parameters.
    Params,
}

/// The type of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TyRef {
    /// Always this one.
    Fixed(Ty),
    /// That of a modifier.
    Slot(&'static str),
    /// Twice the width of a modifier's.
    Double(&'static str),
    /// None (labels, addresses).
    None,
}

/// How many registers an operand has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// One, without braces.
    One,
    /// This many, in braces.
    Fixed(u32),
    /// As the modifier says, divided; without the modifier, one and no braces.
    Slot(&'static str, u32),
}

/// One operand of a row.
#[derive(Debug, Clone, Copy)]
pub struct Pat {
    /// Name.
    pub name: &'static str,
    /// What may stand there.
    pub kind: Kind,
    /// Type.
    pub ty: TyRef,
    /// Number of registers.
    pub count: Count,
    /// Read.
    pub read: bool,
    /// Written.
    pub write: bool,
    /// A wider register may stand there.
    pub wide: bool,
    /// A predicate may follow behind a bar.
    pub pair: bool,
    /// May be left out.
    pub optional: bool,
}

impl Row {
    /// The notations, read once.
    #[must_use]
    pub fn form(&self) -> &Form {
        self.form.get_or_init(|| {
            let slots: Vec<Slot> = self.text.split_whitespace().map(read_slot).collect();
            let pats: Vec<Pat> = self.operands.split_whitespace().map(read_pat).collect();
            Form {
                carries: slots.iter().any(|s| s.name == "cc"),
                conditional: pats.iter().any(|p| p.kind == Kind::Condition),
                slots,
                pats,
            }
        })
    }
    /// The first word.
    #[must_use]
    pub fn head(&self) -> &'static str {
        self.text.split_whitespace().next().unwrap_or("")
    }
    /// Whether it reads or writes the carry, a register that no operand names.
    #[must_use]
    pub fn carries(&self) -> bool {
        self.form().carries
    }
    /// Place of a modifier.
    #[must_use]
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.form().slots.iter().position(|s| s.name == name)
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        std::ptr::eq(self, other)
    }
}
impl Eq for Row {}

impl std::hash::Hash for Row {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.text, self.operands)
    }
}

fn read_slot(word: &'static str) -> Slot {
    let modifier = word.find(':').is_some_and(|i| !word[i..].starts_with("::"));
    let (head, values) = match modifier {
        true => {
            let i = word.find(':').unwrap_or(0);
            (&word[..i], word[i + 1..].split('|').collect())
        }
        false => (word, vec![word.trim_end_matches('?')]),
    };
    Slot {
        name: head.trim_end_matches('?'),
        optional: head.ends_with('?'),
        modifier,
        values,
    }
}

fn read_pat(word: &'static str) -> Pat {
    let (word, optional) = match word.strip_suffix('?') {
        Some(w) => (w, true),
        None => (word, false),
    };
    let mut pat = Pat {
        name: word,
        kind: Kind::Value,
        ty: TyRef::None,
        count: Count::One,
        read: true,
        write: false,
        wide: false,
        pair: false,
        optional,
    };
    let mut rest = word;
    match word.as_bytes().first() {
        Some(b'[') => {
            let inner = &word[1..word.len() - 1];
            pat.kind = if inner.contains(',') {
                Kind::Tensor
            } else {
                Kind::Addr
            };
            pat.name = inner.split(',').next().unwrap_or(inner);
            return pat;
        }
        Some(b'(') => {
            pat.kind = Kind::Params;
            pat.name = &word[1..word.len() - 1];
            return pat;
        }
        Some(b'@') => {
            pat.name = &word[1..];
            pat.kind = match pat.name {
                "f" => Kind::Func,
                "t" => Kind::Table,
                _ => Kind::Label,
            };
            return pat;
        }
        Some(b'=') => (pat.read, pat.write, rest) = (false, true, &word[1..]),
        Some(b'+') => (pat.write, rest) = (true, &word[1..]),
        Some(b'!') => (pat.kind, rest) = (Kind::Condition, &word[1..]),
        Some(b'#') => (pat.kind, rest) = (Kind::Imm, &word[1..]),
        _ => {}
    }
    if let Some(r) = rest.strip_suffix("|p") {
        (rest, pat.pair) = (r, true);
    }
    let (name, mut ty) = rest.split_once(':').unwrap_or((rest, ""));
    pat.name = name;
    if let Some((t, count)) = ty.split_once('*') {
        ty = t;
        pat.count = match (count.parse(), count.split_once('/')) {
            (Ok(n), _) => Count::Fixed(n),
            (_, Some((slot, d))) => Count::Slot(slot, d.parse().unwrap_or(1)),
            _ => Count::Slot(count, 1),
        };
    }
    if let Some(t) = ty.strip_prefix('~') {
        (ty, pat.wide) = (t, true);
    }
    pat.ty = match (ty.strip_prefix("2x"), Ty::by_name(ty)) {
        (Some(slot), _) => TyRef::Double(slot),
        (_, Some(t)) => TyRef::Fixed(t),
        _ => TyRef::Slot(ty),
    };
    pat
}

/// Writes rows and the list of them. What a row computes (its last column) is compiled by the machine alone: a macro of
/// the page's name hands it on, `NAME = Lanes(..);` for each row.
macro_rules! table {
    ($d:tt $page:ident: $($(#[doc = $doc:literal])+ $name:ident = $text:expr, $sig:expr, $since:expr, $effects:expr, $kind:ident($($meaning:tt)+);)*) => {
        $(
            $(#[doc = $doc])+
            pub static $name: $crate::isa::Row = $crate::isa::Row {
                name: stringify!($name),
                text: $text,
                operands: $sig,
                doc: concat!($($doc),+),
                since: $since,
                effects: $effects,
                form: std::sync::OnceLock::new(),
            };
        )*
        /// The rows of this page.
        pub static ROWS: &[&$crate::isa::Row] = &[$(&$name),*];
        #[doc(hidden)]
        #[macro_export]
        macro_rules! $page {
            ($d to:ident) => { $d to! { $page: $($name = $kind($($meaning)+);)* } };
        }
    };
}
pub(crate) use table;
