//! Which kernels there are: what a build leaves behind.
//!
//! A build writes every kernel's canonical text (the `ast` stage) as `CRATE/KERNEL.ast` into the folder
//! `tiki` of cargo's target directory. The text is the whole kernel: the command compiles it again with the
//! compiler it carries, so it can show any stage of any instance, also of one that the crate does not
//! build. A text of another version of the compiler is not guessed at but told.

use crate::outcome::{Kind, Result};
use std::path::{Path, PathBuf};
use tiki_kernel::ast::{self, Program};
use tiki_kernel::compile::Instance;
use tiki_kernel::diag::{Diag, Sink};
use tiki_kernel::near;

/// Where to look.
#[derive(Debug, clap::Args)]
pub struct Folder {
    /// A folder of kernels' texts, or one text [default: TIKI_DUMP_DIR, else `target/tiki` here or above]
    #[arg(long, value_name = "PATH", global = true)]
    kernels: Option<PathBuf>,
}

/// One kernel.
#[derive(Debug)]
pub struct Kernel {
    /// The crate that holds it.
    pub krate: String,
    pub program: Program,
    pub file: PathBuf,
}

/// All that was found.
#[derive(Debug, Default)]
pub struct Found {
    pub kernels: Vec<Kernel>,
    /// Files that are no text of this version, and why.
    pub unread: Vec<(PathBuf, String)>,
}

impl Kernel {
    pub fn name(&self) -> &str {
        &self.program.kernel.name.text
    }

    /// Its name in its crate: `name`; `Set.name` for a set's; `name-2` for the second of that name.
    fn own(&self) -> String {
        let stem = self.file.file_stem().map(|s| s.to_string_lossy());
        stem.map_or_else(|| self.name().to_owned(), |s| s.into_owned())
    }

    /// `crate::name`.
    pub fn path(&self) -> String {
        format!("{}::{}", self.krate, self.own())
    }

    /// File and line in the author's source.
    pub fn source(&self) -> (String, u32) {
        let places = &self.program.places;
        let place = places.at(self.program.kernel.name.span);
        let file = places.files.get(place.file as usize);
        (file.cloned().unwrap_or_default(), place.line)
    }

    /// The instances its `build(..)` names, or what is wrong with them.
    pub fn instances(&self) -> std::result::Result<Vec<Instance>, Vec<Diag>> {
        let mut sink = Sink::new();
        let instances = tiki_kernel::check::instances::run(&self.program, &mut sink);
        let (failed, diags) = (sink.has_errors(), sink.take());
        if failed { Err(diags) } else { Ok(instances) }
    }
}

impl Folder {
    /// Where the texts are.
    fn path(&self) -> Result<PathBuf> {
        if let Some(path) = &self.kernels {
            return Ok(path.clone());
        }
        if let Some(path) = std::env::var_os("TIKI_DUMP_DIR") {
            return Ok(path.into());
        }
        if let Some(target) = std::env::var_os("CARGO_TARGET_DIR") {
            return Ok(Path::new(&target).join("tiki"));
        }
        let here = std::env::current_dir()
            .map_err(|e| Kind::File.because(format!("no current folder: {e}")))?;
        let folders = here.ancestors().map(|f| f.join("target").join("tiki"));
        folders.into_iter().find(|f| f.is_dir()).ok_or_else(|| {
            Kind::Missing.because(
                "no kernel found: there is no `target/tiki` here or above; build a crate with kernels, \
                 or name a folder with `--kernels`",
            )
        })
    }

    /// Reads them all.
    pub fn find(&self) -> Result<Found> {
        let path = self.path()?;
        let mut files = Vec::new();
        collect(&path, &mut files).map_err(|e| {
            Kind::Missing.because(format!("no kernel found in {}: {e}", path.display()))
        })?;
        files.sort();
        let mut found = Found::default();
        for file in files {
            let read = std::fs::read_to_string(&file).map_err(|e| e.to_string());
            match read.and_then(|text| ast::parse(&text).map_err(|e| e.to_string())) {
                Ok(program) => found.kernels.push(Kernel {
                    krate: krate(&file),
                    program,
                    file,
                }),
                Err(reason) => found.unread.push((file, reason)),
            }
        }
        if found.kernels.is_empty() {
            let mut message = format!("no kernel found in {}", path.display());
            if let Some((file, reason)) = found.unread.first() {
                message += &format!("; {} was not read: {reason}", file.display());
            }
            return Err(Kind::Missing.because(message));
        }
        Ok(found)
    }

    /// The kernel of a name, `name` or `crate::name`.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let found = self.find()?;
        // The kernel itself goes before those of sets.
        let itself = |k: &Kernel| k.own() == name || k.path() == name;
        let is_named: &dyn Fn(&Kernel) -> bool = match found.kernels.iter().any(itself) {
            true => &itself,
            false => &|k| k.name() == name,
        };
        let (mut named, others): (Vec<_>, Vec<_>) =
            found.kernels.into_iter().partition(|k| is_named(k));
        match named.len() {
            1 => Ok(named.remove(0)),
            0 => {
                let names: Vec<String> = others.iter().map(Kernel::path).collect();
                let own: Vec<String> = match name.contains("::") {
                    true => names.clone(),
                    false => others.iter().map(Kernel::own).collect(),
                };
                let mut text = format!("no kernel `{name}`; there are: {}", names.join(", "));
                if let Some(question) = near::question(name, own.iter().map(String::as_str)) {
                    text = format!("{text}; {question}");
                }
                // It may be there and not be read: a text of another version.
                let stem = |file: &Path| file.file_stem().map(|s| s.to_string_lossy().into_owned());
                let wanted = name.rsplit("::").next().unwrap_or(name);
                let is_it = |stem: &String| stem == wanted || stem.ends_with(&format!(".{wanted}"));
                for (file, reason) in &found.unread {
                    if stem(file).as_ref().is_some_and(is_it) {
                        text += &format!("; {} was not read: {reason}", file.display());
                    }
                }
                Err(Kind::Missing.because(text))
            }
            _ => {
                let names: Vec<String> = named.iter().map(Kernel::path).collect();
                let text = format!("`{name}` is ambiguous: {}", names.join(", "));
                Err(Kind::Usage.because(text))
            }
        }
    }
}

/// The crate's folder.
fn krate(file: &Path) -> String {
    let folder = file.parent().and_then(Path::file_name);
    folder.map_or_else(String::new, |f| f.to_string_lossy().into_owned())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if path.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "ast") {
            files.push(path);
        }
    }
    Ok(())
}
