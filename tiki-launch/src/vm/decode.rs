//! From a module to programs: see [`super::program`].
//!
//! 1. Lay out constants and parameters.
//! 2. Order the functions that an entry reaches, refusing recursion.
//! 3. Give registers, immediates and special registers their planes.
//! 4. Resolve each instruction.

use super::program::{ABSENT, Act, Address, Kernel, LoadError, Start, Step, Use};
use crate::vm::meaning::compare::{NEGATED, combine_flag};
use crate::vm::meaning::moves::{OWN_RANK, RANK_SHIFT};
use crate::vm::meaning::{Args, Ask, Meaning, SINK_PRED, meaning};
use std::collections::{HashMap, HashSet};
use tiki_kernel::isa::special::Tells;
use tiki_kernel::isa::{Space, Special, Ty, row::Kind};
use tiki_kernel::ptx::{Base, Directive, Function, Imm, Inst, Module, Operand, Reg, Stmt, Var};

/// Predicates that are always false and always true.
const FALSE: u32 = 2;
const TRUE: u32 = 3;
/// Planes that nobody reads, wide enough for any register.
const SINK: u32 = 0;
const SINK_PLANES: usize = 4;

/// Where a variable lies.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) space: Space,
    pub(super) address: u64,
    /// In a thread's own memory though its space says parameter.
    pub(super) own: bool,
}

pub(super) struct Decoder<'m> {
    pub(super) module: &'m Module,
    pub(super) globals: &'m HashMap<String, (Space, u64)>,
    pub(super) places: HashMap<String, Place>,
    pub(super) own_places: Vec<HashMap<String, Place>>,
    pub(super) words: usize,
    pub(super) preds: usize,
    pub(super) consts: HashMap<(u64, bool), u32>,
    pub(super) fills: Vec<(u32, u32)>,
    pub(super) specials: Vec<(u32, Special)>,
    pub(super) regs: Vec<Vec<u32>>,
    pub(super) starts: Vec<u32>,
    pub(super) code: Vec<Step>,
    pub(super) local: u64,
    pub(super) shared: u64,
    /// What the addresses of shared variables say where a rank would stand.
    pub(super) own_rank: u32,
    /// Shared variables: first byte, bytes (all that the launch adds, if zero), name.
    pub(super) shared_vars: Vec<(u32, u32, String)>,
    /// Registers that steps read and write, by number of the step.
    pub(super) uses: Vec<(u32, Box<[Use]>)>,
    pub(super) products: Vec<super::index::Product>,
    pub(super) choices: HashSet<u32>,
    pub(super) errors: Vec<String>,
}

fn align(n: u64, to: u64) -> u64 {
    n.div_ceil(to) * to
}

/// Lays the module's constants out: bytes and places.
pub(super) fn constants(m: &Module) -> (Vec<u8>, HashMap<String, u64>) {
    let (mut bytes, mut at) = (vec![], HashMap::new());
    for v in m.vars.iter().filter(|v| v.space == Space::Const) {
        let start = align(bytes.len() as u64, v.alignment());
        bytes.resize((start + v.bytes()) as usize, 0);
        bytes[start as usize..start as usize + v.init.len()].copy_from_slice(&v.init);
        at.insert(v.name.clone(), start);
    }
    (bytes, at)
}

/// Whether a kernel always runs in clusters.
fn is_clustered(f: &Function) -> bool {
    let blocks = f.directives.iter().find_map(|d| match d {
        Directive::ReqNctaPerCluster(n) => Some(n.iter().product::<u32>()),
        _ => None,
    });
    blocks.is_some_and(|n| n > 1)
}

