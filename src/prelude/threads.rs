//! Threads: who am I, what do the others hold, who waits for whom.

use super::{Int32, Word, device_only};

/// Coordinates or extents along x, y and z.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dim3 {
    /// Along x.
    pub x: usize,
    /// Along y.
    pub y: usize,
    /// Along z.
    pub z: usize,
}

/// Memory order of an atomic access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Atomic, and nothing more.
    Relaxed,
    /// What was released before is seen after.
    Acquire,
    /// What came before is seen by who acquires.
    Release,
    /// Both.
    AcqRel,
}

/// Among whom an atomic access or a fence holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Threads of the block.
    Block,
    /// Threads of the cluster.
    Cluster,
    /// Threads of the device.
    Device,
    /// Threads of all devices and the host.
    System,
}

macro_rules! functions {
    ($($(#[$doc:meta])* fn $name:ident $(<$t:ident: $bound:ident>)? ($($arg:ident: $ty:ty),*) $(-> $out:ty)?;)*) => {$(
        $(#[$doc])*
        #[allow(clippy::must_use_candidate)]
        pub fn $name$(<$t: $bound>)?($($arg: $ty),*) $(-> $out)? {
            $(let _ = $arg;)*
            device_only()
        }
    )*};
}
pub(super) use functions;

functions! {
    /// The thread's number in its block.
    fn thread_idx() -> usize;
    /// The thread's lane in its warp: 0 to 31.
    fn lane_idx() -> usize;
    /// The warp's number in its block.
    fn warp_idx() -> usize;
    /// The block's coordinates in the grid: `.x`, `.y`, `.z`.
    fn block_idx() -> Dim3;
    /// Blocks of the grid along x, y and z.
    fn grid_dim() -> Dim3;
    /// Barrier of all threads of the block; shared and global writes before it are seen after it within
    /// the block.
    fn sync_block();
    /// Barrier of the lanes of a warp.
    fn sync_warp();
    /// Orders the thread's memory accesses before it with those after it, as seen within the scope.
    fn fence(scope: Scope);
    /// Stops the launch with an error.
    fn trap();
    /// The value another lane holds; all lanes take part.
    fn shuffle<T: Word>(value: T, lane: usize) -> T;
    /// The value of the lane `delta` below; the lowest lanes keep their own.
    fn shuffle_up<T: Word>(value: T, delta: usize) -> T;
    /// The value of the lane `delta` above; the highest lanes keep their own.
    fn shuffle_down<T: Word>(value: T, delta: usize) -> T;
    /// The value of the lane whose number differs in the bits of `mask`.
    fn shuffle_xor<T: Word>(value: T, mask: usize) -> T;
    /// True if it is true in all lanes.
    fn vote_all(condition: bool) -> bool;
    /// True if it is true in some lane.
    fn vote_any(condition: bool) -> bool;
    /// One bit a lane.
    fn ballot(condition: bool) -> u32;
    /// The lanes that hold the same bits, one bit a lane.
    fn match_any<T: Word>(value: T) -> u32;
    /// The lanes that are here together; a hint, never a proof.
    fn active_mask() -> u32;
    /// Sum over the lanes, wrapping.
    fn redux_add<T: Int32>(value: T) -> T;
    /// Least over the lanes.
    fn redux_min<T: Int32>(value: T) -> T;
    /// Greatest over the lanes.
    fn redux_max<T: Int32>(value: T) -> T;
    /// And over the lanes.
    fn redux_and(value: u32) -> u32;
    /// Or over the lanes.
    fn redux_or(value: u32) -> u32;
    /// Exclusive or over the lanes.
    fn redux_xor(value: u32) -> u32;
}
