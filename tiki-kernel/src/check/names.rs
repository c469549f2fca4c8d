//! Names: paths, constants and items, and what is said of an unknown one.

use super::Check;
use super::scope::Scope;
use super::value::{Num, Val};
use crate::ast::{GenericArg, Item, Path, Span};
use crate::diag::codes;
use crate::dtype::DType;
use crate::ir::{self};
use crate::near;
use crate::ops::{self, Receiver};
use std::rc::Rc;

impl<'a> Check<'a> {
    /// A name or an associated constant.
    pub(crate) fn path(&mut self, path: &'a Path, span: Span) -> Val<'a> {
        let names: Vec<&str> = path.segments.iter().map(|s| s.name.text.as_str()).collect();
        if let [name] = names[..] {
            if let Some(binding) = self.scope.find(name) {
                return self.read_binding(binding, span);
            }
            if let Some(t) = DType::by_name(name) {
                return Val::Type(t);
            }
            if let Some(val) = self.item(name, &path.segments[0].generics) {
                return val;
            }
            if let Some(row) = ops::find(Receiver::Free, name) {
                return Val::Func(row, Num::Lit);
            }
            return self.unknown_name(name, span);
        }
        let (kind, name) = (names[names.len() - 2], names[names.len() - 1]);
        if kind == "consts" {
            let double = names.contains(&"f64");
            if let Some(v) = math_constant(name) {
                let v = if double { v } else { f64::from(v as f32) };
                return Val::Float(v, Num::D(if double { DType::F64 } else { DType::F32 }));
            }
        }
        if kind == "Order"
            && let Some((_, order)) = ORDERS.into_iter().find(|o| o.0 == name)
        {
            return Val::Order(order);
        }
        if kind == "Scope"
            && let Some((_, scope)) = SCOPES.into_iter().find(|s| s.0 == name)
        {
            return Val::Scope(scope);
        }
        let num = if kind == "usize" {
            Some(Num::Usize)
        } else {
            self.type_named(kind).map(Num::D)
        };
        if let Some(num) = num {
            if let Some(val) = associated(num, name) {
                return val;
            }
            if let Some(row) = ops::find(Receiver::ScalarType, name) {
                return Val::Func(row, num);
            }
            let diag = self.error(
                codes::UNKNOWN_NAME,
                span,
                format!("`{}` has no `{name}` in kernels", num.name()),
            );
            let functions = ops::of(Receiver::ScalarType).map(|row| row.name);
            let constants = (ASSOCIATED.iter().copied()).filter(|c| associated(num, c).is_some());
            let there: Vec<&str> = constants.chain(functions).collect();
            let diag = diag.near(name, there);
            return self.refuse(diag);
        }
        let functions = ops::TYPES.iter().find(|(ty, _)| *ty == kind);
        if let Some((_, receiver)) = functions {
            let text = format!("`{kind}` has no function `{name}`");
            let diag = self
                .error(codes::UNKNOWN_NAME, span, text)
                .near(name, ops::of(*receiver).map(|row| row.name));
            return self.refuse(diag);
        }
        if let "Order" | "Scope" = kind {
            let all: Vec<&str> = match kind {
                "Order" => ORDERS.iter().map(|o| o.0).collect(),
                _ => SCOPES.iter().map(|s| s.0).collect(),
            };
            let text = format!("`{kind}` has no `{name}`");
            let diag = self.error(codes::UNKNOWN_NAME, span, text).near(name, all);
            return self.refuse(diag);
        }
        // A path to a device item: rustc resolves it, the bundle holds it by its last name.
        let generics = path.segments.last().map_or(&[][..], |s| &s.generics);
        if let Some(val) = self.item(name, generics) {
            return val;
        }
        self.unknown_name(&names.join("::"), span)
    }

    pub(super) fn item(&mut self, name: &str, generics: &'a [GenericArg]) -> Option<Val<'a>> {
        let program = self.program;
        for item in &program.items {
            match item {
                Item::Fn(f) if f.name.text == name => {
                    return Some(self.device_value(f, generics));
                }
                Item::Const { name: n, ty, value } if n.text == name => {
                    let root = self.root_scope();
                    return Some(self.in_scope(root, |c| {
                        let val = c.eval(value);
                        c.typed(val, Some(ty), n.span)
                    }));
                }
                _ => {}
            }
        }
        None
    }

    /// The device function around, if this is a parameter of its own that the call leaves open.
    fn left_open(&self, name: &str) -> Option<&'a str> {
        let around = *self.calls.last()?;
        self.program.items.iter().find_map(|item| match item {
            Item::Fn(f) if f.name.text == around => f
                .generics
                .iter()
                .any(|g| g.name().text == name)
                .then_some(around),
            _ => None,
        })
    }

    /// A scope without the kernel's own names.
    pub(crate) fn root_scope(&self) -> Rc<Scope> {
        Scope::root()
    }

    pub(super) fn unknown_name(&mut self, name: &str, span: Span) -> Val<'a> {
        if let Some(function) = self.left_open(name) {
            let diag = self
                .error(
                    codes::UNKNOWN_NAME,
                    span,
                    format!("what `{name}` of `{function}` is, no argument says"),
                )
                .help(format!("write it at the call: `{function}::<..>`"));
            return self.refuse(diag);
        }
        let mut diag = self.error(
            codes::UNKNOWN_NAME,
            span,
            format!("`{name}` is not known to kernels"),
        );
        let mut names = self.scope.all();
        names.extend(
            ops::ROWS
                .iter()
                .filter(|r| r.receiver == Receiver::Free)
                .map(|r| r.name.to_string()),
        );
        names.extend(ops::TYPES.iter().map(|t| t.0.to_string()));
        let items = self.program.items.iter();
        names.extend(items.map(|item| item.name().text.clone()));
        // Of `TreadMap::linear` the type is what nobody knows.
        let last = match name.rsplit_once("::") {
            Some((before, last)) if last.chars().all(|c| c.is_lowercase() || c == '_') => {
                let ty = before.rsplit("::").next().unwrap_or(before);
                if ty.starts_with(char::is_uppercase) {
                    ty
                } else {
                    last
                }
            }
            Some((_, last)) => last,
            None => name,
        };
        diag = match near::question(last, names.iter().map(String::as_str)) {
            Some(question) => diag.help(question),
            None => diag
                .note("kernels see their arguments, their own names, the prelude, and `#[tiki::device]` items")
                .help("define it before this line, or put `#[tiki::device]` before the function or constant of this name"),
        };
        self.refuse(diag)
    }
}

