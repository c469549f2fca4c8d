//! What a row of [`super::rows`] is made of, by kernel: numbers of an instance, what it takes, how it is launched.

macro_rules! hopper_row {
    ($e:ty, $o:ty, ($bm:literal, $bn:literal, $bk:literal, $stages:literal, $slab:literal, $group:literal), ($ta:literal, $tb:literal), $epi:literal, $rate:literal $(, $field:ident = $value:literal)?) => {
        Row {
            instance: concat!("hopper ", $bm, " x ", $bn, " x ", $bk, " ta ", $ta, " tb ", $tb, " epilogue ", $epi),
            artifact: hopper::<$e, $o, $bm, $bn, $bk, $stages, $slab, $group, $ta, $tb, $epi>::ARTIFACT,
            tile: [$bm, $bn],
            depth: $bk,
            takes: Takes {
                lies: Some([
                    if $ta == 1 { Lies::Across } else { Lies::Along },
                    if $tb == 1 { Lies::Across } else { Lies::Along },
                ]),
                epilogue: $epi == 1,
                $($field: $value,)?
                ..ALONG
            },
            rate: $rate,
            run: Run::One(|stream, a, b, c, p| {
                let (at, bt) = (a.transpose(), b.transpose());
                let (a, b) = (if $ta == 1 { &at } else { a }, if $tb == 1 { &bt } else { b });
                hopper::<$e, $o, $bm, $bn, $bk, $stages, $slab, $group, $ta, $tb, $epi>::launch(
                    stream, a, b, c, &p.bias, &p.residual()?, p.alpha, p.beta, p.activation,
                )
            }),
        }
    };
}

macro_rules! few_row {
    ($e:ty, ($bm:literal, $bn:literal, $bk:literal, $stages:literal), $rate:literal) => {
        Row {
            instance: concat!("few ", $bm, " x ", $bn, " x ", $bk),
            artifact: few::<$e, $e, $bm, $bn, $bk, $stages>::ARTIFACT,
            tile: [$bm, $bn],
            depth: $bk,
            takes: Takes { rows: $bm, ..ALONG },
            rate: $rate,
            run: Run::One(|stream, a, b, c, _| {
                few::<$e, $e, $bm, $bn, $bk, $stages>::launch(stream, a, b, c)
            }),
        }
    };
}

macro_rules! ampere_row {
    ($e:ty, $tile:literal, $epi:literal, $rate:literal) => {
        Row {
            instance: concat!("ampere ", $tile, " x ", $tile, " x 64 epilogue ", $epi),
            artifact: ampere::ampere::<$e, $tile, $tile, 64, 3, $epi>::ARTIFACT,
            tile: [$tile, $tile],
            depth: 64,
            takes: Takes {
                compact: true,
                epilogue: $epi == 1,
                ..ALONG
            },
            rate: $rate,
            run: Run::One(|stream, a, b, c, p| {
                ampere::ampere::<$e, $tile, $tile, 64, 3, $epi>::launch(
                    stream,
                    a,
                    b,
                    c,
                    &p.bias,
                    &p.residual()?,
                    p.alpha,
                    p.beta,
                    p.activation,
                )
            }),
        }
    };
}

macro_rules! whole_row {
    ($e:ty, $rate:literal) => {
        Row {
            instance: "whole 128 x 128 x 64",
            artifact: ampere::whole::<$e, 128, 128, 64, 3>::ARTIFACT,
            tile: [128, 128],
            depth: 64,
            takes: Takes {
                compact: true,
                whole: Some(3),
                ..ALONG
            },
            rate: $rate,
            run: Run::One(|stream, a, b, c, _| {
                ampere::whole::<$e, 128, 128, 64, 3>::launch(stream, a, b, c)
            }),
        }
    };
}

/// A kernel of batches and parts, with the arguments that all of them have.
macro_rules! many_row {
    ($name:expr, $kernel:ty, $tile:expr, $depth:literal, $rate:literal, $takes:expr) => {
        Row {
            instance: $name,
            artifact: <$kernel>::ARTIFACT,
            tile: $tile,
            depth: $depth,
            takes: $takes,
            rate: $rate,
            run: Run::Many(|stream, a, b, c, groups, p| {
                <$kernel>::launch(
                    stream,
                    a,
                    b,
                    c,
                    &p.bias,
                    &p.residual,
                    groups,
                    p.own,
                    p.alpha,
                    p.beta,
                    p.activation,
                )
            }),
        }
    };
}

macro_rules! batch_row {
    ($e:ty, $o:ty, $depth:literal, $slab:literal, $plain:literal) => {
        many_row!(
            concat!("batch 128 x 128 x ", $depth),
            batch<$e, $o, 128, $depth, 6, $slab, $plain>,
            [128, 128],
            $depth,
            0.88,
            if $plain { ALONG } else { BATCH }
        )
    };
}

/// A kernel of lists, with the arguments that all of them have.
macro_rules! list_row {
    ($name:expr, $kernel:ty, $tile:expr, $eights:literal, $ends:ident, $precision:expr, $rate:literal $(, $activation:ident)?) => {
        ListRow {
            instance: $name,
            artifact: <$kernel>::ARTIFACT,
            tile: $tile,
            eights: $eights,
            ends: Ends::$ends,
            precision: $precision,
            rate: $rate,
            run: |stream, t| {
                <$kernel>::launch(
                    stream,
                    &t.a,
                    &t.b,
                    &mut t.c,
                    &t.begins,
                    &t.sizes,
                    t.tiles,
                    t.alpha,
                    t.beta,
                    $(t.$activation,)?
                )
            },
        }
    };
}

macro_rules! single_row {
    ($thrice:literal, $precision:ident) => {
        many_row!(
            concat!("single 64 x 64 x 32 by ", stringify!($precision)),
            ampere::single<$thrice>,
            [64, 64],
            32,
            0.03,
            Takes {
                precision: Some(Precision::$precision),
                ..ANY
            }
        )
    };
}

macro_rules! tf32_row {
    ($bn:literal, $least:literal) => {
        Row {
            instance: concat!("tf32 128 x ", $bn, " x 32"),
            artifact: tf32::<128, $bn, 32, 4, 12>::ARTIFACT,
            tile: [128, $bn],
            depth: 32,
            takes: Takes {
                precision: Some(Precision::Tf32),
                least: $least,
                ..ALONG
            },
            rate: 1.0,
            run: Run::One(|stream, a, b, c, _| {
                tf32::<128, $bn, 32, 4, 12>::launch(stream, a, b, c)
            }),
        }
    };
}

macro_rules! uneven_row {
    ($stages:literal, $group:literal, $rate:literal) => {
        Row {
            instance: "uneven 128 x 256 x 32",
            artifact: uneven::uneven::<$stages, $group>::ARTIFACT,
            tile: [128, 256],
            depth: 32,
            takes: Takes {
                precision: Some(Precision::Tf32),
                eights: true,
                ..ALONG
            },
            rate: $rate,
            run: Run::One(|stream, a, b, c, _| {
                let [m, n] = c.shape();
                let cut = uneven::cut(m, n, stream.device().multiprocessors() as usize);
                let eights = a.split_axis::<3, 4>(0, [m / 8, 4, 2])?.swap_axes(1, 2)?;
                uneven::uneven::<$stages, $group>::launch(stream, &eights, b, c, cut as u32)
            }),
        }
    };
}