/// One entry.
pub(super) fn kernel(
    m: &Module,
    f: &Function,
    globals: &HashMap<String, (Space, u64)>,
) -> Result<Kernel, LoadError> {
    let mut d = Decoder {
        module: m,
        globals,
        places: HashMap::new(),
        own_places: vec![],
        words: SINK_PLANES,
        preds: 4,
        consts: HashMap::new(),
        fills: vec![],
        specials: vec![],
        regs: vec![],
        starts: vec![],
        code: vec![],
        local: 0,
        shared: 0,
        own_rank: if is_clustered(f) { OWN_RANK } else { 0 },
        shared_vars: vec![],
        uses: vec![],
        products: vec![],
        choices: HashSet::new(),
        errors: vec![],
    };
    let mut order = vec![f];
    d.reach(f, &mut vec![f.name.as_str()], &mut order);
    if !d.errors.is_empty() {
        return Err(LoadError(d.errors));
    }
    let (params, param_bytes) = parameters(f);
    for ((at, _), v) in params.iter().zip(&f.params) {
        d.places.insert(
            v.name.clone(),
            Place {
                space: Space::Param,
                address: u64::from(*at),
                own: false,
            },
        );
    }
    // Static shared memory first; what the launch adds begins behind it.
    let vars = || {
        m.vars
            .iter()
            .chain(order.iter().flat_map(|f| &f.vars))
            .filter(|v| v.space == Space::Shared)
    };
    for v in vars().filter(|v| v.linkage != tiki_kernel::ptx::Linkage::Extern) {
        d.shared_var(v, true);
    }
    let dynamic: Vec<&Var> = vars()
        .filter(|v| v.linkage == tiki_kernel::ptx::Linkage::Extern)
        .collect();
    let strictest = dynamic.iter().map(|v| v.alignment()).max().unwrap_or(1);
    d.shared = align(d.shared, strictest);
    for v in dynamic {
        d.shared_var(v, false);
    }
    for (i, g) in order.iter().enumerate() {
        d.declare(g, i > 0);
    }
    for (i, g) in order.iter().enumerate() {
        d.function(i, g, &order);
    }
    if !d.errors.is_empty() {
        return Err(LoadError(d.errors));
    }
    let parameters = f.params.iter().map(Var::bytes).fold(0, u64::saturating_add);
    super::limits::entry(&f.name, d.words, d.local, d.shared, parameters)?;
    d.fix_calls(&order);
    Ok(Kernel {
        uses: d.take_uses(),
        multiplies: d.multiplies(),
        name: f.name.clone(),
        communicates: super::between::communicates(&order),
        text: f.clone(),
        registers: std::sync::OnceLock::new(),
        slots: std::mem::take(&mut d.regs[0]),
        looks: std::sync::OnceLock::new(),
        products: std::mem::take(&mut d.products),
        choices: std::mem::take(&mut d.choices),
        plain: super::straight::pieces(&d.code, TRUE, i64::from(d.own_rank) << RANK_SHIFT),
        code: d.code,
        words: d.words,
        preds: d.preds,
        fills: d.fills,
        specials: d.specials,
        params,
        param_bytes,
        shared_bytes: d.shared as u32,
        shared_vars: d.shared_vars,
        local_bytes: align(d.local, 16) as u32,
        directives: f.directives.clone(),
    })
}

/// Offsets and sizes of an entry's parameters, and all bytes.
fn parameters(f: &Function) -> (Vec<(u32, u32)>, u32) {
    let mut at = 0;
    let list = f
        .params
        .iter()
        .map(|v| {
            at = align(at, v.alignment());
            let start = at;
            at += v.bytes();
            (start as u32, v.bytes() as u32)
        })
        .collect();
    (list, at as u32)
}

impl<'m> Decoder<'m> {
    fn shared_var(&mut self, v: &Var, fixed: bool) {
        let start = if fixed {
            align(self.shared, v.alignment())
        } else {
            self.shared
        };
        if fixed {
            self.shared = start + v.bytes();
        }
        let bytes = if fixed { v.bytes() as u32 } else { 0 };
        self.shared_vars.push((start as u32, bytes, v.name.clone()));
        self.places.insert(
            v.name.clone(),
            Place {
                space: Space::Shared,
                address: start,
                own: false,
            },
        );
    }

    /// Planes of a function's registers and places of its variables.
    fn declare(&mut self, f: &Function, callee: bool) {
        let slots = f
            .regs
            .iter()
            .map(|t| {
                if *t == Ty::Pred {
                    self.preds += 1;
                    self.preds as u32 - 1
                } else {
                    let n = t.bits().div_ceil(32) as usize;
                    self.words += n;
                    (self.words - n) as u32
                }
            })
            .collect();
        self.regs.push(slots);
        let mut places = HashMap::new();
        let own = if callee {
            [f.params.as_slice(), f.returns.as_slice()]
        } else {
            [&[][..], &[][..]]
        };
        for v in own.iter().flat_map(|l| l.iter()).chain(&f.vars) {
            if matches!(v.space, Space::Local | Space::Param) {
                self.local = align(self.local, v.alignment().max(4));
                places.insert(
                    v.name.clone(),
                    Place {
                        space: Space::Local,
                        address: self.local,
                        own: true,
                    },
                );
                self.local += v.bytes();
            }
        }
        self.own_places.push(places);
    }

    fn place(&self, f: usize, name: &str) -> Option<Place> {
        let own = self.own_places[f]
            .get(name)
            .or(self.places.get(name))
            .copied();
        own.or_else(|| {
            self.globals.get(name).map(|(space, address)| Place {
                space: *space,
                address: *address,
                own: false,
            })
        })
    }

    /// The plane, or two, that hold a constant.
    fn constant(&mut self, bits: u64, wide: bool) -> u32 {
        let bits = if wide { bits } else { bits & 0xffff_ffff };
        if let Some(slot) = self.consts.get(&(bits, wide)) {
            return *slot;
        }
        let slot = self.words as u32;
        self.words += if wide { 2 } else { 1 };
        self.fills.push((slot, bits as u32));
        if wide {
            self.fills.push((slot + 1, (bits >> 32) as u32));
        }
        self.consts.insert((bits, wide), slot);
        slot
    }

