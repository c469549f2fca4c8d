//! The canonical text of a module.
//!
//! Registers are called by the prefix of their type and a number, counted by type in the order of
//! declaration. Columns are fixed; the source place is printed where it changes.

use super::{
    Base, Directive, Function, Imm, Inst, Label, Linkage, Loc, Module, Operand, Reg, Stmt, Var,
};
use crate::isa::{Modifier, Ty};
use std::fmt::{self, Display, Formatter, Write};

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for c in &self.comments {
            writeln!(f, "//{}{c}", if c.is_empty() { "" } else { " " })?;
        }
        writeln!(f, ".version {}.{}", self.version.0, self.version.1)?;
        writeln!(f, ".target {}", self.target)?;
        writeln!(f, ".address_size 64")?;
        if !self.files.is_empty() {
            writeln!(f)?;
        }
        for (n, path) in &self.files {
            writeln!(f, ".file {n} \"{path}\"")?;
        }
        if !self.vars.is_empty() {
            writeln!(f)?;
        }
        for v in &self.vars {
            writeln!(f, "{};", Declared(v))?;
        }
        for function in &self.functions {
            writeln!(f)?;
            write!(f, "{function}")?;
        }
        Ok(())
    }
}

struct Declared<'a>(&'a Var);

impl Display for Declared<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let v = self.0;
        write!(f, "{}.{}", linkage(v.linkage), v.space.text())?;
        if let Some(a) = v.align {
            write!(f, " .align {a}")?;
        }
        write!(f, " .{}", v.ty)?;
        if let Some((space, align)) = v.pointer {
            f.write_str(" .ptr")?;
            if let Some(s) = space {
                write!(f, " .{}", s.text())?;
            }
            write!(f, " .align {align}")?;
        }
        write!(f, " {}", v.name)?;
        match v.count {
            Some(0) => f.write_str("[]")?,
            Some(n) => write!(f, "[{n}]")?,
            None => {}
        }
        initial(v, f)
    }
}

fn initial(v: &Var, f: &mut Formatter<'_>) -> fmt::Result {
    if v.init.is_empty() {
        return Ok(());
    }
    let size = (v.ty.bytes() as usize).max(1);
    let mut items = vec![];
    for (i, chunk) in v.init.chunks(size).enumerate() {
        let at = (i * size) as u64;
        if let Some((_, name)) = v.init_addresses.iter().find(|(o, _)| *o == at) {
            items.push(name.clone());
            continue;
        }
        let mut bytes = [0; 8];
        let n = chunk.len().min(8);
        bytes[..n].copy_from_slice(&chunk[..n]);
        let bits = u64::from_le_bytes(bytes);
        items.push(match v.ty {
            Ty::F32 => format!("0f{bits:08X}"),
            Ty::F64 => format!("0d{bits:016X}"),
            _ => bits.to_string(),
        });
    }
    match v.count {
        Some(_) => write!(f, " = {{{}}}", items.join(", ")),
        None => write!(f, " = {}", items.join(", ")),
    }
}

fn linkage(l: Linkage) -> &'static str {
    match l {
        Linkage::Local => "",
        Linkage::Visible => ".visible ",
        Linkage::Extern => ".extern ",
        Linkage::Weak => ".weak ",
    }
}

fn params(list: &[Var]) -> String {
    let lines: Vec<String> = list
        .iter()
        .map(|p| format!("    {}", Declared(p)))
        .collect();
    if lines.is_empty() {
        "()".into()
    } else {
        format!("(\n{}\n)", lines.join(",\n"))
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names = Names::of(self);
        write!(
            f,
            "{}{} ",
            linkage(self.linkage),
            if self.entry { ".entry" } else { ".func" }
        )?;
        if let [r] = self.returns.as_slice() {
            write!(f, "({}) ", Declared(r))?;
        }
        write!(f, "{}{}", self.name, params(&self.params))?;
        for d in &self.directives {
            write!(f, "\n{d}")?;
        }
        let Some(body) = &self.body else {
            return writeln!(f, ";");
        };
        writeln!(f, "\n{{")?;
        for ty in Ty::all() {
            let n = self.regs.iter().filter(|t| **t == ty).count();
            if n > 0 {
                writeln!(f, "    .reg .{:<7} {}<{n}>;", ty.name(), ty.row().prefix)?;
            }
        }
        for v in &self.vars {
            writeln!(f, "    {};", Declared(v))?;
        }
        for (name, labels) in &self.tables {
            let labels: Vec<&str> = labels
                .iter()
                .map(|l| self.labels[l.0 as usize].as_str())
                .collect();
            writeln!(f, "    {name}: .branchtargets {};", labels.join(", "))?;
        }
        let mut place: Option<Loc> = None;
        for s in body {
            match s {
                Stmt::Label(l) => writeln!(f, "{}:", self.labels[l.0 as usize])?,
                Stmt::Comment(c) if c.is_empty() => writeln!(f, "    //")?,
                Stmt::Comment(c) => writeln!(f, "    // {c}")?,
                Stmt::Pragma(p) => writeln!(f, "    .pragma \"{p}\";")?,
                Stmt::Inst(i) => {
                    if let Some(l) = i.loc
                        && place != i.loc
                    {
                        writeln!(f, "    .loc {} {} {}", l.file, l.line, l.col)?;
                        place = i.loc;
                    }
                    writeln!(f, "    {}", names.line(self, i))?;
                }
            }
        }
        writeln!(f, "}}")
    }
}

