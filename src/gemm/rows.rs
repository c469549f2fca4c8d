//! The instances that [`super::product`] and its kin choose from: one row each, by element types.

use super::batch::{batch, batch_tf32, sum_parts, sum_parts_narrow};
use super::hopper::{few, hopper, tf32};
use super::members::{Ends, ListRow};
use super::table::{ALONG, ANY, BATCH, Launched, Lies, Parts, Row, Run, Takes};
use super::{Precision, ampere, list, uneven};
use crate::{Element, Stream, Tensor, e4m3, e5m2};
use half::{bf16, f16};

mod sealed {
    pub trait Sealed<O> {}
}

/// Element types with instances: `E @ E.T` into `O`.
#[diagnostic::on_unimplemented(
    message = "the library has no product of `{Self}` into `{O}`",
    note = "there are f16, bf16 and f32 into themselves, e4m3 and e5m2 into f16, bf16, f32 or themselves, i8 into i32"
)]
pub trait Product<O: Element>: Element + sealed::Sealed<O> {
    /// Its instances.
    fn rows() -> &'static [Row<Self, O>]
    where
        Self: Sized;
    /// Instances for lists.
    fn list() -> &'static [ListRow<Self, O>]
    where
        Self: Sized,
    {
        &[]
    }
    /// Instances that multiply parts of K, into f32.
    fn in_parts() -> &'static [Row<Self, f32>]
    where
        Self: Sized;
    /// Adds such parts up, in their order.
    fn sum_parts(
        stream: &Stream,
        parts: &Tensor<f32, 3>,
        c: &mut Tensor<O, 2>,
        with: &Parts<O>,
    ) -> Launched;
}

macro_rules! parts_summed {
    ($o:ty) => {
        parts_summed!($o, sum_parts);
    };
    ($o:ty, $kernel:ident) => {
        fn sum_parts(
            stream: &Stream,
            parts: &Tensor<f32, 3>,
            c: &mut Tensor<$o, 2>,
            p: &Parts<$o>,
        ) -> Launched {
            $kernel::<$o>::launch(
                stream,
                parts,
                c,
                &p.bias,
                &p.residual()?,
                p.own,
                p.alpha,
                p.beta,
                p.activation,
            )
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
                    few_row!($e, (64, 64, 64, 12), 0.95),
                    few_row!($e, (128, 64, 64, 8), 0.9),
                    hopper_row!($e, $e, (128, 256, 64, 4, 64, 12), (0, 0), 0, 1.0),
                    hopper_row!($e, $e, (128, 224, 64, 4, 56, 12), (0, 0), 0, 0.995, least = 4096),
                    hopper_row!($e, $e, (128, 192, 64, 4, 64, 8), (0, 0), 0, 0.98),
                    hopper_row!($e, $e, (192, 192, 64, 4, 32, 8), (0, 0), 0, 1.0, least = 2048),
                    hopper_row!($e, $e, (128, 144, 64, 6, 24, 8), (0, 0), 0, 0.97, least = 2048),
                    hopper_row!($e, $e, (128, 128, 64, 6, 64, 16), (0, 0), 0, 0.93, small_rate = 1.02),
                    hopper_row!($e, $e, (128, 112, 64, 6, 56, 2), (0, 0), 0, 0.93, least = 2048),
                    hopper_row!($e, $e, (128, 64, 64, 8, 64, 2), (0, 0), 0, 0.7),
                    hopper_row!($e, $e, (128, 256, 64, 4, 64, 12), (1, 0), 0, 1.0),
                    hopper_row!($e, $e, (128, 256, 64, 4, 64, 12), (0, 1), 0, 1.0),
                    hopper_row!($e, $e, (128, 256, 64, 4, 64, 12), (1, 1), 0, 1.0),
                    hopper_row!($e, $e, (128, 128, 64, 6, 64, 16), (0, 0), 1, 0.9),
                    batch_row!($e, $e, 64, 64, false),
                    whole_row!($e, 0.46),
                    ampere_row!($e, 128, 0, 0.45),
                    ampere_row!($e, 64, 1, 0.25),
                    many_row!("any 64 x 64 x 32", ampere::any<$e, $e>, [64, 64], 32, 0.03, ANY),
                ];
                ROWS
            }
            fn list() -> &'static [ListRow<$e, $e>] {
                static ROWS: &[ListRow<$e, $e>] = &[
                    list_row!("list group 128 x 256 x 64", list::list_group<$e, 256, 4, 0>, [128, 256], true, Plain, None, 0.68),
                    list_row!("list group 128 x 128 x 64", list::list_group<$e, 128, 3, 0>, [128, 128], true, Plain, None, 0.63),
                    list_row!("list group 128 x 128 x 64 epilogue 1", list::list_group<$e, 128, 3, 1>, [128, 128], true, Scaled, None, 0.63),
                    list_row!("list ring 128 x 128 x 64", list::list_ring<$e, 128, 128, 64, 3, 0>, [128, 128], true, Plain, None, 0.45, activation),
                    list_row!("list ring 64 x 64 x 64", list::list_ring<$e, 64, 64, 64, 3, 1>, [64, 64], true, Any, None, 0.25, activation),
                    list_row!("list each 64 x 64 x 32", list::list_each<$e>, [64, 64], false, Any, None, 0.03, activation),
                ];
                ROWS
            }
            fn in_parts() -> &'static [Row<$e, f32>] {
                static ROWS: &[Row<$e, f32>] = &[
                    batch_row!($e, f32, 64, 32, true),
                    many_row!("any 64 x 64 x 32", ampere::any<$e, f32>, [64, 64], 32, 0.03, ANY),
                ];
                ROWS
            }
            parts_summed!($e);
        }
    )*};
}

