//! Special registers: one row each.

use super::Ty;

/// What a special register tells.
#[derive(Debug, Clone, Copy)]
pub enum Tells {
    /// Of the thread, along a dimension.
    Thread,
    /// Threads of the block.
    Threads,
    /// Of the block.
    Block,
    /// Blocks of the grid.
    Blocks,
    /// Lane in the warp.
    Lane,
    /// Warp in the block.
    Warp,
    /// Warps of the block.
    Warps,
    /// A mask of lanes relative to this one: equal, below, below or equal, above, above or equal.
    Lanes(fn(u32) -> u32),
    /// Of the cluster in the grid.
    Cluster,
    /// Clusters of the grid.
    Clusters,
    /// Of the block in the cluster.
    InCluster,
    /// Blocks of the cluster.
    ClusterShape,
    /// Rank of the block in the cluster.
    ClusterRank,
    /// Blocks of the cluster in all.
    ClusterSize,
    /// Whether the launch has explicit clusters.
    IsClustered,
    /// Processor number.
    Sm,
    /// Processors.
    Sms,
    /// A counter that only grows.
    Clock,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes of shared memory given at launch.
    DynamicShared,
    /// Bytes of shared memory in all.
    TotalShared,
    /// Number of the launch.
    Grid,
    /// Lanes of a warp.
    WarpSize,
}

/// One special register.
#[derive(Debug)]
pub struct SpecialRow {
    /// Name, with the percent sign.
    pub name: &'static str,
    /// Type.
    pub ty: Ty,
    /// What it tells.
    pub tells: Tells,
    /// Dimension, for those that have one.
    pub dim: usize,
    /// The value is the same for all lanes of a warp.
    pub uniform: bool,
}

macro_rules! specials {
    ($($id:ident = $name:literal, $ty:ident, $tells:expr, $dim:literal, $uniform:literal;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy)]
        enum Index { $($id),* }
        /// All special registers.
        pub static SPECIALS: &[SpecialRow] = &[$(SpecialRow { name: $name, ty: Ty::$ty, tells: $tells, dim: $dim, uniform: $uniform }),*];
        impl Special { $(
            #[doc = concat!("`", $name, "`")]
            pub const $id: Special = Special(Index::$id as u8);
        )* }
    };
}

/// A special register: a row of [`SPECIALS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Special(u8);

