//! Reading modules: headers, variables and the outsides of functions.
//!
//! Every mistake is noted and reading goes on behind the next semicolon, so that all unknown
//! instructions of a text are reported together.

use super::lex::{self, Tok};
use super::{Directive, Function, Imm, Linkage, Module, Var};
use crate::isa::{Space, Ty};
use crate::target::Arch;
use std::fmt;

/// What is wrong with a text: lines and words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseErrors(pub Vec<(u32, String)>);

impl fmt::Display for ParseErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (line, text)) in self.0.iter().enumerate() {
            write!(f, "{}line {line}: {text}", if i == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}
impl std::error::Error for ParseErrors {}

/// A note was made; the rest of the statement is skipped.
pub(super) struct Skip;
pub(super) type Read<T> = Result<T, Skip>;

pub(super) struct Parser {
    toks: Vec<(Tok, u32)>,
    pos: usize,
    pub(super) errors: Vec<(u32, String)>,
}

pub(super) fn run(text: &str) -> Result<Module, ParseErrors> {
    let mut p = Parser {
        toks: lex::run(text),
        pos: 0,
        errors: vec![],
    };
    let m = p.module();
    if p.errors.is_empty() {
        Ok(m)
    } else {
        Err(ParseErrors(p.errors))
    }
}

impl Parser {
    pub(super) fn peek_raw(&self) -> Option<&Tok> {
        self.toks.get(self.pos).map(|t| &t.0)
    }
    pub(super) fn skip_comments(&mut self) {
        while matches!(self.peek_raw(), Some(Tok::Comment(_))) {
            self.pos += 1;
        }
    }
    pub(super) fn peek(&mut self) -> Option<&Tok> {
        self.skip_comments();
        self.peek_raw()
    }
    pub(super) fn next(&mut self) -> Option<Tok> {
        self.skip_comments();
        let t = self.toks.get(self.pos).map(|t| t.0.clone());
        self.pos += usize::from(t.is_some());
        t
    }
    pub(super) fn next_raw(&mut self) {
        self.pos += 1;
    }
    /// Names of the tables of labels up to the end of the function.
    pub(super) fn tables_ahead(&self) -> Vec<String> {
        let mut depth = 1;
        let mut names = vec![];
        let words: Vec<&Tok> = self.toks[self.pos..]
            .iter()
            .map(|(word, _)| word)
            .filter(|word| !matches!(word, Tok::Comment(_)))
            .collect();
        for w in words.windows(3) {
            match w[0] {
                Tok::Mark('{') => depth += 1,
                Tok::Mark('}') => depth -= 1,
                Tok::Word(name)
                    if *w[1] == Tok::Mark(':') && *w[2] == Tok::Word(".branchtargets".into()) =>
                {
                    names.push(name.clone());
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        names
    }
    pub(super) fn line(&self) -> u32 {
        self.toks
            .get(self.pos)
            .or(self.toks.last())
            .map_or(1, |t| t.1)
    }
    pub(super) fn fail<T>(&mut self, text: impl Into<String>) -> Read<T> {
        let line = self.line();
        self.errors.push((line, text.into()));
        Err(Skip)
    }
    pub(super) fn eat(&mut self, c: char) -> bool {
        let yes = self.peek() == Some(&Tok::Mark(c));
        self.pos += usize::from(yes);
        yes
    }
    pub(super) fn expect(&mut self, c: char) -> Read<()> {
        if self.eat(c) {
            return Ok(());
        }
        let found = describe(self.peek());
        self.fail(format!("expected `{c}`, found {found}"))
    }
    pub(super) fn eat_word(&mut self, w: &str) -> bool {
        let yes = matches!(self.peek(), Some(Tok::Word(x)) if x == w);
        self.pos += usize::from(yes);
        yes
    }
    pub(super) fn word(&mut self) -> Read<String> {
        match self.peek() {
            Some(Tok::Word(w)) => {
                let w = w.clone();
                self.pos += 1;
                Ok(w)
            }
            other => {
                let found = describe(other);
                self.fail(format!("expected a name, found {found}"))
            }
        }
    }
    /// An integer, with a sign.
    pub(super) fn integer(&mut self) -> Read<i64> {
        match self.number()? {
            Imm::Int(i) => Ok(i),
            _ => self.fail("expected an integer"),
        }
    }
    fn small(&mut self) -> Read<u32> {
        let n = self.integer()?;
        match u32::try_from(n) {
            Ok(n) => Ok(n),
            Err(_) => self.fail(format!("{n} is out of range")),
        }
    }
    /// A number, with a sign.
    pub(super) fn number(&mut self) -> Read<Imm> {
        let negative = self.eat('-');
        let text = match self.peek() {
            Some(Tok::Number(n)) => n.clone(),
            other => {
                let found = describe(other);
                return self.fail(format!("expected a number, found {found}"));
            }
        };
        let Some(imm) = number(&text) else {
            return self.fail(format!("`{text}` is not a number"));
        };
        self.pos += 1;
        Ok(match imm {
            Imm::Int(i) if negative => Imm::Int(i.wrapping_neg()),
            Imm::F32(b) if negative => Imm::F32(b ^ 1 << 31),
            Imm::F64(b) if negative => Imm::F64(b ^ 1 << 63),
            other => other,
        })
    }
    /// Goes behind the next semicolon, or in front of a closing brace.
    pub(super) fn resync(&mut self) {
        let mut depth = 0;
        while let Some(t) = self.peek_raw() {
            match t {
                Tok::Mark(';') => {
                    self.pos += 1;
                    return;
                }
                Tok::Mark('{') => depth += 1,
                Tok::Mark('}') if depth == 0 => return,
                Tok::Mark('}') => depth -= 1,
                _ => {}
            }
            self.pos += 1;
        }
    }
    fn skip_braces(&mut self) {
        let mut depth = 0;
        while let Some(t) = self.next() {
            match t {
                Tok::Mark('{') => depth += 1,
                Tok::Mark('}') => {
                    depth -= 1;
                    if depth <= 0 {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    fn module(&mut self) -> Module {
        let mut m = Module {
            version: (0, 0),
            target: Arch {
                capability: (0, 0),
                suffix: None,
            },
            comments: vec![],
            files: vec![],
            vars: vec![],
            functions: vec![],
        };
        while let Some(Tok::Comment(c)) = self.peek_raw() {
            m.comments.push(c.clone());
            self.pos += 1;
        }
        let mut addresses = 64;
        while self.peek().is_some() {
            let before = self.pos;
            if self.item(&mut m, &mut addresses).is_err() {
                self.resync();
                if self.pos == before {
                    self.pos += 1;
                }
            }
        }
        if m.version == (0, 0) {
            self.errors.push((1, "no .version".into()));
        }
        if m.target.capability == (0, 0) {
            self.errors.push((1, "no .target".into()));
        }
        if addresses != 64 {
            self.errors.push((
                1,
                format!("addresses of {addresses} bits: only 64 are supported"),
            ));
        }
        m
    }

    fn item(&mut self, m: &mut Module, addresses: &mut u32) -> Read<()> {
        if self.eat(';') {
            return Ok(());
        }
        let word = self.word()?;
        match word.as_str() {
            ".version" => {
                let text = match self.next() {
                    Some(Tok::Number(n)) => n,
                    _ => return self.fail("expected a version"),
                };
                match text.split_once('.').map(|(a, b)| (a.parse(), b.parse())) {
                    Some((Ok(a), Ok(b))) => m.version = (a, b),
                    _ => return self.fail(format!("`{text}` is not a version")),
                }
            }
            ".target" => {
                let name = self.word()?;
                match Arch::by_name(&name) {
                    Some(a) => m.target = a,
                    None => return self.fail(format!("unknown target `{name}`")),
                }
                while self.eat(',') {
                    self.word()?;
                }
            }
            ".address_size" => *addresses = self.small()?,
            ".file" => {
                let n = self.small()?;
                match self.next() {
                    Some(Tok::Text(path)) => m.files.push((n, path)),
                    _ => return self.fail("expected a path"),
                }
                while self.eat(',') {
                    self.integer()?;
                }
            }
            ".section" => self.skip_braces(),
            ".pragma" => {
                self.next();
                self.expect(';')?;
            }
            _ => return self.symbol(m, word),
        }
        Ok(())
    }

    fn symbol(&mut self, m: &mut Module, mut word: String) -> Read<()> {
        let mut link = Linkage::Local;
        loop {
            link = match word.as_str() {
                ".visible" => Linkage::Visible,
                ".extern" => Linkage::Extern,
                ".weak" | ".common" => Linkage::Weak,
                _ => break,
            };
            word = self.word()?;
        }
        match word.as_str() {
            ".entry" | ".func" => {
                let f = self.function(word == ".entry", link)?;
                m.functions.push(f);
            }
            ".global" | ".const" | ".shared" | ".local" => {
                let vars = self.variables(space(&word), link)?;
                m.vars.extend(vars);
                self.expect(';')?;
            }
            _ => return self.fail(format!("unknown directive `{word}`")),
        }
        Ok(())
    }

    /// Variables of one declaration, the space being read already.
    pub(super) fn variables(&mut self, space: Space, linkage: Linkage) -> Read<Vec<Var>> {
        let mut first = self.variable(space, linkage)?;
        self.initial(&mut first)?;
        let mut all = vec![first.clone()];
        while self.eat(',') {
            let mut v = Var {
                init: vec![],
                init_addresses: vec![],
                count: None,
                ..first.clone()
            };
            v.name = self.word()?;
            v.count = self.dims()?;
            self.initial(&mut v)?;
            all.push(v);
        }
        Ok(all)
    }

    /// A variable or a parameter, the space being read already.
    fn variable(&mut self, space: Space, linkage: Linkage) -> Read<Var> {
        let mut v = Var {
            linkage,
            ..Var::new(space, Ty::B8, "", None)
        };
        let mut lanes = 1;
        loop {
            let w = self.word()?;
            match w.as_str() {
                ".align" if v.pointer.is_some() => {
                    let n = self.small()?;
                    v.pointer = v.pointer.map(|(s, _)| (s, n));
                }
                ".align" => v.align = Some(self.small()?),
                ".ptr" => v.pointer = Some((None, 1)),
                ".global" | ".shared" | ".local" | ".const" => {
                    let s = space_of(&w);
                    v.pointer = v.pointer.map(|(_, a)| (Some(s), a));
                }
                ".v2" | ".v4" => lanes = if w == ".v2" { 2 } else { 4 },
                ".attribute" => {
                    while !self.eat(')') {
                        if self.next().is_none() {
                            return self.fail("unexpected end");
                        }
                    }
                }
                _ => match w.strip_prefix('.') {
                    Some(t) => match Ty::by_name(t) {
                        Some(t) => v.ty = t,
                        None => return self.fail(format!("unknown type `{w}`")),
                    },
                    None => {
                        v.name = w;
                        break;
                    }
                },
            }
        }
        if let Some(a) = v.align
            && !a.is_power_of_two()
        {
            return self.fail(format!("alignment {a} is not a power of two"));
        }
        v.count = self.dims()?;
        if lanes > 1 {
            v.align = Some(v.align.unwrap_or(v.ty.bytes() * lanes));
            v.count = Some(v.count.unwrap_or(1) * u64::from(lanes));
        }
        Ok(v)
    }

    fn dims(&mut self) -> Read<Option<u64>> {
        let mut count: Option<u64> = None;
        while self.eat('[') {
            let n = if self.peek() == Some(&Tok::Mark(']')) {
                0
            } else {
                self.integer()?
            };
            self.expect(']')?;
            count = u64::try_from(n)
                .ok()
                .and_then(|n| n.checked_mul(count.unwrap_or(1)))
                .filter(|n| *n < 1 << 40);
            if count.is_none() {
                return self.fail("an array of this size is not possible");
            }
        }
        Ok(count)
    }

    fn initial(&mut self, v: &mut Var) -> Read<()> {
        if !self.eat('=') {
            return Ok(());
        }
        let braces = self.eat('{');
        let mut depth = u32::from(braces);
        loop {
            if self.eat('{') {
                depth += 1;
                continue;
            }
            if depth > 0 && self.eat('}') {
                depth -= 1;
                if depth == 0 {
                    break;
                }
                self.eat(',');
                continue;
            }
            let size = v.ty.bytes() as usize;
            if let Some(Tok::Word(w)) = self.peek() {
                let mut name = w.clone();
                self.pos += 1;
                if name == "generic" && self.eat('(') {
                    name = self.word()?;
                    self.expect(')')?;
                }
                v.init_addresses.push((v.init.len() as u64, name));
                v.init.extend(std::iter::repeat_n(0, size));
            } else {
                let bits = match (self.number()?, v.ty) {
                    (Imm::Int(i), Ty::F32) => u64::from((i as f32).to_bits()),
                    (Imm::Int(i), Ty::F64) => (i as f64).to_bits(),
                    (Imm::Int(i), _) => i as u64,
                    (Imm::F32(b), _) => u64::from(b),
                    (Imm::F64(b), Ty::F32) => u64::from((f64::from_bits(b) as f32).to_bits()),
                    (Imm::F64(b), _) => b,
                };
                v.init.extend_from_slice(&bits.to_le_bytes()[..size.min(8)]);
            }
            if depth == 0 {
                break;
            }
            self.eat(',');
        }
        if v.count == Some(0) {
            v.count = Some((v.init.len() / (v.ty.bytes() as usize).max(1)) as u64);
        }
        if v.init.len() as u64 > v.bytes() {
            return self.fail(format!(
                "`{}` has {} bytes, its initial value {}",
                v.name,
                v.bytes(),
                v.init.len()
            ));
        }
        Ok(())
    }

    fn param_list(&mut self) -> Read<Vec<Var>> {
        let mut list = vec![];
        if !self.eat('(') {
            return Ok(list);
        }
        while !self.eat(')') {
            let w = self.word()?;
            if w != ".param" {
                return self.fail(format!("expected `.param`, found `{w}`"));
            }
            list.push(self.variable(Space::Param, Linkage::Local)?);
            self.eat(',');
        }
        Ok(list)
    }

    fn function(&mut self, entry: bool, linkage: Linkage) -> Read<Function> {
        let returns = if entry { vec![] } else { self.param_list()? };
        let mut f = Function {
            returns,
            linkage,
            ..Function::new(&self.word()?, entry)
        };
        f.params = self.param_list()?;
        f.body = None;
        loop {
            if self.eat(';') {
                return Ok(f);
            }
            if self.eat('{') {
                break;
            }
            let d = self.directive()?;
            f.directives.push(d);
        }
        super::parse_body::run(self, &mut f);
        Ok(f)
    }

    fn directive(&mut self) -> Read<Directive> {
        let w = self.word()?;
        Ok(match w.as_str() {
            ".reqntid" => Directive::ReqNtid(self.three()?),
            ".maxntid" => Directive::MaxNtid(self.three()?),
            ".minnctapersm" => Directive::MinNctaPerSm(self.small()?),
            ".maxnreg" => Directive::MaxNreg(self.small()?),
            ".explicitcluster" => Directive::ExplicitCluster,
            ".reqnctapercluster" => Directive::ReqNctaPerCluster(self.three()?),
            ".maxclusterrank" => Directive::MaxClusterRank(self.small()?),
            ".noreturn" => Directive::NoReturn,
            ".pragma" => match self.next() {
                Some(Tok::Text(t)) => {
                    self.expect(';')?;
                    Directive::Pragma(t)
                }
                _ => return self.fail("expected a text"),
            },
            _ => return self.fail(format!("unknown directive `{w}`")),
        })
    }

    fn three(&mut self) -> Read<[u32; 3]> {
        let mut d = [self.small()?, 1, 1];
        for x in &mut d[1..] {
            if self.eat(',') {
                *x = self.small()?;
            }
        }
        Ok(d)
    }
}

pub(super) fn space(word: &str) -> Space {
    space_of(word)
}

fn space_of(word: &str) -> Space {
    Space::by_text(word.trim_start_matches('.')).unwrap_or(Space::Generic)
}

fn number(text: &str) -> Option<Imm> {
    let hex = |s: &str| u64::from_str_radix(s, 16).ok();
    let t = text.trim_end_matches(['U', 'u']);
    if let Some(d) = text.strip_prefix("0f").or(text.strip_prefix("0F")) {
        return hex(d).filter(|_| d.len() == 8).map(|b| Imm::F32(b as u32));
    }
    if let Some(d) = text.strip_prefix("0d").or(text.strip_prefix("0D")) {
        return hex(d).filter(|_| d.len() == 16).map(Imm::F64);
    }
    if let Some(d) = t.strip_prefix("0x").or(t.strip_prefix("0X")) {
        return hex(d).map(|b| Imm::Int(b as i64));
    }
    if let Some(d) = t.strip_prefix("0b").or(t.strip_prefix("0B")) {
        return u64::from_str_radix(d, 2).ok().map(|b| Imm::Int(b as i64));
    }
    if t.contains('.') {
        return t.parse::<f64>().ok().map(|v| Imm::F64(v.to_bits()));
    }
    if t.len() > 1 && t.starts_with('0') {
        return u64::from_str_radix(t, 8).ok().map(|b| Imm::Int(b as i64));
    }
    t.parse::<u64>().ok().map(|b| Imm::Int(b as i64))
}

pub(super) fn describe(t: Option<&Tok>) -> String {
    match t {
        Some(Tok::Word(w) | Tok::Number(w)) => format!("`{w}`"),
        Some(Tok::Text(t)) => format!("\"{t}\""),
        Some(Tok::Mark(c)) => format!("`{c}`"),
        Some(Tok::Bad(c)) => format!("the character {c:?}"),
        Some(Tok::Comment(_)) => "a comment".into(),
        None => "the end of the text".into(),
    }
}
