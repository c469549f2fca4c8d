//! The CPU level, chosen once, and the call of a function compiled for it.

use super::products::{Job, Products};
use super::straight::{Plain, Site, What};
use super::strip;
use crate::vm::meaning::{Args, File, Plane, Run};

/// Instructions of the host that register functions may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Any CPU of the architecture.
    Base,
    /// x86-64 with AVX2, FMA and their companions.
    Fast,
}

impl Level {
    /// The best that this CPU has.
    #[must_use]
    pub fn detect() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            let all = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("f16c");
            if all {
                return Level::Fast;
            }
        }
        Level::Base
    }
}

/// A level that this CPU is known to have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checked(Level);

impl Checked {
    /// A level, lowered to what the CPU has.
    pub(super) fn new(wanted: Level) -> Checked {
        Checked(if Level::detect() == Level::Fast {
            wanted
        } else {
            Level::Base
        })
    }

    /// Runs a straight piece; how many of its steps were done before one that the quick path declines.
    #[inline(always)]
    pub(super) fn straight(self, piece: &[Plain], site: &mut Site<'_, '_>, mask: u32) -> usize {
        match self.0 {
            Level::Base => straight_base(piece, site, mask),
            // SAFETY: `new` lets this level pass only if the CPU has every feature that the function was
            // compiled for; the function is safe in all other respects.
            #[cfg(target_arch = "x86_64")]
            Level::Fast => unsafe { straight_fast(piece, site, mask) },
            #[cfg(not(target_arch = "x86_64"))]
            Level::Fast => straight_base(piece, site, mask),
        }
    }
}

fn straight_base(piece: &[Plain], site: &mut Site<'_, '_>, mask: u32) -> usize {
    straight(piece, site, mask, |run, file, args, mask| {
        (run.base)(file, args, mask)
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
fn straight_fast(piece: &[Plain], site: &mut Site<'_, '_>, mask: u32) -> usize {
    straight(piece, site, mask, |run, file, args, mask| {
        // SAFETY: this function asks for the features that the one called was compiled for.
        unsafe { (run.fast)(file, args, mask) }
    })
}

#[inline(always)]
fn straight(
    piece: &[Plain],
    site: &mut Site<'_, '_>,
    mask: u32,
    call: impl Fn(&Run, &mut File, &Args, u32),
) -> usize {
    for (n, p) in piece.iter().enumerate() {
        let mask = mask & (site.file.preds[p.guard as usize] ^ p.turn);
        if mask == 0 {
            continue;
        }
        match &p.what {
            What::Lanes(run) => call(run, site.file, &p.args, mask),
            What::Reach(reach) => {
                if !reach.run(site, mask) {
                    return n;
                }
            }
            What::Other => return n,
        }
    }
    piece.len()
}

impl Checked {
    /// Computes a warp's products.
    pub(super) fn products(self, p: &mut Products, job: &Job<'_>, words: &mut [Plane]) {
        match self.0 {
            Level::Base => p.run(job, words, strip::plain),
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Fast => unsafe { products_fast(p, job, words) },
            #[cfg(not(target_arch = "x86_64"))]
            Level::Fast => p.run(job, words, strip::plain),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
fn products_fast(p: &mut Products, job: &Job<'_>, words: &mut [Plane]) {
    p.run(job, words, |s, c| strip::fast(s, c));
}
