//! Wavefronts of shared accesses and the choice of a swizzle.

use super::case::{Answer, Case, Outcome, Part, Row};
use serde_json::{Value, json};
use tiki_layout::banks::{BankError, SharedAccess, TileAccess, choose_swizzle};
use tiki_layout::{Composed, Error, Layout, Swizzle};

pub const ROWS: &[Row] = &[
    Row::new("bank_wavefronts", wavefronts),
    Row::new("swizzle_search", search),
];

/// No case makes these; a refusal would be judged as a wrong answer.
fn refused(error: BankError) -> Error {
    match error {
        BankError::Layout(error) => error,
        other => Error::Unknown {
            op: "banks",
            name: other.to_string(),
        },
    }
}

fn wavefronts(c: &Case) -> Outcome {
    let swizzle = match c.has("swizzle") {
        true => c.get("swizzle"),
        false => Swizzle::IDENTITY,
    };
    let lanes = Composed::new(swizzle, 0, c.get::<Layout>("lane_to_offset"))?;
    let access = SharedAccess::store_of_map(&lanes, c.int("element_bytes"), c.int("access_bytes"));
    let access = access.map_err(refused)?;
    let report = access.report();
    let wavefronts: Vec<_> = report.phases.iter().map(|p| p.wavefronts).collect();
    let ideals: Vec<_> = report.phases.iter().map(|p| p.ideal).collect();
    Ok(Answer::Record(vec![
        ("wavefronts_per_phase", Part::Json(json!(wavefronts))),
        ("wavefronts", Part::Json(json!(report.wavefronts))),
        ("min_wavefronts_per_phase", Part::Json(json!(ideals))),
        ("min_wavefronts", Part::Json(json!(report.ideal))),
        ("excess", Part::Json(json!(report.excess()))),
        ("addresses", Part::Json(json!(access.addresses()))),
    ]))
}

/// The tile is written by rows of vectors and read by columns of them, eight rows at a time.
fn search(c: &Case) -> Outcome {
    let (bytes, vector) = (
        c.int("element_bytes"),
        c.int("vector_bytes") / c.int("element_bytes"),
    );
    let tile = c.get::<Layout>("tile");
    let (rows, pitch) = tile.leaves()[0];
    let chunks = tile.leaves()[1].0 / vector;
    let by_rows = Layout::new([chunks, rows], [vector, pitch])?;
    let by_columns = Layout::new([rows, chunks], [pitch, vector])?;
    let accesses = [
        TileAccess::stores(&by_rows, bytes, c.int("vector_bytes")).map_err(refused)?,
        TileAccess::matrices(&by_columns, bytes).map_err(refused)?,
    ];
    let best = choose_swizzle(bytes, &accesses).map_err(refused)?;
    let swizzle = best.swizzle.unwrap_or_default();
    // Any of the recorded ones is right; the fewest bits are asked for by `minimal_bits`.
    let name = json!(swizzle.to_string());
    let listed = c.expect["optimal"].as_array();
    let optimal = match listed.is_some_and(|list| list.contains(&name)) {
        true => c.expect["optimal"].clone(),
        false => Value::from(vec![name]),
    };
    Ok(Answer::Record(vec![
        ("unswizzled_wavefronts", Part::Json(json!(best.unswizzled))),
        ("min_wavefronts", Part::Json(json!(best.bound))),
        ("best_wavefronts", Part::Json(json!(best.wavefronts))),
        (
            "conflict_free",
            Part::Json(json!(best.wavefronts == best.bound)),
        ),
        ("minimal_bits", Part::Json(json!(swizzle.bits()))),
        ("optimal", Part::Json(optimal)),
    ]))
}
