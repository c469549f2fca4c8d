//! Atoms and what is tiled from them. CuTe's instruction names are read here and become shapes and widths.

use super::case::{Answer, Case, Outcome, Part, Row, composed, layout};
use super::layouts::order;
use serde_json::Value;
use tiki_layout::atoms::{
    CopyAtom, CopyMap, Datapath, Major, MmaAtom, Operand, QuadOperand, SharedAtom, TiledCopy,
    TiledMma,
};
use tiki_layout::{Error, Layout, Tiler, Tuple};

pub const ROWS: &[Row] = &[
    Row::new("mma_atom", mma_record).law(fragments_are_whole),
    Row::new("mma_atom_sm90_gmma", mma_record),
    Row::new("mma_atom_sm100", mma_record),
    Row::new("gmma_c_layout", |c| {
        layout(MmaAtom::warpgroup_accumulator(c.int("n")))
    }),
    Row::new("gmma_smem_atom", |c| composed(shared(c))),
    Row::new("gmma_smem_tile", |c| {
        composed(shared(c)?.tile_to_shape(c.get::<Tuple>("target"), order(c, "order")))
    })
    .law(tile_is_whole),
    Row::new("copy_atom_bits", copy_bits),
    Row::new("copy_atom_tmem_bits", copy_bits),
    Row::new("copy_atom", copy_values),
    Row::new("tiled_mma", tiled_mma_record),
    Row::new("tiled_mma_partition", |c| {
        layout(tiled_mma(c)?.partition(operand(c), &c.get("a")))
    }),
    Row::new("tiled_copy", |c| {
        let map = CopyMap::by_threads_and_values(&c.get("thr"), &c.get("val"))?;
        tiled_copy_record(
            copy_atom(&c.text("op"))?.of_width(width(&c.text("type")))?,
            map,
        )
    })
    .law(copies_the_tile),
    Row::new("tiled_copy_mma", tiled_copy_of_mma).law(copies_the_tile),
    Row::new("make_cotiled_copy", |c| {
        tiled_copy_record(
            CopyAtom::element()?,
            CopyMap::of_addresses(&c.get("atom_tv"), &c.get("data"))?,
        )
    })
    .law(copies_the_tile),
];

/// Element types by their names in instructions, the longest first.
const TYPES: &[(&str, i64)] = &[
    ("TF32", 32),
    ("BF16", 16),
    ("E4M3", 8),
    ("E5M2", 8),
    ("F64", 64),
    ("C64", 64),
    ("F32", 32),
    ("F16", 16),
    ("S32", 32),
    ("S8", 8),
    ("U8", 8),
    ("S4", 4),
    ("U4", 4),
    ("U1", 1),
];

/// Element types by the names the cases use.
fn width(name: &str) -> i64 {
    let digits: String = name
        .trim_start_matches(|c: char| !c.is_ascii_digit())
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    match name {
        "e4m3" | "e5m2" => 8,
        _ => digits
            .parse()
            .unwrap_or_else(|_| panic!("unknown type {name}")),
    }
}

/// The types in a name such as `F32F16F16F32`, from the left.
fn type_list(mut text: &str) -> Vec<i64> {
    let mut widths = Vec::new();
    while let Some((name, width)) = TYPES.iter().find(|(name, _)| text.starts_with(name)) {
        widths.push(*width);
        text = &text[name.len()..];
    }
    widths
}

/// `16x8x16` in a name.
fn extents(word: &str) -> Option<[i64; 3]> {
    let numbers: Vec<i64> = word
        .split('x')
        .map(|n| n.parse().ok())
        .collect::<Option<_>>()?;
    numbers.try_into().ok()
}

fn unknown(name: &str) -> Error {
    Error::Unknown {
        op: "instruction",
        name: name.to_string(),
    }
}

