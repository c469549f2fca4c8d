//! Says whether this crate is optimised (`cfg(optimised)`). Loops of the machine are compiled for each CPU level where
//! they are; elsewhere a second one would only be more to compile.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(optimised)");
    if std::env::var("OPT_LEVEL").is_ok_and(|level| level != "0") {
        println!("cargo::rustc-cfg=optimised");
    }
}
