//! Reading the insides of functions.
//!
//! Scopes are flattened: a name declared again in an inner scope becomes a register, or a variable with
//! a number at its end, of the function. Operands are read by their form alone; then the first row whose
//! patterns they fit, types included, is taken.

use super::lex::Tok;
use super::parse::{Parser, Read, describe, space};
use super::{Base, Function, Guard, Imm, Inst, Label, Linkage, Loc, Operand, Reg, Stmt, verify};
use crate::isa::{self, Op, Special, Ty, row::Kind};
use std::collections::{HashMap, HashSet};

struct Body<'a> {
    f: &'a mut Function,
    out: Vec<Stmt>,
    regs: Vec<HashMap<String, Reg>>,
    vars: Vec<HashMap<String, String>>,
    labels: HashMap<String, Label>,
    /// Labels that stand somewhere already.
    placed: HashSet<u32>,
    tables: HashMap<String, u32>,
    loc: Option<Loc>,
}

/// Reads up to the closing brace; the opening one is behind.
pub(super) fn run(p: &mut Parser, f: &mut Function) {
    let mut b = Body {
        f,
        out: vec![],
        regs: vec![HashMap::new()],
        vars: vec![HashMap::new()],
        labels: HashMap::new(),
        placed: HashSet::new(),
        tables: HashMap::new(),
        loc: None,
    };
    b.tables_ahead(p);
    loop {
        if let Some(Tok::Comment(c)) = p.peek_raw() {
            b.out.push(Stmt::Comment(c.clone()));
            p.next_raw();
            continue;
        }
        if p.peek().is_none() {
            p.errors
                .push((p.line(), format!("function `{}` has no end", b.f.name)));
            break;
        }
        if p.eat('}') {
            if b.regs.len() == 1 {
                break;
            }
            b.regs.pop();
            b.vars.pop();
            continue;
        }
        if p.eat('{') {
            b.regs.push(HashMap::new());
            b.vars.push(HashMap::new());
            continue;
        }
        if b.statement(p).is_err() {
            p.resync();
        }
    }
    let out = b.out;
    f.body = Some(out);
}

