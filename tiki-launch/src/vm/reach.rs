//! Loads and stores in the shapes that programs are made of, quickly.
//!
//! A quick path declines ([`Reach::run`] gives false) before it has changed anything whenever something is
//! out of the ordinary: an address out of bounds or not aligned, lanes in different buffers, bytes that
//! nothing wrote. The step then goes through [`super::access`], which finds the same thing again and says
//! so, or serves the case. So nothing here decides what is right; both paths give the same bits.
//!
//! Lanes that do not take part get the address of one that does. What follows is decided for all lanes at
//! once: the largest offset against the size, the bits of all offsets against the alignment, and whether
//! offsets go up by the access's own size (then a warp's access is one range) or are all equal.

use super::planes::word_of;
use super::program::{ABSENT, Start, Step};
use super::shared::WHOLE;
use super::simd::Bytes;
use super::straight::Site;
use std::sync::atomic::Ordering::Relaxed;
use tiki_kernel::isa::Space;
use tiki_kernel::isa::meaning::moves::GLOBAL;
use tiki_kernel::isa::meaning::{Ask, LANES, Plane, put_plane};

/// Planes that one access can fill: 32 bytes.
const MOST: usize = 8;

/// Numbers of which two can be added, or one taken from another, and be told from a small one after that.
const SMALL: u32 = (1 << 30) - 1;

/// Where an access goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Global,
    Shared,
    Param,
    Const,
    Local,
}

/// A load or store, resolved.
#[derive(Debug)]
pub(super) struct Reach {
    place: Place,
    store: bool,
    start: Start,
    offset: i64,
    /// Bytes of a lane: 1, 2, or four times the planes.
    total: u32,
    signed: bool,
    slots: [u32; MOST],
}

/// Offsets of the lanes, and what is so of all of them.
struct Offsets {
    at: [u32; LANES],
    /// Those of lanes that take part run up by the access's size from this word on.
    run: Option<usize>,
    same: bool,
}

impl Reach {
    /// The quick form of a step, if it has one.
    pub(super) fn of(step: &Step, ask: &Ask) -> Option<Reach> {
        let (a, store) = match ask {
            Ask::Load(a) => (a, false),
            Ask::Store(a) => (a, true),
            _ => return None,
        };
        let total = a.bytes * a.count;
        let narrow = a.count == 1 && matches!(a.bytes, 1 | 2);
        if !narrow && (a.bytes < 4 || ![4, 8, 16, 32].contains(&total)) {
            return None;
        }
        let address = step.addresses.get(step.args.s[a.addr as usize] as usize)?;
        let place = match a.space {
            _ if address.own => Place::Local,
            // A generic address that is not of global memory is in none of its buffers.
            Space::Global | Space::Generic => Place::Global,
            Space::Shared | Space::SharedCta | Space::SharedCluster => Place::Shared,
            Space::Param | Space::ParamEntry | Space::ParamFunc => Place::Param,
            Space::Const => Place::Const,
            Space::Local => Place::Local,
        };
        let fixed = address.start == Start::Fixed;
        if fixed && (place == Place::Global || u32::try_from(address.offset).is_err()) {
            return None;
        }
        let mut slots = [ABSENT; MOST];
        let s = step.args.s[a.value as usize];
        let per = (a.bytes / 4).max(1);
        for j in 0..a.count {
            let first = if a.count > 1 {
                step.args.list[(s + j) as usize]
            } else {
                s
            };
            for k in 0..per {
                slots[(j * per + k) as usize] = first + k;
            }
        }
        Some(Reach {
            place,
            store,
            start: address.start,
            offset: address.offset,
            total,
            signed: a.signed,
            slots,
        })
    }

    /// Does it for the lanes of a mask; false, and nothing done, if the quick path has no answer.
    #[inline(always)]
    pub(super) fn run(&self, site: &mut Site<'_, '_>, mask: u32) -> bool {
        match self.total {
            4 => self.words::<1>(site, mask),
            8 => self.words::<2>(site, mask),
            16 => self.words::<4>(site, mask),
            32 => self.words::<8>(site, mask),
            _ => self.part(site, mask),
        }
    }

