//! Options of the kernel's attribute.

use super::value::{Num, Val};
use super::{Check, Push};
use crate::artifact::ParamKind;
use crate::ast::{Expr, ExprKind, KernelOption, Lit};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::Deny;
use crate::target::Target;

/// An option: name, and what it says.
struct Row {
    name: &'static str,
    takes: &'static str,
}

/// All options. Those the checker has no use for are the door's and the launcher's.
static ROWS: &[Row] = &[
    Row {
        name: "target",
        takes: "a target's name, in quotes",
    },
    Row {
        name: "threads",
        takes: "threads of a block: `threads = 256`",
    },
    Row {
        name: "warps",
        takes: "warps of a block: `warps = 4`",
    },
    Row {
        name: "warpgroups",
        takes: "groups of four warps: `warpgroups = 3`",
    },
    Row {
        name: "grid",
        takes: "block counts: `grid = [x.dim(0)]`, or `grid = persistent`",
    },
    Row {
        name: "cluster",
        takes: "blocks of a cluster: `cluster = 2`",
    },
    Row {
        name: "registers",
        takes: "registers a thread may use: `registers = 128`",
    },
    Row {
        name: "shared",
        takes: "shared memory of a block: `shared = \"96 KiB\"` or bytes",
    },
    Row {
        name: "blocks_per_sm",
        takes: "blocks that must be resident on an SM: `blocks_per_sm = 2`",
    },
    Row {
        name: "build",
        takes: "the instances: `build((E = f16, N = 4096), (E = f32, N = 1024))`",
    },
    Row {
        name: "tune",
        takes: "what a tuner may try: `tune(BM = [64, 128], STAGES = 2..=4)`",
    },
    Row {
        name: "deny",
        takes: "conditions: `deny(bank_conflicts, uncoalesced, spills, unproven, partial_waves)`",
    },
    Row {
        name: "workspace",
        takes: "outputs that the launcher lends, zeroed, with their shapes: `workspace(state = [x.dim(0)])`",
    },
    Row {
        name: "assume",
        takes: "build-time equalities: `assume(path::N == 128)`",
    },
    Row {
        name: "contract",
        takes: "nothing: products and sums may be fused",
    },
    Row {
        name: "crate",
        takes: "the path of the crate `tiki`: `crate = my::tiki`",
    },
];

/// What `deny` can name. Of partial waves the launcher judges: it knows the grid and the device.
const DENY: &[(&str, Deny)] = &[
    ("bank_conflicts", Deny::BankConflicts),
    ("uncoalesced", Deny::Uncoalesced),
    ("spills", Deny::Spills),
    ("unproven", Deny::Unproven),
    ("partial_waves", Deny::PartialWaves),
];

impl<'a> Check<'a> {
    pub(crate) fn options(&mut self) {
        let program = self.program;
        let mut block = None;
        for option in &program.kernel.options {
            let name = option.name.text.as_str();
            let Some(row) = ROWS.iter().find(|r| r.name == name) else {
                self.error(
                    codes::UNKNOWN_OPTION,
                    option.name.span,
                    format!("`{name}` is not an option of `#[tiki::kernel]`"),
                )
                .near(name, ROWS.iter().map(|r| r.name))
                .push(self);
                continue;
            };
            if program
                .kernel
                .options
                .iter()
                .rfind(|o| o.name.text == name)
                .is_some_and(|o| !std::ptr::eq(o, option))
            {
                self.error(
                    codes::BAD_OPTION,
                    option.name.span,
                    format!("`{name}` is said twice"),
                )
                .push(self);
                continue;
            }
            match name {
                "target" => self.target(option, row),
                "threads" | "warps" | "warpgroups" => {
                    if block.is_some() {
                        self.error(codes::BAD_OPTION, option.name.span, "the block's size is said twice: one of `threads`, `warps`, `warpgroups`").push(self);
                    }
                    let unit = match name {
                        "threads" => 1,
                        "warps" => 32,
                        _ => 128,
                    };
                    block = Some((
                        self.option_int(option, row, 0, 1 << 20)
                            .map(|n| n as u32 * unit),
                        option,
                    ));
                }
                "cluster" => {
                    if let Some(n) = self.option_int(option, row, 1, 16) {
                        self.kernel.cluster = n as u32;
                    }
                }
                "registers" => {
                    self.kernel.registers =
                        self.option_int(option, row, 16, 65536).map(|n| n as u32)
                }
                "blocks_per_sm" => {
                    self.kernel.blocks_per_sm =
                        self.option_int(option, row, 1, 32).map(|n| n as u32)
                }
                "shared" => self.shared_budget(option, row),
                "deny" => self.deny(option, row),
                "contract" => {
                    if option.value.is_some() || !option.args.is_empty() {
                        self.error(
                            codes::BAD_OPTION,
                            option.name.span,
                            "`contract` stands alone",
                        )
                        .push(self);
                    }
                    self.kernel.contract = true;
                }
                "workspace" => self.workspaces(option, row),
                "assume" => {
                    for arg in &option.args {
                        if !matches!(&arg.kind, ExprKind::Binary(crate::ast::BinOp::Eq, ..)) {
                            self.error(
                                codes::BAD_OPTION,
                                arg.span,
                                format!("`assume` takes {}", row.takes),
                            )
                            .push(self);
                        }
                    }
                }
                // `grid` is read with the facts, `build` before the first instance, `crate` by the door.
                _ => {}
            }
        }
        match block {
            None => {
                self.error(
                    codes::MISSING_OPTION,
                    self.kernel.span,
                    "the kernel does not say how many threads a block has",
                )
                .help("add `threads = 256`, `warps = 8` or `warpgroups = 2`")
                .push(self);
            }
            Some((Some(threads), option)) => self.threads(threads, option),
            Some((None, _)) => {}
        }
        if self.kernel.cluster > self.kernel.target.row().cluster {
            let most = self.kernel.target.row().cluster;
            let option = program
                .kernel
                .options
                .iter()
                .find(|o| o.name.text == "cluster");
            let span = option.map_or(self.kernel.span, |o| o.name.span);
            self.error(
                codes::TARGET,
                span,
                format!(
                    "a cluster of {} blocks; {} allows {most}",
                    self.kernel.cluster, self.kernel.target
                ),
            )
            .push(self);
        }
    }

