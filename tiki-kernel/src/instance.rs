//! Instances: which values a kernel's parameters have.
//!
//! An instance is named by parameter, in the order of the kernel's signature. [`fingerprint`] is the other
//! half of what decides a compiled kernel: the text, without the places where it stands and without the
//! list of what to build.

mod error;

pub use error::InstanceError;

use crate::ast::{Generic, Program, Type, TypeKind};
use crate::check::value::Num;
use crate::dtype::{Bound, DType};
use std::fmt;

/// A value of a kernel's parameter in one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Arg {
    /// Of a type parameter.
    Type(DType),
    /// Of an integer const parameter.
    Int(i128),
    /// Of a bool const parameter.
    Bool(bool),
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Type(t) => write!(f, "{t}"),
            Arg::Int(i) => write!(f, "{i}"),
            Arg::Bool(b) => write!(f, "{b}"),
        }
    }
}

/// One instance to build: the kernel's parameters in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Instance {
    /// Name and value of each parameter.
    pub args: Vec<(String, Arg)>,
}

macro_rules! from_integers {
    ($($t:ty)*) => {$(
        impl From<$t> for Arg {
            fn from(value: $t) -> Arg {
                Arg::Int(value as i128)
            }
        }
    )*};
}

from_integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 usize);

impl From<bool> for Arg {
    fn from(value: bool) -> Arg {
        Arg::Bool(value)
    }
}

impl From<DType> for Arg {
    fn from(value: DType) -> Arg {
        Arg::Type(value)
    }
}

impl Arg {
    /// What a text means: `f16`, `128`, `true`.
    #[must_use]
    pub fn by_text(text: &str) -> Option<Arg> {
        match text {
            "true" => Some(Arg::Bool(true)),
            "false" => Some(Arg::Bool(false)),
            _ => DType::by_name(text)
                .map(Arg::Type)
                .or_else(|| text.replace('_', "").parse().ok().map(Arg::Int)),
        }
    }
}

/// The instance of these values: each parameter exactly once, later values before earlier ones.
///
/// # Errors
/// If a name is unknown, a value of the wrong kind, or a parameter has none.
pub fn of(program: &Program, values: &[(&str, Arg)]) -> Result<Instance, InstanceError> {
    let generics = &program.kernel.generics;
    let names = || generics.iter().map(|g| g.name().text.clone());
    if let Some((name, _)) = values.iter().find(|(n, _)| !names().any(|g| g == *n)) {
        return Err(InstanceError::Unknown {
            name: (*name).to_owned(),
            parameters: names().collect(),
        });
    }
    let args = generics.iter().map(|generic| {
        let name = generic.name().text.clone();
        let given = values.iter().rev().find(|(n, _)| *n == name);
        let Some((_, arg)) = given else {
            return Err(InstanceError::Missing { name });
        };
        fits(generic, *arg)?;
        Ok((name, *arg))
    });
    Ok(Instance {
        args: args.collect::<Result<_, _>>()?,
    })
}

/// Whether a parameter can have this value: its kind, the bounds of a type, the range of a number. Every way to an
/// instance comes by here.
///
/// # Errors
/// The first of them that does not hold.
pub fn fits(generic: &Generic, arg: Arg) -> Result<(), InstanceError> {
    let name = || generic.name().text.clone();
    let takes = takes(generic);
    let kind = matches!(
        (takes, arg),
        (TYPE, Arg::Type(_)) | (INT, Arg::Int(_)) | (BOOL, Arg::Bool(_))
    );
    // Who only wants an expression's value says nothing of its type.
    let open = matches!(generic, Generic::Const { ty, .. } if matches!(ty.kind, TypeKind::Infer));
    if !(kind || open && !matches!(arg, Arg::Type(_))) {
        let (name, given) = (name(), arg);
        return Err(InstanceError::Kind { name, takes, given });
    }
    match (generic, arg) {
        (Generic::Type { bounds, .. }, Arg::Type(given)) => {
            let known = bounds.iter().filter_map(|b| Bound::by_name(&b.text));
            if let Some(bound) = known.into_iter().find(|b| !b.holds(given)) {
                let name = name();
                return Err(InstanceError::Bound { name, bound, given });
            }
        }
        (Generic::Const { ty, .. }, Arg::Int(given)) => {
            if let Some((ty, least, greatest)) = integer(ty)
                && !(least..=greatest).contains(&given)
            {
                let name = name();
                return Err(InstanceError::Range { name, ty, given });
            }
        }
        _ => {}
    }
    Ok(())
}

const TYPE: &str = "an element type";
const INT: &str = "a number";
const BOOL: &str = "`true` or `false`";

/// What a parameter is given, for people.
#[must_use]
pub fn takes(generic: &Generic) -> &'static str {
    match generic {
        Generic::Type { .. } => TYPE,
        Generic::Const { ty, .. } => match &ty.kind {
            TypeKind::Path(path) if path.segments.iter().any(|s| s.name.text == "bool") => BOOL,
            _ => INT,
        },
    }
}

/// The integer type of a parameter, with its least and greatest number.
fn integer(ty: &Type) -> Option<(String, i128, i128)> {
    let TypeKind::Path(path) = &ty.kind else {
        return None;
    };
    let name = &path.segments.last()?.name.text;
    let num = match name.as_str() {
        "usize" => Num::Usize,
        name => Num::D(DType::by_name(name).filter(|t| t.is_int())?),
    };
    let (least, greatest) = num.range();
    Some((name.clone(), least, greatest))
}

