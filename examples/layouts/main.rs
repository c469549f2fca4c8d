//! Draws the gallery of layout pictures: `cargo run --example layouts --features plot -- FOLDER [dark]`.
//!
//! Every picture is written as `.svg`, `.png` and `.txt`. Without a folder the pictures are printed as text.

mod gallery;

use std::error::Error;
use std::path::PathBuf;
use tiki_layout::plot::{self, Theme};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let folder = arguments.next().map(PathBuf::from);
    let theme = match arguments.next() {
        Some(word) if word == "dark" => Theme::Dark,
        _ => Theme::Light,
    };
    let pictures = gallery::gallery()?;
    let Some(folder) = folder else {
        for (_, picture) in &pictures {
            println!("{}", picture.to_text(true));
        }
        return Ok(());
    };
    std::fs::create_dir_all(&folder)?;
    for (name, picture) in &pictures {
        std::fs::write(
            folder.join(format!("{name}.svg")),
            plot::svg(picture, theme)?,
        )?;
        std::fs::write(
            folder.join(format!("{name}.png")),
            plot::png(picture, theme)?,
        )?;
        std::fs::write(folder.join(format!("{name}.txt")), picture.to_text(false))?;
    }
    println!("{} pictures in {}", pictures.len(), folder.display());
    Ok(())
}