halves! { f16 bf16 }

macro_rules! narrow {
    ($($e:ty => $o:ty, $slab:literal, $sum:ident, [$($wide:tt)*];)*) => {$(
        impl sealed::Sealed<$o> for $e {}
        impl Product<$o> for $e {
            fn rows() -> &'static [Row<$e, $o>] {
                static ROWS: &[Row<$e, $o>] = &[
                    $($wide)*
                    batch_row!($e, $o, 128, $slab, false),
                    many_row!("narrow 64 x 64 x 64", ampere::narrow<$e, $o>, [64, 64], 64, 0.03, ANY),
                ];
                ROWS
            }
            fn in_parts() -> &'static [Row<$e, f32>] {
                static ROWS: &[Row<$e, f32>] = &[
                    batch_row!($e, f32, 128, 32, false),
                    many_row!("narrow 64 x 64 x 64", ampere::narrow<$e, f32>, [64, 64], 64, 0.03, ANY),
                ];
                ROWS
            }
            parts_summed!($o, $sum);
        }
    )*};
}

narrow! {
    e4m3 => f16, 64, sum_parts, [hopper_row!(e4m3, f16, (128, 256, 128, 4, 64, 16), (0, 0), 0, 1.0),];
    e4m3 => bf16, 64, sum_parts, [hopper_row!(e4m3, bf16, (128, 256, 128, 4, 64, 16), (0, 0), 0, 1.0),];
    e4m3 => f32, 32, sum_parts, [];
    e5m2 => f16, 64, sum_parts, [];
    e5m2 => bf16, 64, sum_parts, [hopper_row!(e5m2, bf16, (128, 256, 128, 4, 64, 16), (0, 0), 0, 1.0),];
    e5m2 => f32, 32, sum_parts, [];
    e4m3 => e4m3, 64, sum_parts_narrow, [hopper_row!(e4m3, e4m3, (128, 256, 128, 4, 128, 8), (0, 0), 0, 1.0),];
    e5m2 => e5m2, 64, sum_parts_narrow, [hopper_row!(e5m2, e5m2, (128, 256, 128, 4, 128, 8), (0, 0), 0, 1.0),];
}

impl sealed::Sealed<f32> for f32 {}
impl Product<f32> for f32 {
    fn rows() -> &'static [Row<f32, f32>] {
        static ROWS: &[Row<f32, f32>] = &[
            uneven_row!(4, 16, 1.01),
            tf32_row!(256, 0),
            tf32_row!(192, 4096),
            many_row!(
                "batch of tf32 128 x 128 x 32",
                batch_tf32<128, 32, 6>,
                [128, 128],
                32,
                0.88,
                Takes { precision: Some(Precision::Tf32), ..BATCH }
            ),
            single_row!(0, Tf32),
            single_row!(1, Tf32x3),
        ];
        ROWS
    }
    fn list() -> &'static [ListRow<f32, f32>] {
        static ROWS: &[ListRow<f32, f32>] = &[
            list_row!(
                "list single 64 x 64 x 32 by Tf32",
                list::list_single<0>,
                [64, 64],
                false,
                Any,
                Some(Precision::Tf32),
                0.03,
                activation
            ),
            list_row!(
                "list single 64 x 64 x 32 by Tf32x3",
                list::list_single<1>,
                [64, 64],
                false,
                Any,
                Some(Precision::Tf32x3),
                0.03,
                activation
            ),
        ];
        ROWS
    }
    fn in_parts() -> &'static [Row<f32, f32>] {
        // Those that take parts are picked by their own rule.
        &Self::rows()[3..]
    }
    parts_summed!(f32);
}

impl sealed::Sealed<i32> for i8 {}
impl Product<i32> for i8 {
    fn rows() -> &'static [Row<i8, i32>] {
        static ROWS: &[Row<i8, i32>] = &[Row {
            instance: "bytes 64 x 64 x 64",
            artifact: ampere::bytes::ARTIFACT,
            tile: [64, 64],
            depth: 64,
            takes: Takes {
                epilogue: false,
                own: false,
                ..ANY
            },
            rate: 0.03,
            run: Run::Many(|stream, a, b, c, groups, _| {
                ampere::bytes::launch(stream, a, b, c, groups)
            }),
        }];
        ROWS
    }
    fn in_parts() -> &'static [Row<i8, f32>] {
        &[]
    }
    fn sum_parts(
        _: &Stream,
        _: &Tensor<f32, 3>,
        _: &mut Tensor<i32, 2>,
        _: &Parts<i32>,
    ) -> Launched {
        unreachable!("sums of bytes come in one part")
    }
}
