//! Thread maps: how a tile is dealt to the threads of a block.

use super::call::Call;
use super::value::{LayoutVal, MapKind, MapVal, Val};
use super::{Check, Push};
use crate::ast::Span;
use crate::diag::codes;
use crate::ir::{Dist, Mode};

impl<'a> Check<'a> {
    pub(crate) fn map_linear(&mut self, call: &Call<'a>) -> Val<'a> {
        match self.block_threads(&call.arg(0), call.at(0)) {
            Some(threads) => Val::ThreadMap(MapVal {
                kind: MapKind::Linear { threads },
                vector: None,
            }),
            None => Val::Poison,
        }
    }

    fn block_threads(&mut self, val: &Val<'a>, span: Span) -> Option<u32> {
        let n = self.const_in(val, "a map's thread count", 1, 1024, span)? as u32;
        self.all_come(n, span).then_some(n)
    }

    /// Whether just so many threads come here, those of a role where it is one's; else an error.
    fn all_come(&mut self, n: u32, span: Span) -> bool {
        let threads = self.threads_here();
        if n == threads && self.first_thread().is_multiple_of(threads) {
            return true;
        }
        self.error(
            codes::MAP,
            span,
            format!(
                "the map deals to {n} threads; {threads} come here, from thread {}",
                self.first_thread()
            ),
        )
        .help(format!("use {threads}"))
        .push(self);
        false
    }

    pub(crate) fn map_rows(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(threads) = self.block_threads(&call.arg(0), call.at(0)) else {
            return Val::Poison;
        };
        let Some(per_row) = self.const_in(
            &call.arg(1),
            "the threads of a row",
            1,
            i128::from(threads),
            call.at(1),
        ) else {
            return Val::Poison;
        };
        let per_row = per_row as u32;
        if !threads.is_multiple_of(per_row) {
            let diag = self.error(
                codes::MAP,
                call.at(1),
                format!("{per_row} threads a row do not divide the {threads} of the block"),
            );
            return self.refuse(diag);
        }
        Val::ThreadMap(MapVal {
            kind: MapKind::Rows { threads, per_row },
            vector: None,
        })
    }

    pub(crate) fn map_new(&mut self, call: &Call<'a>) -> Val<'a> {
        let (Val::Layout(threads), Val::Layout(values)) = (call.arg(0), call.arg(1)) else {
            let diag = self.error(
                codes::TYPE,
                call.span,
                "`ThreadMap::new` takes the layout of the threads and that of the values",
            );
            return self.refuse(diag);
        };
        if threads.axes.len() != values.axes.len() {
            let diag = self
                .error(
                    codes::RANK,
                    call.span,
                    format!(
                        "the layouts have {} and {} axes",
                        threads.axes.len(),
                        values.axes.len()
                    ),
                )
                .note(format!("threads {}, values {}", threads.text, values.text));
            return self.refuse(diag);
        }
        for (layout, what, at) in [
            (&threads, "thread", call.at(0)),
            (&values, "value", call.at(1)),
        ] {
            if layout.swizzle.is_some() || layout.uneven().is_some() {
                let diag = self
                    .error(
                        codes::MAP,
                        at,
                        format!(
                            "the {what} layout {} does not number its {what}s from 0 without gaps",
                            layout.text
                        ),
                    )
                    .label(layout.uneven().unwrap_or_default())
                    .help(format!(
                        "by rows it would be `layout!({})`",
                        layout.compact_text()
                    ));
                return self.refuse(diag);
            }
        }
        let count: u32 = threads.shape().iter().product();
        if !self.all_come(count, call.at(0)) {
            return Val::Poison;
        }
        Val::ThreadMap(MapVal {
            kind: MapKind::Explicit { threads, values },
            vector: None,
        })
    }

    pub(crate) fn map_vector(&mut self, call: &Call<'a>) -> Val<'a> {
        let Val::ThreadMap(map) = &call.recv else {
            return Val::Poison;
        };
        let mut map = map.clone();
        let Some(n) = self.const_in(&call.arg(0), "a vector's length", 1, 128, call.at(0)) else {
            return Val::Poison;
        };
        let n = n as u32;
        if !n.is_power_of_two() {
            let diag = self.error(
                codes::VECTOR,
                call.at(0),
                format!("a vector of {n} elements; lengths are powers of two"),
            );
            return self.refuse(diag);
        }
        map.vector = Some((n, call.row.name == "vector"));
        Val::ThreadMap(map)
    }

    /// The distribution of a tile by a map, with runs of `width` elements along the last axis.
    pub(crate) fn distribute(
        &mut self,
        map: &MapVal,
        shape: &[u32],
        width: u32,
        span: Span,
    ) -> Option<Dist> {
        match &map.kind {
            MapKind::Linear { threads } => Some(linear(*threads, shape, width)),
            MapKind::Rows { threads, per_row } => {
                if shape.len() < 2 {
                    self.error(
                        codes::MAP,
                        span,
                        "`ThreadMap::rows` deals tiles of two axes",
                    )
                    .push(self);
                    return None;
                }
                Some(rows(*threads, *per_row, shape, width))
            }
            MapKind::Explicit { threads, values } => self.explicit(threads, values, shape, span),
        }
    }

    fn explicit(
        &mut self,
        threads: &LayoutVal,
        values: &LayoutVal,
        shape: &[u32],
        span: Span,
    ) -> Option<Dist> {
        let (t, v) = (threads.shape(), values.shape());
        if t.len() != shape.len() {
            self.error(
                codes::RANK,
                span,
                format!("the map has {} axes and the tile {}", t.len(), shape.len()),
            )
            .note(format!(
                "threads {}, values {}, tile {shape:?}",
                threads.text, values.text
            ))
            .push(self);
            return None;
        }
        // Along each axis: a thread's values stand next to each other, then the next thread.
        let modes = |layout: &LayoutVal, scale: &[u32]| {
            let mut digits: Vec<(i64, Mode)> = Vec::new();
            for (axis, axis_digits) in layout.axes.iter().enumerate() {
                let mut step = scale[axis];
                for d in axis_digits {
                    digits.push((d.stride, Mode::along(axis, d.extent, step)));
                    step *= d.extent;
                }
            }
            digits.retain(|(_, m)| m.extent > 1);
            digits.sort_by_key(|(stride, _)| *stride);
            digits.into_iter().map(|(_, m)| m).collect::<Vec<_>>()
        };
        let thread_modes = modes(threads, &v);
        let mut value_modes = modes(values, &vec![1; v.len()]);
        for axis in (0..shape.len()).rev() {
            let block = t[axis] * v[axis];
            let rest = shape[axis].div_ceil(block.max(1));
            if rest != 1 {
                value_modes.push(Mode::along(axis, rest, block));
            }
        }
        Some(
            Dist {
                threads: thread_modes,
                values: value_modes,
            }
            .merged(),
        )
    }
}

/// Vectors in row-major order, dealt one after another. Where a row has fewer vectors than the block
/// threads, several rows are dealt at once if that comes out even, else the last threads hold nothing.
pub(crate) fn linear(threads: u32, shape: &[u32], width: u32) -> Dist {
    let last = shape.len() - 1;
    let chunks = (shape[last] / width).max(1);
    let several_rows = shape[..last].iter().any(|&n| n > 1);
    if several_rows && chunks < threads && threads.is_multiple_of(chunks) {
        return rows(threads, chunks, shape, width);
    }
    rows(threads, threads, shape, width)
}

/// `per_row` threads share a row.
pub(crate) fn rows(threads: u32, per_row: u32, shape: &[u32], width: u32) -> Dist {
    let last = shape.len() - 1;
    let chunks = shape[last] / width;
    let mut thread_modes = vec![Mode::along(last, per_row, width)];
    let mut values = vec![
        Mode::along(last, width, 1),
        Mode::along(last, chunks.div_ceil(per_row), per_row * width),
    ];
    let mut left = threads / per_row;
    for axis in (0..last).rev() {
        let extent = shape[axis];
        if left > 1 && extent < left && left.is_multiple_of(extent.max(1)) && axis > 0 && extent > 0
        {
            thread_modes.push(Mode::along(axis, extent, 1));
            left /= extent;
        } else {
            thread_modes.push(Mode::along(axis, left, 1));
            values.push(Mode::along(axis, extent.div_ceil(left), left));
            left = 1;
        }
    }
    if left > 1 {
        // One axis only: the other threads lie past the end.
        thread_modes.push(Mode::along(
            last,
            left,
            per_row * width * chunks.div_ceil(per_row),
        ));
    }
    let empty = shape.contains(&0);
    if empty {
        values = vec![Mode {
            extent: 0,
            axis: Some(last as u8),
            step: 1,
        }];
    }
    Dist {
        threads: thread_modes,
        values,
    }
    .merged()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Invariant: every element of the tile is held by exactly one (thread, value).
    /// Witness: a count per element over all pairs whose coordinate lies inside.
    #[test]
    fn every_element_is_dealt_once() {
        let shapes: &[&[u32]] = &[
            &[1, 576],
            &[1, 31],
            &[1, 4096],
            &[32, 64],
            &[3, 129],
            &[1024],
            &[31],
            &[7],
            &[2, 3, 40],
            &[64, 8],
        ];
        for shape in shapes {
            for threads in [32, 96, 128, 256] {
                for width in [1, 2, 4, 8] {
                    if !shape[shape.len() - 1].is_multiple_of(width) {
                        continue;
                    }
                    let mut dists = vec![linear(threads, shape, width)];
                    if shape.len() > 1 {
                        dists.push(rows(threads, 32, shape, width));
                    }
                    for d in dists {
                        assert_eq!(d.thread_count(), threads, "{shape:?} {threads} {width} {d}");
                        let size: u32 = shape.iter().product();
                        let mut seen = vec![0; size as usize];
                        for t in 0..threads as usize {
                            for v in 0..d.len() {
                                let c = d.coordinate(t, v, shape.len());
                                if c.iter().zip(*shape).all(|(c, s)| c < s) {
                                    let at = c.iter().zip(*shape).fold(0, |a, (c, s)| a * s + c);
                                    seen[at as usize] += 1;
                                }
                            }
                        }
                        assert!(
                            seen.iter().all(|&n| n == 1),
                            "{shape:?} {threads} {width} {d}"
                        );
                    }
                }
            }
        }
    }
}
