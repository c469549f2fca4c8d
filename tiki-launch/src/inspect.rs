//! Looking at what is loaded, and putting something else in its place.
//!
//! `TIKI_DUMP=ptx,cubin,log,sass` (or `all`) writes, for each kernel that is loaded, what the machine gets and what
//! the assembler made of it into `TIKI_DUMP_DIR` (unless said, `target/tiki/run`); `TIKI_DUMP_FILTER` keeps those
//! whose instance holds one of its words. A second kernel of an entry's name has `-2` behind it. `TIKI_OVERRIDE=DIR` loads `ENTRY.ptx` from there instead of what was
//! compiled; a folder that is not there is an error like a file that cannot be read. Both cost something only when a kernel is loaded.
//!
//! A word that names no stage is told once. `sass` needs NVIDIA's disassembler: `TIKI_NVDISASM`, or `nvdisasm` of the path. What cannot be written is told
//! once and stops nothing; an override that cannot be read is an error, since another kernel would run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, Once, PoisonError};

use crate::machine::Unit;

/// What is wanted of one kernel.
#[derive(Debug, Clone)]
pub(crate) struct Wishes {
    stages: Vec<String>,
    folder: PathBuf,
    /// The first part of its files' names.
    stem: String,
}

fn words(name: &str) -> Vec<String> {
    let text = std::env::var(name).unwrap_or_default();
    let words = text.split(',').map(|w| w.trim().to_owned());
    words.filter(|w| !w.is_empty()).collect()
}

impl Wishes {
    /// What the environment wants of this kernel.
    pub fn of(unit: &Unit<'_>) -> Wishes {
        let filter = words("TIKI_DUMP_FILTER");
        let passes = filter.is_empty() || filter.iter().any(|f| unit.kernel.contains(f.as_str()));
        let stages = words("TIKI_DUMP");
        if let Some(problem) = tiki_kernel::stages::unknown(&stages) {
            once(&problem);
        }
        let folder = std::env::var_os("TIKI_DUMP_DIR").map_or_else(
            || Path::new("target").join("tiki").join("run"),
            PathBuf::from,
        );
        Wishes {
            stem: match stages.is_empty() {
                true => unit.entry.to_owned(),
                false => stem(unit.entry, unit.ptx),
            },
            stages: if passes { stages } else { Vec::new() },
            folder,
        }
    }

    /// Whether one of these stages is wanted.
    pub fn any(&self, stages: &[&str]) -> bool {
        let wanted = |s: &String| s == "all" || stages.contains(&s.as_str());
        self.stages.iter().any(wanted)
    }

    /// Writes one stage, if it is wanted.
    pub fn write(&self, stage: &str, bytes: &[u8]) {
        if self.any(&[stage]) {
            self.put(stage, bytes);
        }
    }

    /// Tells, once, that nothing assembles here, if what an assembler makes is wanted by name.
    pub fn nothing_assembled(&self) {
        let of_code = |s: &&String| matches!(s.as_str(), "cubin" | "log" | "sass");
        if let Some(stage) = self.stages.iter().find(of_code) {
            once(&format!(
                "TIKI_DUMP={stage} is of machine code; the virtual machine runs the PTX text itself"
            ));
        }
    }

    /// Tells, once, why something that is wanted cannot be had.
    pub fn cannot(&self, why: &str) {
        once(why);
    }

    fn put(&self, stage: &str, bytes: &[u8]) -> Option<PathBuf> {
        let path = self.folder.join(format!("{}.{stage}", self.stem));
        let done =
            std::fs::create_dir_all(&self.folder).and_then(|()| std::fs::write(&path, bytes));
        match done {
            Ok(()) => Some(path),
            Err(error) => {
                once(&format!(
                    "TIKI_DUMP could not write {}: {error}",
                    path.display()
                ));
                None
            }
        }
    }

    /// Writes machine code, and what the disassembler makes of it.
    pub fn write_code(&self, cubin: &[u8]) {
        self.write("cubin", cubin);
        if !self.any(&["sass"]) {
            return;
        }
        let Some(file) = self.put("cubin", cubin) else {
            return;
        };
        let program = std::env::var_os("TIKI_NVDISASM").unwrap_or_else(|| "nvdisasm".into());
        match Command::new(&program).arg("-c").arg(&file).output() {
            Ok(said) if said.status.success() => self.write("sass", &said.stdout),
            Ok(said) => once(&String::from_utf8_lossy(&said.stderr)),
            Err(error) => once(&format!(
                "TIKI_DUMP=sass needs NVIDIA's disassembler; {} did not start: {error}",
                Path::new(&program).display()
            )),
        }
    }
}

/// The name of a text's files: its entry's, with a number if another text has taken that.
fn stem(entry: &str, text: &str) -> String {
    static TAKEN: Mutex<Option<HashMap<String, Vec<blake3::Hash>>>> = Mutex::new(None);
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let texts = taken.get_or_insert_default();
    let texts = texts.entry(entry.to_owned()).or_default();
    let hash = blake3::hash(text.as_bytes());
    let at = texts.iter().position(|h| *h == hash).unwrap_or_else(|| {
        texts.push(hash);
        texts.len() - 1
    });
    match at {
        0 => entry.to_owned(),
        n => format!("{entry}-{}", n + 1),
    }
}

/// The text that is to run in place of an entry's own.
pub(crate) fn overridden(entry: &str) -> Result<Option<String>, String> {
    let Some(folder) = std::env::var_os("TIKI_OVERRIDE").filter(|v| !v.is_empty()) else {
        return Ok(None);
    };
    let folder = Path::new(&folder);
    if !folder.is_dir() {
        return Err(format!(
            "TIKI_OVERRIDE names {}, which is no folder",
            folder.display()
        ));
    }
    let path = folder.join(format!("{entry}.ptx"));
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            eprintln!("note: tiki: `{entry}` runs as {} has it", path.display());
            Ok(Some(text))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} could not be read: {error}", path.display())),
    }
}

fn once(text: &str) {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| eprintln!("warning: tiki: {}", text.trim_end()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_entry_have_files_of_their_own() {
        let names = ["a", "b", "a", "c", "b"].map(|text| stem("of_one_entry", text));
        let wanted = ["", "-2", "", "-3", "-2"].map(|n| format!("of_one_entry{n}"));
        assert_eq!(names, wanted);
        assert_eq!(stem("of_another", "b"), "of_another");
    }
}
