//! Walks over the typed program: what a statement and an operation read.

use super::{
    Async, Block, Op, Operand, Place, Region, SharedView, Stmt, StmtKind, Transaction, Value,
    Written,
};

/// The values an operation reads, in order; of a region, those from outside it come too.
#[must_use]
pub fn operands(op: &Op) -> Vec<Value> {
    let mut out = Vec::new();
    match op {
        Op::Const(_) | Op::Param(_) | Op::Extent(..) | Op::Stride(..) | Op::Get(_) => {}
        Op::Special(_) | Op::Elect => {}
        Op::Unary(_, a) | Op::Cast(a, _) | Op::Bits(a) | Op::Vote(_, a) => out.push(*a),
        Op::Match(a) | Op::Redux(_, a) | Op::Splat(a) | Op::Raw(a, _) | Op::Pick(a, _) => {
            out.push(*a);
        }
        Op::Also(a, _) | Op::Exchange(a) => out.push(*a),
        Op::Written(_, inputs) => out.extend(inputs),
        Op::Binary(_, a, b) | Op::Compare(_, a, b) => out.extend([*a, *b]),
        Op::Fma(a, b, c) | Op::Select(a, b, c) => out.extend([*a, *b, *c]),
        Op::Shuffle { value, lane, .. } => out.extend([*value, *lane]),
        Op::Atom {
            place, operands, ..
        } => {
            place_operands(place, &mut out);
            out.extend(operands);
        }
        Op::LoadElement { place, .. } | Op::Address(place) => place_operands(place, &mut out),
        Op::Load { view, fill, .. } => {
            global_operands(view, &mut out);
            out.push(*fill);
        }
        Op::LoadShared { view, .. } => shared_operands(view, &mut out),
        Op::Map(map) => {
            out.extend(map.inputs.iter().map(|i| i.value));
            out.extend(captures(&map.region));
        }
        Op::Reduce(r) => {
            out.push(r.value);
            out.extend(r.bounds.iter().flatten());
        }
        Op::Scan(s) => {
            out.push(s.value);
            out.extend(s.factor);
            out.extend(s.bounds.iter().flatten());
        }
    }
    out
}

/// The values a statement itself reads; blocks within it are not entered.
#[must_use]
pub fn reads(stmt: &StmtKind) -> Vec<Value> {
    let mut out = Vec::new();
    match stmt {
        StmtKind::Let(_, op) => return operands(op),
        StmtKind::Set(_, v) => out.push(*v),
        StmtKind::If { cond, .. } | StmtKind::While { cond, .. } => out.push(*cond),
        StmtKind::For { lo, hi, .. } => out.extend([*lo, *hi]),
        StmtKind::Store { view, value, .. } | StmtKind::StoreElement { view, value, .. } => {
            global_operands(view, &mut out);
            out.push(*value);
        }
        StmtKind::StoreShared { view, value, .. }
        | StmtKind::StoreSharedElement { view, value } => {
            shared_operands(view, &mut out);
            out.push(*value);
        }
        StmtKind::Red { place, value, .. } => {
            place_operands(place, &mut out);
            out.push(*value);
        }
        StmtKind::Written(_, inputs) => out.extend(inputs),
        StmtKind::Async(a) => async_operands(a, &mut out),
        StmtKind::Once(_)
        | StmtKind::Break(_)
        | StmtKind::Continue(_)
        | StmtKind::Return
        | StmtKind::Barrier(_)
        | StmtKind::Fence(_)
        | StmtKind::Trap => {}
    }
    out
}

/// The author's own instructions, if a statement is such.
#[must_use]
pub fn written(stmt: &StmtKind) -> Option<&Written> {
    match stmt {
        StmtKind::Written(fragment, _) | StmtKind::Let(_, Op::Written(fragment, _)) => {
            Some(fragment)
        }
        _ => None,
    }
}