/// Constants that types of numbers can have.
const ASSOCIATED: &[&str] = &[
    "BYTES",
    "BITS",
    "MAX",
    "MIN",
    "INFINITY",
    "NEG_INFINITY",
    "NAN",
    "MIN_POSITIVE",
    "EPSILON",
];

fn associated<'a>(num: Num, name: &str) -> Option<Val<'a>> {
    let usize_val = |i: u32| Some(Val::Int(i.into(), Num::Usize));
    match (num, name) {
        (Num::D(t), "BYTES") => usize_val(t.bytes()),
        (Num::D(t), "BITS") if t.is_int() => {
            Some(Val::Int((t.bytes() * 8).into(), Num::D(DType::U32)))
        }
        (Num::D(t), _) if t.is_float() => {
            let (sig, top): (i32, f64) = match t {
                DType::F16 => (10, 65504.0),
                DType::BF16 => (7, 3.389_531_389_251_535_5e38),
                DType::F64 => (52, f64::MAX),
                _ => (23, f32::MAX.into()),
            };
            let least = match t {
                DType::F16 => (2.0_f64).powi(-14),
                DType::F64 => f64::MIN_POSITIVE,
                _ => f32::MIN_POSITIVE.into(),
            };
            let v = match name {
                "INFINITY" => f64::INFINITY,
                "NEG_INFINITY" => f64::NEG_INFINITY,
                "NAN" => f64::NAN,
                "MAX" => top,
                "MIN" => -top,
                "MIN_POSITIVE" => least,
                "EPSILON" => (2.0_f64).powi(-sig),
                _ => return None,
            };
            Some(Val::Float(v, num))
        }
        (_, "MAX") => Some(Val::Int(num.range().1, num)),
        (_, "MIN") => Some(Val::Int(num.range().0, num)),
        _ => None,
    }
}

fn math_constant(name: &str) -> Option<f64> {
    use std::f64::consts as c;
    Some(match name {
        "PI" => c::PI,
        "TAU" => c::TAU,
        "E" => c::E,
        "LN_2" => c::LN_2,
        "LN_10" => c::LN_10,
        "LOG2_E" => c::LOG2_E,
        "LOG2_10" => c::LOG2_10,
        "LOG10_E" => c::LOG10_E,
        "LOG10_2" => c::LOG10_2,
        "SQRT_2" => c::SQRT_2,
        "FRAC_1_SQRT_2" => c::FRAC_1_SQRT_2,
        "FRAC_PI_2" => c::FRAC_PI_2,
        "FRAC_1_PI" => c::FRAC_1_PI,
        "FRAC_2_PI" => c::FRAC_2_PI,
        "FRAC_2_SQRT_PI" => c::FRAC_2_SQRT_PI,
        _ => return None,
    })
}

const ORDERS: [(&str, ir::MemoryOrder); 5] = [
    ("Weak", ir::MemoryOrder::Weak),
    ("Relaxed", ir::MemoryOrder::Relaxed),
    ("Acquire", ir::MemoryOrder::Acquire),
    ("Release", ir::MemoryOrder::Release),
    ("AcqRel", ir::MemoryOrder::AcqRel),
];

const SCOPES: [(&str, ir::Scope); 4] = [
    ("Block", ir::Scope::Block),
    ("Cluster", ir::Scope::Cluster),
    ("Device", ir::Scope::Device),
    ("System", ir::Scope::System),
];
