//! The instances that [`super::product`] chooses from: one row each.
//!
//! A row says what it takes and how fast its tiles come, relative to the widest: from
//! `benches/results/gemm_h200.csv`. The estimate is
//!
//! ```text
//! rounds of tiles over the multiprocessors x elements of a tile / rate
//! ```

use super::hopper::{few, hopper, tf32};
use super::{Activation, Epilogue, Precision, ampere};
use crate::{Device, Element, LaunchError, Stream, Tensor, e4m3, e5m2};
use half::{bf16, f16};
use tiki_kernel::artifact::Artifact;
use tiki_kernel::target::Target;

/// How an operand's elements lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lies {
    /// Contiguous along K (for a result: along N), rows of whole 16 bytes.
    Along,
    /// Contiguous along the other axis, columns of whole 16 bytes.
    Across,
    /// Anything else.
    Otherwise,
}

impl Lies {
    fn of<E: Element>(t: &Tensor<E, 2>) -> Lies {
        let whole = |stride: usize, extent: usize| {
            (extent <= 1 || (stride * size_of::<E>()).is_multiple_of(16)) && stride > 0
        };
        let ([r, c], [s, u]) = (t.shape(), t.strides());
        if !t.address().is_multiple_of(16) || (s * size_of::<E>()) >> 40 > 0 {
            Lies::Otherwise
        } else if u == 1 && whole(s, r) {
            Lies::Along
        } else if s == 1 && whole(u, c) {
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
    m: usize,
    n: usize,
    k: usize,
    a: Lies,
    b: Lies,
    c: Lies,
    /// Rows without gaps everywhere.
    compact: bool,
    plain: bool,
    precision: Precision,
    types: (&'static str, &'static str),
}

impl<'d> Asked<'d> {
    pub fn of<E: Element, O: Element>(
        device: &'d Device,
        a: &Tensor<E, 2>,
        b: &Tensor<E, 2>,
        c: &Tensor<O, 2>,
        epilogue: &Epilogue<'_, O>,
    ) -> Self {
        let residual = epilogue.residual.is_none_or(Tensor::is_contiguous);
        Asked {
            device,
            processors: device.multiprocessors(),
            m: a.dim(0),
            n: b.dim(0),
            k: a.dim(1),
            a: Lies::of(a),
            b: Lies::of(b),
            c: Lies::of(c),
            compact: a.is_contiguous() && b.is_contiguous() && c.is_contiguous() && residual,
            plain: epilogue.is_plain(),
            precision: epilogue.precision,
            types: (E::DTYPE.name(), O::DTYPE.name()),
        }
    }
}

impl std::fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (e, o) = self.types;
        write!(f, "{} x {} x {} of {e} into {o}", self.m, self.n, self.k)
    }
}

/// What carries out a row.
pub(super) type Launch<E, O> = fn(
    &Stream,
    &Tensor<E, 2>,
    &Tensor<E, 2>,
    &mut Tensor<O, 2>,
    &Epilogue<'_, O>,
) -> Result<(), LaunchError>;

/// One instance.
#[derive(Debug)]
pub struct Row<E: Element, O: Element> {
    /// Its name.
    pub instance: &'static str,
    /// What was built.
    artifact: &'static Artifact,
    tile: [usize; 2],
    /// What it takes.
    takes: Takes,
    /// Speed of its tiles.
    rate: f64,
    pub(super) launch: Launch<E, O>,
}

/// What a row takes.
#[derive(Debug, Clone, Copy)]
struct Takes {
    /// How the operands lie; `None`: in any way.
    lies: Option<[Lies; 2]>,
    /// No gaps between rows anywhere.
    compact: bool,
    epilogue: bool,
    /// Most rows.
    rows: usize,
    /// Most outputs.
    outputs: usize,
    precision: Option<Precision>,
}

const ALONG: Takes = Takes {
    lies: Some([Lies::Along, Lies::Along]),
    compact: false,
    epilogue: false,
    rows: usize::MAX,
    outputs: usize::MAX,
    precision: None,
};
const ANY: Takes = Takes {
    lies: None,
    epilogue: true,
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
        if !takes.epilogue && !call.plain {
            return Err("has no epilogue".into());
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
        if call.m > takes.rows {
            return Err(format!("takes at most {} rows", takes.rows));
        }
        if call.m * call.n > takes.outputs {
            return Err(format!("its figures hold for {} outputs", takes.outputs));
        }
        Ok(())
    }

    /// Its report.
    #[must_use]
    pub fn report(&self) -> &'static str {
        self.artifact.report
    }

    pub(super) fn tiles(&self, call: &Asked<'_>) -> u64 {
        (call.m.div_ceil(self.tile[0]) * call.n.div_ceil(self.tile[1])) as u64
    }

    pub(super) fn estimate(&self, call: &Asked<'_>) -> f64 {
        let rounds = self.tiles(call).div_ceil(u64::from(call.processors.max(1)));
        (rounds * (self.tile[0] * self.tile[1]) as u64) as f64 / self.rate
    }
}

