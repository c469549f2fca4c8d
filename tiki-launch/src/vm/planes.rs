//! The planes that an access reads or fills, in the order of memory.

use super::exec::Ctx;
use super::warp::Warp;
use crate::vm::meaning::ask::Access;
use crate::vm::meaning::{LANES, put_plane};

/// Planes of an access's values, in the order of memory.
pub(super) struct Dest<'a> {
    pub(super) slot: u32,
    pub(super) list: Option<&'a [u32]>,
}

impl<'a> Dest<'a> {
    pub(super) fn new(ctx: &Ctx<'a, '_>, a: &Access) -> Dest<'a> {
        let s = ctx.step.args.s[a.value as usize];
        let list = if a.count > 1 {
            Some(&ctx.step.args.list[s as usize..(s + a.count) as usize])
        } else {
            None
        };
        Dest { slot: s, list }
    }
    /// Calls `f` with every plane and its byte in the access.
    #[inline(always)]
    pub(super) fn each(&self, a: &Access, mut f: impl FnMut(u32, usize)) {
        let per = (a.bytes / 4).max(1);
        let one = [self.slot];
        for (j, s) in self.list.unwrap_or(&one).iter().enumerate() {
            for k in 0..per {
                f(s + k, j * a.bytes as usize + 4 * k as usize);
            }
        }
    }
}

/// Cuts values smaller than a word out of the words they lie in.
#[inline(always)]
pub(super) fn narrow(a: &Access, out: &mut [u32; LANES], at: impl Fn(usize) -> usize) {
    if a.bytes >= 4 {
        return;
    }
    let up = 32 - 8 * a.bytes;
    for (i, x) in out.iter_mut().enumerate() {
        let v = *x >> (8 * (at(i) & 3));
        *x = if a.signed {
            ((v << up) as i32 >> up) as u32
        } else {
            v << up >> up
        };
    }
}

pub(super) fn word_of(bytes: &[u8], at: usize) -> u32 {
    let mut w = [0; 4];
    for (k, b) in w.iter_mut().enumerate() {
        *b = bytes.get(at + k).copied().unwrap_or(0);
    }
    u32::from_le_bytes(w)
}

/// Copies bytes of the threads' own memory.
pub(super) fn copy_own(warp: &mut Warp, from: u32, to: u32, bytes: u32, mask: u32) {
    for k in 0..bytes.div_ceil(4) {
        let plane = warp.local[(from / 4 + k) as usize].0;
        put_plane(&mut warp.local[(to / 4 + k) as usize], &plane, mask);
    }
}