fn mma_atom(name: &str) -> Result<MmaAtom, Error> {
    if let Some(k) = name.strip_prefix("SM61_DP") {
        return MmaAtom::scalar(k[..1].parse().expect("DP2A or DP4A"));
    }
    if name.starts_with("UniversalFMA") {
        return MmaAtom::scalar(1);
    }
    let words: Vec<&str> = name.split('_').collect();
    if words[0] == "SM100" {
        let arguments: Vec<&str> = name[name.find('<').ok_or(unknown(name))? + 1..]
            .split(',')
            .collect();
        let element = if arguments[0].starts_with("tfloat32") {
            32
        } else if arguments[0].contains("half") || arguments[0].contains("bf") {
            16
        } else {
            8
        };
        let number = |i: usize| arguments[i].parse::<i64>().map_err(|_| unknown(name));
        return MmaAtom::in_memory(
            number(3)?,
            number(4)?,
            256 / element,
            if name.contains("2x1SM") { 2 } else { 1 },
        );
    }
    let [m, n, k] = extents(words[1]).ok_or(unknown(name))?;
    if words[0] == "SM70" {
        let lie = |c: char, along: char| {
            if c == along {
                QuadOperand::AlongK
            } else {
                QuadOperand::AlongRows
            }
        };
        let order: Vec<char> = words[3].chars().collect();
        return MmaAtom::quad_pair(
            lie(order[0], 'T'),
            lie(order[1], 'N'),
            type_list(words[2])[0] == 32,
        );
    }
    if words[0] == "SM120" {
        return MmaAtom::warp(m, n, k, 256 / k);
    }
    let widths = type_list(words[2]);
    let a = *widths.get(1).ok_or(unknown(name))?;
    if m == 64 {
        MmaAtom::warpgroup(n, a, words[3].starts_with("RS"))
    } else {
        MmaAtom::warp(m, n, k, a)
    }
}

fn mma_record(case: &Case) -> Outcome {
    let atom = mma_atom(&case.text("op"))?;
    Ok(Answer::Record(vec![
        (
            "shape_mnk",
            Part::Text(format!("({},{},{})", atom.m, atom.n, atom.k)),
        ),
        ("thr_id", Part::Layout(atom.threads)),
        ("A", Part::Layout(atom.a)),
        ("B", Part::Layout(atom.b)),
        ("C", Part::Layout(atom.c)),
    ]))
}

/// Every element of every operand belongs to one (thread, value).
fn fragments_are_whole(_: &Case, answer: &Answer) -> Result<(), String> {
    let Answer::Record(parts) = answer else {
        return Err("it is no record".to_string());
    };
    for (name, part) in parts {
        if let ("A" | "B" | "C", Part::Layout(layout)) = (*name, part) {
            let mut offsets: Vec<i64> = layout.offsets().collect();
            offsets.sort_unstable();
            if !offsets.iter().copied().eq(0..layout.size()) {
                return Err(format!("{name} = {layout} leaves gaps"));
            }
        }
    }
    Ok(())
}

fn shared(case: &Case) -> Result<tiki_layout::Composed, Error> {
    let kind = case.text("kind");
    let atom = match kind.as_str() {
        "INTER" => SharedAtom::PLAIN,
        "SW32" => SharedAtom::B32,
        "SW64" => SharedAtom::B64,
        "SW128" => SharedAtom::B128,
        "SW128_32B" => SharedAtom::B128_UNIT32,
        _ => return Err(unknown(&kind)),
    };
    let major = if case.text("major") == "K" {
        Major::K
    } else {
        Major::Mn
    };
    atom.layout(major, width(&case.text("type")))
}

