//! The folder of entries: looking up, making, listing, clearing.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use super::{Entry, Fault, Key, Mode, Settings};

/// What a store did in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Entries found: nothing was compiled for them.
    pub hits: u64,
    /// Times something was compiled.
    pub compiled: u64,
    /// Entries that were damaged, and made again.
    pub damaged: u64,
    /// Times the folder could not be read or written.
    pub failures: u64,
}

#[derive(Debug, Default)]
struct Counters {
    hits: AtomicU64,
    compiled: AtomicU64,
    damaged: AtomicU64,
    failures: AtomicU64,
}

/// A cache.
#[derive(Debug)]
pub struct Store {
    settings: Settings,
    counters: Counters,
    warned: Once,
}

/// One file of the folder.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// When it was last used.
    pub used: SystemTime,
    /// What is in it.
    pub entry: Result<Entry, Fault>,
}

/// How files of entries end.
const ENTRY: &str = "cubin";
/// How drafts end.
pub(super) const DRAFT: &str = "draft";
/// A draft older than this was left by a process that died.
const ABANDONED: Duration = Duration::from_secs(600);

impl Store {
    /// A cache as these settings say.
    #[must_use]
    pub fn open(settings: Settings) -> Store {
        let store = Store {
            settings,
            counters: Counters::default(),
            warned: Once::new(),
        };
        if let Some(problem) = store.settings.problems.first() {
            store.warn(problem);
        }
        store
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What it did in this process.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let Counters {
            hits,
            compiled,
            damaged,
            failures,
        } = &self.counters;
        Counts {
            hits: hits.load(Relaxed),
            compiled: compiled.load(Relaxed),
            damaged: damaged.load(Relaxed),
            failures: failures.load(Relaxed),
        }
    }

    /// The folder, if entries may be looked for.
    fn folder(&self) -> Option<&Path> {
        let folder = self.settings.folder.as_deref();
        folder.filter(|_| self.settings.mode != Mode::Off)
    }

    /// The entry of a key: found, or made by `make` and kept.
    ///
    /// # Errors
    /// What `make` returns; the folder's own troubles are no errors.
    pub fn get_or_make<E>(
        &self,
        key: &Key,
        make: impl FnOnce() -> Result<Entry, E>,
    ) -> Result<Entry, E> {
        let make = || {
            self.counters.compiled.fetch_add(1, Relaxed);
            make()
        };
        let Some(folder) = self.folder() else {
            return make();
        };
        if let Some(entry) = self.find(folder, key) {
            return Ok(entry);
        }
        if self.settings.mode == Mode::ReadOnly {
            return make();
        }
        // Whoever makes this entry now is waited for. Without a lock it is made more than once.
        let lock = self.lock(folder, key);
        if lock.is_some()
            && let Some(entry) = self.find(folder, key)
        {
            return Ok(entry);
        }
        let entry = make()?;
        if let Err(error) = self.keep(folder, key, &entry) {
            self.failed(folder, &error);
        }
        Ok(entry)
    }

    /// Removes an entry that turned out to be of no use.
    pub fn forget(&self, key: &Key) {
        if let Some(folder) = self.folder()
            && self.settings.mode == Mode::ReadWrite
        {
            self.counters.damaged.fetch_add(1, Relaxed);
            let _ = fs::remove_file(path_of(folder, key));
        }
    }

