//! Steps at which the watch looks closer than at memory.
//!
//! They are found once for a kernel, when it first runs with all checks: products that feed addresses
//! ([`super::index`]), and what touches registers that may be unset ([`super::race::unset`]). The run loop ends a straight
//! piece before each.

use super::block::Team;
use super::exec::Ctx;
use super::program::Kernel;
use super::race::unset::{Touches, open, touches};
use super::warp::Warp;

/// A step, and what to look at.
#[derive(Debug)]
struct Look {
    pc: u32,
    /// It makes a product that feeds an address; whether that is widened by its sign.
    product: Option<bool>,
    unset: Option<Touches>,
}

/// All of a kernel, in order.
#[derive(Debug)]
pub(super) struct Looks {
    /// First planes of registers that may be read before they are written.
    pub(super) open: Vec<u32>,
    at: Vec<Look>,
}

impl Looks {
    pub(super) fn of(kernel: &Kernel) -> Looks {
        let open = open(&kernel.text, &kernel.slots);
        let mut products = kernel.products.iter().peekable();
        let steps = (0..).zip(kernel.code.iter().zip(&kernel.uses));
        let at = steps
            .filter_map(|(pc, (step, uses))| {
                let product = products.next_if(|p| p.pc == pc).map(|p| p.signed);
                let unset = touches(step, uses, &open, kernel.choices.contains(&pc));
                (product.is_some() || unset.is_some()).then_some(Look { pc, product, unset })
            })
            .collect();
        Looks { open, at }
    }

    /// Looks at a step, if it is one of them; how many of the next `n` steps come before the next one.
    pub(super) fn look(
        &self,
        team: &mut Team,
        ctx: &Ctx<'_, '_>,
        warp: &Warp,
        pc: u32,
        n: u32,
    ) -> u32 {
        let mut next = self.at.partition_point(|look| look.pc < pc);
        if let Some(look) = self.at.get(next).filter(|look| look.pc == pc) {
            if ctx.mask != 0 {
                if let Some(signed) = look.product {
                    team.watch_product(ctx, warp, signed);
                }
                if let Some(touches) = &look.unset {
                    team.watch_unset(ctx, warp, touches);
                }
            }
            next += 1;
        }
        self.at.get(next).map_or(n, |look| n.min(look.pc - pc))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at.is_empty()
    }
}
