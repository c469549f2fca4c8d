//! The bytes that a quick access moves, once its offsets were found good.

use super::super::planes::word_of;
use super::super::shared::WHOLE;
use super::super::straight::Site;
use super::{Offsets, Place, Reach};
use crate::vm::meaning::{LANES, Plane, put_plane};
use std::sync::atomic::Ordering::Relaxed;

impl Reach {
    #[inline(always)]
    pub(super) fn words<const W: usize>(&self, site: &mut Site<'_, '_>, mask: u32) -> bool {
        match (self.place, self.store) {
            (Place::Global, false) => {
                let Some((bytes, o)) = self.global(site, mask) else {
                    return false;
                };
                let words = bytes.words();
                if let Some(first) = o.run
                    && first + LANES * W <= words.len()
                {
                    let mut all = [[0; LANES]; W];
                    bytes.load_run(first, all.as_flattened_mut());
                    self.spread::<W>(site, all.as_flattened(), mask);
                } else {
                    for k in 0..W {
                        let mut out = [0; LANES];
                        for i in 0..LANES {
                            out[i] = words[o.at[i] as usize / 4 + k].load(Relaxed);
                        }
                        put_plane(&mut site.file.words[self.slots[k] as usize], &out, mask);
                    }
                }
            }
            (Place::Global, true) => {
                let Some((bytes, o)) = self.global(site, mask) else {
                    return false;
                };
                if let Some(first) = o.run
                    && mask == u32::MAX
                {
                    let mut all = [[0; LANES]; W];
                    self.collect::<W>(site, all.as_flattened_mut());
                    bytes.store_run(first, all.as_flattened());
                } else {
                    let words = bytes.words();
                    for k in 0..W {
                        let from = &site.file.words[self.slots[k] as usize].0;
                        for i in 0..LANES {
                            if mask >> i & 1 == 1 {
                                words[o.at[i] as usize / 4 + k].store(from[i], Relaxed);
                            }
                        }
                    }
                }
            }
            (Place::Shared, false) => {
                let Some(o) = self.offsets(site, mask, site.shared.len) else {
                    return false;
                };
                if !known::<W>(site, &o, mask) || !self.seen(site, &o, None, mask) {
                    return false;
                }
                let words = &site.shared.words;
                if o.same {
                    let at = o.at[0] as usize / 4;
                    let mut one = [0; W];
                    one.copy_from_slice(&words[at..at + W]);
                    for k in 0..W {
                        put_plane(
                            &mut site.file.words[self.slots[k] as usize],
                            &[one[k]; LANES],
                            mask,
                        );
                    }
                } else if let Some(first) = o.run
                    && first + LANES * W <= words.len()
                {
                    let all = &words[first..first + LANES * W];
                    for k in 0..W {
                        let mut out = [0; LANES];
                        for i in 0..LANES {
                            out[i] = all[i * W + k];
                        }
                        put_plane(&mut site.file.words[self.slots[k] as usize], &out, mask);
                    }
                } else {
                    for k in 0..W {
                        let mut out = [0; LANES];
                        for i in 0..LANES {
                            out[i] = words[o.at[i] as usize / 4 + k];
                        }
                        put_plane(&mut site.file.words[self.slots[k] as usize], &out, mask);
                    }
                }
            }
            (Place::Shared, true) => {
                let Some(o) = self.offsets(site, mask, site.shared.len) else {
                    return false;
                };
                if !self.seen(site, &o, None, mask) {
                    return false;
                }
                let shared = &mut *site.shared;
                if let Some(first) = o.run
                    && mask == u32::MAX
                {
                    let all = &mut shared.words[first..first + LANES * W];
                    for k in 0..W {
                        let from = &site.file.words[self.slots[k] as usize].0;
                        for i in 0..LANES {
                            all[i * W + k] = from[i];
                        }
                    }
                    if !shared.written.is_empty() {
                        shared.written[first..first + LANES * W].fill(WHOLE);
                    }
                } else {
                    for k in 0..W {
                        let from = &site.file.words[self.slots[k] as usize].0;
                        for i in 0..LANES {
                            if mask >> i & 1 == 1 {
                                shared.words[o.at[i] as usize / 4 + k] = from[i];
                            }
                        }
                    }
                    if !shared.written.is_empty() {
                        for i in 0..LANES {
                            let at = o.at[i] as usize / 4;
                            shared.written[at..at + W].fill(WHOLE);
                        }
                    }
                }
            }
            (Place::Param | Place::Const, false) => {
                let bytes: &[u8] = if self.place == Place::Const {
                    &site.env.program.consts
                } else {
                    &site.env.params
                };
                let Some(o) = self.offsets(site, mask, bytes.len()) else {
                    return false;
                };
                for k in 0..W {
                    let mut out = [word_of(bytes, o.at[0] as usize + 4 * k); LANES];
                    if !o.same {
                        for i in 0..LANES {
                            out[i] = word_of(bytes, o.at[i] as usize + 4 * k);
                        }
                    }
                    put_plane(&mut site.file.words[self.slots[k] as usize], &out, mask);
                }
            }
            (Place::Local, _) => {
                let Some(o) = self.offsets(site, mask, 4 * site.local.len()) else {
                    return false;
                };
                if !o.same {
                    return false;
                }
                if let Some(eye) = &mut site.eye
                    && !eye.note_own(o.at[0], 4 * W, mask, self.store)
                {
                    return false;
                }
                let at = o.at[0] as usize / 4;
                for k in 0..W {
                    let plane = &mut site.file.words[self.slots[k] as usize];
                    let (to, from): (&mut Plane, _) = if self.store {
                        (&mut site.local[at + k], plane.0)
                    } else {
                        (plane, site.local[at + k].0)
                    };
                    put_plane(to, &from, mask);
                }
            }
            (_, true) => return false,
        }
        true
    }

