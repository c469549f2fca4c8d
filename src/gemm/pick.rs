//! Which instance a call takes: of the eligible rows the one of the least estimated time, in one piece or in
//! parts of K; and whether the extents fit at all.

use super::rows::Product;
use super::table::{Asked, Row};
use super::{Choice, Epilogue, GemmError};
use crate::{Device, Element, Tensor};

pub(super) fn extents(
    what: &'static str,
    wanted: &[usize],
    found: &[usize],
) -> Result<(), GemmError> {
    if wanted == found {
        return Ok(());
    }
    Err(GemmError::Shape {
        what,
        wanted: wanted.to_vec(),
        found: found.to_vec(),
    })
}

/// Checks the extents and picks the instance.
pub fn choose<E: Product<O>, O: Element>(
    device: &Device,
    a: &Tensor<E, 2>,
    b: &Tensor<E, 2>,
    c: &Tensor<O, 2>,
    epilogue: &Epilogue<'_, O>,
) -> Result<Choice, GemmError> {
    fits(a, b, c, epilogue)?;
    let asked = Asked::of(device, a, b, c, epilogue);
    Ok(pick::<E, O>(&asked, true)?.choice)
}

/// Extents of one product.
pub(super) fn fits<E: Element, O: Element>(
    a: &Tensor<E, 2>,
    b: &Tensor<E, 2>,
    c: &Tensor<O, 2>,
    epilogue: &Epilogue<'_, O>,
) -> Result<(), GemmError> {
    let ([m, k], [n, _]) = (a.shape(), b.shape());
    extents("the right operand", &[n, k], &b.shape())?;
    extents("the result", &[m, n], &c.shape())?;
    around(n, &c.shape(), epilogue)
}

/// Extents of what an epilogue reads, for a result of so many columns.
pub(super) fn around<O: Element, const R: usize>(
    n: usize,
    result: &[usize; R],
    epilogue: &Epilogue<'_, O, R>,
) -> Result<(), GemmError> {
    if let Some(bias) = epilogue.bias {
        extents("the bias", &[n], &bias.shape())?;
    }
    if let Some(d) = epilogue.residual {
        extents("the residual", result, &d.shape())?;
    }
    Ok(())
}

/// What was picked: an instance for the result itself, or one for its parts.
pub(super) struct Picked<E: Element, O: Element> {
    pub choice: Choice,
    pub whole: Option<&'static Row<E, O>>,
    pub in_parts: Option<&'static Row<E, f32>>,
}

/// Picks; parts only where they may be.
pub(super) fn pick<E: Product<O>, O: Element>(
    asked: &Asked<'_>,
    may_split: bool,
) -> Result<Picked<E, O>, GemmError> {
    let mut best: Option<(f64, Picked<E, O>)> = None;
    let mut reasons = Vec::new();
    for row in E::rows() {
        match row.eligible(asked) {
            Ok(()) => {
                let time = row.estimate(asked);
                if best.as_ref().is_none_or(|(t, _)| time < *t) {
                    let (choice, whole) = (row.choice(asked, 1), Some(row));
                    let in_parts = None;
                    best = Some((
                        time,
                        Picked {
                            choice,
                            whole,
                            in_parts,
                        },
                    ));
                }
            }
            Err(reason) => reasons.push((row.instance, reason)),
        }
    }
    let parts = asked.in_parts();
    for row in E::in_parts() {
        // Only beside a whole one: parts are a way to be faster.
        if let Some((best_time, picked)) = &mut best
            && may_split
            && !asked.many
            && row.eligible(&parts).is_ok()
            && let Some((count, time)) = row.estimate_parts(&parts)
            && time < *best_time
        {
            *best_time = time;
            let (choice, in_parts) = (row.choice(&parts, count), Some(row));
            *picked = Picked {
                choice,
                whole: None,
                in_parts,
            };
        }
    }
    best.map(|(_, picked)| picked)
        .ok_or_else(|| GemmError::NotBuilt {
            what: asked.to_string(),
            reasons,
        })
}

#[cfg(test)]
mod tests {
    use super::super::{Precision, uneven};
    use super::*;
    use half::f16;