impl Body<'_> {
    /// Tables of labels may stand behind the instruction that uses them.
    fn tables_ahead(&mut self, p: &Parser) {
        for name in p.tables_ahead() {
            let n = self.f.tables.len() as u32;
            self.f.tables.push((name.clone(), vec![]));
            self.tables.insert(name, n);
        }
    }

    fn label(&mut self, name: String) -> Label {
        let f = &mut self.f;
        *self.labels.entry(name.clone()).or_insert_with(|| {
            f.labels.push(name);
            Label(f.labels.len() as u32 - 1)
        })
    }

    fn statement(&mut self, p: &mut Parser) -> Read<()> {
        if p.eat(';') {
            return Ok(());
        }
        let line = p.line();
        if p.eat('@') {
            let negated = p.eat('!');
            let name = p.word()?;
            let Some(reg) = self.reg(&name) else {
                return p.fail(format!("`{name}` is not declared"));
            };
            let word = p.word()?;
            return self.instruction(p, Some(Guard { reg, negated }), &word, line);
        }
        let word = p.word()?;
        match word.as_str() {
            ".reg" => self.registers(p),
            ".local" | ".shared" | ".param" | ".global" | ".const" => {
                for mut v in p.variables(space(&word), Linkage::Local)? {
                    let name = self.fresh(&v.name);
                    self.vars
                        .last_mut()
                        .expect("a scope is open")
                        .insert(v.name.clone(), name.clone());
                    v.name = name;
                    self.f.vars.push(v);
                }
                p.expect(';')
            }
            ".loc" => self.place(p),
            ".pragma" => match p.next() {
                Some(Tok::Text(t)) => {
                    self.out.push(Stmt::Pragma(t));
                    p.expect(';')
                }
                _ => p.fail("expected a text"),
            },
            _ if p.eat(':') => self.after_label(p, word),
            _ if word.starts_with('.') => p.fail(format!("unknown directive `{word}`")),
            _ => self.instruction(p, None, &word, line),
        }
    }

    fn after_label(&mut self, p: &mut Parser, name: String) -> Read<()> {
        if p.eat_word(".branchtargets") {
            let mut labels = vec![];
            loop {
                let w = p.word()?;
                labels.push(self.label(w));
                if !p.eat(',') {
                    break;
                }
            }
            let Some(t) = self.tables.get(&name) else {
                return p.fail(format!(
                    "`{name}` has targets, but no label stands before them"
                ));
            };
            self.f.tables[*t as usize].1 = labels;
            return p.expect(';');
        }
        if p.eat_word(".callprototype") {
            return p.fail("indirect calls are not supported");
        }
        let label = self.label(name.clone());
        if !self.placed.insert(label.0) {
            return p.fail(format!("label `{name}` is placed twice"));
        }
        self.out.push(Stmt::Label(label));
        Ok(())
    }

    /// A name that no variable of the function has.
    fn fresh(&self, name: &str) -> String {
        let taken = |n: &str| {
            self.f
                .vars
                .iter()
                .chain(&self.f.params)
                .chain(&self.f.returns)
                .any(|v| v.name == n)
        };
        if !taken(name) {
            return name.to_string();
        }
        (1..)
            .map(|i| format!("{name}_{i}"))
            .find(|n| !taken(n))
            .expect("numbers do not end")
    }

    fn registers(&mut self, p: &mut Parser) -> Read<()> {
        let t = p.word()?;
        let Some(ty) = t
            .strip_prefix('.')
            .and_then(Ty::by_name)
            .filter(|t| !t.row().prefix.is_empty())
        else {
            return p.fail(format!("registers of type `{t}` are not supported"));
        };
        loop {
            let name = p.word()?;
            if p.eat('<') {
                let n = p.integer()?;
                p.expect('>')?;
                if !(0..=(1 << 17) - self.f.regs.len() as i64).contains(&n) {
                    return p.fail(format!("{n} registers are too many"));
                }
                for i in 0..n {
                    self.declare(format!("{name}{i}"), ty);
                }
            } else {
                self.declare(name, ty);
            }
            if !p.eat(',') {
                return p.expect(';');
            }
        }
    }

    fn declare(&mut self, name: String, ty: Ty) {
        self.f.regs.push(ty);
        let r = Reg(self.f.regs.len() as u32 - 1);
        self.regs
            .last_mut()
            .expect("a scope is open")
            .insert(name, r);
    }

    fn reg(&self, name: &str) -> Option<Reg> {
        self.regs.iter().rev().find_map(|s| s.get(name).copied())
    }

    fn place(&mut self, p: &mut Parser) -> Read<()> {
        let n = [p.integer()?, p.integer()?, p.integer()?].map(|n| u32::try_from(n).unwrap_or(0));
        self.loc = Some(Loc {
            file: n[0],
            line: n[1],
            col: n[2],
        });
        if p.eat(',') {
            p.word()?;
            p.word()?;
            if p.eat('+') {
                p.integer()?;
            }
            p.expect(',')?;
            p.word()?;
            for _ in 0..3 {
                p.integer()?;
            }
        }
        Ok(())
    }

    fn instruction(
        &mut self,
        p: &mut Parser,
        guard: Option<Guard>,
        word: &str,
        line: u32,
    ) -> Read<()> {
        let candidates = isa::read(word);
        if candidates.is_empty() {
            p.errors
                .push((line, format!("unknown instruction `{word}`")));
            p.resync();
            return Ok(());
        }
        let mut raw = vec![];
        while !p.eat(';') {
            raw.push(self.operand(p)?);
            if !p.eat(',') && p.peek() != Some(&Tok::Mark(';')) {
                let found = describe(p.peek());
                return p.fail(format!("expected `,` or `;`, found {found}"));
            }
        }
        let mut why = String::new();
        for op in &candidates {
            let mut operands = raw.clone();
            self.bind(op, &mut operands);
            match verify::fits(self.f, op, &operands) {
                Ok(()) => {
                    self.out.push(Stmt::Inst(Inst {
                        guard,
                        op: *op,
                        operands,
                        loc: self.loc,
                        line,
                    }));
                    return Ok(());
                }
                Err(e) if why.is_empty() => why = e,
                Err(_) => {}
            }
        }
        p.errors.push((line, format!("`{word}`: {why}")));
        Ok(())
    }

    /// Gives names and numbers the meaning that the row's patterns say.
    fn bind(&mut self, op: &Op, operands: &mut [Operand]) {
        let pats = &op.row.form().pats;
        for (o, pat) in operands.iter_mut().zip(pats) {
            match (pat.kind, &*o) {
                (Kind::Label, Operand::Var(name, 0)) => {
                    *o = Operand::Label(self.label(name.clone()))
                }
                (Kind::Table, Operand::Var(name, 0)) => {
                    if let Some(t) = self.tables.get(name) {
                        *o = Operand::Table(*t);
                    }
                }
                (Kind::Value, Operand::Vec(v)) if v.len() == 1 && op.count(pat.count).is_none() => {
                    *o = v[0].clone()
                }
                _ => {}
            }
            if op.resolve(pat.ty) == Some(Ty::F32) {
                narrow(o);
            }
        }
    }

    fn operand(&mut self, p: &mut Parser) -> Read<Operand> {
        if p.eat('{') {
            return Ok(Operand::Vec(self.list(p, '}')?));
        }
        if p.eat('(') {
            return Ok(Operand::Params(self.list(p, ')')?));
        }
        if p.eat('[') {
            return self.address(p);
        }
        if p.eat('!') {
            let name = p.word()?;
            return match self.reg(&name) {
                Some(r) => Ok(Operand::Not(r)),
                None => p.fail(format!("`{name}` is not declared")),
            };
        }
        if matches!(p.peek(), Some(Tok::Number(_) | Tok::Mark('-'))) {
            return Ok(Operand::Imm(p.number()?));
        }
        let name = p.word()?;
        let first = self.named(p, name)?;
        if p.eat('|') {
            let name = p.word()?;
            let second = self.named(p, name)?;
            return Ok(Operand::pair(first, second));
        }
        Ok(first)
    }

    fn list(&mut self, p: &mut Parser, close: char) -> Read<Vec<Operand>> {
        let mut v = vec![];
        while !p.eat(close) {
            v.push(self.operand(p)?);
            if !p.eat(',') {
                p.expect(close)?;
                break;
            }
        }
        Ok(v)
    }

    fn named(&mut self, p: &mut Parser, name: String) -> Read<Operand> {
        if name == "_" {
            return Ok(Operand::Sink);
        }
        if let Some(r) = self.reg(&name) {
            return Ok(Operand::Reg(r));
        }
        if let Some(s) = Special::by_name(&name) {
            return Ok(Operand::Special(s));
        }
        if name.starts_with('%') {
            return p.fail(format!("`{name}` is not declared"));
        }
        let offset = self.offset(p)?;
        Ok(Operand::Var(self.variable(name), offset))
    }

    /// The function's own name for a variable.
    fn variable(&self, name: String) -> String {
        let own = self.vars.iter().rev().find_map(|s| s.get(&name).cloned());
        own.unwrap_or(name)
    }

    fn offset(&self, p: &mut Parser) -> Read<i64> {
        if p.eat('+') || p.peek() == Some(&Tok::Mark('-')) {
            p.integer()
        } else {
            Ok(0)
        }
    }

    fn address(&mut self, p: &mut Parser) -> Read<Operand> {
        let (base, offset) = match p.peek() {
            Some(Tok::Word(w)) => {
                let name = w.clone();
                p.next();
                let base = match self.reg(&name) {
                    Some(r) => Base::Reg(r),
                    None if name.starts_with('%') => {
                        return p.fail(format!("`{name}` is not declared"));
                    }
                    None => Base::Var(self.variable(name)),
                };
                (base, self.offset(p)?)
            }
            _ => (Base::None, p.integer()?),
        };
        let mut coords = vec![];
        if p.eat(',') {
            p.expect('{')?;
            coords = self.list(p, '}')?;
        }
        p.expect(']')?;
        Ok(Operand::Addr {
            base,
            offset,
            coords,
        })
    }
}

/// A decimal fraction where an f32 is wanted.
fn narrow(o: &mut Operand) {
    match o {
        Operand::Imm(Imm::F64(b)) => {
            *o = Operand::Imm(Imm::F32((f64::from_bits(*b) as f32).to_bits()))
        }
        Operand::Vec(v) => v.iter_mut().for_each(narrow),
        _ => {}
    }
}
