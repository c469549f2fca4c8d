//! NVIDIA's assembler, where there is one: PTX to machine code that can be kept.
//!
//! The driver assembles any text by itself, and as a whole, but does not hand out what it made. Its linker does hand it
//! out; but what is linked is assembled as a part of something larger, and that is other code: `setmaxnreg` is ignored,
//! shared memory has no fixed addresses, accumulators spill. So machine code to keep, or to look at, comes from `ptxas`:
//! the program that `TIKI_PTXAS` names (`off`: none), else `ptxas` of the path, of `CUDA_HOME` or `CUDA_PATH`, of
//! `/usr/local/cuda`. Without one the driver assembles, and keeps what it made in a cache of its own.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;

use tiki_kernel::target::Arch;

/// What it is asked for beside the architecture.
pub(crate) const OPTIONS: &[&str] = &["-lineinfo", "-v"];

/// A program that assembles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assembler {
    program: PathBuf,
    /// Tells one file of the program from another without running it: its length and the time of its last change.
    stamp: String,
}

/// What came of a text.
#[derive(Debug)]
pub(crate) struct Assembled {
    pub cubin: Vec<u8>,
    /// The assembler's own words.
    pub log: String,
}

/// Why nothing came of a text.
#[derive(Debug)]
pub(crate) struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Refusal {
        Refusal(error.to_string())
    }
}

impl Assembler {
    /// The assembler of this process, looked for once. A name that leads to none is told.
    #[must_use]
    pub fn find() -> Option<&'static Assembler> {
        static FOUND: OnceLock<Option<Assembler>> = OnceLock::new();
        let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
        FOUND
            .get_or_init(|| {
                let found = Assembler::of(variable);
                if let (None, Some(named)) = (&found, variable(VARIABLE).filter(|v| v != OFF)) {
                    let named = Path::new(&named).display();
                    eprintln!("warning: tiki: {VARIABLE} is `{named}`, which is no program: the driver assembles");
                }
                found
            })
            .as_ref()
    }

    /// The assembler that an environment names.
    #[must_use]
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Option<Assembler> {
        let named = variable(VARIABLE).map(PathBuf::from);
        let name = match &named {
            Some(named) if named.as_os_str() == OFF => return None,
            Some(named) if named.components().count() > 1 => return Assembler::at(named),
            Some(named) => named.as_path(),
            None => Path::new(NAME),
        };
        let path = variable("PATH").unwrap_or_default();
        let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable);
        std::env::split_paths(&path)
            .chain(toolkits.map(|root| PathBuf::from(root).join("bin")))
            .chain([PathBuf::from("/usr/local/cuda/bin")])
            .find_map(|folder| Assembler::at(&folder.join(name)))
    }

    /// The assembler of this file, if there is one.
    fn at(program: &Path) -> Option<Assembler> {
        let facts = std::fs::metadata(program)
            .ok()
            .filter(std::fs::Metadata::is_file)?;
        let changed = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Assembler {
            program: program.to_owned(),
            stamp: format!("{} {}", facts.len(), changed.as_nanos()),
        })
    }

    /// The program's file.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// What tells it from other versions: part of a key.
    pub(crate) fn stamp(&self) -> &str {
        &self.stamp
    }

    /// Its release, as it says itself; `None` if it does not run.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        let said = Command::new(&self.program).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        let release = text.lines().find_map(|line| line.split("release ").nth(1));
        let version = release.or_else(|| text.lines().next())?.trim().to_owned();
        said.status.success().then_some(version)
    }

    /// Assembles a text for a card of this capability.
    pub(crate) fn assemble(&self, ptx: &str, capability: (u32, u32)) -> Result<Assembled, Refusal> {
        let folder = tempfile::Builder::new().prefix("tiki-").tempdir()?;
        let [text, code] = ["kernel.ptx", "kernel.cubin"].map(|name| folder.path().join(name));
        std::fs::write(&text, ptx)?;
        let said = Command::new(&self.program)
            .args(OPTIONS)
            .arg(format!("-arch={}", architecture(ptx, capability)))
            .arg("-o")
            .args([&code, &text])
            .output()?;
        // Its files' names are nobody's business.
        let log =
            String::from_utf8_lossy(&said.stderr).replace(&*text.to_string_lossy(), "kernel.ptx");
        if !said.status.success() {
            return Err(Refusal(log));
        }
        let cubin = std::fs::read(&code)?;
        Ok(Assembled { cubin, log })
    }
}

/// Names the program, by path or by name; [`OFF`]: none.
const VARIABLE: &str = "TIKI_PTXAS";
const OFF: &str = "off";

/// The program's name.
const NAME: &str = if cfg!(windows) { "ptxas.exe" } else { "ptxas" };

/// What a text is assembled for on a card: the card's own architecture, or, of a text that uses what only one
/// architecture or family has, that one.
fn architecture(ptx: &str, capability: (u32, u32)) -> Arch {
    let own = Arch {
        capability,
        suffix: None,
    };
    let named = ptx
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(".target"))
        .and_then(|rest| rest.split([',', ' ', '\t']).find(|word| !word.is_empty()))
        .and_then(Arch::by_name);
    named.filter(|arch| arch.suffix.is_some()).unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiki_kernel::target::Target;

    /// Invariant: code is made for the card, unless the text names features of one architecture alone.
    #[test]
    fn a_text_is_assembled_for_its_card() {
        for target in Target::all() {
            let text = format!(".version 8.6\n.target {target}, debug\n.address_size 64\n");
            let exact = target.row().exact;
            let made = architecture(&text, (9, 0));
            assert_eq!(made.suffix.is_some(), exact);
            assert_eq!(made.capability, (9, 0));
        }
        assert_eq!(architecture("nonsense", (8, 6)).capability, (8, 6));
    }

    /// Invariant: a variable that names a program, or none, has the last word.
    #[cfg(unix)]
    #[test]
    fn the_environment_says_which_it_is() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("ptxas");
        let script = "#!/bin/sh\nfor last; do :; done\nif [ \"$1\" = --version ]; then echo 'tool, release 7.1, V7'; exit 0; fi\n\
            grep -q broken \"$last\" && { echo \"$last, line 1; fatal\" >&2; exit 255; }\n\
            while [ \"$1\" != -o ]; do shift; done\necho code > \"$2\"\necho 'Used 8 registers' >&2\n";
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = |name: &str| (name == "PATH").then(|| folder.path().into());
        let found = Assembler::of(path).expect("of the path");
        assert_eq!(found.program(), program);
        assert_eq!(found.version().as_deref(), Some("7.1, V7"));
        let named = |value: &'static str| {
            move |name: &str| match name {
                VARIABLE => Some(value.into()),
                _ => path(name),
            }
        };
        assert_eq!(Assembler::of(named("off")), None);
        assert_eq!(Assembler::of(named("/no/such/file")), None);
        assert_eq!(Assembler::of(named("no_such_name")), None);
        assert_eq!(Assembler::of(named("ptxas")).as_ref(), Some(&found));
        let made = found.assemble("right", (9, 0)).unwrap();
        assert_eq!(
            (made.cubin.as_slice(), made.log.as_str()),
            (&b"code\n"[..], "Used 8 registers\n")
        );
        let refused = found.assemble("broken", (9, 0)).unwrap_err().to_string();
        assert_eq!(refused, "kernel.ptx, line 1; fatal\n");
    }
}
