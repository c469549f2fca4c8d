//! Barrier objects.
use super::block::Team;
use super::exec::{After, Ctx, Result};
use super::fault::Code;
use super::warp::Warp;
use tiki_kernel::isa::meaning::Ask;

#[derive(Debug, Default)]
pub(super) struct Objects {}

impl Objects {
    pub(super) fn phase(&self, _block: u32, _at: u32) -> Option<u64> {
        None
    }
    pub(super) fn describe(&self, _block: u32, _at: u32, _phase: u64) -> String {
        String::new()
    }
}
impl Team {
    pub(super) fn object(
        &mut self,
        ctx: &Ctx<'_, '_>,
        _ask: &Ask,
        warp: &mut Warp,
    ) -> Result<After> {
        Err(ctx.fault(self, warp, Code::Object, ctx.mask, "not served"))
    }
}
