//! Which bytes of a buffer were written, of buffers that were declared to hold nothing at first.
//!
//! A bit for each byte, in pages that are made when a byte of theirs is first written: what is kept follows what was
//! touched, not the size of the buffer. Other buffers have no such record and are never looked up.
//!
//! Loads, atomics and the readings of asynchronous copies and reductions are held against it when they are issued;
//! whatever writes notes it, in any launch and at any level of checks, so that a launch may build on another's output.
//! A launch that could see such a buffer runs on one host thread: what a racing block has written by then must not
//! depend on their number.

use super::block::Team;
use super::exec::{Ctx, Result};
use super::fault::{Code, lanes};
use super::memory::Buffer;
use super::options::Checks;
use super::warp::Warp;
use crate::vm::meaning::LANES;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Words of a page, each with a bit for 32 bytes.
const PAGE: usize = 256;
const BYTES: usize = 32 * PAGE;

type Page = Box<[AtomicU32]>;

/// The record of a buffer.
#[derive(Debug)]
pub(super) struct Written {
    pages: Box<[OnceLock<Page>]>,
}

/// Bits of the bytes of a word of 32 that a range covers.
fn bits(word: usize, from: usize, to: usize) -> u32 {
    let first = from.saturating_sub(32 * word).min(32);
    let end = to.saturating_sub(32 * word).min(32);
    let below = |n: usize| ((1u64 << n) - 1) as u32;
    below(end) & !below(first)
}

impl Written {
    pub(super) fn new(len: usize) -> Written {
        Written {
            pages: (0..len.div_ceil(BYTES)).map(|_| OnceLock::new()).collect(),
        }
    }
    /// Notes bytes as written.
    pub(super) fn mark(&self, at: usize, bytes: usize) {
        for word in at / 32..(at + bytes).div_ceil(32) {
            let Some(page) = self.pages.get(word / PAGE) else {
                return;
            };
            let page = page.get_or_init(|| (0..PAGE).map(|_| AtomicU32::new(0)).collect());
            page[word % PAGE].fetch_or(bits(word, at, at + bytes), Relaxed);
        }
    }
    /// The first of some bytes that nothing wrote.
    pub(super) fn unset(&self, at: usize, bytes: usize) -> Option<usize> {
        (at / 32..(at + bytes).div_ceil(32)).find_map(|word| {
            let page = self.pages.get(word / PAGE).and_then(|p| p.get());
            let have = page.map_or(0, |p| p[word % PAGE].load(Relaxed));
            let lack = bits(word, at, at + bytes) & !have;
            (lack != 0).then(|| 32 * word + lack.trailing_zeros() as usize)
        })
    }
    /// What is known now, page by page.
    pub(super) fn snapshot(&self) -> Vec<Option<Vec<u32>>> {
        let page = |p: &Page| p.iter().map(|w| w.load(Relaxed)).collect();
        self.pages.iter().map(|p| p.get().map(page)).collect()
    }
    /// Goes back to what was known then.
    pub(super) fn restore(&self, then: &[Option<Vec<u32>>]) {
        for (page, then) in self.pages.iter().zip(then) {
            let Some(page) = page.get() else { continue };
            for (i, w) in page.iter().enumerate() {
                w.store(then.as_ref().map_or(0, |t| t[i]), Relaxed);
            }
        }
    }
}

impl Buffer {
    /// Notes bytes as written, where that is asked for.
    #[inline(always)]
    pub(super) fn mark(&self, at: usize, bytes: usize) {
        if let Some(written) = &self.written {
            written.mark(at, bytes);
        }
    }
}

impl Team {
    /// Lanes read bytes of a buffer, each at its place: something must have written them.
    #[inline(always)]
    pub(super) fn defined(
        &self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        buffer: &Buffer,
        (off, mask): (&[usize; LANES], u32),
        bytes: usize,
    ) -> Result<()> {
        match &buffer.written {
            Some(w) if ctx.env.options.checks != Checks::Run => {
                self.defined_in(ctx, warp, (buffer, w), (off, mask), bytes)
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn defined_in(
        &self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        (buffer, written): (&Buffer, &Written),
        (off, mask): (&[usize; LANES], u32),
        bytes: usize,
    ) -> Result<()> {
        let mut first = None;
        let mut unset = 0u32;
        for i in (0..LANES).filter(|i| mask >> i & 1 == 1) {
            if let Some(at) = written.unset(off[i], bytes) {
                unset |= 1 << i;
                first.get_or_insert((i, at));
            }
        }
        let Some((_, at)) = first else { return Ok(()) };
        if ctx.env.keep_going {
            // They are told once; from here on they count as written.
            for i in (0..LANES).filter(|i| unset >> i & 1 == 1) {
                written.mark(off[i], bytes);
            }
        }
        let text = format!(
            "reads byte {at} of `{}`, which nothing has written, in lanes {}",
            buffer.name,
            lanes(unset)
        );
        let mut f = ctx.fault(self, warp, Code::Undefined, unset, text);
        (f.buffer, f.index) = (Some(buffer.name.clone()), Some(at as u64));
        Err(f)
    }

    /// The same for bytes that one lane names.
    pub(super) fn defined_for(
        &self,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        lane: usize,
        (id, at, bytes): (usize, usize, usize),
    ) -> Result<()> {
        match ctx.env.table.get(id) {
            Some(Some(buffer)) => self.defined(ctx, warp, buffer, (&[at; LANES], 1 << lane), bytes),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Invariant: a byte is known exactly if a range that was marked covers it. Witness: random ranges across pages.
    #[test]
    fn bytes_are_known_as_they_are_marked() {
        let len = 3 * BYTES + 40;
        let written = Written::new(len);
        let mut model = vec![false; len];
        let mut x = 1u64;
        let mut below = |n: usize| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (x >> 33) as usize % n
        };
        for _ in 0..2000 {
            let at = below(len);
            let bytes = (1 + below(70)).min(len - at);
            let want = (at..at + bytes).find(|b| !model[*b]);
            assert_eq!(written.unset(at, bytes), want);
            if below(2) == 0 {
                written.mark(at, bytes);
                model[at..at + bytes].fill(true);
            }
        }
        let then = written.snapshot();
        written.mark(0, len);
        assert_eq!(written.unset(0, len), None);
        written.restore(&then);
        assert_eq!(written.unset(0, len), model.iter().position(|b| !b));
    }
}
