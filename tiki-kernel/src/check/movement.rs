//! Loads and stores that are not through registers, and the order of output tiles.

use super::call::Call;
use super::map::linear;
use super::value::{LoadVal, Num, Scalar, SharedVal, TilesVal, Val, ViewVal};
use super::{Check, Push};
use crate::ast::{Block, Name, Pattern, Span};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{
    Async, Binary, Compare, Const, Op, Special, StmtKind, TensorCopy, TensorCopyKind, Type, Uniform,
};
use crate::target::Feature;

/// A cp.async moves 4, 8 or 16 bytes.
const LEAST_ASYNC: u32 = 4;
/// Where a box begins in shared memory, in bytes.
const LEAST_BOX: u32 = 128;

impl<'a> Check<'a> {
    pub(crate) fn load_new(&mut self, call: &Call<'a>) -> Val<'a> {
        if call.row.name == "tma" {
            if !self.need(Feature::Tma, "a tensor load", call.span) {
                return Val::Poison;
            }
            return Val::Load(LoadVal::Tma { multicast: None });
        }
        if !self.need(Feature::AsyncCopy, "an asynchronous copy", call.span) {
            return Val::Poison;
        }
        let Some(threads) =
            self.const_in(&call.arg(0), "the threads of a load", 32, 1024, call.at(0))
        else {
            return Val::Poison;
        };
        let here = self.threads_here();
        if threads != i128::from(here) {
            let diag = self.error(
                codes::MAP,
                call.at(0),
                format!("the load deals to {threads} threads; {here} come here"),
            );
            return self.refuse(diag);
        }
        Val::Load(LoadVal::CpAsync { threads: here })
    }

    pub(crate) fn load_multicast(&mut self, call: &Call<'a>) -> Val<'a> {
        let Val::Load(LoadVal::Tma { .. }) = call.recv else {
            let diag = self.error(
                codes::TYPE,
                call.span,
                "only a tensor load goes to several blocks",
            );
            return self.refuse(diag);
        };
        // A bit for each of at most 16 blocks.
        let mask = self.convert(
            &call.arg(0),
            Num::D(DType::U16),
            crate::ir::Round::Default,
            call.at(0),
        );
        match self.scalar(&mask, call.at(0)) {
            Some(s) => Val::Load(LoadVal::Tma {
                multicast: Some(s.value),
            }),
            None => Val::Poison,
        }
    }

    /// Source and destination of a copy, of one shape and type.
    fn copy_pair(
        &mut self,
        view: &Val<'a>,
        shared: &Val<'a>,
        span: Span,
    ) -> Option<(ViewVal, SharedVal)> {
        let (Val::View(view), Val::Shared(shared)) = (view, shared) else {
            let odd = if matches!(view, Val::View(_)) {
                shared
            } else {
                view
            };
            self.error(
                codes::TYPE,
                span,
                format!(
                    "a copy is between a view of a global tensor and a shared tensor; this is {}",
                    odd.kind()
                ),
            )
            .push(self);
            return None;
        };
        let shape: Vec<u32> = view.axes.iter().map(|a| a.1).collect();
        let own = Self::shared_shape(shared);
        if shape != own {
            self.error(
                codes::SHAPE,
                span,
                format!("the view has shape {shape:?} and the shared tensor {own:?}"),
            )
            .push(self);
            return None;
        }
        let (dtype, ..) = self.kind_of(&view.global);
        if dtype != shared.dtype {
            self.error(
                codes::ELEMENT,
                span,
                format!(
                    "the view is of `{dtype}`, the shared tensor of `{}`",
                    shared.dtype
                ),
            )
            .push(self);
            return None;
        }
        Some((view.clone(), shared.clone()))
    }

    pub(crate) fn load_copy(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some((view, shared)) = self.copy_pair(&call.arg(0), &call.arg(1), call.span) else {
            return Val::Poison;
        };
        let Val::Load(LoadVal::CpAsync { threads }) = call.recv else {
            let diag = self
                .error(
                    codes::TYPE,
                    call.span,
                    "a tensor load completes on a barrier",
                )
                .help("use `copy_into(&tile, stage, &pipe, s)`");
            return self.refuse(diag);
        };
        let bytes = shared.dtype.bytes();
        let (proven, why) = self.vector_width(&view, 16 / bytes);
        // The shared side: as many elements next to each other, not torn apart by the swizzle.
        let run = shared
            .axes
            .last()
            .and_then(|d| d.first())
            .filter(|d| d.stride == 1)
            .map_or(1, |d| 1 << d.extent.trailing_zeros().min(4));
        let chunk = shared.swizzle.map_or(16, |x| 1 << x.base.min(4));
        let width = proven.min(run).min(chunk);
        if width * bytes < LEAST_ASYNC {
            let mut diag = self.error(
                codes::COPY,
                call.span,
                format!(
                    "an asynchronous copy moves at least {LEAST_ASYNC} bytes; {} are proven",
                    width * bytes
                ),
            );
            if proven * bytes < LEAST_ASYNC {
                diag = diag.note(why);
            } else {
                diag = diag.note("the shared tensor's last axis is not contiguous");
            }
            return self.refuse(diag);
        }
        let shape: Vec<u32> = view.axes.iter().map(|a| a.1).collect();
        let dist = linear(threads, &shape, width);
        let ir = self.proven(&view, call.span);
        let access = self.access(&view, &ir, width);
        self.push(
            StmtKind::Async(Async::CopyTile {
                view: ir,
                into: Self::shared_ir(&shared),
                dist,
                vector: width,
                cache: access.cache,
            }),
            call.span,
        );
        Val::Unit
    }

    pub(crate) fn load_copy_into(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some((view, shared)) = self.copy_pair(&call.arg(0), &call.arg(1), call.span) else {
            return Val::Poison;
        };
        let Val::Load(LoadVal::Tma { multicast }) = call.recv else {
            let diag = self
                .error(codes::TYPE, call.span, "`copy_into` is for a tensor load")
                .help("use `copy`, or make it by `Load::tma()`");
            return self.refuse(diag);
        };
        let Val::Pipeline(pipe) = call.arg(2) else {
            let diag = self.error(
                codes::TYPE,
                call.at(2),
                format!("`copy_into` takes the pipeline, not {}", call.arg(2).kind()),
            );
            return self.refuse(diag);
        };
        let Some(stage) = self.scalar_as(&call.arg(3), Num::Usize, call.at(3)) else {
            return Val::Poison;
        };
        if !self.tensor_tile(&view, &shared, call.span) {
            return Val::Poison;
        }
        let size: u32 = view.axes.iter().map(|a| a.1).product();
        let Some(barrier) = self.full_barrier(pipe, &stage, call.span) else {
            return Val::Poison;
        };
        if !self.expect_bytes(pipe, size * shared.dtype.bytes(), call.span) {
            return Val::Poison;
        }
        self.tensor_copy(
            TensorCopyKind::Load,
            &view,
            &shared,
            Some(barrier),
            multicast,
            call.span,
        )
    }

    fn tensor_copy(
        &mut self,
        kind: TensorCopyKind,
        view: &ViewVal,
        shared: &SharedVal,
        barrier: Option<crate::ir::SharedView>,
        multicast: Option<crate::ir::Value>,
        span: Span,
    ) -> Val<'a> {
        let ir = self.proven(view, span);
        let copy = TensorCopy {
            kind,
            view: ir,
            shared: Self::shared_ir(shared),
            barrier,
            multicast,
            cache: view.cache,
        };
        self.push(StmtKind::Async(Async::TensorCopy(copy)), span);
        Val::Unit
    }

    /// What the accelerator asks of a tile, as far as it is known at build time.
    fn tensor_tile(&mut self, view: &ViewVal, shared: &SharedVal, span: Span) -> bool {
        let (dtype, rank, _) = self.kind_of(&view.global);
        let name = self.kernel.params[view.global.param].name.clone();
        let refuse = |c: &mut Self, message: String, note: &str| {
            c.error(codes::COPY, span, message)
                .note(note.to_string())
                .push(c);
            false
        };
        if view.global.window.is_some() {
            return refuse(
                self,
                format!("the tile is one of a window of `{name}`"),
                "a tensor copy's map is made by the launcher, of arguments: `Load::cp_async` and loads into registers take windows",
            );
        }
        if view.axes.last().is_none_or(|a| a.0 != rank - 1) {
            return refuse(
                self,
                format!("the tile's last axis is not `{name}`'s contiguous one"),
                "a tensor copy keeps the contiguous axis innermost",
            );
        }
        let inner = view.axes.last().map_or(0, |a| a.1) * dtype.bytes();
        if !inner.is_multiple_of(16) {
            return refuse(
                self,
                format!("rows of the tile are {inner} bytes"),
                "a tensor copy's rows are multiples of 16 bytes",
            );
        }
        if let Some(a) = view.axes[..view.axes.len() - 1].iter().find(|a| a.1 > 256) {
            return refuse(
                self,
                format!("the tile is {} long along axis {}", a.1, a.0),
                "a tensor copy's box is at most 256 along each axis",
            );
        }
        if shared
            .axes
            .last()
            .and_then(|d| d.first())
            .is_none_or(|d| d.stride != 1)
        {
            return refuse(
                self,
                "the shared tensor's last axis is not contiguous".into(),
                "a tensor copy writes rows one after another",
            );
        }
        // Rows begin at multiples of 16 bytes: known here, or required of the launch.
        let per = 16 / dtype.bytes();
        let limit = self.extent_expr(view.global.param, rank - 1);
        if rank > 1 && self.facts.divides(limit, per.into()) == tiki_layout::sym::Answer::Refuted {
            return refuse(
                self,
                format!("`{name}`'s rows are not multiples of 16 bytes"),
                "a tensor copy's strides are multiples of 16 bytes",
            );
        }
        if let crate::artifact::ParamKind::Tensor { align, .. } =
            &mut self.kernel.params[view.global.param].kind
        {
            *align = (*align).max(16);
        }
        let own = &mut self.kernel.shared[shared.alloc].align;
        *own = (*own).max(LEAST_BOX);
        true
    }

    pub(crate) fn store_new(&mut self, call: &Call<'a>) -> Val<'a> {
        if self.need(Feature::Tma, "a tensor store", call.span) {
            Val::Store
        } else {
            Val::Poison
        }
    }

    pub(crate) fn store_copy(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some((view, shared)) = self.copy_pair(&call.arg(1), &call.arg(0), call.span) else {
            return Val::Poison;
        };
        if self.writable(&view.global, call.span).is_none()
            || !self.tensor_tile(&view, &shared, call.span)
        {
            return Val::Poison;
        }
        let kind = if call.row.name == "reduce_add" {
            TensorCopyKind::ReduceAdd
        } else {
            TensorCopyKind::Store
        };
        self.tensor_copy(kind, &view, &shared, None, None, call.span)
    }

    pub(crate) fn store_commit(&mut self, call: &Call<'a>) -> Val<'a> {
        self.push(StmtKind::Async(Async::CommitStores), call.span);
        Val::Unit
    }

    pub(crate) fn store_wait(&mut self, call: &Call<'a>) -> Val<'a> {
        let Some(n) = self.const_in(
            &call.arg(0),
            "the groups that may be pending",
            0,
            64,
            call.at(0),
        ) else {
            return Val::Poison;
        };
        self.push(
            StmtKind::Async(Async::WaitStores {
                newest: n as u32,
                read: call.row.name == "wait_read",
            }),
            call.span,
        );
        Val::Unit
    }

    pub(crate) fn fence_async(&mut self, call: &Call<'a>) -> Val<'a> {
        if !self.need(Feature::Tma, "`fence_async`", call.span) {
            return Val::Poison;
        }
        self.push(StmtKind::Async(Async::FenceAsync), call.span);
        Val::Unit
    }

    pub(crate) fn dependent(&mut self, call: &Call<'a>) -> Val<'a> {
        if !self.need(Feature::Tma, "overlapping launches", call.span) {
            return Val::Poison;
        }
        let kind = if call.row.name == "dependent_launch" {
            Async::DependentLaunch
        } else {
            Async::DependentWait
        };
        self.push(StmtKind::Async(kind), call.span);
        Val::Unit
    }

    pub(crate) fn cluster_sync(&mut self, call: &Call<'a>) -> Val<'a> {
        if !self.need(Feature::Cluster, "`cluster_sync`", call.span) {
            return Val::Poison;
        }
        self.push(StmtKind::Async(Async::ClusterBarrier), call.span);
        Val::Unit
    }

    // ---- tiles

    pub(crate) fn tiles_new(&mut self, call: &Call<'a>) -> Val<'a> {
        let Val::Array(parts) = call.arg(0) else {
            let diag = self.error(
                codes::TYPE,
                call.at(0),
                format!(
                    "tiles are counted by `[rows, columns]`, not {}",
                    call.arg(0).kind()
                ),
            );
            return self.refuse(diag);
        };
        let [rows, columns] = &parts[..] else {
            let diag = self.error(
                codes::RANK,
                call.at(0),
                format!("tiles are counted along two axes, not {}", parts.len()),
            );
            return self.refuse(diag);
        };
        let rows = self.scalar_as(rows, Num::Usize, call.at(0));
        let columns = self.scalar_as(columns, Num::Usize, call.at(0));
        match (rows, columns) {
            (Some(rows), Some(columns)) => Val::Tiles(TilesVal {
                rows,
                columns,
                group: 1,
            }),
            _ => Val::Poison,
        }
    }

    pub(crate) fn tiles_grouped(&mut self, call: &Call<'a>) -> Val<'a> {
        let Val::Tiles(mut tiles) = call.recv.clone() else {
            return Val::Poison;
        };
        match self.const_in(&call.arg(0), "the rows swept together", 1, 1024, call.at(0)) {
            Some(n) => {
                tiles.group = n as u32;
                Val::Tiles(tiles)
            }
            None => Val::Poison,
        }
    }

    /// A number of blocks as one of clusters.
    fn of_cluster(&mut self, blocks: crate::ir::Value, span: Span) -> crate::ir::Value {
        if self.kernel.cluster == 1 {
            return blocks;
        }
        let n = Op::Const(Const::Int(self.kernel.cluster.into()));
        let n = self.emit(n, DType::U32, Uniform::Block, span);
        let op = Op::Binary(Binary::Div, blocks, n);
        self.emit(op, DType::U32, Uniform::Block, span)
    }

    /// `for [m, n] in tiles`: tile `block, block + grid, ..`, group after group of rows, each swept along the
    /// columns. Blocks of a cluster take one tile together.
    pub(crate) fn tiles_loop(
        &mut self,
        tiles: &TilesVal,
        pattern: &'a Pattern,
        body: &'a Block,
        label: Option<&'a Name>,
        span: Span,
    ) -> Val<'a> {
        self.promote(&[], &[body], span);
        let block = self.emit(
            Op::Special(Special::Block(0)),
            DType::U32,
            Uniform::Block,
            span,
        );
        let next = self.var(Type::Scalar(DType::U32), "tile", span);
        let block = self.of_cluster(block, span);
        self.push(StmtKind::Set(next, block), span);
        let index = |c: &mut Self, s: &Scalar| {
            let value = c.narrow(s, span);
            Scalar {
                value,
                num: Num::Usize,
                lo: s.lo.min(u32::MAX.into()),
                hi: s.hi.min(u32::MAX.into()),
                expr: None,
            }
        };
        let (rows, columns) = (index(self, &tiles.rows), index(self, &tiles.columns));
        let total = self.emit(
            Op::Binary(Binary::Mul, rows.value, columns.value),
            DType::U32,
            Uniform::Block,
            span,
        );
        let (head, (cond, tile)) = self.collect(|c| {
            let tile = c.emit(Op::Get(next), DType::U32, Uniform::Block, span);
            (
                c.emit(
                    Op::Compare(Compare::Lt, tile, total),
                    DType::BOOL,
                    Uniform::Block,
                    span,
                ),
                tile,
            )
        });
        let ahead = self.pipes_ahead();
        let stmts = self.looped(label, |c| {
            let op = |c: &mut Self, f: Binary, a, b| {
                c.emit(Op::Binary(f, a, b), DType::U32, Uniform::Block, span)
            };
            let constant = |c: &mut Self, i: u32| {
                c.emit(
                    Op::Const(Const::Int(i.into())),
                    DType::U32,
                    Uniform::Block,
                    span,
                )
            };
            let grid = c.emit(
                Op::Special(Special::Grid(0)),
                DType::U32,
                Uniform::Block,
                span,
            );
            let grid = c.of_cluster(grid, span);
            let after = op(c, Binary::Add, tile, grid);
            c.push(StmtKind::Set(next, after), span);
            let (m, n) = if tiles.group == 1 {
                (
                    op(c, Binary::Div, tile, columns.value),
                    op(c, Binary::Rem, tile, columns.value),
                )
            } else {
                let group = constant(c, tiles.group);
                let size = op(c, Binary::Mul, columns.value, group);
                let number = op(c, Binary::Div, tile, size);
                let within = op(c, Binary::Rem, tile, size);
                let first = op(c, Binary::Mul, number, group);
                let left = op(c, Binary::Sub, rows.value, first);
                let height = op(c, Binary::Min, left, group);
                let (row, column) = (
                    op(c, Binary::Rem, within, height),
                    op(c, Binary::Div, within, height),
                );
                (op(c, Binary::Add, first, row), column)
            };
            let coordinate = |c: &mut Self, value, limit: &Scalar, name: &str| {
                let symbol = c.facts.extent(name);
                let bound = c.expr_of(limit);
                let _ = c.facts.assume_lt(symbol, bound);
                Val::Scalar(Scalar {
                    value,
                    num: Num::Usize,
                    lo: 0,
                    hi: (limit.hi - 1).max(0),
                    expr: Some(symbol.into()),
                })
            };
            let m = coordinate(c, m, &tiles.rows, "tile row");
            let n = coordinate(c, n, &tiles.columns, "tile column");
            c.bind(pattern, Val::Array(vec![m, n]));
            c.block_value(body)
        });
        self.pipes_after_loop(&ahead, None);
        stmts.map_or(Val::Unit, |stmts| {
            self.push(
                StmtKind::While {
                    head,
                    cond,
                    body: stmts,
                },
                span,
            );
            Val::Unit
        })
    }
}