fn copy_atom(name: &str) -> Result<CopyAtom, Error> {
    let between = |from: &str, to: &str| -> Option<i64> {
        let rest = &name[name.find(from)? + from.len()..];
        rest[..rest.find(to)?].parse().ok()
    };
    let need = |number: Option<i64>| number.ok_or(unknown(name));
    let (load, store) = (name.contains("LDSM"), name.contains("STSM"));
    if name.contains("TMEM") {
        return tensor_memory(name);
    }
    if name.contains("_DU8x16_x") {
        return CopyAtom::load_matrices(need(between("_DU8x16_x", "_"))?, false);
    }
    if let Some(count) = between("_U32x", "_") {
        return match (load, store) {
            (true, _) => CopyAtom::load_matrices(count, false),
            (_, true) => CopyAtom::store_matrices(count, false),
            _ => CopyAtom::move_matrix(),
        };
    }
    if let Some(elements) = between("_U16x", "_") {
        return if load {
            CopyAtom::load_matrices(elements / 2, true)
        } else {
            CopyAtom::store_matrices(elements / 2, true)
        };
    }
    if let Some(elements) = between("_U8x", "_") {
        return if load {
            CopyAtom::load_byte_matrices(elements / 8)
        } else {
            CopyAtom::store_byte_matrices(elements / 4)
        };
    }
    if let Some(distance) = name.strip_prefix("SM50_Shuffle_U32_2x2Trans_XOR") {
        return CopyAtom::exchange(distance.parse().map_err(|_| unknown(name))?);
    }
    if let Some(bits) = between("<uint", "_t>") {
        return CopyAtom::plain(bits);
    }
    match name {
        "DefaultCopy" => CopyAtom::element(),
        _ if name.starts_with("AutoVectorizing") => CopyAtom::element(),
        _ if name.ends_with("<double>") => CopyAtom::plain(64),
        _ => Err(unknown(name)),
    }
}

/// `SM100_TMEM_LOAD_16dp256b4x_16b`
fn tensor_memory(name: &str) -> Result<CopyAtom, Error> {
    let word = name
        .split('_')
        .find(|word| word.contains("dp"))
        .ok_or(unknown(name))?;
    let (path, rest) = word.split_once('b').ok_or(unknown(name))?;
    let path = match path {
        "16dp256" => Datapath::Lanes16Bits256,
        "16dp128" => Datapath::Lanes16Bits128,
        "16dp64" => Datapath::Lanes16Bits64,
        "16dp32" => Datapath::Lanes16Bits32,
        "32dp32" => Datapath::Lanes32Bits32,
        _ => return Err(unknown(name)),
    };
    let steps = rest
        .trim_end_matches('x')
        .parse()
        .map_err(|_| unknown(name))?;
    CopyAtom::tensor_memory(path, steps, name.contains("STORE"))
}

fn copy_bits(case: &Case) -> Outcome {
    let atom = copy_atom(&case.text("op"))?;
    Ok(Answer::Record(vec![
        ("thr_id", Part::Layout(atom.threads)),
        ("src_bits", Part::Layout(atom.source)),
        ("dst_bits", Part::Layout(atom.destination)),
        ("ref_bits", Part::Layout(atom.reference)),
    ]))
}

fn copy_values(case: &Case) -> Outcome {
    let atom = copy_atom(&case.text("op"))?.of_width(width(&case.text("type")))?;
    let count = |layout: &Layout| {
        layout
            .mode(1)
            .map(|mode| Part::Json(Value::from(mode.size())))
    };
    Ok(Answer::Record(vec![
        ("num_val_src", count(&atom.source)?),
        ("num_val_dst", count(&atom.destination)?),
        ("thr_id", Part::Layout(atom.threads)),
        ("src", Part::Layout(atom.source)),
        ("dst", Part::Layout(atom.destination)),
        ("ref", Part::Layout(atom.reference)),
    ]))
}

/// One entry of `Tile<..>`: `Underscore`, `_32`, or `Layout<Shape<..>,Stride<..>>`.
fn permutation(text: &str) -> [Option<Layout>; 3] {
    let mut inner = text
        .strip_prefix("Tile<")
        .and_then(|t| t.strip_suffix('>'))
        .expect("Tile<..>");
    let mut out = [None, None, None];
    for entry in &mut out {
        let mut depth = 0;
        let end = inner.char_indices().find(|(_, c)| {
            depth += i32::from(*c == '<') - i32::from(*c == '>');
            *c == ',' && depth == 0
        });
        let (word, rest) = end.map_or((inner, ""), |(i, _)| (&inner[..i], &inner[i + 1..]));
        inner = rest;
        if word == "Underscore" || word.is_empty() {
            continue;
        }
        let notation = match word.strip_prefix("Layout<Shape<") {
            Some(rest) => {
                let (shape, stride) = rest.split_once(">,Stride<").expect("a stride");
                format!("({shape}):({})", stride.trim_end_matches('>'))
            }
            None => format!("{word}:1"),
        };
        *entry = Some(notation.parse().expect("a permutation"));
    }
    out
}

