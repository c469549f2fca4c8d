//! `tiki plot layout|fragment|banks`: pictures of layouts, of tensor-core fragments and of bank conflicts.
//!
//! Without `--out` the picture is text in the terminal; with it, the ending decides: `.svg`, `.png` or `.txt`.
//! A layout is in the notation of the algebra, swizzled or not: `(8,64):(64,1)`, `Sw<3,3,3> o 0 o (8,64):(64,1)`.

use crate::outcome::{Kind, Out, Result};
use serde_json::json;
use std::io::IsTerminal;
use std::path::PathBuf;
use tiki_layout::atoms::MmaAtom;
use tiki_layout::banks::SharedAccess;
use tiki_layout::picture::{self, Picture};
use tiki_layout::plot::{self, Theme};
use tiki_layout::{Composed, IndexMap, Layout};

/// Draw layouts, fragments and bank conflicts.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
    /// A file: `.svg`, `.png` or `.txt`
    #[arg(long, global = true)]
    out: Option<PathBuf>,
    /// On a dark ground
    #[arg(long, global = true)]
    dark: bool,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Which offset each coordinate has.
    Layout {
        /// `(8,64):(64,1)` or `Sw<3,3,3> o 0 o (8,64):(64,1)`
        layout: String,
    },
    /// Which thread holds which element of a tensor-core product's operands.
    Fragment {
        /// Shape and bits of the operands: `m16n8k16` with `--bits 16`; `m64nN` for a warpgroup's accumulator
        shape: String,
        /// Bits of an operand's element
        #[arg(long, default_value_t = 16)]
        bits: i64,
    },
    /// Which bank each lane of an access meets.
    Banks {
        /// Where each lane's element lies: lane to offset
        layout: String,
        /// Bytes of an element
        #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(i64).range(1..=16))]
        bytes: i64,
        /// Bytes of one lane's access, or `matrix` for rows of 16 bytes
        #[arg(long, default_value = "4")]
        width: String,
        /// A store, not a load
        #[arg(long)]
        store: bool,
    },
}

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let (picture, facts) = match &args.what {
        What::Layout { layout } => {
            let picture = match mapped(layout)? {
                Mapped::Plain(l) => picture::index_map(&l),
                Mapped::Swizzled(c) => picture::index_map(&c),
            };
            (picture.map_err(wrong)?, json!({ "layout": layout }))
        }
        What::Fragment { shape, bits } => (fragment(shape, *bits)?, json!({ "shape": shape })),
        What::Banks {
            layout,
            bytes,
            width,
            store,
        } => {
            let access = match mapped(layout)? {
                Mapped::Plain(l) => access(&l, *bytes, width, *store)?,
                Mapped::Swizzled(c) => access(&c, *bytes, width, *store)?,
            };
            let report = access.report();
            let picture = picture::bank_map(layout, &access);
            let facts = json!({
                "layout": layout, "wavefronts": report.wavefronts, "excess": report.excess(),
            });
            (picture, facts)
        }
    };
    let theme = if args.dark { Theme::Dark } else { Theme::Light };
    let Some(path) = &args.out else {
        let mut value = facts;
        value["text"] = picture.to_text(false).into();
        let colours = std::io::stdout().is_terminal();
        out.say(value, || picture.to_text(colours));
        return Ok(());
    };
    let bytes = match path.extension().and_then(|e| e.to_str()) {
        Some("svg") => plot::svg(&picture, theme).map(String::into_bytes),
        Some("png") => plot::png(&picture, theme),
        Some("txt") => Ok(picture.to_text(false).into_bytes()),
        _ => {
            let text = format!("{} ends in none of .svg, .png, .txt", path.display());
            return Err(Kind::Usage.because(text));
        }
    };
    let bytes = bytes.map_err(|e| Kind::Wrong.because(e.to_string()))?;
    std::fs::write(path, bytes)
        .map_err(|e| Kind::File.because(format!("{} could not be written: {e}", path.display())))?;
    let mut value = facts;
    value["file"] = path.display().to_string().into();
    out.say(value, || format!("{}\n", path.display()));
    Ok(())
}

enum Mapped {
    Plain(Layout),
    Swizzled(Composed),
}

fn mapped(text: &str) -> Result<Mapped> {
    if let Ok(layout) = Layout::parse(text) {
        return Ok(Mapped::Plain(layout));
    }
    let composed = Composed::parse(text);
    composed
        .map(Mapped::Swizzled)
        .map_err(|e| Kind::Usage.because(format!("`{text}` is no layout: {e}")))
}

fn access(map: &impl IndexMap, bytes: i64, width: &str, store: bool) -> Result<SharedAccess> {
    let access = if width == "matrix" {
        SharedAccess::matrices_of_map(map, bytes)
    } else {
        let width = width
            .parse()
            .map_err(|_| Kind::Usage.because(format!("`--width {width}`: bytes, or `matrix`")))?;
        match store {
            true => SharedAccess::store_of_map(map, bytes, width),
            false => SharedAccess::load_of_map(map, bytes, width),
        }
    };
    access.map_err(|e| Kind::Wrong.because(e.to_string()))
}

/// `m16n8k16`, `m64n128`.
fn fragment(shape: &str, bits: i64) -> Result<Picture> {
    let usage = || {
        Kind::Usage.because(format!(
            "`{shape}` is no shape: `m16n8k16`, or `m64n128` for a warpgroup"
        ))
    };
    let rest = shape.strip_prefix('m').ok_or_else(usage)?;
    let (m, rest) = rest.split_once('n').ok_or_else(usage)?;
    let m: i64 = m.parse().map_err(|_| usage())?;
    match rest.split_once('k') {
        Some((n, k)) => {
            let (n, k) = (
                n.parse().map_err(|_| usage())?,
                k.parse().map_err(|_| usage())?,
            );
            let atom = MmaAtom::warp(m, n, k, bits).map_err(wrong)?;
            picture::fragments(&format!("{shape}, {bits}-bit operands"), &atom).map_err(wrong)
        }
        None => {
            let n: i64 = rest.parse().map_err(|_| usage())?;
            if m != 64 {
                return Err(usage());
            }
            picture::warpgroup_accumulator(n).map_err(wrong)
        }
    }
}

fn wrong(error: tiki_layout::Error) -> crate::outcome::Failure {
    Kind::Wrong.because(error.to_string())
}
