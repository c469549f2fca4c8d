//! What [`macro@crate::test`] runs: one function on every device the environment allows.

use crate::compiler::target::Target;
use crate::vm::{Async, Checks, Options};
use crate::{Device, LaunchError};
use std::fmt;

/// When asynchronous work completes, in the runs of a test.
const MODES: [(&str, Async); 5] = [
    ("eager", Async::Eager),
    ("late", Async::Late),
    ("seed 1", Async::Seed(1)),
    ("seed 2", Async::Seed(2)),
    ("seed 3", Async::Seed(3)),
];

/// What a test may return.
pub trait Outcome {
    /// The failure in words.
    fn failure(self) -> Option<String>;
}

impl Outcome for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<E: fmt::Debug + fmt::Display> Outcome for Result<(), E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}

/// Runs `body` on the GPU if `TIKI_DEVICE` names one, else on a virtual machine of its own in each mode, all
/// checks on.
///
/// # Panics
/// If a run fails; the message names its device.
pub fn run<O: Outcome>(target: Option<&str>, body: impl Fn(&Device) -> O) {
    let once = |name: &str, device: Result<Device, LaunchError>| {
        // Shown by the harness if the test fails, also where the body itself panics.
        println!("on {name}");
        let failure = match device {
            Ok(device) => body(&device).failure(),
            Err(error) => Some(error.to_string()),
        };
        if let Some(failure) = failure {
            panic!("on {name}: {failure}");
        }
    };
    match std::env::var("TIKI_DEVICE") {
        Ok(name) if name.starts_with("cuda") => once(&name, Device::named(&name)),
        _ => {
            for (mode, completion) in MODES {
                once(
                    &format!("the virtual machine, {mode}"),
                    machine(target, completion),
                );
            }
        }
    }
}

fn machine(target: Option<&str>, completion: Async) -> Result<Device, LaunchError> {
    let newest = || Target::all().max_by_key(|t| t.row().capability);
    let target = match target {
        Some(name) => Target::by_name(name).ok_or_else(|| LaunchError::DeviceName {
            given: format!("vm:{name}"),
            variable: false,
        })?,
        None => newest().unwrap_or_else(Target::default_target),
    };
    let options = Options {
        completion,
        checks: Checks::All,
        ..Options::default()
    };
    Device::vm_with(target, options)
}