fn tiled_mma(case: &Case) -> Result<TiledMma, Error> {
    TiledMma::new(
        mma_atom(&case.text("atom"))?,
        &case.get("thr"),
        permutation(&case.text("perm")),
    )
}

fn operand(case: &Case) -> Operand {
    match case.text("operand").as_str() {
        "A" => Operand::A,
        "B" => Operand::B,
        _ => Operand::C,
    }
}

fn tiled_mma_record(case: &Case) -> Outcome {
    let mma = tiled_mma(case)?;
    let tile = [mma.tile_size(0)?, mma.tile_size(1)?, mma.tile_size(2)?];
    Ok(Answer::Record(vec![
        ("thr_layout_vmnk", Part::Layout(mma.threads().clone())),
        ("tile_mnk", Part::Text(Tuple::from(tile).to_string())),
        ("A", Part::Layout(mma.layout_tv(Operand::A)?)),
        ("B", Part::Layout(mma.layout_tv(Operand::B)?)),
        ("C", Part::Layout(mma.layout_tv(Operand::C)?)),
    ]))
}

fn tiled_copy_record(atom: CopyAtom, map: CopyMap) -> Outcome {
    let copy = TiledCopy::new(atom, map)?;
    let map = copy.map();
    Ok(Answer::Record(vec![
        ("tiler", Part::Tiler(map.tiler())),
        ("tv", Part::Layout(map.tv.clone())),
        ("src_tv", Part::Layout(copy.source_tv()?)),
        ("dst_tv", Part::Layout(copy.destination_tv()?)),
    ]))
}

fn tiled_copy_of_mma(case: &Case) -> Outcome {
    let mma = tiled_mma(case)?;
    let atom = copy_atom(&case.text("op"))?.of_width(width(&case.text("type")))?;
    let map = if case.text("operand") == "C_atom" {
        CopyMap::of_accumulator_part(&mma, atom.source.mode(1)?.size())?
    } else {
        CopyMap::of_operand(&mma, operand(case))?
    };
    tiled_copy_record(atom, map)
}

/// A tiler is compared as a tiler: `<8,_>` and `<8:1,_>` are the same.
pub fn same_tiler(tiler: &Tiler, want: &str) -> Result<(), String> {
    match want.parse::<Tiler>() {
        Ok(wanted) if wanted == *tiler => Ok(()),
        _ => Err(format!("{tiler}, want {want}")),
    }
}

/// Every element of the shared tile has a place of its own.
fn tile_is_whole(_: &Case, answer: &Answer) -> Result<(), String> {
    let Answer::Composed(tile) = answer else {
        return Err("it is no layout".to_string());
    };
    let mut offsets: Vec<i64> = tile.offsets().collect();
    offsets.sort_unstable();
    if offsets.iter().copied().eq(0..tile.size()) {
        Ok(())
    } else {
        Err("the tile has gaps".to_string())
    }
}

/// Source and destination touch the same elements, those of the map.
fn copies_the_tile(_: &Case, answer: &Answer) -> Result<(), String> {
    let Answer::Record(parts) = answer else {
        return Err("it is no record".to_string());
    };
    let mut sets = parts.iter().filter_map(|(_, part)| match part {
        Part::Layout(layout) => Some(
            layout
                .offsets()
                .collect::<std::collections::BTreeSet<i64>>(),
        ),
        _ => None,
    });
    let first = sets.next();
    if sets.all(|set| Some(&set) == first.as_ref()) {
        Ok(())
    } else {
        Err("the sides differ".to_string())
    }
}
