//! Assembled kernels that outlive the process.
//!
//! A GPU runs machine code (a cubin), which an assembler makes of PTX text: tens of milliseconds. What the toolkit's
//! ([`crate::assembler`]) made is kept in a folder under a [`Key`] that holds everything the result depends on, so an
//! entry is never out of date: it is found, or it is not.
//!
//! ```text
//! load ---key---> found and whole? --yes--> machine code (nothing is compiled)
//!                      | no
//!                      `--> wait for whoever makes it now --> look again --> assemble --> draft --> rename
//! ```
//!
//! - `TIKI_CACHE` is `read-write` (the default), `read-only` or `off`; `TIKI_CACHE_DIR` names the folder, else
//!   it is `tiki` in the user's cache directory; `TIKI_CACHE_LIMIT` is its size in bytes (1 GiB).
//! - An entry is written beside its name and renamed: a process that is killed leaves a draft, never half an
//!   entry. Each entry carries a hash of its bytes; one that does not fit is made again.
//! - Processes that need the same entry at once wait for the first (a file lock, which the system frees when
//!   its holder dies), so it is made once.
//! - Above the limit the entries that were not used for longest go.
//! - Without a toolkit's assembler nothing is kept here: the driver assembles, and has a cache of its own.
//! - A folder that cannot be read or written, or a full disk, costs time and one warning. It never fails a
//!   launch.

mod entry;
mod key;
mod probe;
mod settings;
mod store;

pub use entry::{Entry, Fault};
pub use key::{COMPONENTS, Key};
pub use settings::{Mode, Settings};
pub use store::{Counts, Listed, Store};

use std::sync::OnceLock;

/// The process's own store, as the environment says.
pub fn store() -> &'static Store {
    static STORE: OnceLock<Store> = OnceLock::new();
    STORE.get_or_init(|| Store::open(Settings::from_env()))
}
