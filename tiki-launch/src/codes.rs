//! Error codes of launching and loading: one row each.
//!
//! A code is stable: it never changes its meaning and is never given to another error. The row's
//! words are what the reference page prints; the error itself adds the user's names and numbers.

/// One code.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// The stable code.
    pub code: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// What it means and what to do.
    pub explanation: &'static str,
}

macro_rules! codes {
    ($($name:ident = $code:literal, $title:literal, $explanation:literal;)*) => {
        /// A code: a row of [`ROWS`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code { $(#[doc = $title] $name),* }
        /// All codes.
        pub static ROWS: &[Row] = &[$(Row { code: $code, title: $title, explanation: $explanation }),*];
    };
}

codes! {
    NoDriver = "TL001", "no NVIDIA driver",
        "The driver's library could not be loaded. Install the driver, or set TIKI_DEVICE=vm to run on the virtual machine.";
    OldDriver = "TL002", "the NVIDIA driver is too old",
        "The driver lacks a function this build calls. Update it, or build for CUDA 12.8: `tiki = { default-features = false, features = [\"cuda-12080\"] }`.";
    NoDevice = "TL003", "no such GPU",
        "The driver answers but has no device of this number. CUDA_VISIBLE_DEVICES may hide it.";
    DeviceName = "TL005", "no device has this name",
        "Write `vm`, `vm:TARGET` with a target's name, or `cuda:N` with a device's number.";
    WrongTarget = "TL006", "the kernel is built for another target",
        "Build the kernel for a target this device runs: its capability must be at least the target's, or exactly it where the target is architecture-specific.";
    Refused = "TL007", "the device refused the kernel's PTX",
        "The assembler's own words are in the message. For a kernel of ours this is a bug worth reporting.";
    NoEntry = "TL008", "the PTX has no such entry",
        "The name must be that of a visible entry of the module.";
    Spills = "TL009", "the kernel spills registers",
        "It carries `deny(spills)`, and the driver reports local memory after loading it. Raise `registers` or keep fewer values alive.";
    Driver = "TL010", "the driver failed",
        "A call of the driver returned an error that no other code names.";
    Fault = "TL011", "a kernel failed while running",
        "An earlier launch on this device broke; a GPU reports it late, with the next call that waits. Run the same program with TIKI_DEVICE=vm to learn which access it was.";
    OutOfMemory = "TL012", "out of memory",
        "The device has no room for the buffer.";
    TooLarge = "TL013", "the tensor is too large to address",
        "The product of the extents and the element's bytes must stay below 2^63.";
    OtherDevice = "TL014", "the argument lives on another device",
        "All tensors of a launch must be on the device of its stream. Nothing is copied silently.";
    ArgumentType = "TL015", "wrong type of argument",
        "The kernel was built for another element type, rank or kind of parameter.";
    NotContiguous = "TL016", "the tensor is not row-major",
        "The kernel takes this parameter row-major without gaps. Build it with a strided parameter, or pass a compact tensor.";
    Misaligned = "TL017", "the tensor's address is not aligned",
        "The kernel's wide accesses rest on this alignment. A view that starts inside a row often breaks it.";
    Extent = "TL018", "an extent does not fit in 32 bits",
        "Kernels receive extents as 32-bit numbers.";
    Overlap = "TL019", "an output overlaps another argument",
        "Two views of one buffer share elements and the kernel writes one of them, or the output reaches one element along several coordinates.";
    Fact = "TL020", "a fact the kernel requires does not hold",
        "The kernel was compiled on the strength of it; the message shows the values of its operands.";
    Grid = "TL021", "the grid is too large",
        "A grid has at most 2147483647 blocks along x and 65535 along y and z, and is a whole number of clusters.";
    Arguments = "TL022", "wrong number of arguments",
        "Every parameter must be given once, in the order of the kernel's signature.";
    Shared = "TL023", "too much shared memory for this device",
        "The device has less shared memory a block than the kernel asks for.";
    Length = "TL024", "the number of elements does not match",
        "A host slice must have exactly as many elements as the tensor's shape says.";
    Shape = "TL025", "shapes do not match",
        "Both tensors must have the same extents.";
    View = "TL026", "the view does not fit the tensor",
        "The range, axis or new shape is outside the tensor, or needs a copy.";
    InCapture = "TL027", "not possible while a graph is captured",
        "Allocation, transfer to and from the host, and synchronisation of the stream being captured must happen before or after.";
    Streams = "TL028", "too many streams",
        "A device numbers its streams, and so many are open, or were dropped while their work goes on, that the numbers are used up.";
    Parameters = "TL029", "the entry takes other parameters",
        "The PTX declares other parameters than the kernel's description says; launching it would pass it the wrong bytes.";
    TensorMap = "TL030", "the accelerator cannot read the tensor",
        "The tensor memory accelerator takes tensors that begin at a multiple of 16 bytes and whose rows lie a multiple of 16 bytes apart.";
    Arithmetic = "TL031", "a computation of the launcher has no result",
        "The kernel's grid, one of its facts or the shape of its workspace divides by zero for these arguments, or leaves its type's range; the message shows the expression with its numbers.";
    PartialWave = "TL032", "the last wave of blocks is partial",
        "The kernel carries `deny(partial_waves)`, and its blocks are no multiple of those that the GPU holds at once. Choose another tile, or `grid = persistent`. The virtual machine has no waves and does not ask.";
    DataOpen = "TL101", "the file cannot be read",
        "The operating system's reason is in the message.";
    DataFormat = "TL102", "not a complete safetensors file",
        "The header or the data is damaged or cut short.";
    DataMissing = "TL103", "the file has no such tensor",
        "The message lists the names that are there.";
    DataType = "TL104", "the stored tensor has another element type",
        "Tensors are never converted silently; read it in its own type.";
    DataShape = "TL105", "the stored tensor has another shape",
        "The message shows the shape found and the one expected.";
}

impl Code {
    /// Its row.
    #[must_use]
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
    /// The stable code, as printed.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.row().code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_ascending() {
        for pair in ROWS.windows(2) {
            assert!(pair[0].code < pair[1].code, "{}", pair[1].code);
        }
        for row in ROWS {
            assert!(row.code.len() == 5 && row.code.starts_with("TL"));
            assert!(row.explanation.ends_with('.') && !row.title.ends_with('.'));
        }
    }
}
