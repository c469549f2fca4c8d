//! What a row of [`super::rows`] says of an instance, and what a call asks.
//!
//! A row says what it takes and how fast its tiles come, relative to the widest. Rates of `hopper` without
//! an epilogue, `few`, `tf32` and the wide `ampere` are measured (`benches/results/gemm_h200.csv`); those of
//! the others are guesses from them. The estimate is
//!
//! ```text
//! rounds of tiles over the multiprocessors x elements of a tile / rate
//! ```
//!
//! in units of K products by one multiprocessor. K in parts divides the tile's share by their number, and costs
//! a second launch and the parts' way through memory: [`Row::estimate_parts`], a model with measured constants.

use super::{Choice, Epilogue, Precision, uneven};
use crate::{Device, Element, LaunchError, Stream, Tensor};
use tiki_kernel::artifact::Artifact;
use tiki_kernel::target::Target;

/// How an operand's elements lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lies {
    /// Contiguous along K (for a result: along N), rows of whole 16 bytes.
    Along,
    /// Contiguous along the other axis, columns of whole 16 bytes.
    Across,
    /// Anything else.
    Otherwise,
}

impl Lies {
    /// The last two axes of a tensor, whose matrices begin whole 16 bytes apart.
    pub(super) fn of<E: Element, const R: usize>(t: &Tensor<E, R>) -> Lies {
        let (shape, strides) = (t.shape(), t.strides());
        let whole = |stride: usize| (stride * size_of::<E>()).is_multiple_of(16) && stride > 0;
        let apart = (0..R - 2).all(|i| shape[i] <= 1 || whole(strides[i]));
        let (s, u) = (strides[R - 2], strides[R - 1]);
        if !t.address().is_multiple_of(16) || !apart || (s * size_of::<E>()) >> 40 > 0 {
            Lies::Otherwise
        } else if u == 1 && whole(s) {
            Lies::Along
        } else if s == 1 && whole(u) {
            Lies::Across
        } else {
            Lies::Otherwise
        }
    }
}

/// A call, as eligibility sees it.
#[derive(Debug, Clone)]
pub(super) struct Asked<'d> {
    device: &'d Device,
    pub processors: u32,
    /// Matrices of the result; more than one, or rows that belong to different matrices, take [`Run::Many`].
    pub batch: usize,
    pub many: bool,
    m: usize,
    n: usize,
    k: usize,
    a: Lies,
    b: Lies,
    c: Lies,
    /// Of operands and result.
    bytes: usize,
    /// Rows without gaps everywhere.
    compact: bool,
    plain: bool,
    /// `beta` times the result as it was.
    own: bool,
    precision: Precision,
    types: (&'static str, &'static str),
}

impl<'d> Asked<'d> {
    pub fn of<E: Element, O: Element, const R: usize>(
        device: &'d Device,
        a: &Tensor<E, R>,
        b: &Tensor<E, R>,
        c: &Tensor<O, R>,
        epilogue: &Epilogue<'_, O, R>,
    ) -> Self {
        let residual = epilogue.residual.is_none_or(Tensor::is_contiguous);
        Asked {
            device,
            processors: device.multiprocessors(),
            batch: if R > 2 { c.dim(0) } else { 1 },
            many: R > 2,
            m: a.dim(R - 2),
            n: b.dim(R - 2),
            k: a.dim(R - 1),
            a: Lies::of(a),
            b: Lies::of(b),
            c: Lies::of(c),
            bytes: (a.len() + b.len()) * size_of::<E>() + c.len() * size_of::<O>(),
            compact: a.is_contiguous() && b.is_contiguous() && c.is_contiguous() && residual,
            plain: epilogue.is_plain(),
            own: epilogue.beta != 0.0 && epilogue.residual.is_none(),
            precision: epilogue.precision,
            types: (E::DTYPE.name(), O::DTYPE.name()),
        }
    }

    /// The same with its parts of K for results: f32, without gaps, nothing done to them.
    pub fn in_parts(&self) -> Self {
        Asked {
            c: if self.n.is_multiple_of(4) {
                Lies::Along
            } else {
                Lies::Otherwise
            },
            plain: true,
            own: false,
            ..self.clone()
        }
    }
}

impl std::fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (e, o) = self.types;
        write!(f, "{} x {} x {} of {e} into {o}", self.m, self.n, self.k)
    }
}

/// Launches one product.
type LaunchOne<E, O> =
    fn(&Stream, &Tensor<E, 2>, &Tensor<E, 2>, &mut Tensor<O, 2>, &Parts<O>) -> Launched;

