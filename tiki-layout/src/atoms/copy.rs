//! Copy atoms: how one instruction moves bits between threads and memory.
//!
//! ```text
//!     ldmatrix of one 8x8 matrix of 16-bit elements
//!     source       threads 0..8 give the addresses of 8 rows of 128 bits
//!     destination  thread t receives 32 bits: elements 2 (t % 4) and 2 (t % 4) + 1 of row t / 4
//!                  transposed: of column t / 4
//! ```
//!
//! All layouts map (thread, bit) to a bit number. The *reference* is the numbering that both sides are related through:
//! the register side of a matrix copy. [`CopyAtom::of_width`] turns bits into elements.

use crate::error::{Error, Result};
use crate::{Layout, Tuple};

/// One copy instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CopyAtom {
    /// From the number of a participant to its thread.
    pub threads: Layout,
    /// (thread, value) read.
    pub source: Layout,
    /// (thread, value) written.
    pub destination: Layout,
    /// The numbering both are related through.
    pub reference: Layout,
}

/// How lanes and columns of tensor memory reach a warp: lanes and bits per lane of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Datapath {
    /// 16 lanes, 256 bits.
    Lanes16Bits256,
    /// 16 lanes, 128 bits.
    Lanes16Bits128,
    /// 16 lanes, 64 bits.
    Lanes16Bits64,
    /// 16 lanes, 32 bits.
    Lanes16Bits32,
    /// 32 lanes, 32 bits.
    Lanes32Bits32,
}

fn parse(text: &str) -> Result<Layout> {
    Layout::parse(text)
}

/// The rows of `count` 8x8 matrices: 8 threads each give an address; the other threads repeat them.
fn rows(count: i64) -> Result<Layout> {
    match count {
        1 => parse("((8,4),128):((128,0),1)"),
        2 => parse("((16,2),128):((128,0),1)"),
        4 => parse("(32,128):(128,1)"),
        _ => Err(Error::Atom {
            op: "matrix copy",
            what: "the number of matrices",
            got: count,
            want: 4,
        }),
    }
}

/// A mode list whose last mode (`count`, `step`) is dropped if there is one matrix only.
fn with_count(thread: &str, value: (&[i64], &[i64]), count: i64, step: i64) -> Result<Layout> {
    let thread = parse(thread)?;
    let (mut shape, mut stride) = (value.0.to_vec(), value.1.to_vec());
    if count > 1 {
        shape.push(count);
        stride.push(step);
    }
    let tuple = |list: Vec<i64>| match list[..] {
        [only] => Tuple::Int(only),
        _ => list.into_iter().collect(),
    };
    let value = Layout::new(tuple(shape), tuple(stride))?;
    Layout::concat([&thread, &value])
}

/// The register side of `count` matrices.
fn registers(count: i64, transposed: bool) -> Result<Layout> {
    if transposed {
        with_count("(4,8):(256,16)", (&[16, 2], &[1, 128]), count, 1024)
    } else {
        with_count("32:32", (&[32], &[1]), count, 1024)
    }
}

/// The register side of `count` matrices of 8-bit elements, transposed.
fn byte_registers(count: i64) -> Result<Layout> {
    with_count("(4,8):(256,8)", (&[8, 2, 2], &[1, 128, 64]), count, 1024)
}

impl CopyAtom {
    fn warp(source: Layout, destination: Layout, reference: Layout) -> Result<CopyAtom> {
        Ok(CopyAtom {
            threads: Layout::new(32, 1)?,
            source,
            destination,
            reference,
        })
    }

    /// ldmatrix: 1, 2 or 4 matrices of 8 rows of 16 bytes, shared memory to registers.
    ///
    /// ```
    /// # use tiki_layout::atoms::CopyAtom;
    /// let atom = CopyAtom::load_matrices(4, false).unwrap().of_width(16).unwrap();
    /// assert_eq!(atom.source.to_string(), "(32,8):(8,1)");
    /// assert_eq!(atom.destination.to_string(), "(32,(2,4)):(2,(1,64))");
    /// ```
    pub fn load_matrices(count: i64, transposed: bool) -> Result<CopyAtom> {
        let (memory, registers) = (rows(count)?, registers(count, transposed)?);
        CopyAtom::warp(memory, registers.clone(), registers)
    }

    /// stmatrix: 1, 2 or 4 matrices of 8 rows of 16 bytes, registers to shared memory.
    pub fn store_matrices(count: i64, transposed: bool) -> Result<CopyAtom> {
        let (memory, registers) = (rows(count)?, registers(count, transposed)?);
        CopyAtom::warp(registers.clone(), memory, registers)
    }

    /// ldmatrix of 1 or 2 16x16 matrices of 8-bit elements, transposed.
    pub fn load_byte_matrices(count: i64) -> Result<CopyAtom> {
        let memory = match count {
            1 => parse("((2,2,4,2),128):((128,1024,256,0),1)")?,
            2 => parse("((2,2,4,2),128):((128,1024,256,2048),1)")?,
            _ => {
                return Err(Error::Atom {
                    op: "matrix copy",
                    what: "the number of matrices",
                    got: count,
                    want: 2,
                });
            }
        };
        let registers = byte_registers(2 * count)?;
        CopyAtom::warp(memory, registers.clone(), registers)
    }