mod sealed {
    pub trait Sealed<O> {}
}

/// Element types with instances: `E @ E.T` into `O`.
#[diagnostic::on_unimplemented(
    message = "the library has no product of `{Self}` into `{O}`",
    note = "there are f16, bf16 and f32 into themselves, e4m3 into f16 or bf16, e5m2 into bf16, i8 into i32"
)]
pub trait Product<O: Element>: Element + sealed::Sealed<O> {
    /// Its instances.
    fn rows() -> &'static [Row<Self, O>]
    where
        Self: Sized;
}

/// Bias and residual of a call, whether it has them or not: what is outside a tensor reads as zero.
struct Parts<O: Element> {
    bias: Tensor<O, 1>,
    residual: Tensor<O, 2>,
    activation: u32,
}

impl<O: Element> Parts<O> {
    fn of(c: &Tensor<O, 2>, e: &Epilogue<'_, O>) -> Result<Self, LaunchError> {
        let nothing = || c.slice(0, 0..0).and_then(|c| c.slice(1, 0..0));
        Ok(Parts {
            bias: match e.bias {
                Some(bias) => bias.view(),
                None => c.device().zeros([0])?,
            },
            residual: match (e.residual, e.beta == 0.0) {
                (_, true) => nothing()?,
                (Some(d), _) => d.view(),
                (None, _) => c.view(),
            },
            activation: match e.activation {
                Activation::None => 0,
                Activation::Relu => 1,
                Activation::Gelu => 2,
                Activation::Silu => 3,
            },
        })
    }
}

macro_rules! hopper_row {
    ($e:ty, $o:ty, ($bm:literal, $bn:literal, $bk:literal, $stages:literal, $group:literal), ($ta:literal, $tb:literal), $epi:literal, $rate:literal, $($takes:tt)*) => {
        Row {
            instance: concat!("hopper ", stringify!($bm), " x ", stringify!($bn), " x ", stringify!($bk), " ta ", stringify!($ta), " tb ", stringify!($tb), " epilogue ", stringify!($epi)),
            artifact: hopper::<$e, $o, $bm, $bn, $bk, $stages, 64, $group, $ta, $tb, $epi>::ARTIFACT,
            tile: [$bm, $bn],
            takes: Takes {
                lies: Some([
                    if $ta == 1 { Lies::Across } else { Lies::Along },
                    if $tb == 1 { Lies::Across } else { Lies::Along },
                ]),
                epilogue: $epi == 1,
                ..$($takes)*
            },
            rate: $rate,
            launch: |stream, a, b, c, e| {
                let parts = Parts::of(c, e)?;
                let (at, bt) = (a.transpose(), b.transpose());
                let (a, b) = (if $ta == 1 { &at } else { a }, if $tb == 1 { &bt } else { b });
                hopper::<$e, $o, $bm, $bn, $bk, $stages, 64, $group, $ta, $tb, $epi>::launch(
                    stream, a, b, c, &parts.bias, &parts.residual, e.alpha, e.beta, parts.activation,
                )
            },
        }
    };
}

macro_rules! few_row {
    ($e:ty, ($bm:literal, $bn:literal, $bk:literal, $stages:literal), $rate:literal) => {
        Row {
            instance: concat!(
                "few ",
                stringify!($bm),
                " x ",
                stringify!($bn),
                " x ",
                stringify!($bk)
            ),
            artifact: few::<$e, $e, $bm, $bn, $bk, $stages>::ARTIFACT,
            tile: [$bm, $bn],
            takes: Takes { rows: $bm, ..ALONG },
            rate: $rate,
            launch: |stream, a, b, c, _| {
                few::<$e, $e, $bm, $bn, $bk, $stages>::launch(stream, a, b, c)
            },
        }
    };
}

