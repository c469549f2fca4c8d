//! What tests of the command share: how it is run in a folder, and how its output is read.

#![allow(dead_code, reason = "each test takes its part")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn tiki(args: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tiki"))
        .args(args)
        .current_dir(folder)
        .env_remove("TIKI_DUMP_DIR")
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .expect("the command starts")
}

/// A folder with the text of a kernel, as a build leaves it.
pub fn with_kernel(name: &str) -> PathBuf {
    let folder = folder(name);
    let krate = folder.join("target/tiki/library");
    std::fs::create_dir_all(&krate).expect("a folder");
    let text = tiki_test_library::scaled::<f32, 256, 64>::TEXT;
    std::fs::write(krate.join("scaled.ast"), text).expect("written");
    folder
}

/// A folder of this test's own.
pub fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}
