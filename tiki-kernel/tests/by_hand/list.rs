//! The list of kernels.

use super::*;

/// All of them, with names.
pub fn all() -> Vec<(String, Kernel)> {
    let mut out: Vec<(String, Kernel)> = Vec::new();
    for t in [DType::F32, DType::F16, DType::BF16] {
        for edge in [Edge::Straddle, Edge::Whole] {
            out.push((
                format!("add_{t}_{edge:?}").to_lowercase(),
                add(t, 256, edge),
            ));
        }
        for (width, threads) in [
            (1, 32),
            (31, 32),
            (129, 64),
            (576, 96),
            (1024, 128),
            (4096, 256),
            (4096, 128),
            (4096, 64),
            (4096, 32),
            (5120, 64),
        ] {
            out.push((
                format!("rms_norm_{t}_{width}_{threads}"),
                rms_norm(t, width, threads),
            ));
            for known in [true, false] {
                let name = format!(
                    "softmax_{t}_{width}_{threads}_{}",
                    if known { "known" } else { "partial" }
                );
                out.push((name, softmax(t, width, threads, known)));
            }
        }
        for f in [
            Unary::Neg,
            Unary::Abs,
            Unary::Floor,
            Unary::Ceil,
            Unary::Round,
            Unary::Trunc,
            Unary::Sqrt,
            Unary::SqrtFast,
            Unary::Rsqrt,
            Unary::Recip,
            Unary::Exp2,
            Unary::Exp,
            Unary::ExpFast,
            Unary::Log2,
            Unary::Log,
            Unary::Tanh,
            Unary::TanhFast,
            Unary::Sin,
            Unary::Cos,
        ] {
            out.push((format!("unary_{f:?}_{t}").to_lowercase(), unary(f, t)));
        }
        for f in [
            Binary::Add,
            Binary::Sub,
            Binary::Mul,
            Binary::Div,
            Binary::DivFast,
            Binary::Min,
            Binary::Max,
            Binary::MinNan,
            Binary::MaxNan,
        ] {
            out.push((format!("binary_{f:?}_{t}").to_lowercase(), binary(f, t)));
        }
    }
    for t in [DType::I32, DType::U32, DType::I64, DType::U64] {
        for f in [
            Binary::Add,
            Binary::Sub,
            Binary::Mul,
            Binary::Div,
            Binary::Rem,
            Binary::Min,
            Binary::Max,
            Binary::And,
            Binary::Or,
            Binary::Xor,
            Binary::Shl,
            Binary::Shr,
        ] {
            out.push((format!("binary_{f:?}_{t}").to_lowercase(), binary(f, t)));
        }
    }
    for f in [Binary::Add, Binary::Div, Binary::MinNan, Binary::MaxNan] {
        out.push((
            format!("binary_{f:?}_f64").to_lowercase(),
            binary(f, DType::F64),
        ));
    }
    let number = [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::F64,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::U64,
        DType::BOOL,
        DType::I8,
        DType::U8,
        DType::I16,
        DType::U16,
    ];
    for from in number {
        for to in number {
            if from != to {
                out.push((format!("convert_{from}_{to}"), convert(from, to)));
            }
        }
    }
    for t in [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::I32,
        DType::U32,
        DType::F64,
        DType::I64,
    ] {
        for op in [ReduceOp::ArgMax, ReduceOp::ArgMin] {
            for (rows, per, width) in [(4, 32, 100), (1, 128, 1000), (4, 24, 100), (8, 8, 64)] {
                out.push((
                    format!("{op:?}_{t}_{rows}_{per}").to_lowercase(),
                    arg(t, op, rows, per, width),
                ));
            }
        }
        out.push((format!("column_sum_{t}"), column_sum(t)));
    }
    for (name, x) in [
        ("plain", None),
        (
            "words",
            Some(Xor {
                bits: 5,
                base: 0,
                shift: 5,
            }),
        ),
        (
            "groups",
            Some(Xor {
                bits: 3,
                base: 2,
                shift: 3,
            }),
        ),
    ] {
        for t in [DType::F32, DType::F16] {
            out.push((format!("transpose_{t}_{name}"), transpose(t, x, true)));
        }
    }
    out.push(("scalars".into(), scalars()));
    out
}
