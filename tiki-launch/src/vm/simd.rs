//! Bytes that several host threads touch at once, as a GPU's blocks do.
//!
//! Device memory is an array of words that are read and written by relaxed atomic operations, so that a
//! racing kernel gives some value and never undefined behaviour. Words are 32 bits; narrower stores go
//! through a narrower atomic at the same place.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, Ordering::Relaxed};

/// Shared bytes.
#[derive(Debug)]
pub(super) struct Bytes {
    words: Box<[AtomicU32]>,
    len: usize,
}

impl Bytes {
    /// Zeroed bytes.
    pub(super) fn new(len: usize) -> Bytes {
        Bytes {
            words: (0..len.div_ceil(4)).map(|_| AtomicU32::new(0)).collect(),
            len,
        }
    }
    pub(super) fn len(&self) -> usize {
        self.len
    }
    #[inline(always)]
    pub(super) fn words(&self) -> &[AtomicU32] {
        &self.words
    }
    /// The word at a multiple of four.
    #[inline(always)]
    pub(super) fn load32(&self, at: usize) -> u32 {
        self.words[at / 4].load(Relaxed)
    }
    /// A value of 1, 2, 4 or 8 bytes at a multiple of its size.
    #[inline(always)]
    pub(super) fn load(&self, at: usize, bytes: usize) -> u64 {
        match bytes {
            8 => u64::from(self.load32(at)) | u64::from(self.load32(at + 4)) << 32,
            4 => u64::from(self.load32(at)),
            2 => u64::from(self.load32(at & !3) >> (8 * (at & 2)) & 0xffff),
            _ => u64::from(self.load32(at & !3) >> (8 * (at & 3)) & 0xff),
        }
    }
    /// Stores a value of 1, 2, 4 or 8 bytes at a multiple of its size.
    #[inline(always)]
    pub(super) fn store(&self, at: usize, bytes: usize, value: u64) {
        match bytes {
            8 => {
                self.words[at / 4].store(value as u32, Relaxed);
                self.words[at / 4 + 1].store((value >> 32) as u32, Relaxed);
            }
            4 => self.words[at / 4].store(value as u32, Relaxed),
            2 => self.narrow16(at).store(value as u16, Relaxed),
            _ => self.narrow8(at).store(value as u8, Relaxed),
        }
    }
    /// Changes the word at a multiple of four, whoever else does at the same time.
    pub(super) fn change(&self, at: usize, to: impl Fn(u64) -> u64) {
        let word = &self.words[at / 4];
        let mut old = word.load(Relaxed);
        while let Err(now) =
            word.compare_exchange_weak(old, to(u64::from(old)) as u32, Relaxed, Relaxed)
        {
            old = now;
        }
    }
    #[inline(always)]
    fn narrow16(&self, at: usize) -> &AtomicU16 {
        let word: *const AtomicU32 = &self.words[at / 4];
        assert!(at.is_multiple_of(2));
        let half = if cfg!(target_endian = "big") {
            1 - (at & 3) / 2
        } else {
            (at & 3) / 2
        };
        // SAFETY: the word is borrowed for as long as the result; the half lies inside it and is aligned.
        // All accesses to it are atomic.
        unsafe { &*word.cast::<AtomicU16>().add(half) }
    }
    #[inline(always)]
    fn narrow8(&self, at: usize) -> &AtomicU8 {
        let word: *const AtomicU32 = &self.words[at / 4];
        let byte = if cfg!(target_endian = "big") {
            3 - (at & 3)
        } else {
            at & 3
        };
        // SAFETY: as above; a byte is always aligned.
        unsafe { &*word.cast::<AtomicU8>().add(byte) }
    }
    /// Copies bytes in, from an offset on.
    pub(super) fn write(&self, at: usize, data: &[u8]) {
        let mut i = 0;
        while i < data.len() {
            if (at + i).is_multiple_of(4) && data.len() - i >= 4 {
                let word = [data[i], data[i + 1], data[i + 2], data[i + 3]];
                self.words[(at + i) / 4].store(u32::from_le_bytes(word), Relaxed);
                i += 4;
            } else {
                self.store(at + i, 1, u64::from(data[i]));
                i += 1;
            }
        }
    }
    /// Copies bytes out, from an offset on.
    pub(super) fn read(&self, at: usize, out: &mut [u8]) {
        let mut i = 0;
        while i < out.len() {
            if (at + i).is_multiple_of(4) && out.len() - i >= 4 {
                out[i..i + 4].copy_from_slice(&self.load32(at + i).to_le_bytes());
                i += 4;
            } else {
                out[i] = self.load(at + i, 1) as u8;
                i += 1;
            }
        }
    }
    /// Copies words out, from a word on.
    #[inline(always)]
    pub(super) fn load_run(&self, first: usize, out: &mut [u32]) {
        let from = &self.words[first..first + out.len()];
        #[cfg(target_arch = "x86_64")]
        if out.len().is_multiple_of(4) {
            // SAFETY: both slices have `out.len()` words. Memory that others change is read by assembly
            // only, 16 bytes at a time, of which the CPU tears no aligned word: what a loop of relaxed
            // loads reads.
            unsafe { copy_words(from.as_ptr().cast(), out.as_mut_ptr(), out.len()) };
            return;
        }
        for (o, w) in out.iter_mut().zip(from) {
            *o = w.load(Relaxed);
        }
    }
    /// Copies words in, from a word on.
    #[inline(always)]
    pub(super) fn store_run(&self, first: usize, data: &[u32]) {
        let to = &self.words[first..first + data.len()];
        #[cfg(target_arch = "x86_64")]
        if data.len().is_multiple_of(4) {
            // SAFETY: as above; atomics may be written through a shared borrow.
            unsafe { copy_words(data.as_ptr(), to.as_ptr().cast_mut().cast(), data.len()) };
            return;
        }
        for (w, d) in to.iter().zip(data) {
            w.store(*d, Relaxed);
        }
    }
}

/// Copies words by assembly, four at a time.
///
/// # Safety
/// Both places have `words` words, a positive multiple of four; nobody else touches one of them.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn copy_words(from: *const u32, to: *mut u32, words: usize) {
    if words == 0 {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe {
        std::arch::asm!(
            "2:",
            "movups {t}, [{from}]",
            "movups [{to}], {t}",
            "add {from}, 16",
            "add {to}, 16",
            "sub {n}, 4",
            "jnz 2b",
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            n = inout(reg) words => _,
            t = out(xmm_reg) _,
            options(nostack)
        );
    }
}
