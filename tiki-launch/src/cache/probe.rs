//! Asking the folder whether an entry could be kept in it.

use std::fs::{self, File};
use std::io::{self, Write};

use super::store::DRAFT;
use super::{Mode, Store};

impl Store {
    /// Whether an entry could be kept now: a small draft is written and removed. Where nothing may be written, whether the
    /// folder can be read; a store that is off is not asked.
    ///
    /// # Errors
    /// What the system says.
    pub fn probe(&self) -> io::Result<()> {
        let settings = self.settings();
        let (Some(folder), mode) = (&settings.folder, settings.mode) else {
            return Ok(());
        };
        match mode {
            Mode::Off => return Ok(()),
            Mode::ReadOnly => return fs::read_dir(folder).map(drop),
            Mode::ReadWrite => {}
        }
        let fresh = !folder.exists();
        fs::create_dir_all(folder)?;
        let draft = folder.join(format!("probe-{}.{DRAFT}", std::process::id()));
        let written = File::create(&draft).and_then(|mut file| file.write_all(b"probe"));
        let removed = fs::remove_file(&draft);
        if fresh {
            // Not if others have come meanwhile: then it is not empty.
            let _ = fs::remove_dir(folder);
        }
        written.and(removed)
    }
}
