//! The compiler's table of operations and the prelude say the same.
//!
//! Invariant: every row of `tiki_kernel::ops` has a function of the prelude with its name, as many
//! arguments and the same documentation. Witness: the prelude's sources, read as text.

use tiki::compiler::ops::{ROWS, Receiver};

/// Where a receiver's functions are written: file, and the line its part begins with.
fn home(receiver: Receiver) -> &'static [(&'static str, &'static str)] {
    match receiver {
        Receiver::Free => &[
            ("threads.rs", "functions! {"),
            ("numbers.rs", "functions! {"),
            ("movement.rs", "functions! {"),
        ],
        Receiver::Global => &[(
            "global.rs",
            "impl<E: Element, const R: usize, S> Global<E, R, S>",
        )],
        Receiver::View => &[("global.rs", "impl<E: Element, const R: usize> View<E, R>")],
        Receiver::Shared | Receiver::SharedType => &[("shared.rs", "impl<E: Element> Shared<E>")],
        Receiver::Peer => &[("shared.rs", "impl<E: Element> Peer<E>")],
        Receiver::Stages => &[("shared.rs", "impl<E: Element> Stages<E>")],
        Receiver::Register => &[("register.rs", "impl<E: Element> Register<E>")],
        Receiver::Raw => &[("register.rs", "impl<E: Element> Raw<E>")],
        Receiver::ThreadMap | Receiver::ThreadMapType => &[("layout.rs", "impl ThreadMap")],
        Receiver::Layout | Receiver::LayoutType => &[("layout.rs", "impl Layout")],
        Receiver::Swizzle | Receiver::SwizzleType => &[("layout.rs", "impl Swizzle")],
        Receiver::WarpType => &[("matrix.rs", "impl Warp")],
        Receiver::Gemm | Receiver::GemmType => &[
            (
                "matrix.rs",
                "impl<A: Element, B: Element, Acc: Element> Gemm<A, B, Acc>",
            ),
            ("matrix.rs", "impl Gemm<f32>"),
        ],
        Receiver::Pending => &[(
            "matrix.rs",
            "impl<A: Element, B: Element, Acc: Element> Pending<A, B, Acc>",
        )],
        Receiver::Tiles | Receiver::TilesType => &[("matrix.rs", "impl Tiles")],
        Receiver::Load | Receiver::LoadType => &[("movement.rs", "impl Load")],
        Receiver::Store | Receiver::StoreType => &[("movement.rs", "impl Store")],
        Receiver::Pipeline | Receiver::PipelineType => &[("movement.rs", "impl Pipeline")],
        Receiver::Barrier | Receiver::BarrierType => &[("movement.rs", "impl Barrier")],
        // Rust's own methods of numbers, or `ScalarOps`: the shadow of the corpus uses each.
        Receiver::Scalar | Receiver::ScalarType | Receiver::Array | Receiver::Range => &[],
    }
}

/// The part of a source that begins with this line, up to the next line without indentation.
fn part(file: &str, begins: &str) -> String {
    let path = format!("{}/src/prelude/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let at = text
        .lines()
        .position(|l| l.starts_with(begins) && l.trim_start_matches(begins).trim().len() <= 1)
        .unwrap_or_else(|| panic!("{file} has no `{begins}`"));
    let lines = text.lines().skip(at + 1);
    lines
        .take_while(|l| l.is_empty() || l.starts_with(' '))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Letters and digits alone: how a text is broken into lines does not matter.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Arguments of `fn(..)`, receivers apart.
fn arguments(list: &str) -> usize {
    let (mut depth, mut count, mut seen) = (0i32, 0, String::new());
    for c in list.chars() {
        match c {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' => depth -= 1,
            '>' if !seen.ends_with('-') => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            break;
        }
        if c == ',' && depth == 0 {
            count += usize::from(!seen.trim().is_empty() && !seen.trim().ends_with("self"));
            seen.clear();
        } else {
            seen.push(c);
        }
    }
    count + usize::from(!seen.trim().is_empty() && !seen.trim().ends_with("self"))
}

/// The list behind the function's own parenthesis.
fn list_of(signature: &str) -> &str {
    let mut depth = 0;
    for (i, c) in signature.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth == 0 => return &signature[i + 1..],
            _ => {}
        }
    }
    ""
}

