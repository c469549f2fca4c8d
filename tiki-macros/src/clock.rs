//! The door's clock: what a thread has used of the processor.
//!
//! Where the system tells it (Linux), a machine that others use too measures the same; elsewhere it is the time that has passed.

use std::time::{Duration, Instant};

/// A moment of this thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    used: Option<Duration>,
    passed: Instant,
}

impl Moment {
    pub(crate) fn now() -> Moment {
        Moment {
            used: used(),
            passed: Instant::now(),
        }
    }

    /// How long ago it was; asked by the same thread.
    pub(crate) fn elapsed(self) -> Duration {
        match (self.used, used()) {
            (Some(then), Some(now)) => now.saturating_sub(then),
            _ => self.passed.elapsed(),
        }
    }

    /// The same, with what other threads used for it.
    pub(crate) fn elapsed_with(self, others: Duration) -> Duration {
        match self.used {
            Some(_) => self.elapsed() + others,
            // They worked while time passed here.
            None => self.elapsed(),
        }
    }
}

/// The first number of the file: nanoseconds on a processor.
fn used() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}
