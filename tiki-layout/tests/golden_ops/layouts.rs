//! Operations on plain layouts.

use super::case::{Answer, Case, Row, at, layout, mode_list, value};
use std::collections::HashSet;
use tiki_layout::{Coord, Layout, Order, Tiler, Tuple};

fn a(case: &Case) -> Layout {
    case.get("a")
}

fn tiler(case: &Case) -> Tiler {
    case.get("tiler")
}

pub fn order(case: &Case, name: &str) -> Order {
    match case.text(name).as_str() {
        "LayoutLeft" => Order::Left,
        "LayoutRight" => Order::Right,
        _ => Order::By(case.get(name)),
    }
}

fn projection(case: &Case) -> Option<Coord> {
    case.has("proj").then(|| case.get("proj"))
}

pub const ROWS: &[Row] = &[
    Row::new("layout", |c| layout(Ok(a(c)))),
    Row::new("make_layout_left", |c| {
        layout(Layout::col_major(c.get::<Tuple>("shape")))
    }),
    Row::new("make_layout_right", |c| {
        layout(Layout::row_major(c.get::<Tuple>("shape")))
    }),
    Row::new("make_ordered_layout", |c| {
        layout(Layout::ordered(c.get::<Tuple>("shape"), order(c, "order")))
    }),
    Row::new("make_layout_like", |c| layout(a(c).like())),
    Row::new("make_fragment_like", |c| layout(a(c).fragment_like())),
    Row::new("coalesce", |c| layout(a(c).coalesce())),
    Row::new("coalesce_profile", |c| {
        layout(a(c).coalesce_like(&c.get("profile")))
    }),
    Row::new("filter", |c| layout(a(c).filter())),
    Row::new("filter_zeros", |c| layout(a(c).filter_zeros())),
    Row::new("filter_profile", |c| {
        layout(a(c).filter_like(&c.get("profile")))
    }),
    Row::new("composition", |c| layout(a(c).compose(&c.get("b")))),
    Row::new("composition_tiler", |c| layout(a(c).compose_by(tiler(c)))).law(keeps_composition),
    Row::new("complement", |c| layout(a(c).complement())).law(keeps_complement),
    Row::new("complement_cotarget", |c| {
        layout(a(c).complement_in(c.get::<Tuple>("cotarget")))
    })
    .law(keeps_complement),
    Row::new("right_inverse", |c| layout(a(c).right_inverse())),
    Row::new("left_inverse", |c| layout(a(c).left_inverse())).law(keeps_left_inverse),
    Row::new("logical_divide", |c| layout(a(c).logical_divide(tiler(c)))).law(covers),
    Row::new("zipped_divide", |c| layout(a(c).zipped_divide(tiler(c)))).law(covers),
    Row::new("tiled_divide", |c| layout(a(c).tiled_divide(tiler(c)))).law(covers),
    Row::new("flat_divide", |c| layout(a(c).flat_divide(tiler(c)))).law(covers),
    Row::new("logical_product", |c| {
        layout(a(c).logical_product(tiler(c)))
    })
    .law(repeats),
    Row::new("zipped_product", |c| layout(a(c).zipped_product(tiler(c)))).law(repeats),
    Row::new("tiled_product", |c| layout(a(c).tiled_product(tiler(c)))).law(repeats),
    Row::new("flat_product", |c| layout(a(c).flat_product(tiler(c)))).law(repeats),
    Row::new("blocked_product", |c| {
        layout(a(c).blocked_product(&c.get("tiler")))
    })
    .law(repeats),
    Row::new("raked_product", |c| {
        layout(a(c).raked_product(&c.get("tiler")))
    })
    .law(repeats),
    Row::new("tile_to_shape", |c| {
        layout(a(c).tile_to_shape(c.get::<Tuple>("target"), order(c, "order")))
    })
    .law(fills),
    Row::new("upcast", |c| layout(a(c).upcast(c.int("n")))).law(keeps_bits),
    Row::new("downcast", |c| layout(a(c).downcast(c.int("n")))),
    Row::new("recast_layout", |c| {
        layout(a(c).recast(c.int("old_bits"), c.int("new_bits")))
    }),
    Row::new("max_common_layout", |c| {
        layout(a(c).max_common_layout(&c.get("b")))
    }),
    Row::new("max_common_vector", |c| {
        value(a(c).max_common_vector(&c.get("b")))
    }),
    Row::new("max_alignment", |c| value(a(c).max_alignment())),
    Row::new("nullspace", |c| layout(a(c).nullspace())),
    Row::new("domain_distribute", |c| {
        layout(Layout::domain_distribute(&c.get("shape"), c.int("n")))
    }),
    Row::new("slice_and_offset", |c| {
        at(a(c).slice(c.get::<Coord>("coord")))
    }),
    Row::new("dice", |c| layout(a(c).dice(c.get::<Coord>("coord")))),
    Row::new("flatten", |c| layout(a(c).flatten())),
    Row::new("unflatten", |c| layout(a(c).unflatten(&c.get("profile")))),
    Row::new("group", |c| {
        layout(a(c).group(c.int("begin") as usize, c.int("end") as usize))
    }),
    Row::new("take", |c| {
        layout(a(c).take(c.int("begin") as usize, c.int("end") as usize))
    }),
    Row::new("select", |c| {
        layout(a(c).select(&mode_list(&c.get("modes"))))
    }),
    Row::new("append", |c| layout(a(c).append(&c.get("x")))),
    Row::new("prepend", |c| layout(a(c).prepend(&c.get("x")))),
    Row::new("append_to_rank", |c| {
        layout(a(c).append_to_rank(c.int("n") as usize))
    }),
    Row::new("replace", |c| {
        layout(a(c).replace(c.int("mode") as usize, &c.get("x")))
    }),
    Row::new("zip", |c| layout(a(c).zip())),
    Row::new("inner_partition", |c| {
        at(a(c).inner_partition(tiler(c), c.get::<Coord>("coord")))
    })
    .law(is_a_part),
    Row::new("outer_partition", |c| {
        at(a(c).outer_partition(tiler(c), c.get::<Coord>("coord")))
    })
    .law(is_a_part),
    Row::new("local_tile", |c| {
        at(a(c).local_tile(tiler(c), c.get::<Coord>("coord"), projection(c).as_ref()))
    })
    .law(is_a_part),
    Row::new("local_partition", |c| {
        at(a(c).local_partition(&c.get("thr"), c.int("index"), projection(c).as_ref()))
    })
    .law(is_a_part),
];

