//! What a build keeps, so that the next one need not compile it again.
//!
//! ```text
//! target/tiki/CRATE/KERNEL.ast      the kernel's canonical text: the command `tiki` reads it
//! target/tiki/CRATE/KERNEL.kept     its compiled instances
//! ```
//!
//! A set's kernels are `SET.KERNEL`, a second kernel of that name in the crate `KERNEL-2` ([`folder::stem`]).
//!
//! An instance is kept under the kernel's text without its lists of instances, with lines counted from the
//! kernel's own: a build that adds an instance compiles that one, and a kernel that has only moved is
//! moved, not compiled. The first line names compiler and text, each record has its hash; whatever does not
//! fit is compiled again. A kernel with errors or warnings is not kept: they must be told each time.
//!
//! Nothing here can fail a build: a folder that cannot be written costs time and nothing else.

use crate::folder;
use std::fmt::Write;
use std::path::PathBuf;
use tiki_kernel::ast::{self, Program};
use tiki_kernel::compile::{Instance, Output};
use tiki_kernel::instance::hash;
use tiki_kernel::record;

const COMPILER: &str = env!("TIKI_COMPILER");

/// The instances kept of one kernel.
pub(crate) struct Kept {
    path: Option<PathBuf>,
    head: String,
    /// The kernel's own file, and its line there.
    file: String,
    line: u32,
    outputs: Vec<Output>,
    /// What was found is not all that is there now.
    changed: bool,
}

impl Kept {
    /// Opens what is kept of a kernel. `lists` is the first place that belongs to its lists of instances.
    pub(crate) fn open(program: &Program, lists: u32, stem: &str) -> Kept {
        let name = &program.kernel.name;
        let place = program.places.at(name.span);
        let file = program.places.files.get(place.file as usize);
        let file = file.cloned().unwrap_or_default();
        // The printer of PTX writes other characters differently, so lines could not be found again.
        let plain = file.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
        let folder = folder::of_kept().filter(|_| plain);
        if let Some(folder) = &folder {
            write_ast(folder.join(format!("{stem}.ast")), program);
        }
        let text = hash(standing_still(program, lists).as_bytes());
        let mut kept = Kept {
            path: folder.map(|f| f.join(format!("{stem}.kept"))),
            head: format!("tiki-kept 1 {COMPILER} {text:032x}"),
            file,
            line: place.line,
            outputs: Vec::new(),
            changed: false,
        };
        kept.read();
        kept
    }

    fn read(&mut self) -> Option<()> {
        let text = std::fs::read_to_string(self.path.as_ref()?).ok()?;
        let (head, mut rest) = text.split_once('\n')?;
        let line = head.strip_prefix(&self.head)?.trim().parse::<i64>().ok()?;
        let by = i64::from(self.line) - line;
        self.changed = by != 0;
        while let Some((head, tail)) = rest.split_once('\n') {
            let (sum, length) = head.split_once(' ')?;
            let record = tail.get(..length.parse().ok()?)?;
            if u128::from_str_radix(sum, 16) != Ok(hash(record.as_bytes())) {
                return None;
            }
            let mut output = record::read(record)?;
            output.ptx = record::move_lines(&output.ptx, &self.file, by);
            self.outputs.push(output);
            rest = &tail[record.len()..];
        }
        Some(())
    }

    /// A kept instance.
    pub(crate) fn get(&self, instance: &Instance) -> Option<Output> {
        let found = self.outputs.iter().find(|o| o.instance == *instance);
        found.cloned()
    }

    /// Keeps what was built now.
    pub(crate) fn write(&self, outputs: &[Output]) {
        let Some(path) = &self.path else { return };
        let same = |o: &Output| self.outputs.iter().any(|k| k.instance == o.instance);
        if !self.changed && self.outputs.len() == outputs.len() && outputs.iter().all(same) {
            return;
        }
        let mut text = format!("{} {}\n", self.head, self.line);
        for output in outputs {
            let record = record::write(output);
            let sum = hash(record.as_bytes());
            let _ = write!(text, "{sum:032x} {}\n{record}", record.len());
        }
        let _ = folder::write_whole(path, &text);
    }
}

fn write_ast(path: PathBuf, program: &Program) {
    let text = ast::print(program);
    if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return;
    }
    let _ = folder::write_whole(&path, &text);
}

/// The text that stays the same when the kernel moves: places in its file count from its own line.
fn standing_still(program: &Program, lists: u32) -> String {
    let mut program = program.clone();
    let own = program.places.at(program.kernel.name.span);
    let options = &mut program.kernel.options;
    options.retain(|o| o.name.span.0 < lists);
    program.places.places.truncate(lists as usize);
    for place in &mut program.places.places {
        if place.file == own.file {
            place.line = place.line.wrapping_sub(own.line);
        }
    }
    ast::print(&program)
}
