//! Synchronisation that may be missing without a trace, and why.

/// What may be missing without a trace: kernel, what is done to which instruction, how often it survives, and why.
pub const SPARE: &[(&str, &str, usize, &str)] = &[
    (
        "forward_hopper",
        "no mbarrier.arrive.shared::cta.b64",
        2,
        "queries of a first tile of one block, which there is not; the last values, which nothing follows",
    ),
    (
        "forward_hopper",
        "no wait by mbarrier.try_wait.parity.shared::cta.b64",
        1,
        "queries are waited for by the keys after them: their ring is shorter",
    ),
    (
        "forward_hopper",
        "no wgmma.fence.sync.aligned",
        1,
        "the fence of the scores, issued before, covers probabilities and accumulator",
    ),
    (
        "forward_hopper",
        "parity 0 in mbarrier.try_wait.parity.shared::cta.b64",
        3,
        "it is 0: two first waits and the last one of a block with an even number of tiles of keys",
    ),
    (
        "backward_hopper",
        "no griddepcontrol.launch_dependents",
        1,
        "it only lets the next kernel begin earlier",
    ),
    (
        "backward_hopper",
        "no wait by mbarrier.try_wait.parity.shared::cta.b64",
        1,
        "keys and values are filled once: their stage is free",
    ),
    (
        "backward_hopper",
        "parity 1 in mbarrier.try_wait.parity.shared::cta.b64",
        1,
        "it is 1: the same wait",
    ),
    (
        "backward_hopper",
        "parity 0 in mbarrier.try_wait.parity.shared::cta.b64",
        2,
        "it is 0: the first waits for keys and queries",
    ),
    (
        "backward_hopper",
        "no wgmma.commit_group.sync.aligned",
        3,
        "the next commit closes both, and a wait waits for more",
    ),
    (
        "backward_hopper",
        "no wgmma.fence.sync.aligned",
        4,
        "accumulators that are not read, or an earlier fence that covers their registers",
    ),
    (
        "backward_hopper",
        "no wgmma.wait_group.sync.aligned",
        1,
        "after the loop, each turn of which ends with one",
    ),
    (
        "backward_hopper",
        "one group less by wgmma.wait_group.sync.aligned",
        1,
        "the same",
    ),
];
