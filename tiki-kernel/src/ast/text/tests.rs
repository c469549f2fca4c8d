use super::*;
use crate::ast::{Place, Places};

#[test]
fn every_tree_is_read_back_as_it_was() {
    // Invariant: parse(print(p)) == p, and print is a function of the tree.
    // Witness: random trees over every node of the table.
    arbtest::arbtest(|u| {
        let mut program = Program::any(u, 7);
        program.places = Places::any(u, 3);
        let text = print(&program);
        match parse(&text) {
            Ok(back) => assert_eq!(back, program, "{text}"),
            Err(error) => panic!("{error}\n{text}"),
        }
        Ok(())
    })
    .budget_ms(3_000);
}

#[test]
fn no_text_panics() {
    // Invariant: any change of a valid text is a tree or an error.
    // Witness: texts with a stretch taken out or put in twice.
    arbtest::arbtest(|u| {
        let text = print(&Program::any(u, 5));
        let mut cut: Vec<usize> = (0..2)
            .map(|_| u.choose_index(text.len()).unwrap_or(0))
            .collect();
        cut.sort_unstable();
        let (Some(head), Some(middle), Some(tail)) = (
            text.get(..cut[0]),
            text.get(cut[0]..cut[1]),
            text.get(cut[1]..),
        ) else {
            return Ok(());
        };
        let _ = parse(&format!("{head}{tail}"));
        let _ = parse(&format!("{head}{middle}{middle}{tail}"));
        Ok(())
    })
    .budget_ms(1_500);
}

#[test]
fn another_version_is_refused() {
    let error = parse("tiki-ast 0\n(program)").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1 of a kernel's text: it begins with `tiki-ast 0`, not with `tiki-ast 2`"
    );
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let text = format!(
        "{VERSION}\n(program (kernel x@0 [{}",
        "(option x@0 (un@0 - ".repeat(100_000)
    );
    assert!(parse(&text).is_err());
    let text = format!("{VERSION}\n{}", "[".repeat(100_000));
    assert!(parse(&text).is_err());
}

#[test]
fn an_error_tells_its_line() {
    let text = format!("{VERSION}\n(program\n(kernel add@0\nwhat");
    assert_eq!(parse(&text).unwrap_err().line, 4);
}

#[test]
fn places_do_not_show_in_the_unplaced_text() {
    arbtest::arbtest(|u| {
        let mut program = Program::any(u, 6);
        let before = print_unplaced(&program);
        program.places.places.push(Place::default());
        assert_eq!(print_unplaced(&program), before);
        Ok(())
    })
    .budget_ms(300);
}