fn answered(answer: &Answer) -> Result<&Layout, String> {
    match answer {
        Answer::Layout(layout) | Answer::At(layout, _) => Ok(layout),
        _ => Err("it is no layout".to_string()),
    }
}

/// By mode: each mode of the answer is the mode of `a` read at the tiler's offsets.
fn keeps_composition(case: &Case, answer: &Answer) -> Result<(), String> {
    let (a, r, tiler) = (a(case), answered(answer)?, tiler(case));
    let Tiler::Modes(tilers) = tiler else {
        return Err("the tiler has no modes".to_string());
    };
    for ((mode, tiler), got) in a.modes().zip(&tilers).zip(r.modes()) {
        let Tiler::Layout(b) = tiler else { continue };
        for (i, offset) in b.offsets().enumerate() {
            let (got, want) = (got.at(i as i64), mode.at(offset));
            if got != want {
                return Err(format!("at index {i} got {got:?}, want {want:?}"));
            }
        }
    }
    Ok(())
}

fn keeps_complement(case: &Case, answer: &Answer) -> Result<(), String> {
    let (a, r) = (a(case), answered(answer)?);
    tiki_layout::laws::complement(&a, r).map_err(|e| e.to_string())
}

fn keeps_left_inverse(case: &Case, answer: &Answer) -> Result<(), String> {
    tiki_layout::laws::left_inverse(&a(case), answered(answer)?).map_err(|e| e.to_string())
}

fn covers(case: &Case, answer: &Answer) -> Result<(), String> {
    tiki_layout::laws::covers(&a(case), answered(answer)?).map_err(|e| e.to_string())
}

fn repeats(case: &Case, answer: &Answer) -> Result<(), String> {
    tiki_layout::laws::repeats(&a(case), answered(answer)?).map_err(|e| e.to_string())
}

/// The wide elements are the ones that the narrow ones lie in.
fn keeps_bits(case: &Case, answer: &Answer) -> Result<(), String> {
    let (a, r, n) = (a(case), answered(answer)?, case.int("n"));
    let want: HashSet<i64> = a.offsets().map(|x| x.div_euclid(n)).collect();
    let got: HashSet<i64> = r.offsets().collect();
    if got == want {
        Ok(())
    } else {
        Err(format!("the elements are {got:?}, want {want:?}"))
    }
}

/// Copies of the block with the extents of the target.
fn fills(case: &Case, answer: &Answer) -> Result<(), String> {
    let (a, r) = (a(case), answered(answer)?);
    tiki_layout::laws::tiled_to(&case.get("target"), r).map_err(|e| e.to_string())?;
    tiki_layout::laws::repeats(&a, r).map_err(|e| e.to_string())
}

/// Every place of the part is one of the whole, and no place is taken twice unless the whole does.
fn is_a_part(case: &Case, answer: &Answer) -> Result<(), String> {
    let Answer::At(r, start) = answer else {
        return Err("it has no offset".to_string());
    };
    let whole: HashSet<i64> = a(case).offsets().collect();
    let part: HashSet<i64> = r.offsets().map(|x| x + start).collect();
    if let Some(x) = part.iter().find(|x| !whole.contains(x)) {
        return Err(format!("{x} is outside"));
    }
    let once = whole.len() as i64 != a(case).size() || part.len() as i64 == r.size();
    if once {
        Ok(())
    } else {
        Err("a place is taken twice".to_string())
    }
}
