//! `TIKI_DUMP=ast,ir,schedule,lower,ptx,budget,report` writes the stages' texts as files; `time` the door's
//! clock, `all` everything; a word that names no stage ([`stages`]) is an error. `plan` is `schedule`, `explain` is `report`. The files of an instance that was refused
//! end in `.refused`.
//!
//! The compiler hands each stage's text to a callback; only the door touches the disk. The folder is
//! `TIKI_DUMP_DIR`, or `tiki` in cargo's target directory, and in it one for each crate that has
//! kernels: two crates may have kernels of one name. Two kernels of one name in a crate, and those of sets, have
//! names of their own ([`folder::stem`]). `TIKI_DUMP_FILTER` leaves kernels out whose instance
//! holds none of its words. `TIKI_OVERRIDE` names a folder like that of the dumps: a `.ptx` in it takes the
//! place of what was compiled for that instance; a folder that is not there is an error.
//!
//! A kernel's expansion reads the variables through `option_env!`, so that cargo expands again when one
//! changes (stable Rust has no other way to say that a macro depends on a variable), and an override that was
//! taken through `include_bytes!`; a file that was deleted is not written again until then, nor is a file
//! that is new in the folder of overrides seen.

use crate::folder;
use proc_macro2::TokenStream;
use quote::quote;
use std::path::PathBuf;
use tiki_kernel::compile::Output;
use tiki_kernel::ptx::Module;
use tiki_kernel::stages;

/// Which stages are wanted, and where their files go.
pub(crate) struct Dumper {
    stages: Vec<&'static str>,
    filter: Vec<String>,
    folder: PathBuf,
    kernel: String,
    /// The first part of its files' names.
    stem: String,
    /// The first thing that went wrong, for a message.
    pub(crate) failure: Option<String>,
}

fn words(variable: &str) -> Vec<String> {
    let text = std::env::var(variable).unwrap_or_default();
    let words = text.split(',').map(|s| s.trim().to_owned());
    words.filter(|s| !s.is_empty()).collect()
}

impl Dumper {
    pub(crate) fn from_env(kernel: &str, stem: &str) -> Dumper {
        let words_of_stages = words("TIKI_DUMP");
        let named = |word: &String| stages::named(word);
        Dumper {
            stages: words_of_stages.iter().filter_map(named).collect(),
            filter: words("TIKI_DUMP_FILTER"),
            folder: folder::of_dumps(),
            kernel: kernel.to_owned(),
            stem: stem.to_owned(),
            failure: stages::unknown(&words_of_stages),
        }
    }

    /// Whether anything is wanted of the compiler's stages.
    pub(crate) fn wants_stages(&self) -> bool {
        self.stages.iter().any(|s| *s != "time")
    }

    /// Whether a stage's text (`report.json` is `report`'s) is wanted of anything.
    pub(crate) fn wants(&self, stage: &str) -> bool {
        let stage = stage.split('.').next().unwrap_or(stage);
        self.stages.iter().any(|s| *s == stage || *s == "all")
    }

    /// Takes one stage's text.
    pub(crate) fn write(&mut self, stage: &str, instance: &str, text: &str) {
        let wanted = self.wants(stage);
        let name = self.file_name(instance, stage);
        let whole = if instance.is_empty() {
            &self.kernel
        } else {
            instance
        };
        let passes =
            self.filter.is_empty() || self.filter.iter().any(|f| whole.contains(f.as_str()));
        if !wanted || !passes {
            return;
        }
        let path = self.folder.join(name);
        if let Err(error) = folder::write_whole(&path, text) {
            self.failure.get_or_insert(format!(
                "TIKI_DUMP could not write {}: {error}",
                path.display()
            ));
        }
    }

    /// Puts an instance's text from the folder of overrides in place of what was compiled. Gives the
    /// file, so that the build depends on it.
    pub(crate) fn overridden(&mut self, output: &mut Output) -> Option<PathBuf> {
        let root = PathBuf::from(std::env::var_os("TIKI_OVERRIDE").filter(|v| !v.is_empty())?);
        if !root.is_dir() {
            self.failure.get_or_insert(format!(
                "TIKI_OVERRIDE names {}, which is no folder",
                root.display()
            ));
            return None;
        }
        let name = self.file_name(&output.title, "ptx");
        let krate = std::env::var_os("CARGO_CRATE_NAME").unwrap_or_default();
        let path = [root.join(krate).join(&name), root.join(&name)]
            .into_iter()
            .find(|path| path.is_file())?;
        let path = std::path::absolute(&path).unwrap_or(path);
        let shown = path.display();
        let read = std::fs::read_to_string(&path).map_err(|e| e.to_string());
        let text = read.and_then(|text| {
            let module = Module::parse(&text).map_err(|e| e.to_string())?;
            let entries = module.functions.iter().filter(|f| f.entry);
            let mut names = entries.map(|f| f.name.as_str());
            match names.any(|n| n == output.entry) {
                true => Ok(text),
                false => Err(format!("it has no entry `{}`", output.entry)),
            }
        });
        match text {
            Ok(text) => {
                output.ptx = text;
                Some(path)
            }
            Err(error) => {
                let message = format!("TIKI_OVERRIDE cannot use {shown}: {error}");
                self.failure.get_or_insert(message);
                None
            }
        }
    }

    /// `gemm_E___f16__BM___128_.ptx`, `Mine.gemm_E___f16_.ptx`.
    fn file_name(&self, instance: &str, stage: &str) -> String {
        let plain = |c: char| if c.is_alphanumeric() { c } else { '_' };
        let stem = &self.stem;
        match instance.strip_prefix(&self.kernel) {
            Some(args) => {
                let args: String = args.chars().map(plain).collect();
                format!("{stem}{args}.{stage}")
            }
            None if instance.is_empty() => format!("{stem}.{stage}"),
            None => {
                let instance: String = instance.chars().map(plain).collect();
                format!("{stem}.{instance}.{stage}")
            }
        }
    }
}

/// Makes cargo expand again when the variables change.
pub(crate) fn watched() -> TokenStream {
    quote! {
        const _: [::core::option::Option<&str>; 4] = [
            ::core::option_env!("TIKI_DUMP"),
            ::core::option_env!("TIKI_DUMP_DIR"),
            ::core::option_env!("TIKI_DUMP_FILTER"),
            ::core::option_env!("TIKI_OVERRIDE"),
        ];
    }
}
