//! The CPU level, chosen once, and the call of a function compiled for it.

use tiki_kernel::isa::meaning::{Args, File, Run};

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
    /// Runs a function over a warp's registers.
    #[inline(always)]
    pub(super) fn run(self, run: &Run, file: &mut File, args: &Args, mask: u32) {
        match self.0 {
            Level::Base => (run.base)(file, args, mask),
            // SAFETY: `new` lets this level pass only if the CPU has every feature that the function was
            // compiled for; the function is safe in all other respects.
            Level::Fast => unsafe { (run.fast)(file, args, mask) },
        }
    }
}
