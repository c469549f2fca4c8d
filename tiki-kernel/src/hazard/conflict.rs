//! Whether two accesses of shared memory meet: two threads, neither waiting for the other, at one element.

use super::track_shared::{Access, Kind};
use std::collections::HashMap;

pub(super) fn verb(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "written",
        Kind::Atomic => "changed",
    }
}

pub(super) enum Found {
    None,
    Threads(u32, u32),
    Unknown,
}

pub(super) fn conflict(old: &Access, new: &Access) -> Found {
    let (Some(a), Some(b)) = (&old.cells, &new.cells) else {
        return Found::Unknown;
    };
    if old.symbols != new.symbols || old.swizzle != new.swizzle {
        return Found::Unknown;
    }
    // A copy under way meets even its own thread.
    let flies = old.group.is_some();
    // With lanes in step, only threads of different warps can meet.
    let id = |t: u32| if old.warp_met { t / 32 } else { t };
    let mut first: HashMap<i64, (u32, u32)> = HashMap::new();
    for (t, at) in a {
        let e = first.entry(*at).or_insert((*t, *t));
        if id(*t) != id(e.0) {
            e.1 = *t;
        }
    }
    for (t, at) in b {
        if let Some((x, y)) = first.get(at) {
            if flies || id(*x) != id(*t) {
                return Found::Threads(*x, *t);
            }
            if id(*y) != id(*t) {
                return Found::Threads(*y, *t);
            }
        }
    }
    Found::None
}
