//! Loops that are unrolled, and the ways out of loops of every kind: see [`super::leave`].

use super::scope::Scope;
use super::value::Val;
use super::{Check, Flow};
use crate::ast::{Block, Expr, Name, Pattern, Span};
use crate::diag::codes;
use crate::ir::StmtKind;

/// A loop around the current point.
#[derive(Debug)]
pub(super) struct Loop {
    pub label: Option<String>,
    pub run_time: bool,
    /// Control depth outside it.
    pub control: usize,
    /// An unrolled loop that run-time conditions leave: a stretch, with one for each of its rounds within.
    pub stretch: bool,
    /// A stretch of the compiler's: `break` and `continue` do not mean it.
    pub hidden: bool,
    /// Its body.
    pub span: Span,
}

impl Loop {
    pub fn new(label: Option<&Name>, run_time: bool, control: usize, span: Span) -> Loop {
        Loop {
            label: label.map(|l| l.text.clone()),
            run_time,
            control,
            stretch: false,
            hidden: false,
            span,
        }
    }
}

impl<'a> Check<'a> {
    /// A loop over values known at build time.
    pub(super) fn unrolled(
        &mut self,
        values: impl Iterator<Item = Val<'a>>,
        pattern: &'a Pattern,
        body: &'a Block,
        label: Option<&'a Name>,
    ) -> Val<'a> {
        let index = self.loops.len();
        let mut own = Loop::new(label, false, self.control, body.span);
        if self.region > 0 || !self.early.contains(&body.span) {
            self.loops.push(own);
            for value in values {
                if !self.step(body.span) {
                    break;
                }
                self.round(pattern, value, body);
                match self.flow {
                    Some(Flow::Continue(at)) if at == index => self.flow = None,
                    Some(Flow::Break(at)) if at == index => {
                        self.flow = None;
                        break;
                    }
                    Some(_) => break,
                    None => {}
                }
            }
            self.loops.truncate(index);
            return Val::Unit;
        }
        self.promote(&[], &[body], body.span);
        (own.run_time, own.stretch) = (true, true);
        own.control += 1;
        self.loops.push(own);
        self.control += 1;
        let (stmts, out) = self.collect(|c| {
            for value in values {
                if !c.step(body.span) {
                    break;
                }
                c.loops.push(Loop {
                    hidden: true,
                    ..Loop::new(None, true, c.control, body.span)
                });
                let (stmts, ()) = c.collect(|c| c.round(pattern, value, body));
                c.loops.truncate(index + 1);
                c.stretch(stmts, body.span);
                match c.flow.take() {
                    Some(Flow::Break(at)) if at == index => break,
                    Some(Flow::Continue(at)) if at == index => {}
                    // All ways through this round jumped; whether to its end or out is theirs to know.
                    None | Some(Flow::Dead) => {}
                    other => return other,
                }
            }
            None
        });
        self.control -= 1;
        self.loops.truncate(index);
        self.stretch(stmts, body.span);
        self.flow = out;
        Val::Unit
    }

    fn round(&mut self, pattern: &'a Pattern, value: Val<'a>, body: &'a Block) {
        let scope = Scope::child(&self.scope);
        self.in_scope(scope, |c| {
            c.bind(pattern, value);
            c.block_value(body)
        });
    }

    pub(crate) fn leave_loop(
        &mut self,
        label: Option<&Name>,
        value: Option<&'a Expr>,
        again: bool,
        span: Span,
    ) -> Val<'a> {
        if let Some(value) = value {
            let diag = self
                .error(
                    codes::UNSUPPORTED,
                    value.span,
                    "`break` gives no value in kernels",
                )
                .help("assign a `let mut` before it");
            return self.refuse(diag);
        }
        let found = match label {
            None => self.loops.iter().rposition(|l| !l.hidden),
            Some(name) => self
                .loops
                .iter()
                .rposition(|l| l.label.as_deref() == Some(&name.text)),
        };
        let Some(at) = found else {
            let labels = self.loops.iter().filter_map(|l| l.label.as_deref());
            let labels: Vec<String> = labels.map(|l| l.to_string()).collect();
            let mut diag = self.error(codes::UNKNOWN_NAME, span, "there is no such loop around");
            if let Some(label) = label {
                diag = diag.near(&label.text, labels.iter().map(String::as_str));
            }
            return self.refuse(diag);
        };
        let (run_time, stretch) = (self.loops[at].run_time, self.loops[at].stretch);
        let decided = self.control == self.loops[at].control;
        if run_time && !(stretch && decided) {
            // The next round of an unrolled loop is behind the end of this one.
            let target = if stretch && again { at + 1 } else { at };
            let level = self.levels_within(target);
            self.push(
                if again && !stretch {
                    StmtKind::Continue(level)
                } else {
                    StmtKind::Break(level)
                },
                span,
            );
            self.flow = Some(Flow::Dead);
            return Val::Never;
        }
        if !decided {
            if self.region == 0 {
                self.leaves_early(self.loops[at].span);
                return Val::Never;
            }
            let word = if again { "continue" } else { "break" };
            let diag = self
                .error(
                    codes::NEED_CONST,
                    span,
                    format!("`{word}` of an unrolled loop under a run-time condition, within an elementwise closure"),
                )
                .help("compute on under the opposite condition: the closure is evaluated for every element");
            return self.refuse(diag);
        }
        self.flow = Some(if again {
            Flow::Continue(at)
        } else {
            Flow::Break(at)
        });
        Val::Never
    }
}
