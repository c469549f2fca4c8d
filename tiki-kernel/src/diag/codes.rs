//! Error codes: one row each, stable for ever. Hundreds name the theme.

use std::fmt;

/// One code.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// `TK101`.
    pub name: &'static str,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// What it means, for the reference page.
    pub explain: &'static str,
    /// What to do: told with every message that has nothing closer to the case.
    pub cure: &'static str,
}

/// A code: a row of [`ROWS`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(u16);

macro_rules! codes {
    ($($konst:ident = $name:literal, $title:literal, $explain:literal, $cure:literal;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy)]
        enum Index { $($konst),* }
        /// All codes, in order.
        pub static ROWS: &[Row] = &[$(Row { name: $name, title: $title, explain: $explain, cure: $cure }),*];
        $(
            #[doc = concat!($name, ": ", $title)]
            pub const $konst: Code = Code(Index::$konst as u16);
        )*
    };
}

codes! {
    UNSUPPORTED = "TK001", "not part of the kernel language", "The syntax is Rust's, but kernels have no use or no meaning for it.",
        "Use what kernels have: functions, closures, `if`, `match`, loops, arrays, tuples and `#[tiki::device]` items.";
    UNKNOWN_NAME = "TK002", "unknown name", "Nothing of this name exists in the kernel language or in scope.",
        "Use a name that is there: the kernel's own, the prelude's, or that of an item with `#[tiki::device]` before it.";
    RESERVED_NAME = "TK003", "a device name that collides with a std macro", "`#[tiki::device]` exports a hidden macro of the item's own name; some names are taken by macros of the standard library or the prelude.",
        "Give the item another name.";
    ARGUMENTS = "TK004", "wrong number of arguments", "The operation takes another number of arguments.",
        "Give as many arguments as the message says that it takes.";
    SIGNATURE = "TK005", "a kernel's signature", "Kernels take tensors by `&Global` or `&mut Global` and scalars by value, and return nothing.",
        "Write the signature as `fn name(x: &Global<f32>, out: &mut Global<f32>, scale: f32)`.";
    RETURN = "TK006", "return where a later barrier needs this thread", "A thread that leaves can reach no barrier; all threads of a barrier's scope must.",
        "Let all threads reach the barrier: put what only some do into an `if`, and return after the last barrier.";
    RECURSION = "TK007", "recursion", "Device functions are inlined; a call that leads back to itself never ends.",
        "Write the repetition as a loop.";
    INTERNAL = "TK099", "a defect of the compiler", "The compiler met a case that it should have handled; the kernel may be right.",
        "Report it, with the kernel and the message.";
    UNKNOWN_OPTION = "TK101", "unknown option", "The kernel's attribute has no option of this name.",
        "Use one of the options that the message lists.";
    BAD_OPTION = "TK102", "an option's value", "The option takes another kind of value.",
        "Give the option once, with a value of the form that the message shows.";
    MISSING_OPTION = "TK103", "a missing option", "The kernel's attribute must say this.",
        "Add the option that the message names.";
    INSTANCE = "TK104", "an instance's parameters", "`build((..))` must give every parameter of the kernel one value of the right kind.",
        "Give each parameter of the kernel one value that its type and its bounds allow, in `build((..))`, or by `--set NAME=VALUE` on the command line.";
    THREADS = "TK105", "thread count", "A block has at least one warp and at most as many threads as the target allows, in whole warps.",
        "Give a number of threads that is a multiple of 32 and not over the target's limit, which the message has.";
    TARGET = "TK106", "what the target cannot do", "The target lacks the feature.",
        "Build for a target that has the feature (`target = \"..\"`), or do without it.";
    TYPE = "TK201", "wrong type", "The operation does not take this type.",
        "Give a value of the type that the message asks for; `.cast::<T>()` converts numbers.";
    ELEMENT = "TK202", "element types differ", "The two have different element types, and conversions are explicit.",
        "Convert one of the two: `.cast::<T>()`.";
    CONDITION = "TK203", "a condition that is no bool", "`if` and `while` take a `bool`.",
        "Write a comparison: `n != 0`.";
    LITERAL = "TK204", "a literal out of range", "The literal does not fit its type.",
        "Write a number in the type's range, or another type.";
    BRANCH_TYPES = "TK205", "branches of different types", "Both branches must have one type and one layout.",
        "Give both branches one type and one layout; `.cast::<T>()` and `.redistribute(..)` convert.";
    MUTABILITY = "TK206", "assignment", "Only a `let mut` variable can be assigned, and its type and layout stay.",
        "Declare it `let mut`, or bind the new value to a name of its own by `let`.";
    WRITE_SHARED_REF = "TK207", "write through `&`", "A tensor the kernel writes is taken by `&mut`.",
        "Take the tensor by `&mut Global<..>`.";
    NEED_CONST = "TK301", "a run-time value where a build-time one is needed", "Layouts, shapes, thread maps and unrolled bounds are known at build time.",
        "Take it from a const parameter, a literal or a `const`.";
    CONST_EVAL = "TK302", "an error while evaluating at build time", "Division by zero, overflow or an index out of range in a build-time computation.",
        "Change the numbers that the message shows, or leave the case out by a build-time `if`.";
    UNROLL_LIMIT = "TK303", "too much unrolling", "The loop would be repeated too many times.",
        "Make the loop shorter, or let it run: leave `#[unroll]` out.";
    SHAPE = "TK401", "shapes differ", "Elementwise operations take tensors of one shape.",
        "Give both tensors one shape; `rows` and `cols` combine a tensor with one value a row or a column.";
    LAYOUT = "TK402", "layouts differ", "Two register tensors are combined element by element by the thread that holds both; their layouts must be equal.",
        "Load both by one thread map (`load_like`), or convert one: `.redistribute(..)`.";
    RANK = "TK403", "wrong rank", "The number of coordinates is not the tensor's rank.",
        "Give as many coordinates and extents as the tensor has axes; the number of axes is the second argument of its type: `Global<f32, 1>`.";
    MAP = "TK404", "a thread map that does not fit", "The map cannot divide the tile among the block's threads.",
        "Choose a map whose threads and vectors divide the tile: `ThreadMap::linear(T).vector_up_to(V)` takes the widest that do.";
    VECTOR = "TK405", "an unproven vector width", "The accesses are not proven to be contiguous, aligned and whole.",
        "Prove it: `require!` the extents' divisibility, or ask for a narrower vector or `vector_up_to`.";
    LAYOUT_TEXT = "TK406", "a layout that cannot be read", "The text is not a layout in CuTe notation.",
        "Write the layout as CuTe does: `(8,4):(4,1)`.";
    BOUNDS = "TK407", "out of bounds", "A build-time coordinate or tile lies outside its tensor.",
        "Keep coordinates, tiles and layouts inside what they lie in; the message has its size.";
    AXIS = "TK408", "no such axis", "The tensor has fewer axes.",
        "Name an axis that the tensor has: they are numbered from 0.";
    ALGEBRA = "TK409", "a refused layout operation", "The layout algebra refuses; the message names the operation and the condition.",
        "Change the layout so that the condition in the message holds.";
    COPY = "TK410", "a copy the hardware cannot make", "Asynchronous copies move 4, 8 or 16 contiguous, aligned bytes a thread; tensor copies have boxes and strides of their own.",
        "Copy 4, 8 or 16 aligned, contiguous bytes a thread: `require!` the rows' divisibility, or load through registers.";
    SHARED_LIMIT = "TK501", "shared memory", "The block needs more shared memory than the target, or the budget, allows.",
        "Make tiles smaller or stages fewer, or let storage be used again: `reuse_as`.";
    REGISTER_LIMIT = "TK502", "registers", "The bound on live registers is over the budget.",
        "Raise `registers`, make the tile that a thread holds smaller (more threads, a smaller shape), or end values earlier.";
    REGISTER_BUDGET = "TK503", "a register budget that cannot hold", "Threads times registers exceed the register file, or a thread's limit.",
        "Lower `registers`, or the number of threads, until their product fits the register file.";
    RACE = "TK601", "a missing barrier", "A shared write and a conflicting access by other threads have no barrier between them.",
        "Put a barrier that both sides reach between the write and the access: `sync_block()`, or between roles a `Barrier` of their own.";
    BARRIER_DIVERGENT = "TK602", "a barrier that not all threads reach", "The condition around it can differ within the barrier's scope.",
        "Move the barrier out of the condition.";
    BANK_CONFLICTS = "TK603", "bank conflicts", "`deny(bank_conflicts)`: the access takes more wavefronts than it must.",
        "Give the shared tensor a swizzle or a padded layout; or leave the `deny` out.";
    UNPROVEN = "TK604", "an unproven fact", "`deny(unproven)`: the fact is neither proven nor refuted.",
        "Add the fact to a `require!`; or leave the `deny` out.";
    UNDEFINED_READ = "TK605", "shared memory read before it is written", "No thread wrote what is read.",
        "Write it before, by every thread's way, with a barrier between.";
    COLLECTIVE_DIVERGENT = "TK606", "a warp operation that not all lanes reach", "Shuffles, votes and reductions need the whole warp.",
        "Move the operation out of the condition, or make the condition the same for the whole warp.";
    DUPLICATE_WRITE = "TK607", "two threads write one element", "The map gives one element to several threads, with different values.",
        "Use a map that gives each element to one thread, or let one of them write: `if thread == 0`.";
    UNCOALESCED = "TK608", "uncoalesced accesses", "`deny(uncoalesced)`: a warp's access touches more sectors than it must.",
        "Let neighbouring threads take neighbouring elements: another thread map, or a transposed tile in shared memory; or leave the `deny` out.";
    IN_FLIGHT = "TK609", "an accumulator in flight", "A warpgroup's product is done only after a wait that covers its group.",
        "Wait for the group before the accumulator is read or written.";
    PIPELINE = "TK610", "a pipeline used out of order", "Stages are acquired, filled, committed, waited for, used and released, in this order.",
        "Follow the order: `acquire`, copy, `commit`, `wait`, use, `release`, once a stage and round.";
    PROXY = "TK611", "shared memory and asynchronous readers", "What threads write is seen by tensor copies and warpgroup products after `fence_async` and a barrier, and may be written again once a wait says that it was read.",
        "Put `fence_async()` and a barrier between what threads write and what reads it asynchronously, and a wait before it is written again.";
    INSTRUCTION = "TK701", "an instruction of `ptx!` that is refused", "The text is held against the instruction table: what is not there, has other operands, or moves control or waits, has no place in `ptx!`.",
        "Write an instruction that the table and the target have, with the operands that the message shows; what moves control or waits is Rust's part.";
    EFFECT = "TK702", "an undeclared effect of `ptx!`", "An instruction touches memory that the statement does not name: `reads(x)`, `writes(y)`, `fence`.",
        "Declare it: `reads(x)`, `writes(y)` or `fence`.";
    OPERAND = "TK703", "an operand of `ptx!`", "Operands are registers of the text, by name: outputs are written on every way, inputs are only read.",
        "Name each register once, write every output, and only read inputs.";
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
    /// What to do, as a help: without the full stop.
    #[must_use]
    pub fn cure(self) -> String {
        let cure = self.row().cure;
        let cure = cure.strip_suffix('.').unwrap_or(cure);
        let mut letters = cure.chars();
        let first = letters.next().into_iter().flat_map(char::to_lowercase);
        first.chain(letters).collect()
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

    #[test]
    fn every_code_says_what_to_do() {
        for row in ROWS {
            for text in [row.explain, row.cure] {
                assert!(
                    text.ends_with('.') && text.len() > 20,
                    "{}: {text}",
                    row.name
                );
                assert!(
                    text.starts_with(char::is_uppercase) || text.starts_with('`'),
                    "{}",
                    row.name
                );
            }
            assert!(!row.explain.contains(row.cure), "{}", row.name);
        }
    }
}
