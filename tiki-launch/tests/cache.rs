//! The cache under everything that befalls files: killed writers, races, damage, folders that refuse.
//!
//! No GPU is needed: the store does not know what the step that it saves does. Processes are this test's own
//! binary, started again with `TIKI_TEST_ROLE`.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tiki_launch::cache::{COMPONENTS, Entry, Key, Mode, Settings, Store};

const ROLE: &str = "TIKI_TEST_ROLE";

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("cache")
        .join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    path
}

fn settings(folder: &Path, mode: Mode) -> Settings {
    Settings {
        mode,
        folder: Some(folder.to_owned()),
        limit: 1 << 30,
        problems: Vec::new(),
    }
}

fn store(folder: &Path) -> Store {
    Store::open(settings(folder, Mode::ReadWrite))
}

fn key(name: &str) -> Key {
    let mut values = [b"".as_slice(); COMPONENTS.len()];
    values[0] = name.as_bytes();
    Key::of(&values)
}

/// Code that tells its key, so that a mix-up shows.
fn made(name: &str) -> Entry {
    Entry {
        kernel: name.to_owned(),
        log: format!("made {name}"),
        cubin: name.bytes().cycle().take(40_000).collect(),
    }
}

fn get(store: &Store, name: &str) -> Entry {
    let entry = store.get_or_make(&key(name), || Ok::<_, ()>(made(name)));
    entry.expect("nothing fails")
}

/// Entries and drafts of a folder.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|e| e.expect("an entry").path());
    paths
        .filter(|p| p.extension().is_some_and(|e| e == ending))
        .collect()
}

/// This binary again, to run the test of this name in a role.
fn again(test: &str, role: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args([test, "--exact", "--nocapture"])
        .env(ROLE, role)
        .env("TIKI_CACHE_DIR", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this binary starts")
}

fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

#[test]
fn a_hit_never_compiles() {
    let folder = folder("hit");
    let first = store(&folder);
    assert_eq!(get(&first, "a"), made("a"));
    assert_eq!((first.counts().hits, first.counts().compiled), (0, 1));
    let second = store(&folder);
    for _ in 0..3 {
        let entry = second.get_or_make(&key("a"), || Err("it compiles"));
        assert_eq!(entry, Ok(made("a")));
    }
    assert_eq!((second.counts().hits, second.counts().compiled), (3, 0));
    // Another key is another entry.
    assert_eq!(get(&second, "b"), made("b"));
    assert_eq!(second.counts().compiled, 1);
}

#[test]
fn what_fails_is_not_kept() {
    let folder = folder("fails");
    let store = store(&folder);
    let failed = store.get_or_make(&key("a"), || Err::<Entry, _>("refused"));
    assert_eq!(failed, Err("refused"));
    assert_eq!(get(&store, "a"), made("a"));
}

/// Invariant: what an entry depends on decides whether it is found. Witness: each component changed in turn.
#[test]
fn each_component_of_the_key_misses_when_it_changes() {
    let store = store(&folder("components"));
    let values = [b"as it was".as_slice(); COMPONENTS.len()];
    let first = Key::of(&values);
    let get = |key: &Key, name: &str| store.get_or_make(key, || Ok::<_, ()>(made(name)));
    assert_eq!(get(&first, "first"), Ok(made("first")));
    for (i, (name, what)) in COMPONENTS.iter().enumerate() {
        let mut changed = values;
        changed[i] = b"as it is";
        assert_eq!(get(&Key::of(&changed), name), Ok(made(name)), "{what}");
    }
    assert_eq!(store.counts().compiled, COMPONENTS.len() as u64 + 1);
    assert_eq!(store.get_or_make(&first, || Err(())), Ok(made("first")));
}

/// Invariant: damage is never handed out. Witness: a flipped bit at many places, every kind of cut.
#[test]
fn damaged_entries_are_made_again() {
    let folder = folder("damaged");
    get(&store(&folder), "a");
    let path = files(&folder, "cubin").remove(0);
    let whole = fs::read(&path).expect("an entry");
    let flips = (0..whole.len()).step_by(997).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        bytes
    });
    let cuts = [0, 1, 40, whole.len() / 2, whole.len() - 1].map(|end| whole[..end].to_vec());
    for bytes in flips.chain(cuts) {
        fs::write(&path, bytes).expect("written");
        let store = store(&folder);
        assert_eq!(get(&store, "a"), made("a"));
        assert_eq!(store.counts().compiled, 1);
        assert!(store.counts().damaged >= 1);
        assert_eq!(
            fs::read(&path).expect("an entry"),
            whole,
            "it is whole again"
        );
    }
}