specials! {
    TID_X = "%tid.x", U32, Tells::Thread, 0, false;
    TID_Y = "%tid.y", U32, Tells::Thread, 1, false;
    TID_Z = "%tid.z", U32, Tells::Thread, 2, false;
    NTID_X = "%ntid.x", U32, Tells::Threads, 0, true;
    NTID_Y = "%ntid.y", U32, Tells::Threads, 1, true;
    NTID_Z = "%ntid.z", U32, Tells::Threads, 2, true;
    CTAID_X = "%ctaid.x", U32, Tells::Block, 0, true;
    CTAID_Y = "%ctaid.y", U32, Tells::Block, 1, true;
    CTAID_Z = "%ctaid.z", U32, Tells::Block, 2, true;
    NCTAID_X = "%nctaid.x", U32, Tells::Blocks, 0, true;
    NCTAID_Y = "%nctaid.y", U32, Tells::Blocks, 1, true;
    NCTAID_Z = "%nctaid.z", U32, Tells::Blocks, 2, true;
    LANEID = "%laneid", U32, Tells::Lane, 0, false;
    WARPID = "%warpid", U32, Tells::Warp, 0, true;
    NWARPID = "%nwarpid", U32, Tells::Warps, 0, true;
    LANEMASK_EQ = "%lanemask_eq", U32, Tells::Lanes(|l| 1 << l), 0, false;
    LANEMASK_LT = "%lanemask_lt", U32, Tells::Lanes(|l| (1 << l) - 1), 0, false;
    LANEMASK_LE = "%lanemask_le", U32, Tells::Lanes(|l| u32::MAX >> (31 - l)), 0, false;
    LANEMASK_GT = "%lanemask_gt", U32, Tells::Lanes(|l| !(u32::MAX >> (31 - l))), 0, false;
    LANEMASK_GE = "%lanemask_ge", U32, Tells::Lanes(|l| u32::MAX << l), 0, false;
    CLUSTERID_X = "%clusterid.x", U32, Tells::Cluster, 0, true;
    CLUSTERID_Y = "%clusterid.y", U32, Tells::Cluster, 1, true;
    CLUSTERID_Z = "%clusterid.z", U32, Tells::Cluster, 2, true;
    NCLUSTERID_X = "%nclusterid.x", U32, Tells::Clusters, 0, true;
    NCLUSTERID_Y = "%nclusterid.y", U32, Tells::Clusters, 1, true;
    NCLUSTERID_Z = "%nclusterid.z", U32, Tells::Clusters, 2, true;
    CLUSTER_CTAID_X = "%cluster_ctaid.x", U32, Tells::InCluster, 0, true;
    CLUSTER_CTAID_Y = "%cluster_ctaid.y", U32, Tells::InCluster, 1, true;
    CLUSTER_CTAID_Z = "%cluster_ctaid.z", U32, Tells::InCluster, 2, true;
    CLUSTER_NCTAID_X = "%cluster_nctaid.x", U32, Tells::ClusterShape, 0, true;
    CLUSTER_NCTAID_Y = "%cluster_nctaid.y", U32, Tells::ClusterShape, 1, true;
    CLUSTER_NCTAID_Z = "%cluster_nctaid.z", U32, Tells::ClusterShape, 2, true;
    CLUSTER_CTARANK = "%cluster_ctarank", U32, Tells::ClusterRank, 0, true;
    CLUSTER_NCTARANK = "%cluster_nctarank", U32, Tells::ClusterSize, 0, true;
    IS_EXPLICIT_CLUSTER = "%is_explicit_cluster", Pred, Tells::IsClustered, 0, true;
    SMID = "%smid", U32, Tells::Sm, 0, true;
    NSMID = "%nsmid", U32, Tells::Sms, 0, true;
    CLOCK = "%clock", U32, Tells::Clock, 0, true;
    CLOCK_HI = "%clock_hi", U32, Tells::Clock, 1, true;
    CLOCK64 = "%clock64", U64, Tells::Clock, 0, true;
    GLOBALTIMER = "%globaltimer", U64, Tells::Nanoseconds, 0, true;
    GLOBALTIMER_LO = "%globaltimer_lo", U32, Tells::Nanoseconds, 0, true;
    GLOBALTIMER_HI = "%globaltimer_hi", U32, Tells::Nanoseconds, 1, true;
    DYNAMIC_SMEM_SIZE = "%dynamic_smem_size", U32, Tells::DynamicShared, 0, true;
    TOTAL_SMEM_SIZE = "%total_smem_size", U32, Tells::TotalShared, 0, true;
    GRIDID = "%gridid", U64, Tells::Grid, 0, true;
    WARP_SZ = "WARP_SZ", U32, Tells::WarpSize, 0, true;
}

impl Special {
    /// Its row.
    #[must_use]
    pub fn row(self) -> &'static SpecialRow {
        &SPECIALS[self.0 as usize]
    }
    /// Whether it differs from one reading to the next.
    #[must_use]
    pub fn counts(self) -> bool {
        matches!(self.row().tells, Tells::Clock | Tells::Nanoseconds)
    }
    /// The special register of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Special> {
        SPECIALS
            .iter()
            .position(|r| r.name == name)
            .map(|i| Special(i as u8))
    }
    /// `%tid` along a dimension.
    #[must_use]
    pub fn tid(dim: usize) -> Special {
        Special(Index::TID_X as u8 + dim as u8)
    }
    /// `%ntid` along a dimension.
    #[must_use]
    pub fn ntid(dim: usize) -> Special {
        Special(Index::NTID_X as u8 + dim as u8)
    }
    /// `%ctaid` along a dimension.
    #[must_use]
    pub fn ctaid(dim: usize) -> Special {
        Special(Index::CTAID_X as u8 + dim as u8)
    }
    /// `%nctaid` along a dimension.
    #[must_use]
    pub fn nctaid(dim: usize) -> Special {
        Special(Index::NCTAID_X as u8 + dim as u8)
    }
}
