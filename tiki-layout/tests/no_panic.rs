//! Extreme inputs to the symbolic layer, XOR layouts, banks and pictures.
//!
//! Invariant: no input panics; what cannot be done is a typed error or an open answer.
//! Witness: numbers at the ends of their types, deep and wide terms, shapes that are empty, odd or too large.

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;
use tiki_layout::banks::{GlobalAccess, Request, SharedAccess, TileAccess, choose_swizzle};
use tiki_layout::sym::{Expr, Facts, Predicate, Strided, Symbol};
use tiki_layout::xor::XorLayout;
use tiki_layout::{Composed, Layout, Swizzle, Tiler, Tuple, picture};

const ENDS: [i64; 14] = [
    i64::MIN,
    i64::MIN + 1,
    -(1 << 62),
    -64,
    -1,
    0,
    1,
    2,
    3,
    64,
    1 << 31,
    1 << 62,
    i64::MAX - 1,
    i64::MAX,
];

fn number(u: &mut Unstructured) -> Result<i64> {
    if u.ratio(1, 3)? {
        u.arbitrary()
    } else {
        Ok(*u.choose(&ENDS)?)
    }
}

fn term(u: &mut Unstructured, symbols: &[Symbol], depth: u32) -> Result<Expr> {
    if depth == 0 || u.ratio(1, 4)? {
        return Ok(if u.arbitrary()? {
            Expr::Int(number(u)?)
        } else {
            (*u.choose(symbols)?).into()
        });
    }
    let (a, b) = (term(u, symbols, depth - 1)?, term(u, symbols, depth - 1)?);
    Ok(match u.int_in_range(0..=7)? {
        0 => a + b,
        1 => a - b,
        2 | 3 => a * b,
        4 => a.floor_div(b),
        5 => a.ceil_div(b),
        6 => a.modulo(b),
        _ if u.arbitrary()? => a.min(b),
        _ => a.max(b),
    })
}

fn statement(u: &mut Unstructured, symbols: &[Symbol]) -> Result<Predicate> {
    let a = term(u, symbols, 3)?;
    Ok(match u.int_in_range(0..=4)? {
        0 => Predicate::Le(a, term(u, symbols, 2)?),
        1 => Predicate::Lt(a, term(u, symbols, 2)?),
        2 => Predicate::Eq(a, term(u, symbols, 2)?),
        3 => Predicate::Divides(
            a,
            if u.arbitrary()? {
                u.arbitrary()?
            } else {
                *u.choose(&[0, 1, 2, u64::MAX])?
            },
        ),
        _ => Predicate::FitsU32(a),
    })
}

#[test]
fn symbolic() {
    arbtest(|u| {
        let mut facts = Facts::new();
        let mut symbols: Vec<Symbol> = ["a", "b", "c"].iter().map(|n| facts.symbol(n)).collect();
        symbols.push(facts.extent("n"));
        for _ in 0..u.int_in_range(0..=5)? {
            let fact = statement(u, &symbols)?;
            // A refused fact leaves the store usable.
            let _ = facts.assume(&fact);
            let _ = facts.show_predicate(&fact);
        }
        let asked = statement(u, &symbols)?;
        facts.ask(&asked);
        facts.counterexample(&asked);
        let e = term(u, &symbols, 4)?;
        facts.interval(&e);
        facts.known_divisor(&e);
        let _ = e.eval(&|_| Some(i64::MIN));
        let map = Strided::row_major(vec![symbols[0].into(), e.clone(), symbols[3].into()]);
        map.fits_u32(&facts, number(u)?);
        let _ = map.vector_width(&facts, 2, &e, u.arbitrary()?);
        let _ = map.in_bounds(&facts, &[e.clone(), e.clone(), e]);
        Ok(())
    })
    .budget_ms(3_000)
    .size_min(64)
    .size_max(1024);
}

/// Invariant: an equation between large numbers costs a step for each step of Euclid's algorithm. Witness: one of 40 steps,
/// whose definitions name each other twice over.
#[test]
fn a_long_division() {
    let mut facts = Facts::new();
    let [a, n] = ["a", "n"].map(|name| facts.symbol(name));
    let sum = Expr::from(n) * Expr::from(-2_014_963_256_426_976_904) + Expr::from(i64::MAX);
    let divisible = Predicate::Divides(sum, 12_768_563_741_348_151_305);
    assert_eq!(facts.assume(&divisible), Ok(()));
    assert_eq!(facts.assume(&Predicate::Lt(a.into(), n.into())), Ok(()));
}

fn shape(u: &mut Unstructured, depth: u32) -> Result<Tuple> {
    if depth == 0 || u.ratio(1, 2)? {
        return Ok(Tuple::Int(if u.ratio(1, 8)? {
            number(u)?
        } else {
            1 << u.int_in_range(0..=6)?
        }));
    }
    (0..u.int_in_range(0..=3)?)
        .map(|_| shape(u, depth - 1))
        .collect::<Result<Vec<_>>>()
        .map(Tuple::Tuple)
}

