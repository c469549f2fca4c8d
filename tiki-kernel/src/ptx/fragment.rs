//! Instructions that stand alone: read as the inside of a function that declares the registers they use.
//!
//! The result is held against the instruction table and the target like any module; what is particular
//! to a fragment is refused here too: it has no labels, variables or functions of its own.

use super::{Function, Module, verify};
use crate::isa::Ty;
use crate::target::Target;
use std::fmt::Write;

/// Lines of the frame before the first declaration.
const FRAME: u32 = 4;

/// What is wrong with a fragment: line (from 1) and words.
pub(crate) type Faults = Vec<(u32, String)>;

/// Reads a fragment. The function's first registers are the declared ones, in order.
pub(crate) fn fragment(
    target: Target,
    registers: &[(&str, Ty)],
    text: &str,
) -> Result<Function, Faults> {
    let mut frame = Module::new(target).to_string();
    frame.push_str(".entry fragment()\n{\n");
    debug_assert_eq!(frame.lines().count(), FRAME as usize + 1);
    for (name, ty) in registers {
        let _ = writeln!(frame, ".reg .{ty} {name};");
    }
    let before = FRAME + 1 + registers.len() as u32;
    let here = |line: u32| line.saturating_sub(before).max(1);
    let end = if text.trim_end().ends_with([';', '}']) {
        ""
    } else {
        ";"
    };
    let _ = writeln!(frame, "{text}{end}\n}}");
    let module = Module::parse(&frame).map_err(|errors| {
        let faults = errors.0.into_iter();
        faults
            .map(|(line, text)| (here(line), text))
            .collect::<Faults>()
    })?;
    let faults: Faults = verify(&module)
        .into_iter()
        .map(|f| (here(f.line), f.text))
        .collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut functions = module.functions.into_iter();
    let (Some(function), None) = (functions.next(), functions.next()) else {
        return Err(vec![(1, "its braces do not match".into())]);
    };
    let refused = [
        (!function.vars.is_empty(), "variables"),
        (!function.labels.is_empty(), "labels"),
        (!module.vars.is_empty(), "variables of the module"),
    ];
    match refused.iter().find(|(has, _)| *has) {
        Some((_, what)) => Err(vec![(1, format!("it may have no {what}"))]),
        None => Ok(function),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Function, Faults> {
        let registers = [("d", Ty::B32), ("a", Ty::B32), ("p", Ty::Pred)];
        fragment(Target::default_target(), &registers, text)
    }

    #[test]
    fn declared_registers_come_first_and_faults_have_the_line_of_the_text() {
        let f = read("{ .reg .b32 t; add.u32 t, a, 1;\n@p mov.b32 t, a;\nmul.lo.u32 d, t, t; }")
            .unwrap();
        assert_eq!((f.insts().count(), f.regs.len()), (3, 4));
        assert_eq!(f.regs[..3], [Ty::B32, Ty::B32, Ty::Pred]);
        let faults = read("add.u32 d, a, 1;\nfrob.u32 d, a;").unwrap_err();
        assert_eq!(faults, [(2, "unknown instruction `frob.u32`".to_string())]);
        assert!(read("add.u32 d, a, b").unwrap_err()[0].1.contains('b'));
        // Bits have no type of their own; a predicate is no number.
        assert!(read("add.f32 d, a, a").is_ok());
        assert!(read("add.f32 d, a, p").is_err());
    }

    #[test]
    fn a_fragment_opens_nothing_of_its_own() {
        for text in [
            "add.u32 d, a, 1; } .entry other() { ret",
            "l: add.u32 d, a, 1;",
            ".shared .b32 s; add.u32 d, a, 1;",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