/// Launches products of a batch, or parts of one: the result is (parts, batch, M, N), the bounds are of groups.
type LaunchMany<E, O> = fn(
    &Stream,
    &Tensor<E, 3>,
    &Tensor<E, 3>,
    &mut Tensor<O, 4>,
    &Tensor<u32, 1>,
    &Parts<O>,
) -> Launched;

/// What carries out a row.
pub(super) enum Run<E: Element, O: Element> {
    /// One product.
    One(LaunchOne<E, O>),
    /// Products of a batch, or parts of one.
    Many(LaunchMany<E, O>),
}

impl<E: Element, O: Element> std::fmt::Debug for Run<E, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Run::One(_) => "One",
            Run::Many(_) => "Many",
        })
    }
}

pub(super) type Launched = Result<(), LaunchError>;

/// One instance.
#[derive(Debug)]
pub struct Row<E: Element, O: Element> {
    /// Its name.
    pub instance: &'static str,
    /// What was built.
    pub(super) artifact: &'static Artifact,
    pub(super) tile: [usize; 2],
    /// Of K, in a step.
    pub(super) depth: usize,
    /// What it takes.
    pub(super) takes: Takes,
    /// Speed of its tiles.
    pub(super) rate: f64,
    pub(super) run: Run<E, O>,
}

/// What a row takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Takes {
    /// How the operands lie; `None`: in any way.
    pub lies: Option<[Lies; 2]>,
    /// No gaps between rows anywhere.
    pub compact: bool,
    pub epilogue: bool,
    /// An epilogue that adds the result as it was.
    pub own: bool,
    /// Most rows.
    pub rows: usize,
    /// Rows in eights, and a last round of tiles that [`super::uneven`] can fill up.
    pub eights: bool,
    /// Least K: below, what comes after the sums counts for more than what the tile saves.
    pub least: usize,
    /// Whole tiles only, and at least so many steps of K.
    pub whole: Option<usize>,
    /// The rate while everything together has at most [`SMALL`] bytes, if it is another.
    pub small_rate: f64,
    pub precision: Option<Precision>,
}

/// What stays in the second-level cache beside the lines that are written out.
const SMALL: usize = 40 << 20;

pub(super) const ALONG: Takes = Takes {
    lies: Some([Lies::Along, Lies::Along]),
    compact: false,
    epilogue: false,
    own: false,
    rows: usize::MAX,
    eights: false,
    least: 0,
    whole: None,
    small_rate: 0.0,
    precision: None,
};
pub(super) const ANY: Takes = Takes {
    lies: None,
    epilogue: true,
    own: true,
    ..ALONG
};
/// By the kernels of [`super::batch`].
pub(super) const BATCH: Takes = Takes {
    epilogue: true,
    own: true,
    ..ALONG
};

impl<E: Element, O: Element> Row<E, O> {
    pub(super) fn eligible(&self, call: &Asked<'_>) -> Result<(), String> {
        let target = Target::by_name(self.artifact.target);
        if !target.is_some_and(|t| call.device.runs(t)) {
            return Err(format!(
                "built for {}, which {} does not run",
                self.artifact.target,
                call.device.name()
            ));
        }
        let takes = &self.takes;
        if let Some(p) = takes.precision
            && p != call.precision
        {
            return Err(format!("multiplies by {p:?}, not {:?}", call.precision));
        }
        if call.many && matches!(self.run, Run::One(_)) {
            return Err("multiplies two matrices, not a batch".into());
        }
        if !takes.epilogue && !call.plain {
            return Err("has no epilogue".into());
        }
        if !takes.own && call.own {
            return Err("adds no multiple of the result as it was".into());
        }
        if let Some(lies) = takes.lies {
            if call.k == 0 {
                return Err("K is 0".into());
            }
            if [call.a, call.b] != lies || call.c != Lies::Along {
                return Err(format!(
                    "takes operands {:?} and a result along its rows; these lie {:?} and {:?} (rows of whole 16 bytes count)",
                    lies,
                    [call.a, call.b],
                    call.c
                ));
            }
        }
        if takes.compact && !call.compact {
            return Err("takes no gaps between rows".into());
        }
        if let Some(steps) = takes.whole {
            let [m, n] = self.tile;
            let extents = [(call.m, m), (call.n, n), (call.k, self.depth)];
            let whole = extents
                .iter()
                .all(|(extent, of)| extent.is_multiple_of(*of));
            if !whole || call.k < steps * self.depth {
                return Err(format!(
                    "takes whole tiles of {m} x {n} and whole steps of {}, at least {steps}",
                    self.depth
                ));
            }
        }
        if call.k < takes.least {
            return Err(format!("is for a K of at least {}", takes.least));
        }
        if takes.eights && !call.m.is_multiple_of(8) {
            return Err("takes rows in eights".into());
        }
        if takes.eights && uneven::cut(call.m, call.n, call.processors as usize) == 0 {
            return Err("fills up the last round of tiles; here is none to fill".into());
        }
        if call.m > takes.rows {
            return Err(format!("takes at most {} rows", takes.rows));
        }
        Ok(())
    }

