//! Choosing the fastest instance among those a kernel declares: `tune(BM = [64, 128], STAGES = 2..=4)`.
//!
//! 1. The kernel's own checks go first: a candidate that does not compile (tiles that do not divide, too much
//!    shared memory, too many registers) is rejected with the compiler's reason, and nothing of it is assembled.
//! 2. The first legal one is the incumbent. Each other is measured against it in turn: pairs of samples a
//!    moment apart, so that a clock that drifts meets both.
//! 3. Measuring stops when the 95% interval of the ratio lies on one side of 1 (decided), or within
//!    [`Tuner::same`] of it (no difference worth having: the incumbent stays), or at [`Tuner::most`] pairs.
//! 4. What is faster becomes the incumbent.
//!
//! A time is a GPU's, by its events. On the virtual machine it is the host's clock for running the machine,
//! which says nothing about a GPU: the decision's `measure` tells which it was.
//!
//! The decision prints as JSON, and as a record ([`tiki_kernel::tuned`]) to be committed, from which `kernel_set!`
//! builds: `gemm = lib::gemm<tuned = "gemm.tuned">;`.

use std::fmt;

use tiki_kernel::compile::{Arg, Instance};
use tiki_kernel::diag::Sink;
use tiki_kernel::tuned::Tuned;
use tiki_kernel::{check, instance};

use crate::bench::Bench;
use crate::error::LaunchError;
use crate::jit::{self, Compiled, JitError};
use crate::machine::Kind;
use crate::stream::Stream;

/// How a choice is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuner {
    /// Pairs in the first round; each further round has twice as many.
    pub first: usize,
    /// Pairs for one candidate at most.
    pub most: usize,
    /// Runs in one sample.
    pub repeat: usize,
    /// A ratio this near to 1 is no difference.
    pub same: f64,
}

impl Default for Tuner {
    fn default() -> Tuner {
        Tuner {
            first: 10,
            most: 160,
            repeat: 4,
            same: 0.005,
        }
    }
}

/// One instance that may be tried, or why it may not.
#[derive(Debug, Clone)]
pub struct Candidate<K> {
    /// Its parameters.
    pub instance: Instance,
    /// The kernel, or the compiler's reasons.
    pub kernel: Result<K, JitError>,
}

/// What became of a candidate.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The compiler refused it.
    Illegal(String),
    /// It does not launch on these arguments.
    Refused(String),
    /// It was the incumbent when measuring began.
    First,
    /// Faster than the incumbent, and the incumbent from then on.
    Faster(Measured),
    /// Slower than the incumbent.
    Slower(Measured),
    /// No difference that was found.
    Same(Measured),
}

/// A comparison with the incumbent of that moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Median microseconds of the incumbent.
    pub incumbent_us: f64,
    /// Median microseconds of the candidate.
    pub candidate_us: f64,
    /// Incumbent over candidate: above 1, the candidate is faster.
    pub ratio: f64,
    /// Its 95% interval.
    pub interval: (f64, f64),
    /// Pairs measured.
    pub pairs: usize,
}

/// The outcome, and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What is to be committed.
    pub tuned: Tuned,
    /// What was measured.
    pub measure: &'static str,
    /// Every candidate in the order in which it was looked at.
    pub log: Vec<(Instance, Verdict)>,
}

/// Nothing could be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct NothingLegal {
    /// Every candidate, and why it was not tried.
    pub log: Vec<(Instance, Verdict)>,
}