    fn threads(&mut self, threads: u32, option: &'a KernelOption) {
        let span = option.value.as_ref().map_or(option.name.span, |v| v.span);
        let most = self.kernel.target.row().threads_per_block;
        if threads == 0 || !threads.is_multiple_of(32) {
            let up = threads.max(1).next_multiple_of(32);
            self.error(
                codes::THREADS,
                span,
                format!("{threads} threads are not whole warps of 32"),
            )
            .help(format!("use {up} threads ({} warps)", up / 32))
            .push(self);
        } else if threads > most {
            self.error(
                codes::THREADS,
                span,
                format!(
                    "{threads} threads; a block of {} has at most {most}",
                    self.kernel.target
                ),
            )
            .push(self);
        }
        self.kernel.threads = threads.clamp(32, most);
    }

    fn target(&mut self, option: &'a KernelOption, row: &Row) {
        let Some(Expr {
            kind: ExprKind::Lit(Lit::Str(name)),
            span,
        }) = &option.value
        else {
            self.error(
                codes::BAD_OPTION,
                option.name.span,
                format!("`target` takes {}", row.takes),
            )
            .push(self);
            return;
        };
        match Target::by_name(name) {
            Some(target) => self.kernel.target = target,
            None => {
                self.error(
                    codes::BAD_OPTION,
                    *span,
                    format!("there is no target `{name}`"),
                )
                .near(name, Target::all().map(|t| t.name()))
                .push(self);
            }
        }
    }

    fn option_int(
        &mut self,
        option: &'a KernelOption,
        row: &Row,
        lo: i128,
        hi: i128,
    ) -> Option<i128> {
        let Some(value) = &option.value else {
            self.error(
                codes::BAD_OPTION,
                option.name.span,
                format!("`{}` takes {}", row.name, row.takes),
            )
            .push(self);
            return None;
        };
        if let ExprKind::Lit(Lit::Str(text)) = &value.kind {
            self.error(
                codes::BAD_OPTION,
                value.span,
                format!(
                    "`{}` takes {}, not the text \"{text}\"",
                    row.name, row.takes
                ),
            )
            .push(self);
            return None;
        }
        let (_, val) = self.collect(|c| c.eval(value));
        match val {
            Val::Int(i, n) if n == Num::Lit || n == Num::Usize => {
                if i < lo || i > hi {
                    self.error(
                        codes::BAD_OPTION,
                        value.span,
                        format!("`{}` is {i}; it lies between {lo} and {hi}", row.name),
                    )
                    .push(self);
                    return None;
                }
                Some(i)
            }
            Val::Poison => None,
            val => {
                self.error(
                    codes::BAD_OPTION,
                    value.span,
                    format!("`{}` takes {}, not {}", row.name, row.takes, val.kind()),
                )
                .push(self);
                None
            }
        }
    }