    fn special(&mut self, s: Special) -> u32 {
        if let Some((slot, _)) = self.specials.iter().find(|(_, x)| *x == s) {
            return *slot;
        }
        let slot = self.words as u32;
        self.words += 2;
        self.specials.push((slot, s));
        slot
    }

    fn function(&mut self, n: usize, f: &'m Function, order: &[&'m Function]) {
        self.starts.push(self.code.len() as u32);
        let first = self.code.len();
        let mut labels = vec![ABSENT; f.labels.len()];
        let feeding = super::index::feeding(f);
        for (at, s) in f.body.iter().flatten().enumerate() {
            match s {
                Stmt::Label(l) => labels[l.0 as usize] = self.code.len() as u32,
                Stmt::Inst(i) => {
                    if let Some(signed) = feeding.get(&at) {
                        let pc = self.code.len() as u32;
                        self.products.push(super::index::Product {
                            pc,
                            signed: *signed,
                        });
                    }
                    if let Err(e) = self.inst(n, f, i, order) {
                        self.errors
                            .push(format!("line {}: `{}`: {e}", i.line, i.op));
                    }
                }
                _ => {}
            }
        }
        // Running over the end leaves the function.
        self.code.push(Step {
            act: Act::Ask(Ask::Return),
            guard: None,
            args: Args::default(),
            addresses: vec![],
            targets: vec![],
            line: 0,
            loc: None,
        });
        for step in &mut self.code[first..] {
            if !matches!(step.act, Act::Ask(Ask::Call)) {
                step.targets
                    .iter_mut()
                    .for_each(|t| *t = labels[*t as usize]);
            }
        }
    }

    fn inst(
        &mut self,
        n: usize,
        f: &Function,
        i: &Inst,
        order: &[&'m Function],
    ) -> Result<(), String> {
        let mut run_flags = 0;
        let act = meaning(i.op.row).and_then(|of| match of {
            Meaning::Lanes(pick) => pick(&i.op).map(|r| {
                run_flags = r.flags;
                Act::Lanes(r)
            }),
            Meaning::Asks(ask) => ask(&i.op).map(Act::Ask),
        });
        let mut act = act.ok_or("the machine does not have this form")?;
        if matches!(act, Act::Ask(Ask::Call))
            && let Some(outside) = self.outside(n, f, i)?
        {
            act = outside;
        }
        let guard = i.guard.map(|g| (self.regs[n][g.reg.0 as usize], g.negated));
        let mut step = Step {
            act,
            guard,
            args: Args {
                pair: SINK_PRED,
                flags: combine_flag(&i.op) | run_flags,
                s: [ABSENT; 8],
                ..Args::default()
            },
            addresses: vec![],
            targets: vec![],
            line: i.line,
            loc: i.loc,
        };
        let mut clock = None;
        let mut widen = None;
        for (k, (o, pat)) in i.operands.iter().zip(&i.op.row.form().pats).enumerate() {
            let ty = i.op.resolve(pat.ty).unwrap_or(Ty::B32);
            step.args.s[k] = match (pat.kind, o) {
                (
                    Kind::Addr | Kind::Tensor,
                    Operand::Addr {
                        base,
                        offset,
                        coords,
                    },
                ) => {
                    let a = self.address(n, f, &step.act, base, *offset, coords)?;
                    step.addresses.push(a);
                    step.addresses.len() as u32 - 1
                }
                (Kind::Label, Operand::Label(l)) => {
                    step.targets.push(l.0);
                    0
                }
                (Kind::Table, Operand::Table(t)) => {
                    step.targets
                        .extend(f.tables[*t as usize].1.iter().map(|l| l.0));
                    0
                }
                (Kind::Func, _) if matches!(step.act, Act::Outside(_)) => 0,
                (Kind::Func, Operand::Var(name, _)) => {
                    let callee = order
                        .iter()
                        .position(|g| g.name == *name)
                        .ok_or("unknown function")?;
                    step.targets.push(callee as u32);
                    0
                }
                (Kind::Params, _) => 0,
                (Kind::Imm, Operand::Imm(Imm::Int(v))) => {
                    step.args.imm = *v;
                    self.constant(*v as u64, false)
                }
                (_, Operand::Vec(parts)) => {
                    let at = step.args.list.len() as u32;
                    for p in parts {
                        let slot = self.value(n, p, ty)?;
                        step.args.list.push(slot);
                    }
                    at
                }
                (_, Operand::Pair(d, p)) => {
                    step.args.pair = self.value(n, p, Ty::Pred)?;
                    self.value(n, d, ty)?
                }
                (_, Operand::Not(r)) => {
                    step.args.flags |= NEGATED;
                    self.regs[n][r.0 as usize]
                }
                (Kind::Condition, Operand::Imm(Imm::Int(v))) => {
                    if *v == 0 {
                        FALSE
                    } else {
                        TRUE
                    }
                }
                (_, o) => {
                    if let Operand::Special(s) = o
                        && matches!(s.row().tells, Tells::Clock | Tells::Nanoseconds)
                    {
                        clock = Some((self.special(*s), s.row().ty.bits() == 64));
                    }
                    if let Operand::Reg(Reg(r)) = o
                        && pat.write
                        && pat.wide
                        && f.regs[*r as usize].bits() == 64
                        && ty.bits() <= 32
                    {
                        widen = Some((self.regs[n][*r as usize], ty.is_signed()));
                    }
                    self.value(n, o, ty)?
                }
            };
        }
        if let Act::Ask(Ask::MultiplySparse(shape)) = &step.act {
            super::sparse::selects(shape, step.args.imm)?;
        }
        if super::index::chooses(i) {
            self.choices.insert(self.code.len() as u32);
        }
        let (line, loc) = (step.line, step.loc);
        let extra = |act: Act| Step {
            act,
            guard,
            args: Args::default(),
            addresses: vec![],
            targets: vec![],
            line,
            loc,
        };
        if let Some((slot, wide)) = clock {
            self.code.push(extra(Act::Clock { slot, wide }));
        }
        self.note_uses(n, &f.regs, i);
        if matches!(step.act, Act::Ask(Ask::Call)) {
            let (before, after) = self.call_copies(n, i, order)?;
            self.code.push(extra(Act::Copies(before)));
            self.code.push(step);
            self.code.push(extra(Act::Copies(after)));
        } else {
            self.code.push(step);
        }
        if let Some((slot, signed)) = widen {
            self.code.push(extra(Act::Extend { slot, signed }));
        }
        Ok(())
    }

    fn value(&mut self, n: usize, o: &Operand, ty: Ty) -> Result<u32, String> {
        let wide = ty.bits() == 64;
        Ok(match o {
            Operand::Reg(r) => self.regs[n][r.0 as usize],
            Operand::Sink if ty == Ty::Pred => SINK_PRED,
            Operand::Sink => SINK,
            Operand::Imm(Imm::Int(v)) if ty == Ty::Pred => {
                if *v == 0 {
                    FALSE
                } else {
                    TRUE
                }
            }
            Operand::Imm(Imm::Int(v)) => match ty {
                Ty::F32 => self.constant(u64::from((*v as f32).to_bits()), false),
                Ty::F64 => self.constant((*v as f64).to_bits(), true),
                _ => self.constant(*v as u64, wide),
            },
            Operand::Imm(Imm::F32(b)) if ty == Ty::F64 => {
                self.constant(f64::from(f32::from_bits(*b)).to_bits(), true)
            }
            Operand::Imm(Imm::F32(b)) => self.constant(u64::from(*b), wide),
            Operand::Imm(Imm::F64(b)) => self.constant(*b, wide),
            Operand::Special(s) => self.special(*s),
            Operand::Var(name, offset) => {
                let p = self
                    .place(n, name)
                    .ok_or_else(|| format!("`{name}` has no address"))?;
                let at = p.address.wrapping_add_signed(*offset);
                let rank = if p.space == Space::Shared {
                    self.own_rank
                } else {
                    0
                };
                self.constant(at | u64::from(rank) << RANK_SHIFT, wide)
            }
            _ => return Err("an operand of this form".into()),
        })
    }

    fn address(
        &mut self,
        n: usize,
        f: &Function,
        act: &Act,
        base: &Base,
        offset: i64,
        coords: &[Operand],
    ) -> Result<Address, String> {
        let mut a = Address {
            start: Start::Fixed,
            offset,
            own: false,
            coords: vec![],
        };
        match base {
            Base::Reg(r) => {
                let slot = self.regs[n][r.0 as usize];
                a.start = if f.ty(*r).bits() == 64 {
                    Start::Wide(slot)
                } else {
                    Start::Narrow(slot)
                };
            }
            Base::Var(name) => {
                let p = self
                    .place(n, name)
                    .ok_or_else(|| format!("`{name}` has no address"))?;
                a.offset = (p.address as i64).wrapping_add(offset);
                a.own = p.own;
                if let Act::Ask(Ask::Load(x) | Ask::Store(x)) = act
                    && x.space == Space::Generic
                {
                    a.offset = a
                        .offset
                        .wrapping_add(crate::vm::meaning::moves::window(p.space) as i64);
                    a.own = false;
                }
            }
            Base::None => {}
        }
        for c in coords {
            let slot = self.value(n, c, Ty::S32)?;
            a.coords.push(slot);
        }
        Ok(a)
    }
}
