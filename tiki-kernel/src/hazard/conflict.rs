//! Whether two accesses of shared memory meet: two threads, neither waiting for the other, at one element.

use super::offsets::ByElement;
use super::track_shared::{Access, Kind};

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
    let known = !a.elements().has_outside() || !b.elements().has_outside();
    if known && !a.elements().meets(b.elements()) {
        return Found::None;
    }
    // A copy under way meets even its own thread.
    let flies = old.group.is_some();
    // With lanes in step, only threads of different warps can meet.
    let id = |t: u32| if old.warp_met { t / 32 } else { t };
    // Of each element, the first thread that touches it and the last that is not in step with that one.
    let mut first: ByElement<(u32, u32)> = ByElement::default();
    for (t, at) in a.iter() {
        let e = first.slot(at).get_or_insert((t, t));
        if id(t) != id(e.0) {
            e.1 = t;
        }
    }
    for (t, at) in b.iter() {
        if let Some((x, y)) = *first.slot(at) {
            if flies || id(x) != id(t) {
                return Found::Threads(x, t);
            }
            if id(y) != id(t) {
                return Found::Threads(y, t);
            }
        }
    }
    Found::None
}
