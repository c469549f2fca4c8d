//! The reader on whole files of kernels.

use super::{Attribute, Reader, device_item};
use std::path::{Path, PathBuf};
use tiki_kernel::ast::{self, ExprKind, Program};

/// Every kernel of a file, with the device items beside it.
fn programs(file: &Path) -> Vec<Program> {
    let text = std::fs::read_to_string(file).unwrap();
    let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let mut out = Vec::new();
    for item in &parsed.items {
        let syn::Item::Fn(f) = item else { continue };
        let attr = f.attrs.iter().find(|a| {
            let last = a.path().segments.last().map(|s| s.ident.to_string());
            matches!(last.as_deref(), Some("kernel" | "__shadow" | "__twice"))
        });
        let Some(syn::Meta::List(list)) = attr.map(|a| &a.meta) else {
            continue;
        };
        let mut reader = Reader::new();
        let attribute = Attribute::parse(list.tokens.clone());
        let kernel = reader.kernel(&attribute, f);
        let items = parsed
            .items
            .iter()
            .filter(|i| !matches!(i, syn::Item::Fn(g) if g.sig.ident == f.sig.ident));
        let items = items
            .filter(|i| matches!(i, syn::Item::Fn(_) | syn::Item::Const(_)))
            .filter_map(|i| device_item(&mut reader, i, "item"))
            .collect();
        out.push(Program {
            kernel,
            items,
            places: reader.places().clone(),
        });
        let _ = reader.sink.take();
    }
    out
}

fn corpus() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = vec![root.join("tests/kernels.rs")];
    for folder in [
        "tests/corpus/accept",
        "tests/corpus/refuse",
        "examples",
        "ui-tests/TK001",
    ] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        files.extend(
            entries
                .map(|e| e.unwrap().path())
                .filter(|p| p.extension().is_some_and(|e| e == "rs")),
        );
    }
    files
}

#[test]
fn every_kernel_of_the_repository_survives_its_text() {
    // Invariant: parse(print(p)) == p. Witness: every kernel in the repository.
    let mut count = 0;
    for file in corpus() {
        for program in programs(&file) {
            let text = ast::print(&program);
            let back =
                ast::parse(&text).unwrap_or_else(|e| panic!("{}: {e}\n{text}", file.display()));
            assert_eq!(back, program, "{}", file.display());
            assert_eq!(ast::print(&back), text);
            count += 1;
        }
    }
    assert!(count >= 60, "{count} kernels");
}

fn body(text: &str) -> (ast::Block, Reader) {
    let mut reader = Reader::new();
    let block = syn::parse_str::<syn::Block>(text).unwrap();
    let block = reader.block(&block);
    (block, reader)
}

#[test]
fn a_span_is_the_most_telling_token() {
    let (block, mut reader) = body("{ let y = Shared::<E>::new(a).load(map) + x[1]; }");
    let ast::Stmt::Let {
        init: Some(sum), ..
    } = &block.stmts[0]
    else {
        panic!("{block:?}")
    };
    let column = |span: ast::Span| reader.places().at(span).column;
    assert_eq!(column(sum.span), 41, "the operator");
    let ExprKind::Binary(_, left, right) = &sum.kind else {
        panic!("{sum:?}")
    };
    assert_eq!(column(left.span), 31, "the method's name");
    let ExprKind::Method { recv, .. } = &left.kind else {
        panic!("{left:?}")
    };
    assert_eq!(column(recv.span), 11, "the path's first segment");
    let (first, last) = reader.tokens_of(recv.span);
    assert!(first.start() < last.start(), "up to its last one");
    assert_eq!(column(right.span), 44, "the index");
    let _ = reader.sink.take();
}

#[test]
fn facts_keep_their_spelling_and_layouts_lose_their_blanks() {
    let (block, mut reader) =
        body("{ require!(x.dim(1)  == N && (a < 2)); layout!((32, 8) : (8, 1)); }");
    let [ast::Stmt::Expr(facts), ast::Stmt::Expr(layout)] = &block.stmts[..] else {
        panic!("{block:?}")
    };
    let ExprKind::Require(facts) = &facts.kind else {
        panic!("{facts:?}")
    };
    let texts: Vec<&str> = facts.iter().map(|f| f.text.as_str()).collect();
    assert_eq!(texts, ["x.dim(1) == N", "a < 2"]);
    assert_eq!(layout.kind, ExprKind::Layout("(32,8):(8,1)".into()));
    let _ = reader.sink.take();
}

#[test]
fn what_the_language_lacks_is_said_and_nothing_panics() {
    // Witness: syntax of every kind, most of it refused.
    for text in [
        "{ async move { 1 } }",
        "{ x.await?; }",
        "{ let Some(a) = b else { return }; }",
        "{ match a { A { x, .. } => 1, [first, ..] => 2, 1..=2 | 5.. => 3, &mut y => 4, z @ 1 => 5, _ if c => 6 } }",
        "{ let f = |&(a, b): &(u32, u32), mut c: [f32; 3]| -> f32 { a }; }",
        "{ 'a: loop { break 'a 3; } }",
        "{ <T as Trait>::f(); dyn_call!(x; y) }",
        "{ unsafe { *p = 1 } }",
        "{ struct S; impl S {} enum E {} use a::b; static X: u8 = 1; mod m {} }",
        "{ let x: &dyn Fn(u8) -> u8 = &|y| y; let z = S { a: 1, ..s }; }",
        "{ 340282366920938463463374607431768211456; 'c'; b'c'; b\"s\"; c\"s\"; 1e400; }",
        "{ require!(); require!(a b); layout!(); ptx!(); ptx!(1); ptx!(\"mov\", a); }",
        "{ for (i, (a, _)) in x.iter().enumerate().rev() { continue; } while let Some(x) = y {} }",
        "{ return; yield_value; const { 1 + 1 }; loop {} }",
    ] {
        let (_, mut reader) = body(text);
        let _ = reader.sink.take();
    }
}