    #[test]
    fn parts_are_taken_where_tiles_are_few_on_a_large_device() {
        let device = Device::vm().unwrap();
        let picked = |m: usize, n: usize, k: usize| {
            let (a, b): (Tensor<f16, 2>, Tensor<f16, 2>) =
                (device.empty([m, k]).unwrap(), device.empty([n, k]).unwrap());
            let c: Tensor<f16, 2> = device.empty([m, n]).unwrap();
            let mut asked = Asked::of(&device, &a, &b, &c, &Epilogue::<_, 2>::default());
            asked.processors = 132;
            pick::<f16, f16>(&asked, true).unwrap().choice
        };
        assert!(picked(128, 128, 8192).parts > 8);
        assert!(picked(256, 256, 16384).parts > 4);
        // As measured: parts were faster, or one piece was.
        for (m, n, k) in [
            (128, 1024, 16384),
            (256, 512, 16384),
            (256, 1024, 8192),
            (512, 512, 32768),
        ] {
            assert!(picked(m, n, k).parts > 4, "{m} x {n} x {k}");
        }
        for (m, n, k) in [
            (16, 1024, 16384),
            (64, 1024, 8192),
            (64, 2048, 16384),
            (128, 4096, 4096),
            (384, 384, 2048),
        ] {
            assert_eq!(picked(m, n, k).parts, 1, "{m} x {n} x {k}");
        }
        // The last round of 512 tiles on 132 multiprocessors is filled up; where there are too few tiles to cut, none is.
        let by_tf32 = |m: usize, n: usize| {
            let (a, b): (Tensor<f32, 2>, Tensor<f32, 2>) = (
                device.empty([m, 64]).unwrap(),
                device.empty([n, 64]).unwrap(),
            );
            let c: Tensor<f32, 2> = device.empty([m, n]).unwrap();
            let epilogue = Epilogue::<_, 2> {
                precision: Precision::Tf32,
                ..Epilogue::default()
            };
            let mut asked = Asked::of(&device, &a, &b, &c, &epilogue);
            asked.processors = 132;
            pick::<f32, f32>(&asked, true).unwrap().choice.instance
        };
        assert_eq!(by_tf32(4096, 4096), "uneven 128 x 256 x 32");
        assert_eq!(by_tf32(4092, 4096), "tf32 128 x 256 x 32");
        assert_eq!(by_tf32(2048, 2048), "tf32 128 x 256 x 32");
        assert_eq!(uneven::cut(4096, 4096, 132), 16);
        assert_eq!(uneven::busiest(4096, 4096, 132), 128 * (3 * 256 + 240));
        assert_eq!(uneven::cut(2048, 2048, 132), 0);
        assert_eq!(uneven::busiest(2048, 2048, 132), 128 * 256);
        // Those that were measured are multiplied whole, by what was measured.
        for (m, n, k, by) in [
            (16, 8192, 8192, "few 16 x 64 x 128"),
            (128, 8192, 8192, "few 128 x 64 x 64"),
            (1024, 1024, 1024, "hopper 128 x 64 x 64"),
            (2048, 2048, 2048, "hopper 128 x 128 x 64"),
            (1792, 1792, 4096, "hopper 128 x 224 x 64"),
            (4096, 4096, 4096, "hopper 128 x 256 x 64"),
            (4096, 11008, 4096, "hopper 128 x 256 x 64"),
            (8192, 8192, 8192, "hopper 128 x 224 x 64"),
            (8192, 8192, 512, "hopper 128 x 256 x 64"),
            // Fewer or hardly more tiles than multiprocessors.
            (1024, 1024, 8192, "hopper 128 x 64 x 64"),
            (1536, 1536, 8192, "hopper 128 x 144 x 64"),
            (2048, 2048, 8192, "hopper 128 x 256 x 64"),
            (512, 4096, 4096, "hopper 128 x 128 x 64"),
            (512, 2048, 8192, "hopper 128 x 64 x 64"),
            (256, 4096, 4096, "hopper 128 x 64 x 64"),
            (256, 8192, 8192, "hopper 128 x 128 x 64"),
            (1280, 1280, 4096, "hopper 128 x 112 x 64"),
            (3072, 3072, 4096, "hopper 192 x 192 x 64"),
            (768, 3072, 8192, "hopper 128 x 144 x 64"),
            (1024, 4096, 1024, "hopper 128 x 128 x 64"),
            (384, 5120, 5120, "hopper 128 x 128 x 64"),
            (64, 4096, 14336, "few 64 x 64 x 64"),
        ] {
            let choice = picked(m, n, k);
            assert_eq!(choice.parts, 1, "{m} x {n} x {k}");
            assert!(
                choice.instance.starts_with(by),
                "{m} x {n} x {k}: {}",
                choice.instance
            );
        }
    }
}
