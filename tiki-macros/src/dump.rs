//! `TIKI_DUMP=ast,ir,schedule,lower,ptx` writes the stages' texts as files; `time` the door's clock, `all`
//! everything.
//!
//! The compiler hands each stage's text to a callback; only this file touches the disk. The folder is
//! `TIKI_DUMP_DIR`, or `target/tiki` under the crate's manifest, and in it one for each crate that has
//! kernels: two crates may have kernels of one name. A kernel's expansion reads both variables through
//! `option_env!`, so that cargo expands again when either changes (stable Rust has no other way to say
//! that a macro depends on a variable); a file that was deleted is not written again until then.

use proc_macro2::TokenStream;
use quote::quote;
use std::path::{Path, PathBuf};

/// Which stages are wanted, and where their files go.
pub(crate) struct Dumper {
    stages: Vec<String>,
    folder: PathBuf,
    kernel: String,
    /// The first thing that went wrong, for a warning.
    pub(crate) failure: Option<String>,
}

impl Dumper {
    pub(crate) fn from_env(kernel: &str) -> Dumper {
        let stages = std::env::var("TIKI_DUMP").unwrap_or_default();
        let mut folder = std::env::var("TIKI_DUMP_DIR").map_or_else(
            |_| {
                let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
                Path::new(&root).join("target").join("tiki")
            },
            PathBuf::from,
        );
        folder.extend(std::env::var_os("CARGO_CRATE_NAME"));
        Dumper {
            stages: stages
                .split(',')
                .map(|s| s.trim().to_owned())
                .filter(|s| !s.is_empty())
                .collect(),
            folder,
            kernel: kernel.to_owned(),
            failure: None,
        }
    }

    /// Takes one stage's text.
    pub(crate) fn write(&mut self, stage: &str, instance: &str, text: &str) {
        if !self.stages.iter().any(|s| s == stage || s == "all") {
            return;
        }
        let instance: String = instance
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { '_' })
            .collect();
        let kernel = &self.kernel;
        let name = if instance.is_empty() {
            format!("{kernel}.{stage}")
        } else if instance.starts_with(kernel.as_str()) {
            format!("{instance}.{stage}")
        } else {
            format!("{kernel}.{instance}.{stage}")
        };
        let path = self.folder.join(name);
        let done = std::fs::create_dir_all(&self.folder).and_then(|()| std::fs::write(&path, text));
        if let Err(error) = done {
            self.failure.get_or_insert(format!(
                "TIKI_DUMP could not write {}: {error}",
                path.display()
            ));
        }
    }
}

/// Makes cargo expand again when the variables change.
pub(crate) fn watched() -> TokenStream {
    quote! {
        const _: (
            ::core::option::Option<&str>,
            ::core::option::Option<&str>,
        ) = (::core::option_env!("TIKI_DUMP"), ::core::option_env!("TIKI_DUMP_DIR"));
    }
}
