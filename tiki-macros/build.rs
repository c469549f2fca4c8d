//! Names the compiler that this door was built with: a hash of the sources of the door, the compiler and
//! the algebra. What one compiler made is not taken for another's. Where the sources are not side by side
//! (a published crate), the version names it.

use std::path::Path;

fn main() {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for folder in ["src", "../tiki-kernel/src", "../tiki-layout/src"] {
        if Path::new(folder).is_dir() {
            println!("cargo:rerun-if-changed={folder}");
            add(Path::new(folder), &mut hash);
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    println!("cargo:rustc-env=TIKI_COMPILER={version}-{hash:016x}");
}

fn add(path: &Path, hash: &mut u64) {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|e| e.path()).collect();
        paths.sort();
        paths.iter().for_each(|p| add(p, hash));
        return;
    }
    let name = path.to_string_lossy().into_owned().into_bytes();
    let bytes = std::fs::read(path).unwrap_or_default();
    for byte in name.into_iter().chain(bytes) {
        *hash = (*hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
}
