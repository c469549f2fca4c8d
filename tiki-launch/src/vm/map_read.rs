//! The tensor map that a copy names, read when the copy is issued, and its coordinates.

use super::access::addresses;
use super::exec::Ctx;
use super::image_map::ImageMap;
use super::program::Act;
use super::tensor_map::{BYTES, Box, TensorMap};
use super::warp::Warp;
use crate::vm::meaning::Ask;
use crate::vm::meaning::moves::locate;
use std::sync::Arc;
use tiki_kernel::isa::Space;

/// The box that an instruction names, if it is one.
pub(super) fn box_of(ctx: &Ctx<'_, '_>, warp: &Warp, i: usize, k: usize) -> Option<Box> {
    read_box(ctx, warp, i, k).ok()
}

pub(super) fn read_box(ctx: &Ctx<'_, '_>, warp: &Warp, i: usize, k: usize) -> Result<Box, String> {
    let operand = &ctx.step.addresses[k];
    let generic = addresses(warp, operand, 1 << i)[i];
    let (space, at) = locate(generic);
    let bytes: Option<Vec<u8>> = match space {
        Space::Param => usize::try_from(at).ok().and_then(|at| {
            let end = at.checked_add(BYTES)?;
            ctx.env.params.get(at..end).map(<[u8]>::to_vec)
        }),
        Space::Global => {
            let (id, off) = super::memory::split(generic);
            let buffer = ctx.env.table.get(id).and_then(|b| b.as_ref());
            buffer
                .filter(|b| off + BYTES as u64 <= b.bytes.len() as u64)
                .map(|b| {
                    let mut out = vec![0; BYTES];
                    b.bytes.read(off as usize, &mut out);
                    out
                })
        }
        _ => None,
    };
    let bytes = bytes.ok_or_else(|| format!("no tensor map lies at {generic:#x}"))?;
    let offsets = match ctx.step.act {
        Act::Ask(Ask::BoxLoad {
            offsets: Some(at), ..
        }) => Some(ctx.slot(at) as usize),
        _ => None,
    };
    let (map, image) = match offsets {
        None => (TensorMap::decode(&bytes)?, None),
        Some(first) => {
            let image = ImageMap::decode(&bytes)?;
            let own = image.lower.len();
            let planes = &ctx.step.args.list[first..first + own];
            let by = planes
                .iter()
                .map(|s| warp.file.words[*s as usize].0[i] & 0xffff);
            (
                image.tensor(),
                Some(Arc::new((by.map(i64::from).collect(), image))),
            )
        }
    };
    let at: Vec<i32> = operand
        .coords
        .iter()
        .map(|s| warp.file.words[*s as usize].0[i] as i32)
        .collect();
    if map.dims.len() != at.len() {
        return Err(format!(
            "{} coordinates for a map of rank {}",
            at.len(),
            map.dims.len()
        ));
    }
    Ok(Box { map, at, image })
}