/// Options that say which instances there are, and not what they are.
const LISTS: &[&str] = &["build", "tune", "crate"];

/// A hash of what the kernel says: the same wherever it stands and whatever it is built in. FNV-1a over
/// the canonical text, 128 bits wide: no secret, but no two kernels of a lifetime share one by accident.
#[must_use]
pub fn fingerprint(program: &Program) -> u128 {
    let mut program = program.clone();
    let lists = |name: &str| LISTS.contains(&name);
    program.kernel.options.retain(|o| !lists(&o.name.text));
    // Another crate may have fetched the device items in another order.
    program
        .items
        .sort_by(|a, b| a.name().text.cmp(&b.name().text));
    hash(crate::ast::print_unplaced(&program).as_bytes())
}

/// FNV-1a, 128 bits wide.
#[must_use]
pub fn hash(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |h, b| {
            (h ^ u128::from(*b)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{Block, Kernel, KernelOption, Name, Path, Place, Places, Segment, Span, Type};

    fn name(text: &str) -> Name {
        Name {
            text: text.into(),
            span: Span(0),
        }
    }

    /// `fn k<E, const N: usize>() {}` with these options.
    fn program(options: &[&str]) -> Program {
        let usize_ = Segment {
            name: name("usize"),
            generics: vec![],
        };
        let kind = TypeKind::Path(Path {
            segments: vec![usize_],
        });
        let options = options.iter().map(|o| KernelOption {
            name: name(o),
            value: None,
            args: vec![],
        });
        Program {
            kernel: Kernel {
                name: name("k"),
                options: options.collect(),
                generics: vec![
                    Generic::Type {
                        name: name("E"),
                        bounds: vec![],
                    },
                    Generic::Const {
                        name: name("N"),
                        ty: Type {
                            kind,
                            span: Span(0),
                        },
                    },
                ],
                params: vec![],
                body: Block {
                    stmts: vec![],
                    value: None,
                    span: Span(0),
                },
            },
            items: vec![],
            places: Places {
                files: vec!["a.rs".into()],
                places: vec![Place::default()],
            },
        }
    }

    #[test]
    fn values_are_checked_by_name_and_kind() {
        let p = program(&[]);
        let good = of(
            &p,
            &[("N", 4.into()), ("E", DType::F16.into()), ("N", 8.into())],
        );
        let args = good.expect("an instance").args;
        assert_eq!(
            args,
            [
                ("E".into(), Arg::Type(DType::F16)),
                ("N".into(), Arg::Int(8))
            ]
        );
        let said = |values: &[(&str, Arg)]| of(&p, values).expect_err("refused").to_string();
        assert_eq!(
            said(&[("M", 1.into())]),
            "there is no parameter `M`; there are `E`, `N`"
        );
        assert_eq!(
            said(&[("n", 1.into())]),
            "there is no parameter `n`; there are `E`, `N`; did you mean `N`?"
        );
        assert_eq!(
            said(&[("E", DType::F16.into()), ("N", true.into())]),
            "parameter `N` takes a number, not `true`"
        );
        assert_eq!(said(&[("N", 1.into())]), "parameter `E` has no value");
        let beyond = |n: i128| said(&[("E", DType::F16.into()), ("N", n.into())]);
        assert_eq!(beyond(-4), "parameter `N` is a `usize`: it cannot be -4");
        assert_eq!(
            beyond(1 << 64),
            "parameter `N` is a `usize`: it cannot be 18446744073709551616"
        );
    }

    #[test]
    fn a_type_satisfies_the_bounds_of_its_parameter() {
        let mut p = program(&[]);
        if let Generic::Type { bounds, .. } = &mut p.kernel.generics[0] {
            bounds.extend([name("Element"), name("Mine"), name("Half")]);
        }
        let with =
            |t: DType| of(&p, &[("E", t.into()), ("N", 4.into())]).map_err(|e| e.to_string());
        assert!(with(DType::F16).is_ok() && with(DType::BF16).is_ok());
        assert_eq!(
            with(DType::I32).expect_err("refused"),
            "parameter `E` is bounded by `Half`, a 16-bit floating-point type: it cannot be `i32`; it can be `f16`, `bf16`"
        );
    }

    #[test]
    fn a_fingerprint_forgets_places_and_lists_and_nothing_else() {
        let base = fingerprint(&program(&[]));
        assert_eq!(base, fingerprint(&program(&["build"])));
        assert_ne!(base, fingerprint(&program(&["contract"])));
        let mut moved = program(&[]);
        moved.places.places[0].line = 77;
        assert_eq!(base, fingerprint(&moved));
        moved.kernel.name.text = "other".into();
        assert_ne!(base, fingerprint(&moved));
    }

    #[test]
    fn texts_name_values() {
        assert_eq!(Arg::by_text("bf16"), Some(Arg::Type(DType::BF16)));
        assert_eq!(Arg::by_text("1_024"), Some(Arg::Int(1024)));
        assert_eq!(Arg::by_text("true"), Some(Arg::Bool(true)));
        assert_eq!(Arg::by_text("f17"), None);
    }
}
