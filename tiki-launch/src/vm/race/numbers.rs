//! Numbers that are born wrong: a NaN or an infinity out of finite numbers.

use super::super::block::Team;
use super::super::exec::Ctx;
use super::super::fault::Code;
use super::super::program::Use;
use super::super::warp::Warp;
use crate::vm::meaning::LANES;
use tiki_kernel::isa::Ty;

/// Lanes in which all floats that a step reads, or writes, are finite; none if it reads no float.
pub(in crate::vm) fn finite(uses: &[Use], warp: &Warp, written: bool) -> u32 {
    let mut lanes = u32::MAX;
    let mut any = false;
    for u in uses.iter().filter(|u| u.write == written) {
        let exponents: &[(u32, u32)] = match u.ty {
            Ty::F32 => &[(0x7f80_0000, 0)],
            Ty::F64 => &[(0x7ff0_0000, 1)],
            Ty::F16 => &[(0x7c00, 0)],
            Ty::BF16 => &[(0x7f80, 0)],
            Ty::F16x2 => &[(0x7c00, 0), (0x7c00_0000, 0)],
            Ty::BF16x2 => &[(0x7f80, 0), (0x7f80_0000, 0)],
            _ => continue,
        };
        any = true;
        for (ones, plane) in exponents {
            let words = &warp.file.words[(u.slot + plane) as usize].0;
            for i in 0..LANES {
                if words[i] & ones == *ones {
                    lanes &= !(1 << i);
                }
            }
        }
    }
    match (any, written) {
        (true, _) => lanes,
        (false, true) => u32::MAX,
        (false, false) => 0,
    }
}

impl Team {
    /// A step has made what is not finite.
    #[cold]
    pub(in crate::vm) fn watch_number(&mut self, ctx: &Ctx<'_, '_>, warp: &Warp) {
        if let Some(mut watch) = self.watch.take() {
            let text = "makes a NaN or an infinity out of finite numbers";
            watch.complain(self, ctx, warp, Code::NotANumber, ctx.mask, text.into());
            self.watch = Some(watch);
        }
    }
}
