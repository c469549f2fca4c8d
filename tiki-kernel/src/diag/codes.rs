//! Error codes: one row each, stable for ever. Hundreds name the theme.

use std::fmt;

/// One code.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// `TK101`.
    pub name: &'static str,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// What it means and how it is cured, for the reference page.
    pub explain: &'static str,
}

/// A code: a row of [`ROWS`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(u16);

macro_rules! codes {
    ($($konst:ident = $name:literal, $title:literal, $explain:literal;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy)]
        enum Index { $($konst),* }
        /// All codes, in order.
        pub static ROWS: &[Row] = &[$(Row { name: $name, title: $title, explain: $explain }),*];
        $(
            #[doc = concat!($name, ": ", $title)]
            pub const $konst: Code = Code(Index::$konst as u16);
        )*
    };
}

codes! {
    UNSUPPORTED = "TK001", "not part of the kernel language", "The syntax is Rust's, but kernels have no use or no meaning for it.";
    UNKNOWN_NAME = "TK002", "unknown name", "Nothing of this name exists in the kernel language or in scope.";
    RESERVED_NAME = "TK003", "a device name that collides with a std macro", "`#[tiki::device]` exports a hidden macro of the item's own name; some names are taken by macros of the standard library or the prelude. Rename the item.";
    ARGUMENTS = "TK004", "wrong number of arguments", "The operation takes another number of arguments.";
    SIGNATURE = "TK005", "a kernel's signature", "Kernels take tensors by `&Global` or `&mut Global` and scalars by value, and return nothing.";
    RETURN = "TK006", "return where a later barrier needs this thread", "A thread that leaves can reach no barrier; all threads of a barrier's scope must.";
    RECURSION = "TK007", "recursion", "Device functions are inlined; a call that leads back to itself never ends.";
    INTERNAL = "TK099", "a defect of the compiler", "Please report it, with the kernel.";
    UNKNOWN_OPTION = "TK101", "unknown option", "The kernel's attribute has no option of this name.";
    BAD_OPTION = "TK102", "an option's value", "The option takes another kind of value.";
    MISSING_OPTION = "TK103", "a missing option", "The kernel's attribute must say this.";
    INSTANCE = "TK104", "an instance's parameters", "`build((..))` must give every parameter of the kernel one value of the right kind.";
    THREADS = "TK105", "thread count", "A block has at least one warp and at most as many threads as the target allows, in whole warps.";
    TARGET = "TK106", "what the target cannot do", "The target lacks the feature.";
    TYPE = "TK201", "wrong type", "The operation does not take this type.";
    ELEMENT = "TK202", "element types differ", "Conversions are explicit: use `.cast::<T>()`.";
    CONDITION = "TK203", "a condition that is no bool", "`if` and `while` take a `bool`.";
    LITERAL = "TK204", "a literal out of range", "The literal does not fit its type.";
    BRANCH_TYPES = "TK205", "branches of different types", "Both branches must have one type and one layout.";
    MUTABILITY = "TK206", "assignment", "Only a `let mut` variable can be assigned, and its type and layout stay.";
    WRITE_SHARED_REF = "TK207", "write through `&`", "A tensor the kernel writes is taken by `&mut`.";
    NEED_CONST = "TK301", "a run-time value where a build-time one is needed", "Layouts, shapes, thread maps and unrolled bounds are known at build time.";
    CONST_EVAL = "TK302", "an error while evaluating at build time", "Division by zero, overflow or an index out of range in a build-time computation.";
    UNROLL_LIMIT = "TK303", "too much unrolling", "The loop would be repeated too many times.";
    SHAPE = "TK401", "shapes differ", "Elementwise operations take tensors of one shape.";
    LAYOUT = "TK402", "layouts differ", "Two register tensors are combined element by element by the thread that holds both; their layouts must be equal.";
    RANK = "TK403", "wrong rank", "The number of coordinates is not the tensor's rank.";
    MAP = "TK404", "a thread map that does not fit", "The map cannot divide the tile among the block's threads.";
    VECTOR = "TK405", "an unproven vector width", "The accesses are not proven to be contiguous, aligned and whole.";
    LAYOUT_TEXT = "TK406", "a layout that cannot be read", "The text is not a layout in CuTe notation.";
    BOUNDS = "TK407", "out of bounds", "A build-time coordinate or tile lies outside its tensor.";
    AXIS = "TK408", "no such axis", "The tensor has fewer axes.";
    ALGEBRA = "TK409", "a refused layout operation", "The layout algebra refuses; the message names the operation and the condition.";
    COPY = "TK410", "a copy the hardware cannot make", "Asynchronous copies move 4, 8 or 16 contiguous, aligned bytes a thread; tensor copies have boxes and strides of their own.";
    SHARED_LIMIT = "TK501", "shared memory", "The block needs more shared memory than the target, or the budget, allows.";
    REGISTER_LIMIT = "TK502", "registers", "The bound on live registers is over the budget.";
    REGISTER_BUDGET = "TK503", "a register budget that cannot hold", "Threads times registers exceed the register file, or a thread's limit.";
    RACE = "TK601", "a missing barrier", "A shared write and a conflicting access by other threads have no barrier between them.";
    BARRIER_DIVERGENT = "TK602", "a barrier that not all threads reach", "The condition around it can differ within the barrier's scope.";
    BANK_CONFLICTS = "TK603", "bank conflicts", "`deny(bank_conflicts)`: the access takes more wavefronts than it must.";
    UNPROVEN = "TK604", "an unproven fact", "`deny(unproven)`: the fact is neither proven nor refuted.";
    UNDEFINED_READ = "TK605", "shared memory read before it is written", "No thread wrote what is read.";
    COLLECTIVE_DIVERGENT = "TK606", "a warp operation that not all lanes reach", "Shuffles, votes and reductions need the whole warp.";
    DUPLICATE_WRITE = "TK607", "two threads write one element", "The map gives one element to several threads, with different values.";
    UNCOALESCED = "TK608", "uncoalesced accesses", "`deny(uncoalesced)`: a warp's access touches more sectors than it must.";
    IN_FLIGHT = "TK609", "an accumulator in flight", "A warpgroup's product is done only after a wait that covers its group.";
    PIPELINE = "TK610", "a pipeline used out of order", "Stages are acquired, filled, committed, waited for, used and released, in this order.";
    PROXY = "TK611", "shared memory and asynchronous readers", "What threads write is seen by tensor copies and warpgroup products after `fence_async` and a barrier, and may be written again once a wait says that it was read.";
    INSTRUCTION = "TK701", "an instruction of `ptx!` that is refused", "The text is held against the instruction table: what is not there, has other operands, or moves control or waits, has no place in `ptx!`.";
    EFFECT = "TK702", "an undeclared effect of `ptx!`", "An instruction touches memory that the statement does not name: `reads(x)`, `writes(y)`, `fence`.";
    OPERAND = "TK703", "an operand of `ptx!`", "Operands are registers of the text, by name: outputs are written on every way, inputs are only read.";
}

impl Code {
    /// Its row.
    #[must_use]
    pub fn row(self) -> &'static Row {
        &ROWS[self.0 as usize]
    }
    /// `TK101`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }
    /// The code of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Code> {
        ROWS.iter()
            .position(|r| r.name == name)
            .map(|i| Code(i as u16))
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_ascending() {
        assert!(ROWS.windows(2).all(|w| w[0].name < w[1].name));
    }
}