    fn shared_budget(&mut self, option: &'a KernelOption, row: &Row) {
        if let Some(Expr {
            kind: ExprKind::Lit(Lit::Str(text)),
            span,
        }) = &option.value
        {
            match bytes(text) {
                Some(n) => self.kernel.shared_budget = Some(n),
                None => self
                    .error(
                        codes::BAD_OPTION,
                        *span,
                        format!("`{text}` is not a number of bytes"),
                    )
                    .help("write `\"96 KiB\"`, or the bytes as a number")
                    .push(self),
            }
            return;
        }
        self.kernel.shared_budget = self.option_int(option, row, 0, 1 << 24).map(|n| n as u32);
    }

    /// The launcher evaluates the shapes; here it is checked that they are those of outputs.
    fn workspaces(&mut self, option: &'a KernelOption, row: &Row) {
        if option.value.is_some() || option.args.is_empty() {
            let text = format!("`workspace` takes {}", row.takes);
            self.error(codes::BAD_OPTION, option.name.span, text)
                .push(self);
        }
        for arg in &option.args {
            let told = match &arg.kind {
                ExprKind::Assign(place, shape) => match (&place.kind, &shape.kind) {
                    (ExprKind::Path(p), ExprKind::Array(axes)) if p.segments.len() == 1 => {
                        Some((p.segments[0].name.text.as_str(), axes.len()))
                    }
                    _ => None,
                },
                _ => None,
            };
            let Some((name, axes)) = told else {
                let text = format!("`workspace` takes {}", row.takes);
                self.error(codes::BAD_OPTION, arg.span, text).push(self);
                continue;
            };
            let param = self.kernel.params.iter().find(|p| p.name == name);
            let text = match param.map(|p| p.kind) {
                Some(ParamKind::Tensor { writes: false, .. }) => {
                    format!(
                        "`{name}` is an input: it is taken by `&`, and the launcher lends outputs"
                    )
                }
                Some(ParamKind::Tensor { rank, .. }) if rank as usize != axes => {
                    format!("`{name}` has {rank} axes; its shape here has {axes}")
                }
                Some(ParamKind::Tensor { strided: true, .. }) => {
                    format!("`{name}` is strided; what the launcher lends is without gaps")
                }
                Some(ParamKind::Tensor { .. }) => continue,
                _ => format!("`{name}` is no tensor that the kernel takes"),
            };
            let dtype = match param.map(|p| p.kind) {
                Some(ParamKind::Tensor { dtype, .. }) => dtype,
                _ => DType::F32,
            };
            self.error(codes::BAD_OPTION, arg.span, text)
                .help(format!(
                    "take it so: `{name}: &mut Global<{dtype}, {axes}>`"
                ))
                .push(self);
        }
    }

    fn deny(&mut self, option: &'a KernelOption, row: &Row) {
        if option.value.is_some() || option.args.is_empty() {
            let text = format!("`deny` takes {}", row.takes);
            let named = option.value.as_ref().and_then(|v| match &v.kind {
                ExprKind::Lit(Lit::Str(name)) => Some(name.to_string()),
                ExprKind::Path(p) if p.segments.len() == 1 => {
                    Some(p.segments[0].name.text.to_string())
                }
                _ => None,
            });
            let known = named.filter(|n| DENY.iter().any(|(name, _)| name == n));
            let mut diag = self.error(codes::BAD_OPTION, option.name.span, text);
            if let Some(name) = known {
                diag = diag.help(format!("write `deny({name})`"));
            }
            diag.push(self);
        }
        for arg in &option.args {
            let name = match &arg.kind {
                ExprKind::Path(p) if p.segments.len() == 1 => p.segments[0].name.text.as_str(),
                _ => "",
            };
            let Some((_, deny)) = DENY.iter().find(|(n, _)| *n == name) else {
                let text = format!("`deny` takes {}", row.takes);
                self.error(codes::BAD_OPTION, arg.span, text)
                    .near(name, DENY.iter().map(|(n, _)| *n))
                    .push(self);
                continue;
            };
            self.kernel.deny.push(*deny);
        }
    }
}

/// `96 KiB`, `1024`.
fn bytes(text: &str) -> Option<u32> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let number: u32 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim() {
        "" | "B" | "bytes" => 1,
        "KiB" => 1024,
        "MiB" => 1024 * 1024,
        _ => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    #[test]
    fn budgets_have_units() {
        assert_eq!(super::bytes("96 KiB"), Some(98304));
        assert_eq!(super::bytes("1024"), Some(1024));
        assert_eq!(super::bytes("96 kb"), None);
    }
}
