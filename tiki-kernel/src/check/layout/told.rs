//! A distribution in words: which elements its first threads hold.
//!
//! `thread (32:1@1) value (4:8@0)` is exact and short, and says nothing to who has not learnt it.

use crate::ir::Dist;

/// Elements of a thread that are named.
const NAMED: usize = 2;

/// The notation, and what threads 0 and 1 hold of a tensor of this rank.
pub(in crate::check) fn told(dist: &Dist, rank: usize) -> String {
    let held = |thread: usize| {
        let values = dist.len();
        let first =
            (0..values.min(NAMED)).map(|v| format!("{:?}", dist.coordinate(thread, v, rank)));
        let first: Vec<String> = first.collect();
        match values.saturating_sub(NAMED) {
            0 => first.join(" and "),
            more => format!("{} and {more} more", first.join(", ")),
        }
    };
    let second = match dist.thread_count() {
        0 | 1 => String::new(),
        _ => format!(", thread 1 holds {}", held(1)),
    };
    format!("{dist}: thread 0 holds {}{second}", held(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Mode;

    #[test]
    fn the_first_elements_of_two_threads_are_named() {
        let dist = Dist {
            threads: vec![Mode::along(1, 32, 1), Mode::along(0, 8, 1)],
            values: vec![Mode::along(0, 4, 8)],
        };
        assert_eq!(
            told(&dist, 2),
            "thread (32:1@1, 8:1@0) value (4:8@0): thread 0 holds [0, 0], [8, 0] and 2 more, thread 1 holds \
             [0, 1], [8, 1] and 2 more"
        );
    }
}