macro_rules! halves {
    ($($e:ty)*) => {$(
        impl sealed::Sealed<$e> for $e {}
        impl Product<$e> for $e {
            fn rows() -> &'static [Row<$e, $e>] {
                static ROWS: &[Row<$e, $e>] = &[
                    few_row!($e, (16, 64, 128, 10), 0.9),
                    few_row!($e, (64, 64, 64, 12), 0.9),
                    few_row!($e, (128, 64, 64, 8), 0.9),
                    hopper_row!($e, $e, (128, 256, 64, 4, 12), (0, 0), 0, 1.0, ALONG),
                    hopper_row!($e, $e, (128, 192, 64, 4, 8), (0, 0), 0, 0.98, ALONG),
                    hopper_row!($e, $e, (128, 128, 64, 6, 16), (0, 0), 0, 0.93, ALONG),
                    // While it all fits the second-level cache.
                    hopper_row!($e, $e, (128, 128, 64, 6, 16), (0, 0), 0, 1.02, Takes { outputs: 1 << 22, ..ALONG }),
                    hopper_row!($e, $e, (128, 64, 64, 8, 8), (0, 0), 0, 0.7, ALONG),
                    hopper_row!($e, $e, (128, 256, 64, 4, 12), (1, 0), 0, 1.0, ALONG),
                    hopper_row!($e, $e, (128, 256, 64, 4, 12), (0, 1), 0, 1.0, ALONG),
                    hopper_row!($e, $e, (128, 256, 64, 4, 12), (1, 1), 0, 1.0, ALONG),
                    hopper_row!($e, $e, (128, 128, 64, 6, 16), (0, 0), 1, 0.9, ALONG),
                    Row {
                        instance: "ampere 128 x 128 x 64",
                        artifact: ampere::ampere::<$e, 128, 128, 64, 3, 0>::ARTIFACT,
                        tile: [128, 128],
                        takes: Takes { compact: true, ..ALONG },
                        rate: 0.45,
                        launch: |stream, a, b, c, e| {
                            let p = Parts::of(c, e)?;
                            ampere::ampere::<$e, 128, 128, 64, 3, 0>::launch(
                                stream, a, b, c, &p.bias, &p.residual, e.alpha, e.beta, p.activation,
                            )
                        },
                    },
                    Row {
                        instance: "ampere 64 x 64 x 64 epilogue 1",
                        artifact: ampere::ampere::<$e, 64, 64, 64, 3, 1>::ARTIFACT,
                        tile: [64, 64],
                        takes: Takes { compact: true, epilogue: true, ..ALONG },
                        rate: 0.25,
                        launch: |stream, a, b, c, e| {
                            let p = Parts::of(c, e)?;
                            ampere::ampere::<$e, 64, 64, 64, 3, 1>::launch(
                                stream, a, b, c, &p.bias, &p.residual, e.alpha, e.beta, p.activation,
                            )
                        },
                    },
                    Row {
                        instance: "any 64 x 64 x 32",
                        artifact: ampere::any::<$e>::ARTIFACT,
                        tile: [64, 64],
                        takes: ANY,
                        rate: 0.03,
                        launch: |stream, a, b, c, e| {
                            let p = Parts::of(c, e)?;
                            ampere::any::<$e>::launch(
                                stream, a, b, c, &p.bias, &p.residual, e.alpha, e.beta, p.activation,
                            )
                        },
                    },
                ];
                ROWS
            }
        }
    )*};
}

halves! { f16 bf16 }

macro_rules! narrow {
    ($($e:ty => $o:ty;)*) => {$(
        impl sealed::Sealed<$o> for $e {}
        impl Product<$o> for $e {
            fn rows() -> &'static [Row<$e, $o>] {
                static ROWS: &[Row<$e, $o>] =
                    &[hopper_row!($e, $o, (128, 256, 128, 4, 16), (0, 0), 0, 1.0, ALONG)];
                ROWS
            }
        }
    )*};
}

narrow! {
    e4m3 => f16;
    e4m3 => bf16;
    e5m2 => bf16;
}

macro_rules! single_row {
    ($thrice:literal, $precision:ident) => {
        Row {
            instance: concat!("single 64 x 64 x 32 by ", stringify!($precision)),
            artifact: ampere::single::<$thrice>::ARTIFACT,
            tile: [64, 64],
            takes: Takes {
                precision: Some(Precision::$precision),
                ..ANY
            },
            rate: 0.03,
            launch: |stream, a, b, c, e| {
                let p = Parts::of(c, e)?;
                ampere::single::<$thrice>::launch(
                    stream,
                    a,
                    b,
                    c,
                    &p.bias,
                    &p.residual,
                    e.alpha,
                    e.beta,
                    p.activation,
                )
            },
        }
    };
}

impl sealed::Sealed<f32> for f32 {}
impl Product<f32> for f32 {
    fn rows() -> &'static [Row<f32, f32>] {
        static ROWS: &[Row<f32, f32>] = &[
            Row {
                instance: "tf32 128 x 256 x 32",
                artifact: tf32::<128, 256, 32, 4, 12>::ARTIFACT,
                tile: [128, 256],
                takes: Takes {
                    precision: Some(Precision::Tf32),
                    ..ALONG
                },
                rate: 1.0,
                launch: |stream, a, b, c, _| tf32::<128, 256, 32, 4, 12>::launch(stream, a, b, c),
            },
            single_row!(0, Tf32),
            single_row!(1, Tf32x3),
        ];
        ROWS
    }
}

impl sealed::Sealed<i32> for i8 {}
impl Product<i32> for i8 {
    fn rows() -> &'static [Row<i8, i32>] {
        static ROWS: &[Row<i8, i32>] = &[Row {
            instance: "bytes 64 x 64 x 64",
            artifact: ampere::bytes::ARTIFACT,
            tile: [64, 64],
            takes: Takes {
                epilogue: false,
                ..ANY
            },
            rate: 0.03,
            launch: |stream, a, b, c, _| ampere::bytes::launch(stream, a, b, c),
        }];
        ROWS
    }
}
