//! Operations on integer tuples, and swizzles by themselves.

use super::case::{Answer, Case, Outcome, Part, Row, value};
use serde_json::{Value, json};
use tiki_layout::coord::{
    coord_to_coord, coord_to_index, coord_to_offset, index_to_coord, offset_to_coord,
};
use tiki_layout::{Swizzle, Tiler, Tuple};

fn t(case: &Case, name: &str) -> Tuple {
    case.get(name)
}

pub fn swizzle(case: &Case) -> Result<Swizzle, tiki_layout::Error> {
    Swizzle::new(case.int("b"), case.int("m"), case.int("s"))
}

/// In these cases a tuple is a tiler by mode.
fn by_mode(tuple: &Tuple) -> Result<Tiler, tiki_layout::Error> {
    Tiler::by_extents(tuple)
}

pub const ROWS: &[Row] = &[
    Row::new("crd2idx", |c| {
        value(coord_to_offset(
            &t(c, "coord"),
            &t(c, "shape"),
            &t(c, "stride"),
        ))
    }),
    Row::new("crd2idx_shape", |c| {
        value(coord_to_index(&t(c, "coord"), &t(c, "shape")))
    }),
    Row::new("idx2crd", |c| {
        value(offset_to_coord(
            c.int("index"),
            &t(c, "shape"),
            &t(c, "stride"),
        ))
    }),
    Row::new("idx2crd_shape", |c| {
        value(index_to_coord(c.int("index"), &t(c, "shape")))
    }),
    Row::new("crd2crd", |c| {
        value(coord_to_coord(&t(c, "coord"), &t(c, "src"), &t(c, "dst")))
    }),
    Row::new("shape_div", |c| value(t(c, "a").shape_div(&t(c, "b")))),
    Row::new("ceil_div", |c| value(t(c, "a").ceil_div(&t(c, "b")))),
    Row::new("inner_product", |c| {
        value(t(c, "a").inner_product(&t(c, "b")))
    }),
    Row::new("elem_scale", |c| value(t(c, "a").elem_scale(&t(c, "b")))),
    Row::new("prefix_product", |c| {
        value(t(c, "a").prefix_product(c.int("init")))
    }),
    Row::new("compatible", |c| {
        value(Ok(t(c, "a").is_compatible(&t(c, "b"))))
    }),
    Row::new("congruent", |c| {
        value(Ok(t(c, "a").is_congruent(&t(c, "b"))))
    }),
    Row::new("weakly_congruent", |c| {
        value(Ok(t(c, "a").is_weakly_congruent(&t(c, "b"))))
    }),
    Row::new("evenly_divides", |c| {
        value(by_mode(&t(c, "tiler")).and_then(|tiler| t(c, "shape").is_evenly_divided_by(&tiler)))
    }),
    Row::new("compact_order", |c| {
        value(t(c, "shape").compact_order(&t(c, "order")))
    }),
    Row::new("swizzle_apply", apply),
    Row::new("swizzle_invalid", |c| value(swizzle(c))),
    Row::new("make_swizzle", |c| {
        value(Swizzle::from_masks(c.int("y"), c.int("z")))
    })
    .law(keeps_masks),
    Row::new("swizzle_compose", |c| {
        value(c.get::<Swizzle>("a").compose(&c.get("b")))
    })
    .law(keeps_both),
    Row::new("swizzle_upcast", |c| {
        value(swizzle(c).and_then(|s| s.upcast(c.int("n"))))
    }),
    Row::new("swizzle_downcast", |c| {
        value(swizzle(c).and_then(|s| s.downcast(c.int("n"))))
    }),
    Row::new("swizzle_recast", |c| {
        value(swizzle(c).and_then(|s| s.recast(c.int("old_bits"), c.int("new_bits"))))
    }),
];

/// The inputs are a range `0..n` or a list of decimal and hexadecimal numbers.
fn apply(case: &Case) -> Outcome {
    let swizzle = swizzle(case)?;
    let text = case.text("inputs");
    let number = |word: &str| match word.trim().strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).expect("hexadecimal"),
        None => word.trim().parse().expect("decimal"),
    };
    let inputs: Vec<i64> = match text.split_once("..") {
        Some((low, high)) => (number(low)..number(high)).collect(),
        None => text.split(',').map(number).collect(),
    };
    let outputs: Vec<i64> = inputs.iter().map(|x| swizzle.apply(*x)).collect();
    let list = |values: &[i64]| Part::Json(Value::Array(values.iter().map(|x| json!(x)).collect()));
    Ok(Answer::Record(vec![
        ("val", Part::Text(swizzle.to_string())),
        ("inputs", list(&inputs)),
        ("outputs", list(&outputs)),
    ]))
}

fn answered(answer: &Answer) -> Result<Swizzle, String> {
    match answer {
        Answer::Value(text) => text.parse().map_err(|e: tiki_layout::Error| e.to_string()),
        _ => Err("it is no swizzle".to_string()),
    }
}

/// One swizzle does what the two do one after the other.
fn keeps_both(case: &Case, answer: &Answer) -> Result<(), String> {
    let (a, b): (Swizzle, Swizzle) = (case.get("a"), case.get("b"));
    let r = answered(answer)?;
    let bad = (0..1 << 14).find(|x| r.apply(*x) != a.apply(b.apply(*x)));
    bad.map_or(Ok(()), |x| Err(format!("{x} goes elsewhere")))
}

/// The bits under `y` are XORed onto those under `z`, in order.
fn keeps_masks(case: &Case, answer: &Answer) -> Result<(), String> {
    let (r, y, z) = (answered(answer)?, case.int("y"), case.int("z"));
    if (r.y_mask(), r.z_mask()) == (y, z) {
        Ok(())
    } else {
        Err(format!("{r} has other fields"))
    }
}
