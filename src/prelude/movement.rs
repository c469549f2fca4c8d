//! Asynchronous copies, pipelines, barriers and roles.

use super::threads::functions;
use super::{Element, Shared, View, device_only};

/// How tiles come from global to shared memory.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    _private: (),
}

impl Load {
    /// Asynchronous copies by so many threads, 16 bytes each where that is proven.
    #[must_use]
    pub fn cp_async(threads: usize) -> Load {
        let _ = threads;
        device_only()
    }
    /// The tensor memory accelerator; one thread issues.
    #[must_use]
    pub fn tma() -> Load {
        device_only()
    }
    /// To every block of the cluster whose bit is set.
    #[must_use]
    pub fn multicast(self, mask: u32) -> Load {
        let _ = mask;
        device_only()
    }
    /// Starts a copy that the next `commit` of a pipeline covers.
    pub fn copy<E: Element, const R: usize>(&self, from: &View<E, R>, to: Shared<E>) {
        let _ = (from, to);
        device_only()
    }
    /// Starts a copy that completes a pipeline's stage, which expects the bytes of it once: what other
    /// blocks send is told by `expect`.
    pub fn copy_into<E: Element, const R: usize>(
        &self,
        from: &View<E, R>,
        to: Shared<E>,
        pipe: &Pipeline,
        stage: usize,
    ) {
        let _ = (from, to, pipe, stage);
        device_only()
    }
}

/// How tiles go from shared to global memory.
#[derive(Debug, Clone, Copy)]
pub struct Store {
    _private: (),
}

impl Store {
    /// The tensor memory accelerator; one thread issues.
    #[must_use]
    pub fn tma() -> Store {
        device_only()
    }
    /// Starts a copy.
    pub fn copy<E: Element, const R: usize>(&self, from: Shared<E>, to: View<E, R>) {
        let _ = (from, to);
        device_only()
    }
    /// Starts a copy that adds to what is there.
    pub fn reduce_add<E: Element, const R: usize>(&self, from: Shared<E>, to: View<E, R>) {
        let _ = (from, to);
        device_only()
    }
    /// Closes a group of copies.
    pub fn commit(&self) {
        device_only()
    }
    /// Waits until all but the newest `n` groups have been read from shared memory.
    pub fn wait_read(&self, n: usize) {
        let _ = n;
        device_only()
    }
    /// Waits until all but the newest `n` groups are written.
    pub fn wait(&self, n: usize) {
        let _ = n;
        device_only()
    }
}

/// Stages filled by some threads and used by others, with their barriers and phases.
#[derive(Debug)]
pub struct Pipeline {
    _private: (),
}

impl Pipeline {
    /// Filled by asynchronous copies of the threads that use it.
    #[must_use]
    pub fn cp_async(stages: usize) -> Pipeline {
        let _ = stages;
        device_only()
    }
    /// Filled by the tensor memory accelerator, used by so many warpgroups. Its barriers are initialised
    /// here, by one thread, and the block synchronised.
    #[must_use]
    pub fn tma(stages: usize, consumers: usize) -> Pipeline {
        let _ = (stages, consumers);
        device_only()
    }
    /// As `tma`, filled by tensor loads of every block of the cluster: a stage is free once so many
    /// warpgroups of each block have released it.
    #[must_use]
    pub fn cluster(stages: usize, consumers: usize) -> Pipeline {
        let _ = (stages, consumers);
        device_only()
    }
    /// The next stage to fill, once it is free.
    pub fn acquire(&self) -> usize {
        device_only()
    }
    /// Closes what was copied into the stage.
    pub fn commit(&self) {
        device_only()
    }
    /// The next full stage. For `cp_async`: the group wait, then the block's barrier.
    pub fn wait(&self) -> usize {
        device_only()
    }
    /// The stage may be filled again.
    pub fn release(&self, stage: usize) {
        let _ = stage;
        device_only()
    }
    /// So many bytes more complete the stage: those that other blocks of the cluster send.
    pub fn expect(&self, stage: usize, bytes: usize) {
        let _ = (stage, bytes);
        device_only()
    }
}

/// A barrier of a part of the block.
#[derive(Debug, Clone, Copy)]
pub struct Barrier {
    _private: (),
}

impl Barrier {
    /// A hardware barrier of so many threads; one for each group of so many that meets at it.
    #[must_use]
    pub fn named(threads: usize) -> Barrier {
        let _ = threads;
        device_only()
    }
    /// Arrives and waits.
    pub fn sync(&self) {
        device_only()
    }
    /// Arrives and goes on.
    pub fn arrive(&self) {
        device_only()
    }
}

functions! {
    /// The warpgroup's number in its block.
    fn warpgroup_idx() -> usize;
    /// True in one and the same thread of the current role; of each warpgroup, if the role has several.
    fn elect_one() -> bool;
    /// Gives registers back, or takes them: so many a thread from here on.
    fn set_registers(count: usize);
    /// Waits until all but the newest `n` groups of matrix products of the warpgroup are done.
    fn warpgroup_wait(n: usize);
    /// Orders ordinary shared writes before asynchronous reads of them.
    fn fence_async();
    /// The block's rank in its cluster.
    fn cluster_rank() -> usize;
    /// Barrier of all threads of the cluster.
    fn cluster_sync();
    /// The next kernel of the stream may start.
    fn dependent_launch();
    /// Waits for the previous kernel of the stream.
    fn dependent_wait();
}
