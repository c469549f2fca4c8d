//! Tensor maps that the launch has edited: who has acquired them since.

use super::super::block::Team;
use super::super::exec::Ctx;
use super::super::fault::Code;
use super::super::warp::Warp;
use super::Watch;
use std::collections::{HashMap, HashSet};

/// Warps that have acquired a map since it was last released, by its address.
pub(super) type Maps = HashMap<u64, HashSet<usize>>;

impl Watch {
    /// A map was copied to an address and released.
    pub(in crate::vm) fn map_released(&mut self, at: u64) {
        self.maps.insert(at, HashSet::new());
    }
    /// A warp acquires the map at an address.
    pub(super) fn map_acquired(&mut self, w: usize, at: u64) {
        if let Some(warps) = self.maps.get_mut(&at) {
            warps.insert(w);
        }
    }
    /// A warp copies by the map at an address.
    pub(super) fn map_used(
        &mut self,
        team: &Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        (lane, at): (usize, u64),
    ) {
        let w = self.number(ctx, warp);
        if self.maps.get(&at).is_some_and(|warps| !warps.contains(&w)) {
            let text = "copies by a tensor map that this launch has edited, and that the warp has not acquired since";
            self.complain(team, ctx, warp, Code::ProxyFence, 1 << lane, text.into());
        }
    }
}