fn layout(u: &mut Unstructured) -> Result<Option<Layout>> {
    let shape = shape(u, 2)?;
    let mut numbers = Vec::new();
    for _ in shape.leaves() {
        numbers.push(if u.ratio(1, 6)? {
            number(u)?
        } else {
            1 << u.int_in_range(0..=8)?
        });
    }
    let stride = shape.map(&mut |_| numbers.pop().unwrap_or(0));
    Ok(Layout::new(shape, stride).ok())
}

#[test]
fn xor_layouts() {
    arbtest(|u| {
        if let Some(layout) = layout(u)? {
            let swizzle = Swizzle::new(
                u.int_in_range(0..=6)?,
                u.int_in_range(0..=60)?,
                u.int_in_range(-60..=60)?,
            );
            let composed = Composed::new(swizzle.unwrap_or_default(), number(u)?, layout);
            if let Ok(x) = composed
                .map_err(|_| ())
                .and_then(|c| XorLayout::from_composed(&c).map_err(|_| ()))
            {
                let _ = (x.to_string(), x.cosize(), x.size(), x.to_composed());
                let _ = (
                    x.at(number(u)?),
                    x.coord_of(number(u)?),
                    x.complement_in(number(u)?),
                );
                let _ = (x.left_inverse(), x.right_inverse(), x.compose(&x));
                let tile = Layout::new(
                    1i64 << u.int_in_range(0..=62)?,
                    1 << u.int_in_range(0..=62)?,
                );
                let _ = tile.map(|t| x.logical_divide(Tiler::from(t)));
            }
        }
        let columns: Vec<Vec<u64>> = (0..u.int_in_range(0..=3)?)
            .map(|_| u.arbitrary())
            .collect::<Result<_>>()?;
        let shape: Tuple = columns
            .iter()
            .map(|c| 1i64.checked_shl(c.len() as u32).unwrap_or(0))
            .collect();
        let _ = XorLayout::new(shape.clone(), columns, u.arbitrary()?);
        let strides: Vec<u64> = (0..u.int_in_range(0..=4)?)
            .map(|_| u.arbitrary())
            .collect::<Result<_>>()?;
        let _ = XorLayout::with_strides(shape, &strides);
        Ok(())
    })
    .budget_ms(2_000)
    .size_max(1024);
}

#[test]
fn memory() {
    arbtest(|u| {
        let width = *u.choose(&[0, 1, 2, 4, 8, 16, 32, -1])?;
        let mut lanes = Vec::new();
        for _ in 0..u.int_in_range(0..=40)? {
            let step = if u.ratio(1, 4)? {
                number(u)?
            } else {
                u.int_in_range(0..=255)?
            };
            lanes.push(if u.ratio(1, 8)? {
                None
            } else {
                Some(step.wrapping_mul(width))
            });
        }
        if let Ok(access) = SharedAccess::load(width, lanes.clone()) {
            let _ = (
                access.report().excess(),
                access.services().len(),
                picture::bank_map("any", &access).to_text(true),
            );
        }
        let _ = GlobalAccess::new(width, lanes.clone()).map(|a| a.report());
        let rows: Vec<i64> = lanes.into_iter().flatten().collect();
        let mut list = Vec::new();
        for _ in 0..u.int_in_range(0..=3)? {
            let access = TileAccess::from_addresses(
                rows.clone(),
                width,
                *u.choose(&[Request::Load, Request::Store, Request::Matrices])?,
            );
            list.extend(access.map(|a| a.weighted(u64::MAX)));
        }
        let _ = choose_swizzle(*u.choose(&[0, 1, 2, 4, 8, 16, 3])?, &list);
        if let Some(layout) = layout(u)? {
            let _ = TileAccess::stores(&layout, i64::MAX, 4);
        }
        Ok(())
    })
    .budget_ms(2_000)
    .size_max(1024);
}

#[test]
fn pictures() {
    arbtest(|u| {
        let (a, b) = (layout(u)?, layout(u)?);
        if let (Some(a), Some(b)) = (a, b) {
            let swizzle = Swizzle::new(
                u.int_in_range(0..=6)?,
                u.int_in_range(0..=60)?,
                u.int_in_range(-60..=60)?,
            );
            let drawn = [
                picture::index_map(&a),
                picture::thread_value(&a, b.shape().clone()),
                picture::value_table(&a, b.shape().clone()),
                picture::composition(&a, &b),
                picture::tiling(&a, &b),
                picture::swizzle_compare(&a, swizzle.unwrap_or_default()),
            ];
            for picture in drawn.into_iter().flatten() {
                picture.to_text(false);
            }
        }
        Ok(())
    })
    .budget_ms(2_000)
    .size_max(1024);
}