#[test]
fn sixteen_processes_make_one_entry_once() {
    if let Some(role) = role() {
        let store = Store::open(Settings::from_env());
        let entry = store.get_or_make(&key("raced"), || {
            // Long enough for the others to come.
            std::thread::sleep(Duration::from_millis(300));
            Ok::<_, ()>(made("raced"))
        });
        assert_eq!(entry, Ok(made("raced")), "{role}");
        println!("compiled={}", store.counts().compiled);
        return;
    }
    let folder = folder("raced");
    let test = "sixteen_processes_make_one_entry_once";
    let children: Vec<Child> = (0..16)
        .map(|i| again(test, &i.to_string(), &folder))
        .collect();
    let mut compiled = 0;
    for child in children {
        let said = child.wait_with_output().expect("it ends");
        assert!(said.status.success(), "{said:?}");
        let text = String::from_utf8(said.stdout).expect("text");
        let count = text.split("compiled=").nth(1).expect("a count");
        compiled += count
            .lines()
            .next()
            .and_then(|n| n.parse::<u64>().ok())
            .expect("a number");
    }
    assert_eq!(compiled, 1);
    assert_eq!(files(&folder, "cubin").len(), 1);
    assert_eq!(files(&folder, "draft").len(), 0);
}

#[test]
fn a_process_killed_in_mid_write_leaves_nothing_half() {
    if role().is_some() {
        // Writes entries without end, each large; the parent kills it somewhere.
        let store = Store::open(Settings::from_env());
        for i in 0u32.. {
            let big = Entry {
                cubin: vec![i as u8; 4 << 20],
                ..made("big")
            };
            let name = format!("{}", i % 4);
            store.forget(&key(&name));
            let _ = store.get_or_make(&key(&name), || Ok::<_, ()>(big));
            if i == 0 {
                println!("writing");
            }
        }
    }
    let folder = folder("killed");
    let mut drafts = 0;
    for round in 0..12u64 {
        let test = "a_process_killed_in_mid_write_leaves_nothing_half";
        let mut child = again(test, "writer", &folder);
        let mut seen = Vec::new();
        let mut out = child.stdout.take().expect("its output");
        let mut byte = [0];
        while !seen.ends_with(b"writing") && out.read(&mut byte).is_ok_and(|n| n == 1) {
            seen.push(byte[0]);
        }
        // The moment it writes; in every third round, some moment.
        let begun = Instant::now();
        let patience = Duration::from_millis(if round % 3 == 2 { 5 * round } else { 2_000 });
        while files(&folder, "draft").len() == drafts && begun.elapsed() < patience {
            std::hint::spin_loop();
        }
        child.kill().expect("killed");
        child.wait().expect("it ends");
        drafts = files(&folder, "draft").len();
        // Whatever stands under an entry's name is whole, and a lock of the dead holds nobody up.
        let after = store(&folder);
        for listed in after.list().expect("a list") {
            assert!(listed.entry.is_ok(), "{:?}", listed.path);
        }
        assert_eq!(get(&after, "after").cubin, made("after").cubin);
    }
    assert!(drafts > 0, "no process was killed while it wrote");
}

