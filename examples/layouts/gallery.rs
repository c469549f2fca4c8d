//! The pictures of the gallery: one function that lists them, used by the example and by the tests that hold every
//! picture against the algebra.

use std::error::Error;
use tiki_layout::atoms::MmaAtom;
use tiki_layout::banks::SharedAccess;
use tiki_layout::picture::{self, Picture};
use tiki_layout::{Composed, Layout, Swizzle, Tiler};

/// The eight rows of a matrix load at one column of 16-byte units, and the next three columns.
pub fn matrix_rows(swizzle: Swizzle) -> Result<SharedAccess, Box<dyn Error>> {
    let rows = Composed::new(swizzle, 0, Layout::parse("(8,4):(64,8)")?)?;
    Ok(SharedAccess::matrices_of_map(&rows, 2)?)
}

/// Name and picture, in the order of an introduction to layouts.
pub fn gallery() -> Result<Vec<(&'static str, Picture)>, Box<dyn Error>> {
    let atom = Swizzle::new(3, 3, 3)?;
    let small = |text: &str| -> Result<Picture, Box<dyn Error>> {
        Ok(picture::index_map(&Layout::parse(text)?)?)
    };
    let column: Vec<Option<i64>> = (0..32).map(|lane| Some(lane * 128)).collect();
    let padded: Vec<Option<i64>> = (0..32).map(|lane| Some(lane * 132)).collect();
    Ok(vec![
        ("index_2x2", small("(2,2):(1,2)")?),
        ("index_row_major_8x8", small("(8,8):(8,1)")?),
        ("index_nested_8x8", small("((2,4),(2,4)):((1,8),(2,16))")?),
        (
            "index_swizzled_8x64",
            picture::index_map(&Composed::parse("Sw<3,3,3> o 0 o (8,64):(64,1)")?)?,
        ),
        (
            "index_32x32",
            picture::index_map(&Composed::parse("Sw<5,0,5> o 0 o (32,32):(32,1)")?)?,
        ),
        (
            "index_tiled_64x64",
            small("((8,8),(8,8)):((8,512),(1,64))")?,
        ),
        (
            "index_128x128",
            small("((16,8),(16,8)):((1,2048),(16,256))")?,
        ),
        (
            "swizzle_8x8",
            picture::swizzle_compare(&Layout::parse("(8,8):(8,1)")?, Swizzle::new(3, 0, 3)?)?,
        ),
        (
            "swizzle_units_8x64",
            picture::swizzle_compare(&Layout::parse("(8,(8,8)):(64,(1,8))")?, atom)?,
        ),
        (
            "swizzle_128x128",
            picture::swizzle_compare(&Layout::parse("(128,128):(128,1)")?, Swizzle::new(3, 4, 3)?)?,
        ),
        (
            "banks_column",
            picture::bank_map("column of 32 x 32 floats", &SharedAccess::load(4, column)?),
        ),
        (
            "banks_padded",
            picture::bank_map(
                "the same column, rows padded by one float",
                &SharedAccess::load(4, padded)?,
            ),
        ),
        (
            "banks_matrix_plain",
            picture::bank_map(
                "ldmatrix.x4 on (8,64):(64,1), 16 bits",
                &matrix_rows(Swizzle::IDENTITY)?,
            ),
        ),
        (
            "banks_matrix_swizzled",
            picture::bank_map(
                "ldmatrix.x4 on Sw<3,3,3> o (8,64):(64,1)",
                &matrix_rows(atom)?,
            ),
        ),
        (
            "owners_accumulator",
            picture::thread_value(&MmaAtom::warp(16, 8, 16, 16)?.c, [16, 8])?,
        ),
        (
            "values_accumulator",
            picture::value_table(&MmaAtom::warp(16, 8, 16, 16)?.c, [16, 8])?,
        ),
        (
            "owners_copy_32x64",
            picture::thread_value(&Layout::parse("((8,32),8):((256,1),32)")?, [32, 64])?,
        ),
        (
            "fragments_m16n8k16",
            picture::fragments("mma.sync, 16-bit", &MmaAtom::warp(16, 8, 16, 16)?)?,
        ),
        (
            "fragments_m16n8k8_tf32",
            picture::fragments("mma.sync, 32-bit", &MmaAtom::warp(16, 8, 8, 32)?)?,
        ),
        ("accumulator_m64n32", picture::warpgroup_accumulator(32)?),
        ("accumulator_m64n128", picture::warpgroup_accumulator(128)?),
        (
            "composition_steps",
            picture::composition(
                &Layout::parse("(6,4):(4,1)")?,
                &Layout::parse("(3,4):(2,6)")?,
            )?,
        ),
        (
            "tiling_8x16",
            picture::tiling(&Layout::parse("(8,16):(16,1)")?, Tiler::parse("<4,8>")?)?,
        ),
        (
            "tiling_strided_6x8",
            picture::tiling(&Layout::parse("(6,8):(8,1)")?, Tiler::parse("<2:3,4:2>")?)?,
        ),
    ])
}
