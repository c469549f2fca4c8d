//! Targets: hardware limits and features, one row each.
//!
//! Sources: the CUDA programming guide's table of compute capabilities, the occupancy calculator's
//! header (13.x), and the PTX ISA. Bytes unless said otherwise; per SM or per block as named.

use std::fmt;

/// A feature an instruction or a schedule may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Feature {
    /// Asynchronous copies from global to shared memory in groups.
    AsyncCopy,
    /// Warp-wide matrix multiply of 16-bit types.
    WarpMma,
    /// Warp-wide matrix multiply of 8-bit floats.
    WarpMmaF8,
    /// Tensor memory accelerator and transaction barriers.
    Tma,
    /// Warpgroup matrix multiply and register reallocation.
    Warpgroup,
    /// Thread block clusters.
    Cluster,
}

/// One target.
#[derive(Debug)]
pub struct Row {
    /// Name as a kernel's attribute and as PTX spell it.
    pub name: &'static str,
    /// Compute capability.
    pub capability: (u32, u32),
    /// Runs only on exactly this capability (architecture-specific features).
    pub exact: bool,
    /// PTX ISA version of emitted modules.
    pub ptx_version: (u32, u32),
    /// Largest shared memory of a block.
    pub shared_per_block: u32,
    /// Shared memory of an SM.
    pub shared_per_sm: u32,
    /// Shared memory the driver takes from each block's share.
    pub shared_reserved: u32,
    /// 32-bit registers of an SM.
    pub registers_per_sm: u32,
    /// Largest register count of a thread.
    pub registers_per_thread: u32,
    /// Registers are given to a warp in multiples of this.
    pub register_unit: u32,
    /// Largest thread count of a block.
    pub threads_per_block: u32,
    /// Warps resident on an SM.
    pub warps_per_sm: u32,
    /// Blocks resident on an SM.
    pub blocks_per_sm: u32,
    /// Named barriers of a block.
    pub barriers_per_block: u32,
    /// Blocks of a portable cluster (1: no clusters).
    pub cluster: u32,
    /// Features.
    pub features: &'static [Feature],
}

/// An architecture as PTX text names it: any, not only the targets we emit for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arch {
    /// Compute capability.
    pub capability: (u32, u32),
    /// What the name ends with: nothing, or the letter of an architecture- or family-specific feature set.
    pub suffix: Option<char>,
}

impl Arch {
    /// The architecture of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Arch> {
        let rest = name.strip_prefix("sm_")?;
        let (digits, suffix) = match rest.strip_suffix(['a', 'f']) {
            Some(d) => (d, rest.chars().last()),
            None => (rest, None),
        };
        let n: u32 = digits.parse().ok().filter(|n| (10..=999).contains(n))?;
        Some(Arch {
            capability: (n / 10, n % 10),
            suffix,
        })
    }
    /// Whether code for it may use what exists since `capability`, `exact` meaning only there.
    #[must_use]
    pub fn has(self, capability: (u32, u32), exact: bool) -> bool {
        if exact {
            self.capability == capability && self.suffix.is_some()
        } else {
            self.capability >= capability
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.capability.0, self.capability.1)?;
        self.suffix.map_or(Ok(()), |c| write!(f, "{c}"))
    }
}

/// All targets, the default first.
pub static ROWS: &[Row] = &[
    Row {
        name: "sm_80",
        capability: (8, 0),
        exact: false,
        ptx_version: (7, 8),
        shared_per_block: 163 * 1024,
        shared_per_sm: 164 * 1024,
        shared_reserved: 1024,
        registers_per_sm: 65536,
        registers_per_thread: 255,
        register_unit: 256,
        threads_per_block: 1024,
        warps_per_sm: 64,
        blocks_per_sm: 32,
        barriers_per_block: 16,
        cluster: 1,
        features: &[Feature::AsyncCopy, Feature::WarpMma],
    },
    Row {
        name: "sm_90a",
        capability: (9, 0),
        exact: true,
        ptx_version: (8, 6),
        shared_per_block: 227 * 1024,
        shared_per_sm: 228 * 1024,
        shared_reserved: 1024,
        registers_per_sm: 65536,
        registers_per_thread: 255,
        register_unit: 256,
        threads_per_block: 1024,
        warps_per_sm: 64,
        blocks_per_sm: 32,
        barriers_per_block: 16,
        cluster: 8,
        features: &[
            Feature::AsyncCopy,
            Feature::WarpMma,
            Feature::WarpMmaF8,
            Feature::Tma,
            Feature::Warpgroup,
            Feature::Cluster,
        ],
    },
];

/// A target: a row of [`ROWS`].
#[derive(Clone, Copy)]
pub struct Target(&'static Row);

impl Target {
    /// The target of a kernel that names none.
    #[must_use]
    pub fn default_target() -> Target {
        Target(&ROWS[0])
    }
    /// The target of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Target> {
        ROWS.iter().find(|r| r.name == name).map(Target)
    }
    /// Its row.
    #[must_use]
    pub fn row(self) -> &'static Row {
        self.0
    }
    /// Name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name
    }
    /// As PTX names it.
    #[must_use]
    pub fn arch(self) -> Arch {
        Arch {
            capability: self.0.capability,
            suffix: self.0.exact.then_some('a'),
        }
    }
    /// Whether it has a feature.
    #[must_use]
    pub fn has(self, feature: Feature) -> bool {
        self.0.features.contains(&feature)
    }
    /// Whether code of this target runs on a device of this capability.
    #[must_use]
    pub fn runs_on(self, major: u32, minor: u32) -> bool {
        if self.0.exact {
            (major, minor) == self.0.capability
        } else {
            (major, minor) >= self.0.capability
        }
    }
    /// All targets.
    pub fn all() -> impl Iterator<Item = Target> {
        ROWS.iter().map(Target)
    }
}

impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}
impl Eq for Target {}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_targets_run_only_on_their_own_card() {
        let ampere = Target::default_target();
        assert!(ampere.runs_on(8, 0) && ampere.runs_on(9, 0) && !ampere.runs_on(7, 5));
        let hopper = Target::all().find(|t| t.row().exact).unwrap();
        assert!(hopper.runs_on(9, 0) && !hopper.runs_on(10, 0) && !hopper.runs_on(9, 1));
    }
}
