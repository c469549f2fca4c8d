//! Where a build leaves texts: `tiki` in cargo's target directory, a folder a crate.
//!
//! A macro is not told the target directory. rustc is (`--out-dir`), and a macro runs inside rustc; where
//! that says nothing (rust-analyzer), it is looked for above the crate. Cargo marks the directory.
//!
//! Nor is it told the module that it stands in, and two modules may have kernels of one name: the second in the
//! order of expansion, which is the same in every build of a source, gets a number ([`stem`]).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What cargo leaves in a target directory. The first stands only where cargo made the directory itself.
const MARKS: [&str; 2] = ["CACHEDIR.TAG", ".rustc_info.json"];

/// The first part of the names of a kernel's files: its name, behind that of the set if it is a set's, and from the
/// second of that name in a crate on a number.
///
/// Each kernel is expanded once in a compiler's process. Another process that expands (rust-analyzer) does so again
/// and again; there, a name is a name.
pub(crate) fn stem(set: Option<&str>, kernel: &str) -> String {
    static TAKEN: Mutex<Option<HashMap<String, u32>>> = Mutex::new(None);
    let name = match set {
        Some(set) => format!("{set}.{kernel}"),
        None => kernel.to_owned(),
    };
    if !std::env::args_os().any(|arg| arg == "--crate-name") {
        return name;
    }
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    numbered(taken.get_or_insert_default(), name)
}

/// `name`, `name-2`, `name-3`.
fn numbered(taken: &mut HashMap<String, u32>, name: String) -> String {
    let count = taken.entry(name.clone()).or_insert(0);
    *count += 1;
    match *count {
        1 => name,
        n => format!("{name}-{n}"),
    }
}

/// The folder of texts, if cargo's target directory is known.
fn of_target() -> Option<PathBuf> {
    let mut args = std::env::args_os();
    let out = args.find_map(|arg| {
        let arg = arg.to_str()?.strip_prefix("--out-dir")?.to_owned();
        Some(arg)
    });
    let out = match out {
        Some(inline) if inline.starts_with('=') => Some(PathBuf::from(&inline[1..])),
        Some(_) => args.next().map(PathBuf::from),
        None => None,
    };
    let is_target = |f: &Path| MARKS.iter().any(|mark| f.join(mark).is_file());
    let above = |path: &Path| {
        let mut folders = path.ancestors();
        folders.find(|f| is_target(f)).map(Path::to_owned)
    };
    let target = out.as_deref().and_then(above).or_else(|| {
        let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
        let mut targets = root.ancestors().map(|f| f.join("target"));
        targets.find(|t| is_target(t))
    })?;
    Some(target.join("tiki"))
}

/// Where dumps go: `TIKI_DUMP_DIR`, or the folder in the target directory, wherever that is.
pub(crate) fn of_dumps() -> PathBuf {
    let mut folder = match std::env::var_os("TIKI_DUMP_DIR") {
        Some(path) => PathBuf::from(path),
        None => of_target().unwrap_or_else(|| {
            let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
            Path::new(&root).join("target").join("tiki")
        }),
    };
    folder.extend(std::env::var_os("CARGO_CRATE_NAME"));
    folder
}

/// Where a build keeps what it need not compile again; nowhere if there is no target directory, if the
/// crate has no name (a doctest) or if `TIKI_CACHE` is `off`.
pub(crate) fn of_kept() -> Option<PathBuf> {
    if std::env::var_os("TIKI_CACHE").is_some_and(|v| v == "off") {
        return None;
    }
    Some(of_target()?.join(std::env::var_os("CARGO_CRATE_NAME")?))
}

/// Writes a file as a whole or not at all: readers and other builds see the old one or the new one.
pub(crate) fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let draft = path.with_extension(format!("draft-{}-{count}", std::process::id()));
    std::fs::write(&draft, text)?;
    std::fs::rename(&draft, path).inspect_err(|_| {
        let _ = std::fs::remove_file(&draft);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let mut taken = HashMap::new();
        let names = ["scaled", "scaled", "Mine.scaled", "scaled", "Mine.scaled"];
        let given = names.map(|n| numbered(&mut taken, n.to_owned()));
        let wanted = [
            "scaled",
            "scaled-2",
            "Mine.scaled",
            "scaled-3",
            "Mine.scaled-2",
        ];
        assert_eq!(given, wanted);
    }
}
