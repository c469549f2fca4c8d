//! Operations on swizzled layouts.

use super::case::{Answer, Case, Row, composed, value};
use super::layouts::order;
use tiki_layout::{Composed, Coord, Error, Layout, Tiler, Tuple};

fn operand(case: &Case) -> Result<Composed, Error> {
    let offset = if case.has("offset") {
        case.int("offset")
    } else {
        0
    };
    Composed::new(case.get("swizzle"), offset, case.get("b"))
}

fn tiler(case: &Case) -> Tiler {
    case.get("tiler")
}

pub const ROWS: &[Row] = &[
    Row::new("composed_layout", |c| composed(operand(c))),
    Row::new("composed_slice", |c| {
        composed(operand(c)?.slice(c.get::<Coord>("coord")))
    })
    .law(keeps_slice),
    Row::new("composed_composition", |c| {
        composed(operand(c)?.compose_by(tiler(c)))
    }),
    Row::new("composed_logical_divide", |c| {
        composed(operand(c)?.logical_divide(tiler(c)))
    }),
    Row::new("composed_zipped_divide", |c| {
        composed(operand(c)?.zipped_divide(tiler(c)))
    }),
    Row::new("composed_tiled_divide", |c| {
        composed(operand(c)?.tiled_divide(tiler(c)))
    }),
    Row::new("composed_flat_divide", |c| {
        composed(operand(c)?.flat_divide(tiler(c)))
    }),
    Row::new("composed_logical_product", |c| {
        composed(operand(c)?.logical_product(tiler(c)))
    }),
    Row::new("composed_zipped_product", |c| {
        composed(operand(c)?.zipped_product(tiler(c)))
    }),
    Row::new("composed_tiled_product", |c| {
        composed(operand(c)?.tiled_product(tiler(c)))
    }),
    Row::new("composed_flat_product", |c| {
        composed(operand(c)?.flat_product(tiler(c)))
    }),
    Row::new("composed_blocked_product", |c| {
        composed(operand(c)?.blocked_product(&c.get("tiler")))
    }),
    Row::new("composed_raked_product", |c| {
        composed(operand(c)?.raked_product(&c.get("tiler")))
    }),
    Row::new("composed_tile_to_shape", |c| {
        composed(operand(c)?.tile_to_shape(c.get::<Tuple>("target"), order(c, "order")))
    })
    .law(fills),
    Row::new("composed_upcast", |c| {
        composed(operand(c)?.upcast(c.int("n")))
    }),
    Row::new("composed_downcast", |c| {
        composed(operand(c)?.downcast(c.int("n")))
    }),
    Row::new("composed_right_inverse", |c| {
        composed(operand(c)?.right_inverse())
    })
    .law(keeps_right_inverse),
    Row::new("composed_left_inverse", |c| {
        composed(operand(c)?.left_inverse())
    })
    .law(keeps_left_inverse),
    Row::new("composed_max_alignment", |c| {
        value(operand(c)?.max_alignment())
    }),
    Row::new("composed_max_common_vector", |c| {
        value(operand(c)?.max_common_vector(&c.get("other")))
    })
    .law(keeps_vector),
    Row::new("layout_o_swizzle", |c| {
        composed(c.get::<Layout>("a").after_swizzle(&c.get("swizzle")))
    })
    .law(keeps_after),
    Row::new("product_layout_composed", |c| {
        composed(c.get::<Layout>("a").logical_product_swizzled(&operand(c)?))
    })
    .law(keeps_product),
];

fn answered(answer: &Answer) -> Result<&Composed, String> {
    match answer {
        Answer::Composed(composed) => Ok(composed),
        _ => Err("it is no swizzled layout".to_string()),
    }
}

/// Index for index, what the layout gives at the kept coordinates.
fn keeps_slice(case: &Case, answer: &Answer) -> Result<(), String> {
    let (whole, part) = (operand(case).map_err(|e| e.to_string())?, answered(answer)?);
    let coord: Coord = case.get("coord");
    let fixed = coord.origin();
    let kept = coord.slice(whole.shape()).map_err(|e| e.to_string())?;
    for index in 0..kept.product().map_err(|e| e.to_string())? {
        let place = tiki_layout::coord::index_to_coord(index, &kept).map_err(|e| e.to_string())?;
        let mut places = place.modes().to_vec();
        places.reverse();
        let full = fill(&coord, &fixed, &mut places);
        let (got, want) = (part.at(index), whole.at_coord(full));
        if got != want {
            return Err(format!("at index {index} got {got:?}, want {want:?}"));
        }
    }
    Ok(())
}

