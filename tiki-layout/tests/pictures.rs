//! Every picture of the gallery is a golden file: `BLESS=1` rewrites them.

#[path = "../../examples/layouts/gallery.rs"]
mod gallery;

use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/pictures")
}

/// Compares with the golden file, or writes it.
fn golden(name: &str, bytes: &[u8], same: impl Fn(&[u8]) -> bool) -> Option<String> {
    let path = folder().join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(folder()).expect("a writable folder");
        std::fs::write(&path, bytes).expect("a writable file");
        return None;
    }
    match std::fs::read(&path) {
        Ok(old) if same(&old) => None,
        Ok(_) => Some(format!("{name} differs")),
        Err(error) => Some(format!("{name}: {error}")),
    }
}

#[test]
fn text_goldens() {
    let mut wrong = Vec::new();
    for (name, picture) in gallery::gallery().expect("the gallery") {
        let text = picture.to_text(false);
        wrong.extend(golden(&format!("{name}.txt"), text.as_bytes(), |old| {
            old == text.as_bytes()
        }));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[cfg(feature = "plot")]
#[test]
fn drawn_goldens() {
    use tiki_layout::plot::{self, Theme};
    let pixels = |file: &[u8]| {
        let mut reader = png::Decoder::new(std::io::Cursor::new(file.to_vec()))
            .read_info()
            .expect("a PNG file");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
        reader.next_frame(&mut pixels).expect("an image");
        pixels
    };
    let mut wrong = Vec::new();
    for (name, picture) in gallery::gallery().expect("the gallery") {
        // Three pictures in the dark theme too: one of each kind of colour.
        let dark = matches!(
            name,
            "index_row_major_8x8" | "banks_matrix_plain" | "owners_accumulator"
        );
        for (theme, suffix) in [(Theme::Light, ""), (Theme::Dark, "_dark")]
            .into_iter()
            .take(1 + usize::from(dark))
        {
            let svg = plot::svg(&picture, theme).expect("an SVG");
            wrong.extend(golden(
                &format!("{name}{suffix}.svg"),
                svg.as_bytes(),
                |old| old == svg.as_bytes(),
            ));
            let png = plot::png(&picture, theme).expect("a PNG");
            // Pixels, not bytes: compressors may change.
            wrong.extend(golden(&format!("{name}{suffix}.png"), &png, |old| {
                pixels(old) == pixels(&png)
            }));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Invariant: colours add escape codes and nothing else.
/// Witness: the text with the codes taken out.
#[test]
fn coloured_text_is_the_same_text() {
    for (name, picture) in gallery::gallery().expect("the gallery") {
        let (mut plain, mut code) = (String::new(), false);
        for c in picture.to_text(true).chars() {
            match c {
                '\x1b' => code = true,
                'm' if code => code = false,
                c if !code => plain.push(c),
                _ => {}
            }
        }
        let trimmed = plain
            .lines()
            .map(str::trim_end)
            .collect::<Vec<_>>()
            .join("\n")
            + "\n";
        assert_eq!(trimmed, picture.to_text(false), "{name}");
    }
}