    /// stmatrix of 1, 2 or 4 16x8 matrices of 8-bit elements, transposed.
    pub fn store_byte_matrices(count: i64) -> Result<CopyAtom> {
        let (memory, registers) = (rows(count)?, byte_registers(count)?);
        CopyAtom::warp(registers.clone(), memory, registers)
    }

    /// movmatrix: both sides are 32 bits of each thread. As in CuTe, the transposition that it makes of the matrix is not in
    /// these maps: they say which registers it reads and writes.
    pub fn move_matrix() -> Result<CopyAtom> {
        let all = parse("(32,32):(32,1)")?;
        CopyAtom::warp(all.clone(), all.clone(), all)
    }

    /// A 2x2 transposition of 32-bit registers between the lanes `t` and `t ^ distance` (1 or 4).
    pub fn exchange(distance: i64) -> Result<CopyAtom> {
        let destination = match distance {
            1 => parse("((2,16),(32,2)):((32,128),(1,64))")?,
            4 => parse("((4,2,4),(32,2)):((64,32,512),(1,256))")?,
            _ => {
                return Err(Error::Atom {
                    op: "exchange",
                    what: "the lane distance",
                    got: distance,
                    want: 1,
                });
            }
        };
        let source = parse("(32,64):(64,1)")?;
        CopyAtom::warp(source.clone(), destination, source)
    }

    /// One thread copies `bits` bits: a plain load or store, or cp.async.
    pub fn plain(bits: i64) -> Result<CopyAtom> {
        if bits <= 0 {
            return Err(Error::NotPositive {
                op: "copy atom",
                what: "the number of bits",
                got: bits,
            });
        }
        CopyAtom::single(Layout::new([1, bits], [0, 1])?)
    }

    /// One thread copies one element, whatever its width.
    pub fn element() -> Result<CopyAtom> {
        CopyAtom::single(Layout::new([1, 1], [0, 0])?)
    }

    fn single(all: Layout) -> Result<CopyAtom> {
        let threads = Layout::new(1, 0)?;
        Ok(CopyAtom {
            threads,
            source: all.clone(),
            destination: all.clone(),
            reference: all,
        })
    }

    /// A warp loads from (or stores to) tensor memory, `steps` steps of a datapath. The memory side is the reference: one
    /// block of bits that all lanes address together.
    pub fn tensor_memory(path: Datapath, steps: i64, store: bool) -> Result<CopyAtom> {
        if !(1..=128).contains(&steps) || steps.count_ones() != 1 {
            return Err(Error::Atom {
                op: "tensor memory copy",
                what: "the number of steps",
                got: steps,
                want: 128,
            });
        }
        let n = steps;
        let (total, registers) = match path {
            Datapath::Lanes16Bits256 => {
                let thread = format!("(4,8):(64,{})", 256 * n);
                (
                    4096 * n,
                    with_count(&thread, (&[64, 2], &[1, 2048 * n]), n, 256)?,
                )
            }
            Datapath::Lanes16Bits128 => {
                let thread = format!("(4,8):(32,{})", 128 * n);
                (
                    2048 * n,
                    with_count(&thread, (&[32, 2], &[1, 1024 * n]), n, 128)?,
                )
            }
            Datapath::Lanes16Bits64 => {
                let thread = format!("(2,2,8):({},32,{})", 512 * n, 64 * n);
                (1024 * n, with_count(&thread, (&[32], &[1]), n, 64)?)
            }
            Datapath::Lanes16Bits32 => {
                let thread = format!("(16,2):({},{})", 64 * n, 32 * n);
                (1024 * n, with_count(&thread, (&[32 * n], &[1]), 1, 0)?)
            }
            Datapath::Lanes32Bits32 => (
                1024 * n,
                with_count(&format!("32:{}", 32 * n), (&[32 * n], &[1]), 1, 0)?,
            ),
        };
        let memory = Layout::new([32, total], [0, 1])?;
        if store {
            CopyAtom::warp(registers, memory.clone(), memory)
        } else {
            CopyAtom::warp(memory.clone(), registers, memory)
        }
    }

    /// The atom in elements of `width` bits. A width that would split an element between threads is refused.
    pub fn of_width(&self, width: i64) -> Result<CopyAtom> {
        let threads = self.threads.size();
        let cast = |layout: &Layout| {
            let layout = layout.upcast(width)?;
            let got = layout.mode(0)?.size();
            if got == threads {
                Ok(layout)
            } else {
                let what = "the number of threads after a cast to this element width";
                Err(Error::Atom {
                    op: "copy atom",
                    what,
                    got,
                    want: threads,
                })
            }
        };
        Ok(CopyAtom {
            threads: self.threads.clone(),
            source: cast(&self.source)?,
            destination: cast(&self.destination)?,
            reference: cast(&self.reference)?,
        })
    }
}
