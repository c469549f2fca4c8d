//! Named barriers: one for each group of threads that meets at it by itself, wherever it was made.

use tiki::prelude::*;

/// Two roles turn a tile each and meet at one barrier, each by itself; a third meets at another one. Both are made outside.
#[tiki::kernel(threads = 384, grid = [1])]
fn turned_by_roles(x: &Global<f32>, out: &mut Global<f32>) {
    require!(x.dim(0) == 96 && x.dim(1) == 32 && out.dim(0) == 32 && out.dim(1) == 96);
    let (first, second) = (Barrier::named(128), Barrier::named(128));
    let a = Shared::<f32>::new(Layout::row_major([32, 32]));
    let b = Shared::<f32>::new(Layout::row_major([32, 32]));
    let c = Shared::<f32>::new(Layout::row_major([32, 32]));
    if warp_idx() < 4 {
        let map = ThreadMap::linear(128);
        a.store(&x.tile([32, 32], [0, 0]).load(map));
        first.sync();
        out.tile_mut([32, 32], [0, 0]).store(&a.t().load(map));
    } else if warp_idx() < 8 {
        let map = ThreadMap::linear(128);
        b.store(&x.tile([32, 32], [1, 0]).load(map));
        first.sync();
        out.tile_mut([32, 32], [0, 1]).store(&b.t().load(map));
    } else {
        let map = ThreadMap::linear(128);
        c.store(&x.tile([32, 32], [2, 0]).load(map));
        second.sync();
        out.tile_mut([32, 32], [0, 2]).store(&c.t().load(map));
    }
}

#[tiki::test]
fn roles_meet_at_barriers_of_their_own(device: &tiki::Device) -> Result<(), tiki::LaunchError> {
    let host: Vec<f32> = (0..96 * 32).map(|i| i as f32).collect();
    let x = device.tensor_from(&host, [96, 32])?;
    let mut out = device.zeros::<f32, 2>([32, 96])?;
    turned_by_roles::launch(&device.stream(), &x, &mut out)?;
    let got = out.to_vec()?;
    assert!((0..32).all(|r| (0..96).all(|c| got[r * 96 + c] == host[c * 32 + r])));
    Ok(())
}

/// The block's own barrier and one for each of the three groups: what nobody meets at counts nothing.
#[test]
fn a_barrier_counts_once_for_each_group_that_meets_there() {
    assert_eq!(turned_by_roles::BUDGET.barriers, 1 + 3);
}