    /// A whole entry of this key.
    fn find(&self, folder: &Path, key: &Key) -> Option<Entry> {
        let path = path_of(folder, key);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                if error.kind() != ErrorKind::NotFound {
                    self.failed(folder, &error);
                }
                return None;
            }
        };
        match Entry::read(&bytes) {
            Ok(entry) => {
                self.counters.hits.fetch_add(1, Relaxed);
                if self.settings.mode == Mode::ReadWrite {
                    // It says when the entry was last used; if it cannot, the entry goes earlier.
                    let now = SystemTime::now();
                    let _ = File::options()
                        .append(true)
                        .open(&path)
                        .and_then(|f| f.set_modified(now));
                }
                Some(entry)
            }
            Err(_) => {
                self.counters.damaged.fetch_add(1, Relaxed);
                None
            }
        }
    }

    /// Waits until no other process makes an entry of this key, and keeps others out.
    fn lock(&self, folder: &Path, key: &Key) -> Option<File> {
        let taken = || -> io::Result<File> {
            let locks = folder.join("locks");
            fs::create_dir_all(&locks)?;
            // Few files, shared by all keys: they stay.
            let name: String = key.to_string().chars().take(2).collect();
            let file = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(locks.join(name))?;
            file.lock()?;
            Ok(file)
        };
        taken().inspect_err(|e| self.failed(folder, e)).ok()
    }

    fn keep(&self, folder: &Path, key: &Key, entry: &Entry) -> io::Result<()> {
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(folder)?;
        let bytes = entry.write();
        let number = DRAFTS.fetch_add(1, Relaxed);
        let draft = folder.join(format!("{key}-{}-{number}.{DRAFT}", std::process::id()));
        let written = File::create(&draft)
            .and_then(|mut file| file.write_all(&bytes))
            .and_then(|()| fs::rename(&draft, path_of(folder, key)));
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written?;
        self.evict(folder, key)
    }

    /// Brings the folder below its limit; the entry just written stays.
    fn evict(&self, folder: &Path, newest: &Key) -> io::Result<()> {
        let newest = path_of(folder, newest);
        let mut files = Vec::new();
        let mut total = 0;
        for (path, meta) in files_of(folder)? {
            let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if path.extension().is_some_and(|e| e == DRAFT) {
                if used.elapsed().is_ok_and(|age| age > ABANDONED) {
                    let _ = fs::remove_file(&path);
                }
                continue;
            }
            total += meta.len();
            files.push((used, path, meta.len()));
        }
        files.sort();
        for (_, path, bytes) in files {
            if total <= self.settings.limit {
                break;
            }
            if path != newest && fs::remove_file(&path).is_ok() {
                total -= bytes;
            }
        }
        Ok(())
    }

    /// All entries, whole or not, the last used first.
    ///
    /// # Errors
    /// If the folder cannot be read; a folder that is not there has no entries.
    pub fn list(&self) -> io::Result<Vec<Listed>> {
        let Some(folder) = self.settings.folder.as_deref() else {
            return Ok(Vec::new());
        };
        let mut out = Vec::new();
        for (path, meta) in files_of(folder)? {
            if path.extension().is_some_and(|e| e == ENTRY) {
                let entry = fs::read(&path).map_err(|_| Fault::Damaged);
                out.push(Listed {
                    bytes: meta.len(),
                    used: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    entry: entry.and_then(|bytes| Entry::read(&bytes)),
                    path,
                });
            }
        }
        out.sort_by_key(|listed| std::cmp::Reverse(listed.used));
        Ok(out)
    }

    /// Removes damaged entries, abandoned drafts, and the entries used longest ago that lie above the limit.
    /// Gives the files that went.
    ///
    /// # Errors
    /// If the folder cannot be read, or a file cannot be removed.
    pub fn clear(&self, limit: u64) -> io::Result<Vec<PathBuf>> {
        let Some(folder) = self.settings.folder.as_deref() else {
            return Ok(Vec::new());
        };
        let mut gone = Vec::new();
        for (path, meta) in files_of(folder)? {
            let old = meta
                .modified()
                .is_ok_and(|t| t.elapsed().is_ok_and(|age| age > ABANDONED));
            if path.extension().is_some_and(|e| e == DRAFT) && old {
                gone.push(path);
            }
        }
        let mut total = 0;
        for listed in self.list()? {
            total += listed.bytes;
            if listed.entry.is_err() || total > limit {
                total -= listed.bytes;
                gone.push(listed.path);
            }
        }
        gone.iter().try_for_each(fs::remove_file)?;
        Ok(gone)
    }

    fn failed(&self, folder: &Path, error: &io::Error) {
        self.counters.failures.fetch_add(1, Relaxed);
        let folder = folder.display();
        self.warn(&format!(
            "the cache in {folder} cannot be used ({error}); kernels are assembled anew by each process"
        ));
    }

    /// Once a process: a cache is a convenience.
    fn warn(&self, text: &str) {
        self.warned.call_once(|| eprintln!("warning: tiki: {text}"));
    }
}

fn path_of(folder: &Path, key: &Key) -> PathBuf {
    folder.join(format!("{key}.{ENTRY}"))
}

/// The files of a folder; none if it is not there. What vanishes meanwhile is left out.
fn files_of(folder: &Path) -> io::Result<Vec<(PathBuf, fs::Metadata)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut out = Vec::new();
    for entry in entries {
        let entry = entry?;
        if let Ok(meta) = entry.metadata()
            && meta.is_file()
        {
            out.push((entry.path(), meta));
        }
    }
    Ok(out)
}
