//! The repository's files, and Rust text cut into code, strings and comments.

use std::path::{Path, PathBuf};

/// One file of the repository.
pub struct File {
    /// Path from the root, with `/`.
    pub path: String,
    pub text: String,
}

impl File {
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
    /// Part of a crate that others build: no test, example or bench.
    pub fn is_source(&self) -> bool {
        let inner = self.path.split_once("src/").map(|(crate_, _)| crate_);
        let test = self.path.ends_with("/tests.rs") || self.path.contains("/tests/");
        self.is_rust() && !test && inner.is_some_and(|c| c.is_empty() || c.starts_with("tiki-"))
    }
    /// Without what follows the last `#[cfg(test)]` of a module at the end.
    pub fn shipped(&self) -> &str {
        match self.text.rfind("\n#[cfg(test)]\nmod ") {
            Some(at) => &self.text[..at],
            None => &self.text,
        }
    }
}

/// Every text file of the repository: build outputs, hidden folders other than `.ci`, and files that are
/// not text are left out.
pub fn files() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut out = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).expect("a readable folder");
        let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let hidden = name.starts_with('.') && name != ".ci" && name != ".gitignore";
            if hidden || name == "target" || path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                let inner = path.strip_prefix(root).expect("below the root");
                let path = inner.to_string_lossy().replace('\\', "/");
                out.push(File { path, text });
            }
        }
    }
    out.sort_by(|a, b| a.path.cmp(&b.path));
    out
}

/// A stretch of Rust text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Code,
    Text,
    Comment,
}

/// The stretches of Rust text, in order: kind, first line (from 1), text without quotes.
pub fn pieces(text: &str) -> Vec<(Kind, usize, &str)> {
    let bytes = text.as_bytes();
    let (mut out, mut start, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let rest = &text[at..];
        let (kind, skip, length, end) = if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            (Kind::Comment, 0, length, length)
        } else if rest.starts_with("/*") {
            let length = rest.find("*/").map_or(rest.len(), |n| n + 2);
            (Kind::Comment, 0, length, length)
        } else if let Some(hashes) = raw_string(rest, at, bytes) {
            let close = format!("\"{}", "#".repeat(hashes));
            let skip = hashes + 2;
            let length = rest[skip..].find(&close).unwrap_or(rest.len() - skip);
            (Kind::Text, skip, length, skip + length + close.len())
        } else if let Some(inner) = rest.strip_prefix('"') {
            let length = string_length(inner);
            (Kind::Text, 1, length, length + 2)
        } else if let Some(length) = character(rest) {
            (Kind::Text, 1, length - 2, length)
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        out.push((Kind::Code, start, at));
        out.push((kind, at + skip, at + skip + length));
        at = (at + end).min(bytes.len());
        start = at;
    }
    out.push((Kind::Code, start, bytes.len()));
    let (mut line, mut counted) = (1, 0);
    out.retain(|(_, from, to)| from < to);
    out.into_iter()
        .map(|(kind, from, to)| {
            line += text[counted..from].matches('\n').count();
            counted = from;
            (kind, line, &text[from..to])
        })
        .collect()
}

/// The number of `#` of a raw string that begins here.
fn raw_string(rest: &str, at: usize, bytes: &[u8]) -> Option<usize> {
    let inner = rest.strip_prefix('r')?;
    let in_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    let plain_byte = at > 0 && bytes[at - 1] == b'b';
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    ((!in_word || plain_byte) && inner[hashes..].starts_with('"')).then_some(hashes)
}

fn string_length(inner: &str) -> usize {
    let mut escaped = false;
    for (i, c) in inner.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return i,
            _ => {}
        }
    }
    inner.len().saturating_sub(1)
}

/// The length of a character literal that begins here, quotes included: lifetimes are none.
fn character(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    if let Some(escape) = inner.strip_prefix('\\') {
        return escape[1..].find('\'').map(|n| n + 4);
    }
    let c = inner.chars().next()?;
    inner[c.len_utf8()..]
        .starts_with('\'')
        .then_some(c.len_utf8() + 2)
}

/// Whether a word stands in a text, letters, digits and `_` around it excluded.
pub fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(part);
        let after = text[at + word.len()..].chars().next().is_some_and(part);
        !before && !after
    })
}