impl fmt::Display for NothingLegal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "none of {} candidates can be measured", self.log.len())?;
        match self.log.first() {
            Some((_, Verdict::Illegal(why) | Verdict::Refused(why))) => write!(f, ": {why}"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for NothingLegal {}

/// The instances a kernel's `tune(..)` declares around one, each compiled or rejected.
#[doc(hidden)]
pub fn candidates(
    text: &'static str,
    base: &[(&str, Arg)],
    with: &[(&str, Arg)],
) -> Result<Vec<Candidate<Compiled>>, JitError> {
    let program = jit::program(text)?;
    let kernel = program.kernel.name.text.clone();
    let values: Vec<(&str, Arg)> = base.iter().chain(with).copied().collect();
    let base =
        instance::of(&program, &values).map_err(|reason| JitError::Instance { kernel, reason })?;
    let mut sink = Sink::new();
    let instances = check::instances::candidates(&program, &base, &mut sink);
    let refused = sink.has_errors();
    let diags = sink.take();
    if refused {
        return Err(jit::refused(&program, &base, &diags));
    }
    let compiled = |instance: Instance| Candidate {
        kernel: jit::instance_of(&program, &instance),
        instance,
    };
    Ok(instances.into_iter().map(compiled).collect())
}

impl<K> Candidate<K> {
    /// The same candidate, its kernel as something else.
    #[doc(hidden)]
    pub fn map<L>(self, f: impl FnOnce(K) -> L) -> Candidate<L> {
        Candidate {
            instance: self.instance,
            kernel: self.kernel.map(f),
        }
    }
}

impl Tuner {
    /// Chooses among candidates; `launch` runs one of them on the stream, always on the same arguments.
    /// `told` hears each verdict as it falls.
    ///
    /// # Errors
    /// If no candidate is legal and launches.
    pub fn choose<K: AsRef<Compiled>>(
        &self,
        stream: &Stream,
        candidates: Vec<Candidate<K>>,
        mut launch: impl FnMut(&K) -> Result<(), LaunchError>,
        mut told: impl FnMut(&Instance, &Verdict),
    ) -> Result<Decision, NothingLegal> {
        let mut log = Vec::new();
        let mut incumbent: Option<(Instance, K)> = None;
        for candidate in candidates {
            let Candidate { instance, kernel } = candidate;
            let verdict = match kernel {
                Err(error) => Verdict::Illegal(error.to_string()),
                Ok(kernel) => {
                    match self.against(stream, incumbent.as_ref(), &kernel, &mut launch) {
                        Err(error) => Verdict::Refused(error.to_string()),
                        Ok(None) => {
                            incumbent = Some((instance.clone(), kernel));
                            Verdict::First
                        }
                        Ok(Some(measured)) if measured.interval.0 > 1.0 + self.same => {
                            incumbent = Some((instance.clone(), kernel));
                            Verdict::Faster(measured)
                        }
                        Ok(Some(measured)) if measured.interval.1 < 1.0 => {
                            Verdict::Slower(measured)
                        }
                        Ok(Some(measured)) => Verdict::Same(measured),
                    }
                }
            };
            told(&instance, &verdict);
            log.push((instance, verdict));
        }
        let Some((instance, kernel)) = incumbent else {
            return Err(NothingLegal { log });
        };
        let artifact = kernel.as_ref().artifact();
        let device = stream.device();
        Ok(Decision {
            tuned: Tuned {
                kernel: artifact.kernel.to_owned(),
                text: artifact.fingerprint,
                device: device.name().to_owned(),
                instance,
            },
            measure: match device.kind() {
                Kind::Gpu(_) => "time on the GPU, by events",
                Kind::Vm => "the host's time for running the virtual machine: not a GPU's",
            },
            log,
        })
    }

    /// Measures a candidate against the incumbent; without one, launches it.
    fn against<K>(
        &self,
        stream: &Stream,
        incumbent: Option<&(Instance, K)>,
        candidate: &K,
        launch: &mut impl FnMut(&K) -> Result<(), LaunchError>,
    ) -> Result<Option<Measured>, LaunchError> {
        launch(candidate)?;
        stream.synchronize()?;
        let Some((_, incumbent)) = incumbent else {
            return Ok(None);
        };
        let launch = std::cell::RefCell::new(launch);
        let run = |kernel: &K| (launch.borrow_mut())(kernel);
        let mut pairs = self.first.min(self.most).max(6);
        loop {
            let bench = Bench {
                warm_up: 2,
                samples: pairs,
                repeat: self.repeat.max(1),
            };
            let pair = bench.pair(stream, || run(incumbent), || run(candidate))?;
            let (low, high) = pair.interval;
            let decided = low > 1.0 + self.same || high < 1.0;
            let same = low > 1.0 - self.same && high < 1.0 + self.same;
            if decided || same || pairs * 2 > self.most {
                return Ok(Some(Measured {
                    incumbent_us: pair.a.median(),
                    candidate_us: pair.b.median(),
                    ratio: pair.ratio,
                    interval: pair.interval,
                    pairs,
                }));
            }
            pairs *= 2;
        }
    }
}

impl Decision {
    /// The whole decision: what was chosen, and every candidate with its verdict.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = format!(
            "{{\"kernel\":{},\"text\":\"{:032x}\",\"device\":{},\"measure\":{},\"chosen\":{},\"log\":[",
            quoted(&self.tuned.kernel),
            self.tuned.text,
            quoted(&self.tuned.device),
            quoted(self.measure),
            object(&self.tuned.instance),
        );
        for (i, (instance, verdict)) in self.log.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            out += &format!("{{\"instance\":{},{}}}", object(instance), verdict.fields());
        }
        out + "]}"
    }
}

impl Verdict {
    /// One word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Illegal(_) => "illegal",
            Verdict::Refused(_) => "refused",
            Verdict::First => "first",
            Verdict::Faster(_) => "faster",
            Verdict::Slower(_) => "slower",
            Verdict::Same(_) => "same",
        }
    }

    fn fields(&self) -> String {
        let word = self.word();
        match self {
            Verdict::Illegal(why) | Verdict::Refused(why) => {
                format!("\"verdict\":\"{word}\",\"reason\":{}", quoted(why))
            }
            Verdict::First => format!("\"verdict\":\"{word}\""),
            Verdict::Faster(m) | Verdict::Slower(m) | Verdict::Same(m) => format!(
                "\"verdict\":\"{word}\",\"incumbent_us\":{:.3},\"candidate_us\":{:.3},\"ratio\":{:.4},\
                 \"low\":{:.4},\"high\":{:.4},\"pairs\":{}",
                m.incumbent_us, m.candidate_us, m.ratio, m.interval.0, m.interval.1, m.pairs
            ),
        }
    }
}

fn object(instance: &Instance) -> String {
    let field = |(name, arg): &(String, Arg)| match arg {
        Arg::Type(t) => format!("{}:{}", quoted(name), quoted(t.name())),
        Arg::Int(_) | Arg::Bool(_) => format!("{}:{arg}", quoted(name)),
    };
    let fields: Vec<String> = instance.args.iter().map(field).collect();
    format!("{{{}}}", fields.join(","))
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c < ' ' => out += &format!("\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out + "\""
}