    pub(super) fn choice(&self, call: &Asked<'_>, parts: u64) -> Choice {
        Choice {
            instance: self.instance,
            report: self.report(),
            tiles: parts * self.tiles(call),
            parts,
            processors: call.processors,
        }
    }

    /// Its report.
    #[must_use]
    pub fn report(&self) -> &'static str {
        self.artifact.report
    }

    pub(super) fn tiles(&self, call: &Asked<'_>) -> u64 {
        (call.batch * call.m.div_ceil(self.tile[0]) * call.n.div_ceil(self.tile[1])) as u64
    }

    pub(super) fn estimate(&self, call: &Asked<'_>) -> f64 {
        self.rounds(call, 1) / self.rate(call)
    }

    fn rounds(&self, call: &Asked<'_>, parts: u64) -> f64 {
        if self.takes.eights {
            return uneven::busiest(call.m, call.n, call.processors as usize) as f64;
        }
        let tiles = self.tiles(call) * parts;
        let rounds = tiles.div_ceil(u64::from(call.processors.max(1)));
        (rounds * (self.tile[0] * self.tile[1]) as u64) as f64
    }

    /// The square tiles are faster while it all fits the second-level cache.
    fn rate(&self, call: &Asked<'_>) -> f64 {
        if call.bytes <= SMALL && self.takes.small_rate > 0.0 {
            self.takes.small_rate
        } else {
            self.rate
        }
    }

    /// Of K in so many parts, the best number and its estimate; `None` if one part is all there is. A
    /// multiprocessor does some 2048 products a cycle; a launch and its waits are some 13000 cycles; parts are written and
    /// read at 2000 bytes a cycle (fitted to eleven thin shapes on an H200).
    pub(super) fn estimate_parts(&self, call: &Asked<'_>) -> Option<(u64, f64)> {
        let steps = call.k.div_ceil(self.depth) as u64;
        let tiles = self.tiles(call).max(1);
        // Whole rounds, each part of at least four steps, none empty.
        let wanted = (u64::from(call.processors) / tiles).min(steps / 4);
        if wanted < 2 {
            return None;
        }
        let each = steps.div_ceil(wanted);
        let parts = steps.div_ceil(each);
        let bytes = (parts * 8) as f64 * (call.m * call.n) as f64;
        let more = (13000.0 + bytes / 2000.0) * 2048.0 / call.k as f64;
        let share = each as f64 / steps as f64;
        Some((parts, self.rounds(call, parts) * share / self.rate + more))
    }
}

/// Bias, residual and numbers of a call, whether it has them or not: what is outside a tensor reads as zero.
#[derive(Debug)]
pub struct Parts<O: Element> {
    pub(super) bias: Tensor<O, 1>,
    pub(super) residual: Tensor<O, 3>,
    /// What is added is the result as it was.
    pub(super) own: bool,
    pub(super) alpha: f32,
    pub(super) beta: f32,
    pub(super) activation: u32,
}

impl<O: Element> Parts<O> {
    /// `c` is any view of the device's memory: of it, none is taken.
    pub(super) fn of<const D: usize>(
        c: &Tensor<O, 3>,
        e: &Epilogue<'_, O, D>,
    ) -> Result<Self, LaunchError> {
        let nothing = c.slice(2, 0..0)?;
        Ok(Parts {
            bias: match e.bias {
                Some(bias) => bias.view(),
                None => c.at::<2, 1>([0, 0])?.slice(0, 0..0)?,
            },
            residual: match e.residual {
                Some(d) if e.beta != 0.0 => d.with_rank::<3>()?,
                _ => nothing,
            },
            own: e.beta != 0.0 && e.residual.is_none(),
            alpha: e.alpha,
            beta: e.beta,
            activation: e.activation as u32,
        })
    }

    /// Nothing but the sums.
    pub(super) fn plain(c: &Tensor<O, 3>) -> Result<Self, LaunchError> {
        Self::of(c, &Epilogue::<'_, O, 3>::default())
    }

    /// Of one product.
    pub(super) fn residual(&self) -> Result<Tensor<O, 2>, LaunchError> {
        self.residual.at::<1, 2>([0])
    }
}