fn fill(coord: &Coord, fixed: &Tuple, places: &mut Vec<Tuple>) -> Tuple {
    match coord {
        Coord::All => places.pop().expect("one place per kept mode"),
        Coord::Int(_) => fixed.clone(),
        Coord::Tuple(coords) => coords
            .iter()
            .zip(fixed.modes())
            .map(|(c, f)| fill(c, f, places))
            .collect(),
    }
}

fn keeps_right_inverse(case: &Case, answer: &Answer) -> Result<(), String> {
    let (a, r) = (operand(case).map_err(|e| e.to_string())?, answered(answer)?);
    let bad = (0..r.size()).find(|k| r.at(*k).and_then(|i| a.at(i)) != Ok(*k));
    bad.map_or(Ok(()), |k| Err(format!("the law fails at {k}")))
}

fn keeps_left_inverse(case: &Case, answer: &Answer) -> Result<(), String> {
    let (a, r) = (operand(case).map_err(|e| e.to_string())?, answered(answer)?);
    let bad =
        (0..a.size()).find(|i| a.at(*i).and_then(|x| r.at(x)).and_then(|i| a.at(i)) != a.at(*i));
    bad.map_or(Ok(()), |i| Err(format!("the law fails at {i}")))
}

/// The vector is contiguous in the swizzled operand wherever the plain one has it contiguous.
fn keeps_vector(case: &Case, answer: &Answer) -> Result<(), String> {
    let a = operand(case).map_err(|e| e.to_string())?;
    let b: Composed = case.get("other");
    let Answer::Value(text) = answer else {
        return Err("it is no number".to_string());
    };
    let n: i64 = text.parse().map_err(|_| "it is no number".to_string())?;
    let inverse = b.layout().right_inverse().map_err(|e| e.to_string())?;
    let bad = (0..n).find(|i| {
        let same = |c: &Composed| {
            inverse
                .at(*i)
                .and_then(|x| c.at(x))
                .and_then(|x| Ok(x - c.at(0)?))
        };
        same(&a) != Ok(*i) || same(&b) != Ok(*i)
    });
    bad.map_or(Ok(()), |i| Err(format!("element {i} is elsewhere")))
}

fn keeps_after(case: &Case, answer: &Answer) -> Result<(), String> {
    let (a, r): (Layout, _) = (case.get("a"), answered(answer)?);
    let swizzle: tiki_layout::Swizzle = case.get("swizzle");
    let bad = (0..r.size()).find(|i| r.at(*i) != a.at(swizzle.apply(*i)));
    bad.map_or(Ok(()), |i| Err(format!("the law fails at {i}")))
}

/// Copies of the block with the extents of the target.
fn fills(case: &Case, answer: &Answer) -> Result<(), String> {
    let (block, r) = (operand(case).map_err(|e| e.to_string())?, answered(answer)?);
    tiki_layout::laws::tiled_to(&case.get("target"), r.layout()).map_err(|e| e.to_string())?;
    tiki_layout::laws::repeats(block.layout(), r.layout()).map_err(|e| e.to_string())
}

/// The first copy is the block, and copies do not touch.
fn keeps_product(case: &Case, answer: &Answer) -> Result<(), String> {
    let (a, r): (Layout, _) = (case.get("a"), answered(answer)?);
    if let Some(i) = (0..a.size()).find(|i| r.at(*i).map(|x| x - r.at(0).unwrap_or(0)) != a.at(*i))
    {
        return Err(format!("element {i} of the block is elsewhere"));
    }
    let places: std::collections::HashSet<i64> = r.offsets().collect();
    if places.len() as i64 == r.size() {
        Ok(())
    } else {
        Err("copies touch".to_string())
    }
}