    /// Values of one or two bytes.
    #[inline(always)]
    pub(super) fn part(&self, site: &mut Site<'_, '_>, mask: u32) -> bool {
        let bits = 8 * self.total;
        let cut = |word: u32, at: u32| {
            let v = word >> (8 * (at & 3)) << (32 - bits);
            if self.signed {
                (v as i32 >> (32 - bits)) as u32
            } else {
                v >> (32 - bits)
            }
        };
        let slot = self.slots[0] as usize;
        let mut out = [0; LANES];
        match (self.place, self.store) {
            (Place::Global, false) => {
                let Some((bytes, o)) = self.global(site, mask) else {
                    return false;
                };
                let words = bytes.words();
                for i in 0..LANES {
                    out[i] = cut(words[o.at[i] as usize / 4].load(Relaxed), o.at[i]);
                }
            }
            (Place::Shared, false) => {
                let Some(o) = self.offsets(site, mask, site.shared.len) else {
                    return false;
                };
                let shared = &*site.shared;
                if !shared.written.is_empty()
                    && !o
                        .at
                        .iter()
                        .all(|x| shared.known(*x as usize, self.total as usize))
                {
                    return false;
                }
                if !self.seen(site, &o, None, mask) {
                    return false;
                }
                let shared = &*site.shared;
                for i in 0..LANES {
                    out[i] = cut(shared.words[o.at[i] as usize / 4], o.at[i]);
                }
            }
            (Place::Global, true) => {
                let Some((bytes, o)) = self.global(site, mask) else {
                    return false;
                };
                let from = &site.file.words[slot].0;
                for i in 0..LANES {
                    if mask >> i & 1 == 1 {
                        bytes.store(o.at[i] as usize, self.total as usize, u64::from(from[i]));
                    }
                }
                return true;
            }
            (Place::Shared, true) => {
                let Some(o) = self.offsets(site, mask, site.shared.len) else {
                    return false;
                };
                if !self.seen(site, &o, None, mask) {
                    return false;
                }
                let from = &site.file.words[slot].0;
                for i in 0..LANES {
                    if mask >> i & 1 == 1 {
                        let v = u64::from(from[i]);
                        site.shared.store(o.at[i] as usize, self.total as usize, v);
                    }
                }
                return true;
            }
            _ => return false,
        }
        put_plane(&mut site.file.words[slot], &out, mask);
        true
    }

    /// Gives lanes that lie one after another their planes.
    #[inline(always)]
    fn spread<const W: usize>(&self, site: &mut Site<'_, '_>, all: &[u32], mask: u32) {
        for k in 0..W {
            let mut out = [0; LANES];
            for i in 0..LANES {
                out[i] = all[i * W + k];
            }
            put_plane(&mut site.file.words[self.slots[k] as usize], &out, mask);
        }
    }

    /// The opposite.
    #[inline(always)]
    fn collect<const W: usize>(&self, site: &Site<'_, '_>, all: &mut [u32]) {
        for k in 0..W {
            let from = &site.file.words[self.slots[k] as usize].0;
            for i in 0..LANES {
                all[i * W + k] = from[i];
            }
        }
    }
}

/// Whether something wrote all words that an access reads.
#[inline(always)]
fn known<const W: usize>(site: &Site<'_, '_>, o: &Offsets, mask: u32) -> bool {
    let written = &site.shared.written;
    if written.is_empty() {
        return true;
    }
    let mut all = WHOLE;
    match o.run {
        Some(first) if mask == u32::MAX => {
            for w in &written[first..first + LANES * W] {
                all &= w;
            }
        }
        _ => {
            for x in o.at {
                for w in &written[x as usize / 4..x as usize / 4 + W] {
                    all &= w;
                }
            }
        }
    }
    all == WHOLE
}
