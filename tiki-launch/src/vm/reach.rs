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

mod words;

use super::program::{ABSENT, Start, Step};
use super::race::Touch;
use super::simd::Bytes;
use super::straight::Site;
use crate::vm::meaning::moves::GLOBAL;
use crate::vm::meaning::{Ask, LANES};
use tiki_kernel::isa::Space;

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
    /// Others may learn something by it.
    strong: bool,
    pc: u32,
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
    pub(super) fn of(step: &Step, ask: &Ask, pc: u32, own: i64) -> Option<Reach> {
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
        // Addresses that do not have it are out of bounds here, and take the other path.
        let above = if fixed || place != Place::Shared {
            0
        } else {
            own
        };
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
            offset: address.offset - above,
            total,
            signed: a.signed,
            strong: a.strong,
            pc,
            slots,
        })
    }

    /// Does it for the lanes of a mask; false, and nothing done, if the quick path has no answer.
    #[inline(always)]
    pub(super) fn run(&self, site: &mut Site<'_, '_>, mask: u32) -> bool {
        if self.strong && site.eye.is_some() {
            return false;
        }
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
    fn global<'e>(&self, site: &mut Site<'_, 'e>, mask: u32) -> Option<(&'e Bytes, Offsets)> {
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
        if buffer.written.is_some() {
            return None;
        }
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
        let o = check(&mut at, mask, self.total, size)?;
        self.seen(site, &o, Some(id), mask)
            .then_some((&buffer.bytes, o))
    }

    /// Shows an access that will be made to who looks on; false if there is something to say about it.
    #[inline(always)]
    fn seen(&self, site: &mut Site<'_, '_>, o: &Offsets, buffer: Option<usize>, mask: u32) -> bool {
        match &mut site.eye {
            None => true,
            Some(eye) => eye.note(
                site.env,
                &Touch {
                    buffer,
                    at: &o.at,
                    run: o.run,
                    same: o.same,
                    bytes: self.total as usize,
                    mask,
                    pc: self.pc,
                    write: self.store,
                },
            ),
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
