//! Tensor maps that a kernel edits: their fields, and the way of an edited map to those who copy by it.
//!
//! A map is edited where ordinary stores reach it, in shared memory as a rule, and copied to global memory by a whole
//! warp, which also releases it. Copies read maps through a path of their own: a warp that copies by a map which the
//! launch has released must have acquired it behind that ([`Code::ProxyFence`] otherwise), even if it is the same warp.
//!
//! Fields, their units and the rank that is told less one were held against an H200: an edited map is the map that the
//! driver makes. The edit of the element type to one of another size
//! ended there with an error whose cause is not known; it is refused here.
//!
//! What a map holds is valid when it is used, not between two edits; so only what no field can hold is refused here.
//! The machine has neither interleaved tensors nor steps over elements: an edit that asks for them says so.

use super::block::Team;
use super::exec::{Ctx, Result};
use super::fault::Code;
use super::tensor_map::{BYTES, MAGIC};
use super::warp::Warp;
use crate::vm::meaning::LANES;
use crate::vm::meaning::ask::{Access, Sync};
use crate::vm::meaning::bulk::MapField;
use tiki_kernel::isa::{Space, Ty};

/// Element types by their numbers.
const ELEMENTS: [Ty; 13] = [
    Ty::U8,
    Ty::U16,
    Ty::U32,
    Ty::S32,
    Ty::U64,
    Ty::S64,
    Ty::F16,
    Ty::F32,
    // Subnormals count as zero where sums are made; copies are the same.
    Ty::F32,
    Ty::F64,
    Ty::BF16,
    // A shorter fraction, in the bytes of a whole one.
    Ty::F32,
    Ty::F32,
];

/// Planes that nobody else reads.
const SCRATCH: u32 = 0;

/// First byte of a field, its bytes, and what they become; nothing if it is what it must be.
fn change(
    field: MapField,
    (index, size): (usize, u32),
    v: u64,
) -> std::result::Result<Option<(usize, u32, u64)>, String> {
    let below = |n: u64, what: &str| match v < n {
        true => Ok(v),
        false => Err(format!("{what} {v}: 0 to {} are possible", n - 1)),
    };
    if index >= 5 || (field == MapField::Stride && index >= 4) {
        return Err(format!("dimension {index} of a tensor map"));
    }
    Ok(Some(match field {
        MapField::Address => (8, 8, v),
        MapField::Rank => (5, 1, 1 + below(5, "a rank less one of")?),
        MapField::Element => {
            let n = below(ELEMENTS.len() as u64, "element type")? as usize;
            if ELEMENTS[n].bytes() != size {
                return Err(format!(
                    "an element type of {} bytes for a map of elements of {size}",
                    ELEMENTS[n].bytes()
                ));
            }
            let place = Ty::all()
                .position(|t| t == ELEMENTS[n])
                .ok_or("an element type that is none of the machine's")?;
            (4, 1, place as u64)
        }
        MapField::Swizzle => (6, 1, below(4, "swizzle")?),
        MapField::Fill => (7, 1, below(2, "fill")?),
        MapField::Extent => (16 + 8 * index, 8, v),
        MapField::Stride => (56 + 8 * index, 8, v),
        MapField::Box => (88 + 2 * index, 2, below(1 << 16, "a box of")?),
        MapField::Interleave if v == 0 => return Ok(None),
        MapField::Interleave => return Err("interleaved tensors are not modelled".into()),
        MapField::Step if v == 1 => return Ok(None),
        MapField::Step => return Err(format!("a step of {v} elements is not modelled")),
    }))
}

fn access(space: Space, bytes: u32) -> Access {
    Access {
        space,
        bytes,
        count: 1,
        signed: false,
        addr: 0,
        value: 0,
        strong: false,
        order: Sync::default(),
    }
}

impl Team {
    /// Lanes change a field of the maps that they name.
    pub(super) fn map_edit(
        &mut self,
        ctx: &Ctx<'_, '_>,
        warp: &mut Warp,
        (field, space): (MapField, Space),
        (index, value): (Option<u8>, u8),
    ) -> Result<()> {
        let at = super::access::addresses(warp, &ctx.step.addresses[0], ctx.mask);
        self.aligned(ctx, warp, &at, ctx.mask, 64)?;
        let wide = matches!(field, MapField::Address | MapField::Stride);
        let index = index.map_or(0, |i| ctx.uniform(warp, ctx.slot(i)) as usize);
        let slot = ctx.slot(value) as usize;
        self.load_at(ctx, &access(space, 4), warp, &at, SCRATCH)?;
        let second = at.map(|x| x + 4);
        self.load_at(ctx, &access(space, 4), warp, &second, SCRATCH + 1)?;
        let (mut place, mut planes) = (None, [[0; LANES]; 2]);
        for i in (0..LANES).filter(|i| ctx.mask >> i & 1 == 1) {
            let word = |k: usize| u64::from(warp.file.words[slot + k].0[i]);
            let v = word(0) | if wide { word(1) << 32 } else { 0 };
            let changed = match warp.file.words[SCRATCH as usize].0[i] {
                MAGIC => {
                    let ty = warp.file.words[SCRATCH as usize + 1].0[i] as usize & 0xff;
                    let size = Ty::all().nth(ty).map_or(0, Ty::bytes);
                    change(field, (index, size), v)
                }
                _ => Err("these bytes are no tensor map of the machine".into()),
            };
            let changed =
                changed.map_err(|text| ctx.fault(self, warp, Code::TensorMap, 1 << i, text))?;
            if let Some((first, bytes, v)) = changed {
                place = Some((first, bytes));
                (planes[0][i], planes[1][i]) = (v as u32, (v >> 32) as u32);
            }
        }
        let Some((first, bytes)) = place else {
            return Ok(());
        };
        for (k, plane) in planes.into_iter().enumerate() {
            warp.file.words[SCRATCH as usize + k].0 = plane;
        }
        let at = at.map(|x| x + first as u64);
        self.store_at(ctx, &access(space, bytes), warp, &at, SCRATCH)
    }

    /// A warp copies an edited map to global memory, four bytes a lane, and releases it.
    pub(super) fn map_publish(&mut self, ctx: &Ctx<'_, '_>, warp: &mut Warp) -> Result<()> {
        let first = |warp: &Warp, k: usize| {
            super::access::addresses(warp, &ctx.step.addresses[k], ctx.mask)[ctx.leader()]
        };
        let (to, from) = (first(warp, 0), first(warp, 1));
        for x in [to, from] {
            self.aligned(ctx, warp, &[x; LANES], ctx.mask, BYTES as u64)?;
        }
        let each = |x: u64| std::array::from_fn(|i| x + 4 * i as u64);
        self.load_at(ctx, &access(Space::Shared, 4), warp, &each(from), SCRATCH)?;
        self.store_at(ctx, &access(Space::Global, 4), warp, &each(to), SCRATCH)?;
        if let Some(watch) = &mut self.watch {
            watch.map_released(to);
        }
        Ok(())
    }
}
