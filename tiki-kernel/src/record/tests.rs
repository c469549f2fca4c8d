//! Records are read as they were written, and nothing else is read.

use super::*;

fn sample() -> Output {
    let mut report = Report::default();
    let text = "two\tparts\nand a \\ and = signs";
    report
        .add("global access", Span(7), "x", text)
        .number("bytes", -3)
        .number("n", 4);
    report.add("b", Span(0), "", "");
    Output {
        instance: Instance {
            args: vec![
                ("E".into(), Arg::Type(DType::BF16)),
                ("N".into(), Arg::Int(-5)),
                ("C".into(), Arg::Bool(true)),
            ],
        },
        title: "k<E = bf16>".into(),
        entry: "k__bf16".into(),
        target: Target::all().last().expect("a target"),
        ptx: ".file 1 \"a.rs\"\n.file 2 \"b.rs\"\n\t.loc 1 10 3\n\t.loc 2 10 3\n".into(),
        threads: [256, 1, 1],
        cluster: 2,
        dynamic_shared: 1024,
        params: vec![
            (
                "x".into(),
                ParamKind::Tensor {
                    dtype: DType::F16,
                    rank: 2,
                    writes: true,
                    strided: false,
                    align: 16,
                },
            ),
            ("by".into(), ParamKind::Scalar(DType::F32)),
        ],
        hidden: vec![Hidden::TensorMap {
            param: 1,
            tile: [1, 2, 3, 4, 5],
            swizzle: 128,
        }],
        usage: Usage {
            registers: 1,
            shared: 2,
            barriers: 3,
            threads: 4,
            blocks_per_sm: 5,
        },
        deny_spills: true,
        dependent_launch: true,
        report,
    }
}

#[test]
fn what_is_written_is_read() {
    assert_eq!(read(&write(&sample())), Some(sample()));
}

/// Invariant: a text that was cut or changed is refused or reads as something else, never as the
/// same. Witness: every prefix, and every byte of the head changed.
#[test]
fn cut_and_changed_texts_are_refused() {
    let text = write(&sample());
    for end in 0..text.len() - 1 {
        assert_eq!(read(&text[..end]), None, "{end}");
    }
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        if let Ok(changed) = String::from_utf8(bytes) {
            assert_ne!(read(&changed), Some(sample()), "byte {at}");
        }
    }
}

#[test]
fn lines_of_one_file_move() {
    let moved = move_lines(&sample().ptx, "a.rs", 5);
    assert_eq!(moved, sample().ptx.replace(".loc 1 10 3", ".loc 1 15 3"));
    assert_eq!(move_lines(&moved, "a.rs", -5), sample().ptx);
}
