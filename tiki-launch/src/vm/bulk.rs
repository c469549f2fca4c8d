//! Bulk copies.
use super::block::Team;
use super::exec::{After, Ctx, Result};
use super::fault::Code;
use super::warp::Warp;
use tiki_kernel::isa::meaning::Ask;
impl Team {
    pub(super) fn bulk(&mut self, ctx: &Ctx<'_, '_>, _ask: &Ask, warp: &mut Warp) -> Result<After> {
        Err(ctx.fault(self, warp, Code::Object, ctx.mask, "not served"))
    }
}