/// The blocks within a statement, in order.
#[must_use]
pub fn blocks(stmt: &StmtKind) -> Vec<&Block> {
    match stmt {
        StmtKind::If {
            then, otherwise, ..
        } => vec![then, otherwise],
        StmtKind::For { body, .. } | StmtKind::Once(body) => vec![body],
        StmtKind::While { head, body, .. } => vec![head, body],
        _ => Vec::new(),
    }
}

/// The blocks within a statement, to be changed.
pub fn blocks_mut(stmt: &mut StmtKind) -> Vec<&mut Block> {
    match stmt {
        StmtKind::If {
            then, otherwise, ..
        } => vec![then, otherwise],
        StmtKind::For { body, .. } | StmtKind::Once(body) => vec![body],
        StmtKind::While { head, body, .. } => vec![head, body],
        _ => Vec::new(),
    }
}

/// Whether some way through a block leaves it by a `break` or `continue`, `depth` levels within.
#[must_use]
pub fn leaves(block: &Block, depth: u32) -> bool {
    block.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break(up) | StmtKind::Continue(up) => *up >= depth,
        StmtKind::If {
            then, otherwise, ..
        } => leaves(then, depth) || leaves(otherwise, depth),
        kind => blocks(kind).iter().any(|inner| leaves(inner, depth + 1)),
    })
}

/// Calls `f` with every statement, outer before inner; regions are not entered.
pub fn each<'a>(block: &'a Block, f: &mut impl FnMut(&'a Stmt)) {
    for stmt in block {
        f(stmt);
        for inner in blocks(&stmt.kind) {
            each(inner, f);
        }
    }
}

/// Values a region reads that it does not define.
#[must_use]
pub fn captures(region: &Region) -> Vec<Value> {
    let mut own: Vec<Value> = region
        .params
        .iter()
        .chain(&region.coords)
        .copied()
        .collect();
    let mut read = Vec::new();
    each(&region.body, &mut |stmt| {
        if let StmtKind::Let(v, _) = &stmt.kind {
            own.push(*v);
        }
        read.extend(reads(&stmt.kind));
    });
    read.push(region.result);
    read.retain(|v| !own.contains(v));
    read
}

fn async_operands(a: &Async, out: &mut Vec<Value>) {
    match a {
        Async::CopyTile { view, into, .. } => {
            global_operands(view, out);
            shared_operands(into, out);
        }
        Async::TensorCopy(copy) => {
            global_operands(&copy.view, out);
            shared_operands(&copy.shared, out);
            copy.barrier.iter().for_each(|b| shared_operands(b, out));
            out.extend(copy.multicast);
        }
        Async::Mma(mma) => {
            match &mma.a {
                Operand::Shared(view) => shared_operands(view, out),
                Operand::Register(value) => out.push(*value),
            }
            shared_operands(&mma.b, out);
        }
        Async::Transaction { barrier, op } => {
            shared_operands(barrier, out);
            match op {
                Transaction::Wait(v) | Transaction::ArriveAt(v) => out.push(*v),
                Transaction::Init(_)
                | Transaction::Arrive
                | Transaction::ArriveExpect(_)
                | Transaction::Expect(_) => {}
            }
        }
        Async::CommitCopies
        | Async::WaitCopies(_)
        | Async::CommitStores
        | Async::WaitStores { .. }
        | Async::FenceAsync
        | Async::WaitProducts(_)
        | Async::FenceBarriers
        | Async::SetRegisters { .. }
        | Async::ClusterBarrier
        | Async::DependentLaunch
        | Async::DependentWait => {}
    }
}

fn place_operands(place: &Place, out: &mut Vec<Value>) {
    match place {
        Place::Global(view) => global_operands(view, out),
        Place::Shared(view) => shared_operands(view, out),
    }
}

fn global_operands(view: &super::GlobalView, out: &mut Vec<Value>) {
    out.extend(view.fixed.iter().map(|(_, v, _)| *v));
    out.extend(view.axes.iter().map(|a| a.origin));
    out.extend(view.window.iter().flat_map(super::Window::values));
}

fn shared_operands(view: &SharedView, out: &mut Vec<Value>) {
    out.extend(view.dynamic.iter().map(|(v, _)| *v));
    out.extend(view.block);
}