/// Documentation and arguments of a function in a part.
fn found(part: &str, name: &str) -> Option<(String, usize)> {
    let lines: Vec<&str> = part.lines().collect();
    let at = lines.iter().position(|l| {
        let l = l.trim_start();
        let l = l.strip_prefix("pub ").unwrap_or(l);
        let rest = l.strip_prefix("fn ").and_then(|l| l.strip_prefix(name));
        let atomic = l
            .strip_prefix(name)
            .filter(|r| r.starts_with('(') && r.ends_with(';'));
        rest.is_some_and(|r| r.starts_with(['(', '<'])) || atomic.is_some()
    })?;
    let mut docs = Vec::new();
    for line in lines[..at].iter().rev() {
        let line = line.trim();
        if let Some(doc) = line.strip_prefix("///") {
            docs.push(doc.trim().to_owned());
        } else if let Some(doc) = line.strip_prefix("#[doc = \"") {
            docs.push(doc.trim_end_matches("\"]").to_owned());
        } else if !line.starts_with("#[") {
            break;
        }
    }
    docs.reverse();
    let rest = lines[at..].join("\n");
    let after = &rest[rest.find(name)? + name.len()..];
    let atomic = lines[at].trim_start().starts_with(name);
    // Atomics: the macro adds index, order and scope.
    let with_order = !lines[at].contains("fn ") && atomic;
    let count = arguments(list_of(after)) + if with_order { 3 } else { 0 };
    Some((docs.join(" "), count))
}

#[test]
fn every_operation_stands_in_the_prelude_as_documented() {
    let mut wrong = Vec::new();
    for row in ROWS {
        let homes = home(row.receiver);
        if homes.is_empty() {
            continue;
        }
        let Some((doc, count)) = homes.iter().find_map(|(f, b)| found(&part(f, b), row.name))
        else {
            wrong.push(format!("{:?}::{} is missing", row.receiver, row.name));
            continue;
        };
        if letters(&doc) != letters(row.doc) {
            wrong.push(format!(
                "{:?}::{}: `{doc}` is not `{}`",
                row.receiver, row.name, row.doc
            ));
        }
        let expected = arguments(list_of(row.signature));
        if count != expected {
            wrong.push(format!(
                "{:?}::{} takes {count} arguments, the table says {expected}",
                row.receiver, row.name
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Invariant: the compiler, which judges the bounds of types where rustc does not look (the command, tuning, run time), says of
/// every type and bound what the traits of the prelude say. Witness: all of both.
#[test]
fn bounds_are_those_of_the_prelude() {
    use tiki::compiler::dtype::{BOUNDS, Bound, DType};
    use tiki::prelude::*;

    struct Asked<T>(std::marker::PhantomData<T>);
    macro_rules! bounds {
        ($d:tt $($bound:ident $no:ident)*) => {
            $(
                #[allow(dead_code, non_upper_case_globals)]
                trait $no {
                    const $bound: bool = false;
                }
                impl<T> $no for Asked<T> {}
                #[allow(non_upper_case_globals)]
                impl<T: $bound> Asked<T> {
                    const $bound: bool = true;
                }
            )*
            macro_rules! of {
                ($d t:ty) => {
                    [$((stringify!($bound), Asked::<$d t>::$bound)),*]
                };
            }
        };
    }
    bounds! {
        $ Element NoElement Word NoWord Number NoNumber Float NoFloat Half NoHalf Integer NoInteger Int32 NoInt32
    }
    macro_rules! all {
        ($($t:ident)*) => {
            [$((stringify!($t), of!($t))),*]
        };
    }
    let all = all! { f32 f16 bf16 f64 i32 u32 i64 u64 bool i8 u8 i16 u16 e4m3 e5m2 };
    // `tf32` is how products read `f32`: no type of the prelude.
    assert_eq!(all.len() + 1, DType::all().count());
    for (name, answers) in all {
        let t = DType::by_name(name).unwrap();
        assert_eq!(answers.len(), BOUNDS.len());
        for (bound, holds) in answers {
            assert_eq!(
                Bound::by_name(bound).unwrap().holds(t),
                holds,
                "{name}: {bound}"
            );
        }
    }
}

#[test]
#[should_panic(expected = "device only")]
fn device_functions_do_not_run_on_the_host() {
    tiki::prelude::sync_block();
}