#[test]
fn above_the_limit_the_least_used_go() {
    let folder = folder("limit");
    let one = made("0").write().len() as u64;
    let store = Store::open(Settings {
        limit: 4 * one + one / 2,
        ..settings(&folder, Mode::ReadWrite)
    });
    for name in ["0", "1", "2", "3"] {
        get(&store, name);
        std::thread::sleep(Duration::from_millis(15));
    }
    get(&store, "0"); // used again
    std::thread::sleep(Duration::from_millis(15));
    get(&store, "4");
    let listed = store.list().expect("a list");
    let mut kept: Vec<String> = listed
        .iter()
        .map(|l| l.entry.as_ref().expect("whole").kernel.clone())
        .collect();
    kept.sort();
    assert_eq!(kept, ["0", "2", "3", "4"]);
    let total: u64 = listed.iter().map(|l| l.bytes).sum();
    assert!(total <= store.settings().limit);
}

#[test]
fn clearing_removes_what_is_damaged_and_what_is_too_much() {
    let folder = folder("clear");
    let store = store(&folder);
    for name in ["0", "1", "2"] {
        get(&store, name);
        std::thread::sleep(Duration::from_millis(15));
    }
    let broken = folder.join("00.cubin");
    fs::write(&broken, "no entry").expect("written");
    let one = made("0").write().len() as u64;
    let gone = store.clear(2 * one).expect("cleared");
    assert_eq!(gone.len(), 2);
    assert!(gone.contains(&broken));
    assert_eq!(store.list().expect("a list").len(), 2);
}

#[test]
fn read_only_reads_and_off_does_neither() {
    let folder = folder("modes");
    get(&store(&folder), "a");
    let reader = Store::open(settings(&folder, Mode::ReadOnly));
    get(&reader, "a");
    get(&reader, "b");
    assert_eq!((reader.counts().hits, reader.counts().compiled), (1, 1));
    let off = Store::open(settings(&folder, Mode::Off));
    get(&off, "a");
    assert_eq!((off.counts().hits, off.counts().compiled), (0, 1));
    assert_eq!(files(&folder, "cubin").len(), 1);
}

#[test]
fn no_home_means_no_cache_and_no_failure() {
    let store = Store::open(Settings::from(|_| None));
    assert_eq!(store.settings().folder, None);
    assert_eq!(get(&store, "a"), made("a"));
    assert_eq!(get(&store, "a"), made("a"));
    assert_eq!((store.counts().compiled, store.counts().failures), (2, 0));
}

#[test]
fn a_folder_that_cannot_be_used_warns_once_and_goes_on() {
    if role().is_some() {
        let store = Store::open(Settings::from_env());
        for name in ["a", "b", "c"] {
            assert_eq!(get(&store, name), made(name));
        }
        assert_eq!(store.counts().compiled, 3);
        assert!(store.counts().failures >= 3);
        return;
    }
    // A file where the folder should be refuses everybody, the system's administrator too.
    let folder = folder("refuses");
    fs::write(&folder, "in the way").expect("written");
    let test = "a_folder_that_cannot_be_used_warns_once_and_goes_on";
    let said = again(test, "user", &folder)
        .wait_with_output()
        .expect("it ends");
    assert!(said.status.success(), "{said:?}");
    let text = String::from_utf8(said.stderr).expect("text");
    assert_eq!(
        text.matches("warning: tiki: the cache").count(),
        1,
        "{text}"
    );
}

/// A full disk, where the system has a device that plays one.
#[test]
fn a_full_disk_costs_nothing_but_time() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let folder = folder("full");
    let store = store(&folder);
    get(&store, "a");
    // The draft of the next entry leads to the full device: its name is foreseeable.
    let id = std::process::id();
    #[cfg(unix)]
    for number in 0..1024 {
        let draft = folder.join(format!("{}-{id}-{number}.draft", key("b")));
        std::os::unix::fs::symlink(full, draft).expect("a link");
    }
    assert_eq!(get(&store, "b"), made("b"));
    assert!(store.counts().failures >= 1);
    assert_eq!(files(&folder, "cubin").len(), 1, "nothing half was kept");
}
