//! Where the cache is, and what may be done with it.

use std::ffi::OsString;
use std::path::PathBuf;

/// What may be done with the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing: every process assembles for itself.
    Off,
    /// Entries are used; none is written, touched or removed.
    ReadOnly,
    /// Entries are used and made.
    ReadWrite,
}

impl Mode {
    /// All modes, by the names that `TIKI_CACHE` takes.
    pub const NAMES: &[(&str, Mode)] = &[
        ("off", Mode::Off),
        ("read-only", Mode::ReadOnly),
        ("read-write", Mode::ReadWrite),
        ("ro", Mode::ReadOnly),
        ("rw", Mode::ReadWrite),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        let row = Mode::NAMES.iter().find(|(_, mode)| *mode == self);
        row.map_or("", |(name, _)| name)
    }
}

/// The cache as someone wants it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What may be done.
    pub mode: Mode,
    /// The folder; none if nobody says where, which is as `Off`.
    pub folder: Option<PathBuf>,
    /// Bytes of all entries together.
    pub limit: u64,
    /// What in the environment could not be understood.
    pub problems: Vec<String>,
}

/// Bytes of all entries unless said.
const LIMIT: u64 = 1 << 30;

impl Settings {
    /// As the environment says: `TIKI_CACHE`, `TIKI_CACHE_DIR`, `TIKI_CACHE_LIMIT`.
    #[must_use]
    pub fn from_env() -> Settings {
        Settings::from(|name| std::env::var_os(name).filter(|v| !v.is_empty()))
    }

    /// As these variables say.
    #[must_use]
    pub fn from(variable: impl Fn(&str) -> Option<OsString>) -> Settings {
        let mut problems = Vec::new();
        let mut text = |name: &str| {
            let value = variable(name)?;
            let text = value.to_str().map(str::to_owned);
            if text.is_none() {
                problems.push(format!("{name} is no text"));
            }
            text
        };
        let (mode, limit) = (text("TIKI_CACHE"), text("TIKI_CACHE_LIMIT"));
        let mode = mode.map_or(Mode::ReadWrite, |given| {
            let row = Mode::NAMES.iter().find(|(name, _)| *name == given);
            row.map_or_else(
                || {
                    problems.push(format!(
                        "TIKI_CACHE is `{given}`: it takes `off`, `read-only` or `read-write`"
                    ));
                    Mode::Off
                },
                |(_, mode)| *mode,
            )
        });
        let limit = limit.map_or(LIMIT, |given| {
            given.parse().unwrap_or_else(|_| {
                problems.push(format!("TIKI_CACHE_LIMIT is `{given}`: it takes bytes"));
                LIMIT
            })
        });
        Settings {
            mode,
            folder: folder(&variable),
            limit,
            problems,
        }
    }
}

/// `TIKI_CACHE_DIR`, or `tiki` in the user's cache directory as the system has it.
fn folder(variable: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(folder) = variable("TIKI_CACHE_DIR") {
        return Some(folder.into());
    }
    let absolute = |name: &str| {
        let path = PathBuf::from(variable(name)?);
        path.is_absolute().then_some(path)
    };
    let caches = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("HOME").map(|home| home.join("Library").join("Caches"))
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
    };
    caches.map(|caches| caches.join("tiki"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Settings {
        Settings::from(|name| {
            let row = variables.iter().find(|(n, _)| *n == name);
            row.map(|(_, value)| value.into())
        })
    }

    #[test]
    fn the_environment_decides() {
        let set = with(&[
            ("TIKI_CACHE", "ro"),
            ("TIKI_CACHE_DIR", "here"),
            ("HOME", "/h"),
        ]);
        assert_eq!(
            (set.mode, set.folder),
            (Mode::ReadOnly, Some("here".into()))
        );
        let set = with(&[("TIKI_CACHE_LIMIT", "4096")]);
        assert_eq!((set.mode, set.limit), (Mode::ReadWrite, 4096));
        assert!(set.problems.is_empty());
    }

    #[test]
    fn what_is_misspelt_is_told() {
        let set = with(&[("TIKI_CACHE", "yes"), ("TIKI_CACHE_LIMIT", "1 GB")]);
        assert_eq!((set.mode, set.limit), (Mode::Off, LIMIT));
        assert_eq!(set.problems.len(), 2);
    }

    #[test]
    fn without_a_home_there_is_no_folder() {
        assert_eq!(with(&[]).folder, None);
    }
}
