//! What blocks of a cluster do together.

use super::{k_major, tile, times};
use tiki_kernel::dtype::DType;
use tiki_kernel::ir::build::Builder;
use tiki_kernel::ir::{
    Async, Binary, Block, Cache, Compare, Kernel, SharedView, Special, StmtKind, TensorCopy,
    TensorCopyKind, Transaction, Value,
};
use tiki_kernel::target::Target;

fn barrier(alloc: usize) -> SharedView {
    SharedView {
        alloc,
        axes: vec![],
        swizzle: None,
        offset: 0,
        dynamic: vec![],
        block: None,
    }
}

fn start(b: &mut Builder, a: Async) {
    b.push(StmtKind::Async(a));
}

fn when(b: &mut Builder, cond: Value, then: Block) {
    b.push(StmtKind::If {
        cond,
        then,
        otherwise: vec![],
    });
}

/// `out[:, ..64] += 2 x`: of two blocks, the even one sends a tile of 35 rows and 64 columns to both, and
/// each adds it to the result.
pub fn twice(name: &str, target: Target) -> Kernel {
    let (rows, width) = (35, 64);
    let mut b = Builder::new(name, target, 32);
    b.kernel.cluster = 2;
    let x = b.tensor("x", DType::F32, 2, false);
    let out = b.tensor("out", DType::F32, 2, true);
    // Rows of eight make whole patterns of the swizzle; boxes need not.
    let at = b.shared("tile", DType::F32, 40 * width);
    b.kernel.shared[at].align = 1024;
    let [full, ready] = ["full", "ready"].map(|name| b.shared(name, DType::U64, 1));
    let block = b.special(Special::Block(0));
    let (two, zero) = (b.int(DType::U32, 2), b.int(DType::U32, 0));
    let rank = b.binary(Binary::Rem, block, two);
    let pair = b.binary(Binary::Div, block, two);
    let even = b.compare(Compare::Eq, rank, zero);
    let thread = b.special(Special::Thread);
    let first = b.compare(Compare::Eq, thread, zero);
    let (init, ()) = b.block(|b| {
        for (at, n) in [(full, 1), (ready, 2)] {
            start(
                b,
                Async::Transaction {
                    barrier: barrier(at),
                    op: Transaction::Init(n),
                },
            );
        }
    });
    when(&mut b, first, init);
    start(&mut b, Async::FenceBarriers);
    start(&mut b, Async::ClusterBarrier);
    let mut view = k_major(&b, at, 40, width);
    view.axes[0][0].extent = rows;
    let r0 = times(&mut b, pair, rows);
    let (work, ()) = b.block(|b| {
        start(
            b,
            Async::Transaction {
                barrier: barrier(full),
                op: Transaction::ArriveExpect(rows * width * 4),
            },
        );
        // The sender waits until both blocks expect the bytes.
        start(
            b,
            Async::Transaction {
                barrier: barrier(ready),
                op: Transaction::ArriveAt(zero),
            },
        );
        let (send, ()) = b.block(|b| {
            start(
                b,
                Async::Transaction {
                    barrier: barrier(ready),
                    op: Transaction::Wait(zero),
                },
            );
            let both = b.int(DType::U16, 3);
            start(
                b,
                Async::TensorCopy(TensorCopy {
                    kind: TensorCopyKind::Load,
                    view: tile(x, (r0, rows), (zero, width), (false, false)),
                    shared: view.clone(),
                    barrier: Some(barrier(full)),
                    multicast: Some(both),
                    cache: Cache::EvictFirst,
                }),
            );
        });
        when(b, even, send);
        start(
            b,
            Async::Transaction {
                barrier: barrier(full),
                op: Transaction::Wait(zero),
            },
        );
        start(
            b,
            Async::TensorCopy(TensorCopy {
                kind: TensorCopyKind::ReduceAdd,
                view: tile(out, (r0, rows), (zero, width), (false, false)),
                shared: view.clone(),
                barrier: None,
                multicast: None,
                cache: Cache::Default,
            }),
        );
        start(b, Async::CommitStores);
        start(
            b,
            Async::WaitStores {
                newest: 0,
                read: false,
            },
        );
    });
    when(&mut b, first, work);
    start(&mut b, Async::DependentLaunch);
    start(&mut b, Async::ClusterBarrier);
    b.finish()
}
