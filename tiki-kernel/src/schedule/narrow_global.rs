//! Global access widths: the checker says how many elements are proven to lie side by side, aligned
//! and whole; an instruction moves at most 16 bytes, and a vector must be one run of the thread's own
//! values.

use crate::ir::visit::blocks_mut;
use crate::ir::{Access, Block, Edge, GlobalView, Kernel, Op, StmtKind, Value};
use crate::report::Report;

/// Widest access of one instruction.
pub const WIDEST: u32 = 16;

/// Narrows every access.
pub fn run(kernel: &mut Kernel, report: &mut Report) {
    let mut body = std::mem::take(&mut kernel.body);
    block(kernel, &mut body, report);
    kernel.body = body;
}

fn block(kernel: &Kernel, stmts: &mut Block, report: &mut Report) {
    for stmt in stmts {
        let span = stmt.span;
        match &mut stmt.kind {
            StmtKind::Let(v, Op::Load { view, access, .. }) => {
                narrow(kernel, view, *v, access);
                note(kernel, report, span, "load", view, access);
            }
            StmtKind::Store {
                view,
                value,
                access,
            } => {
                narrow(kernel, view, *value, access);
                note(kernel, report, span, "store", view, access);
            }
            _ => {}
        }
        for inner in blocks_mut(&mut stmt.kind) {
            block(kernel, inner, report);
        }
    }
}

/// The view's axis along which the tensor's elements lie side by side.
#[must_use]
pub fn contiguous_axis(kernel: &Kernel, view: &GlobalView) -> Option<usize> {
    let rank = view.rank(kernel);
    view.axes.iter().position(|a| a.axis + 1 == rank)
}

fn narrow(kernel: &Kernel, view: &GlobalView, value: Value, access: &mut Access) {
    let Some(tensor) = kernel.values[value.0 as usize].ty.tensor() else {
        return;
    };
    let run = contiguous_axis(kernel, view).map_or(1, |axis| tensor.dist.run(axis));
    let mut n = access.vector.max(1).min(WIDEST / tensor.dtype.bytes());
    n = 1 << n.ilog2();
    while !run.is_multiple_of(n) {
        n /= 2;
    }
    access.vector = n;
}

fn note(
    kernel: &Kernel,
    report: &mut Report,
    span: crate::ast::Span,
    verb: &str,
    view: &GlobalView,
    access: &Access,
) {
    let param = &kernel.params[view.param];
    let crate::artifact::ParamKind::Tensor { dtype, .. } = param.kind else {
        return;
    };
    let bytes = access.vector * dtype.bytes();
    let guard = if view.axes.iter().all(|a| a.whole) && view.fixed.iter().all(|f| f.2) {
        "no predicate: proven inside".to_string()
    } else {
        let axes: Vec<String> = view
            .axes
            .iter()
            .filter(|a| !a.whole)
            .map(|a| a.axis.to_string())
            .collect();
        let torn = match access.edge {
            Edge::Straddle if access.vector > 1 => {
                "; at the edge, which a vector may straddle, by elements"
            }
            _ => "",
        };
        format!("predicated along axis {}{torn}", axes.join(" and "))
    };
    report
        .add(
            "global access",
            span,
            &param.name,
            format!(
                "{verb} of {} {dtype}, {bytes} bytes; {guard}",
                access.vector
            ),
        )
        .number("vector", access.vector.into())
        .number("bytes", bytes.into());
}
