//! Writing a function from Rust, instruction by instruction.
//!
//! Operands are given in the order of the PTX text. The builder keeps the current source place and stamps
//! it on every instruction; it does not check operands, [`super::verify`] does.

use super::{Directive, Function, Guard, Inst, Label, Loc, Module, Operand, Reg, Stmt, Var};
use crate::isa::{Op, Space, Ty, ld};
use crate::target::Target;

/// A parameter of the function under construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param(usize);

/// A function under construction.
#[derive(Debug)]
pub struct FnBuilder {
    function: Function,
    loc: Option<Loc>,
}

impl FnBuilder {
    /// An entry: visible, launchable.
    #[must_use]
    pub fn entry(name: &str) -> FnBuilder {
        FnBuilder {
            function: Function::new(name, true),
            loc: None,
        }
    }
    /// A function that entries call.
    #[must_use]
    pub fn func(name: &str) -> FnBuilder {
        FnBuilder {
            function: Function::new(name, false),
            loc: None,
        }
    }
    /// A parameter of one value.
    pub fn param(&mut self, name: &str, ty: Ty) -> Param {
        self.param_var(Var::new(Space::Param, ty, name, None))
    }
    /// A parameter of bytes, such as a tensor map.
    pub fn param_bytes(&mut self, name: &str, bytes: u64, align: u32) -> Param {
        self.param_var(Var::new(Space::Param, Ty::B8, name, Some(bytes)).aligned(align))
    }
    /// Any parameter.
    pub fn param_var(&mut self, var: Var) -> Param {
        self.function.params.push(var);
        Param(self.function.params.len() - 1)
    }
    /// The value of a parameter, in a new register of its type (bytes in a 16-bit one).
    pub fn load_param(&mut self, p: Param) -> Reg {
        let var = &self.function.params[p.0];
        let (ty, name) = (var.ty, var.name.clone());
        let reg = self.reg(if ty.bits() == 8 { Ty::U16 } else { ty });
        self.emit(
            ld(Space::Param, ty),
            [reg.into(), Operand::addr_of(&name, 0)],
        );
        reg
    }
    /// A directive about the launch.
    pub fn directive(&mut self, d: Directive) {
        self.function.directives.push(d);
    }
    /// A variable of the function (shared or local memory); its name.
    pub fn var(&mut self, var: Var) -> String {
        let name = var.name.clone();
        self.function.vars.push(var);
        name
    }
    /// A new register.
    pub fn reg(&mut self, ty: Ty) -> Reg {
        self.function.regs.push(ty);
        Reg(self.function.regs.len() as u32 - 1)
    }
    /// `N` new registers.
    pub fn regs<const N: usize>(&mut self, ty: Ty) -> [Reg; N] {
        std::array::from_fn(|_| self.reg(ty))
    }
    /// Type of a register.
    #[must_use]
    pub fn ty(&self, r: Reg) -> Ty {
        self.function.ty(r)
    }
    /// A new label, not yet placed. Its text is `$L_` with `hint` and a number.
    pub fn label(&mut self, hint: &str) -> Label {
        let n = self.function.labels.len();
        self.function.labels.push(format!("$L_{hint}_{n}"));
        Label(n as u32)
    }
    /// A table of labels for a switch.
    pub fn table(&mut self, labels: Vec<Label>) -> Operand {
        let n = self.function.tables.len();
        self.function.tables.push((format!("$T_{n}"), labels));
        Operand::Table(n as u32)
    }
    /// Places a label here.
    pub fn place(&mut self, label: Label) {
        self.push(Stmt::Label(label));
    }
    /// The source place of what follows.
    pub fn loc(&mut self, file: u32, line: u32, col: u32) {
        self.loc = Some(Loc { file, line, col });
    }
    /// An instruction.
    pub fn emit<T: Into<Operand>>(&mut self, op: Op, operands: impl IntoIterator<Item = T>) {
        self.guarded(None, op, operands);
    }
    /// An instruction where `p` is true.
    pub fn emit_if<T: Into<Operand>>(
        &mut self,
        p: Reg,
        op: Op,
        operands: impl IntoIterator<Item = T>,
    ) {
        self.guarded(
            Some(Guard {
                reg: p,
                negated: false,
            }),
            op,
            operands,
        );
    }
    /// An instruction with or without a guard.
    pub fn guarded<T: Into<Operand>>(
        &mut self,
        guard: Option<Guard>,
        op: Op,
        operands: impl IntoIterator<Item = T>,
    ) {
        let inst = Inst {
            guard,
            op,
            operands: operands.into_iter().map(Into::into).collect(),
            loc: self.loc,
            line: 0,
        };
        self.push(Stmt::Inst(inst));
    }
    /// An instruction without operands.
    pub fn emit0(&mut self, op: Op) {
        self.emit::<Operand>(op, []);
    }
    /// A comment on a line of its own. Only ASCII is printed.
    pub fn comment(&mut self, text: &str) {
        let text: String = text
            .chars()
            .map(|c| {
                if c.is_ascii() && !c.is_ascii_control() {
                    c
                } else {
                    '?'
                }
            })
            .collect();
        self.push(Stmt::Comment(text.trim_end().to_string()));
    }
    /// A pragma here (`nounroll` behind the label of a loop).
    pub fn pragma(&mut self, text: &str) {
        self.push(Stmt::Pragma(text.to_string()));
    }
    /// What was written so far.
    #[must_use]
    pub fn function(&self) -> &Function {
        &self.function
    }
    /// The function, done.
    #[must_use]
    pub fn build(self) -> Function {
        self.function
    }
    /// A module of the default target with just this function, for tests and examples.
    #[must_use]
    pub fn finish(self) -> Module {
        let mut m = Module::new(Target::default_target());
        m.functions.push(self.function);
        m
    }
    fn push(&mut self, s: Stmt) {
        self.function.body.get_or_insert_with(Vec::new).push(s);
    }
}