    /// Offsets in a place of `size` bytes, checked.
    #[inline(always)]
    fn offsets(&self, site: &Site<'_, '_>, mask: u32, size: usize) -> Option<Offsets> {
        let words = &site.file.words;
        let mut at = match self.start {
            Start::Fixed => [self.offset as u32; LANES],
            Start::Narrow(s) => {
                let mut at = words[s as usize].0;
                for x in &mut at {
                    *x = x.wrapping_add(self.offset as u32);
                }
                at
            }
            Start::Wide(s) => {
                let (mut at, high) = (words[s as usize].0, &words[s as usize + 1].0);
                let mut large = 0;
                for i in 0..LANES {
                    large |= (high[i] | at[i] & !SMALL) & 0u32.wrapping_sub(mask >> i & 1);
                    at[i] = at[i].wrapping_add(self.offset as u32);
                }
                if large != 0 || self.offset.unsigned_abs() > u64::from(SMALL) {
                    return None;
                }
                at
            }
        };
        check(&mut at, mask, self.total, size)
    }

    /// Number of the buffer of a warp's global addresses and offsets in it, checked.
    #[inline(always)]
    fn global<'e>(&self, site: &Site<'_, 'e>, mask: u32) -> Option<(&'e Bytes, Offsets)> {
        let Start::Wide(s) = self.start else {
            return None;
        };
        let words = &site.file.words;
        let (low, high) = (&words[s as usize].0, &words[s as usize + 1].0);
        let one = mask.trailing_zeros() as usize & 31;
        let mut other = 0;
        for i in 0..LANES {
            other |= (high[i] ^ high[one]) & 0u32.wrapping_sub(mask >> i & 1);
        }
        const HIGH: u32 = GLOBAL.trailing_zeros() - 32;
        let id = (high[one] >> HIGH).wrapping_sub(1) as usize;
        if other != 0 || high[one] & ((1 << HIGH) - 1) != 0 {
            return None;
        }
        let env: &super::launch::Env<'e> = site.env;
        let buffer = env.table.get(id)?.as_ref()?;
        // Neither end of the lanes' range may wrap.
        let (mut least, mut most) = (u32::MAX, 0);
        for i in 0..LANES {
            let keep = 0u32.wrapping_sub(mask >> i & 1);
            least = least.min(low[i] | !keep);
            most = most.max(low[i] & keep);
        }
        let fits = |x: u32| {
            let x = i64::from(x).wrapping_add(self.offset);
            u32::try_from(x).is_ok()
        };
        if !fits(least) || !fits(most) {
            return None;
        }
        let mut at = *low;
        for x in &mut at {
            *x = x.wrapping_add(self.offset as u32);
        }
        let size = buffer.bytes.len();
        Some((&buffer.bytes, check(&mut at, mask, self.total, size)?))
    }

    #[inline(always)]
    fn words<const W: usize>(&self, site: &mut Site<'_, '_>, mask: u32) -> bool {
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
                if !known::<W>(site, &o, mask) {
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
    fn part(&self, site: &mut Site<'_, '_>, mask: u32) -> bool {
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

/// Holds offsets against alignment and size.
#[inline(always)]
fn check(at: &mut [u32; LANES], mask: u32, total: u32, size: usize) -> Option<Offsets> {
    let lane = mask.trailing_zeros() & 31;
    let one = at[lane as usize];
    let first = one.wrapping_sub(lane * total);
    let (mut bits, mut most, mut off, mut differ) = (0, 0, 0, 0);
    if mask == u32::MAX {
        for i in 0..LANES {
            bits |= at[i];
            most = most.max(at[i]);
            differ |= at[i] ^ one;
            off |= at[i] ^ first.wrapping_add(i as u32 * total);
        }
    } else {
        for i in 0..LANES {
            let keep = 0u32.wrapping_sub(mask >> i & 1);
            off |= (at[i] ^ first.wrapping_add(i as u32 * total)) & keep;
            at[i] = (at[i] & keep) | (one & !keep);
            bits |= at[i];
            most = most.max(at[i]);
            differ |= at[i] ^ one;
        }
    }
    if bits & (total - 1) != 0 || most as usize + total as usize > size {
        return None;
    }
    let run = (off == 0 && first <= one).then_some(first as usize / 4);
    Some(Offsets {
        at: *at,
        run,
        same: differ == 0,
    })
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