impl Display for Directive {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let three = |[x, y, z]: &[u32; 3]| format!("{x}, {y}, {z}");
        match self {
            Directive::ReqNtid(d) => write!(f, ".reqntid {}", three(d)),
            Directive::MaxNtid(d) => write!(f, ".maxntid {}", three(d)),
            Directive::MinNctaPerSm(n) => write!(f, ".minnctapersm {n}"),
            Directive::MaxNreg(n) => write!(f, ".maxnreg {n}"),
            Directive::ExplicitCluster => write!(f, ".explicitcluster"),
            Directive::ReqNctaPerCluster(d) => write!(f, ".reqnctapercluster {}", three(d)),
            Directive::MaxClusterRank(n) => write!(f, ".maxclusterrank {n}"),
            Directive::NoReturn => write!(f, ".noreturn"),
            Directive::Pragma(p) => write!(f, ".pragma \"{p}\";"),
        }
    }
}

/// Names of a function's registers.
pub(super) struct Names(Vec<String>);

impl Names {
    pub(super) fn of(f: &Function) -> Names {
        let mut next = vec![0u32; Ty::all().count()];
        let index: Vec<Ty> = Ty::all().collect();
        Names(
            f.regs
                .iter()
                .map(|t| {
                    let n = &mut next[index.iter().position(|x| x == t).unwrap_or(0)];
                    *n += 1;
                    format!("{}{}", t.row().prefix, *n - 1)
                })
                .collect(),
        )
    }

    pub(super) fn reg(&self, r: Reg) -> &str {
        self.0
            .get(r.0 as usize)
            .map_or("%undeclared", String::as_str)
    }

    fn line(&self, f: &Function, i: &Inst) -> String {
        let mut head = match i.guard {
            Some(g) => format!("@{}{} ", if g.negated { "!" } else { "" }, self.reg(g.reg)),
            None => String::new(),
        };
        let _ = write!(head, "{}", i.op);
        let operands: Vec<String> = i.operands.iter().map(|o| self.operand(f, o)).collect();
        if operands.is_empty() {
            format!("{head};")
        } else {
            format!("{head:<23} {};", operands.join(", "))
        }
    }

    pub(super) fn operand(&self, f: &Function, o: &Operand) -> String {
        let list = |v: &[Operand]| {
            v.iter()
                .map(|o| self.operand(f, o))
                .collect::<Vec<_>>()
                .join(", ")
        };
        match o {
            Operand::Reg(r) => self.reg(*r).to_string(),
            Operand::Not(r) => format!("!{}", self.reg(*r)),
            Operand::Imm(Imm::Int(i)) => i.to_string(),
            Operand::Imm(Imm::F32(b)) => format!("0f{b:08X}"),
            Operand::Imm(Imm::F64(b)) => format!("0d{b:016X}"),
            Operand::Special(s) => s.row().name.to_string(),
            Operand::Var(name, 0) => name.clone(),
            Operand::Var(name, n) => format!("{name}+{n}"),
            Operand::Vec(v) => format!("{{{}}}", list(v)),
            Operand::Params(v) => format!("({})", list(v)),
            Operand::Pair(a, b) => format!("{}|{}", self.operand(f, a), self.operand(f, b)),
            Operand::Sink => "_".to_string(),
            Operand::Label(Label(l)) => f.labels[*l as usize].clone(),
            Operand::Table(t) => f.tables[*t as usize].0.clone(),
            Operand::Addr {
                base,
                offset,
                coords,
            } => {
                let start = match base {
                    Base::Reg(r) => self.reg(*r).to_string(),
                    Base::Var(v) => v.clone(),
                    Base::None => String::new(),
                };
                let start = match (base, offset) {
                    (Base::None, n) => n.to_string(),
                    (_, 0) => start,
                    (_, n) => format!("{start}+{n}"),
                };
                if coords.is_empty() {
                    format!("[{start}]")
                } else {
                    format!("[{start}, {{{}}}]", list(coords))
                }
            }
        }
    }
}
