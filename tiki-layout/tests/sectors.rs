//! Sectors of global accesses against brute force.

use arbtest::arbitrary::Result;
use arbtest::arbtest;
use std::collections::BTreeSet;
use tiki_layout::banks::GlobalAccess;

/// Invariant: sectors are the distinct 32-byte pieces of all bytes touched.
/// Witness: every byte.
#[test]
fn sectors_are_pieces_of_bytes() {
    arbtest(|u| {
        let width = *u.choose(&[1i64, 2, 4, 8, 16])?;
        let lanes: Vec<Option<i64>> = (0..u.int_in_range(0..=32)?)
            .map(|_| {
                Ok(if u.ratio(1, 8)? {
                    None
                } else {
                    Some(width * u.int_in_range(0..=300)?)
                })
            })
            .collect::<Result<_>>()?;
        let report = GlobalAccess::new(width, lanes.clone())
            .expect("aligned")
            .report();
        let bytes: BTreeSet<i64> = lanes.iter().flatten().flat_map(|a| *a..a + width).collect();
        assert_eq!(report.bytes, bytes.len());
        assert_eq!(
            report.sectors,
            bytes.iter().map(|b| b / 32).collect::<BTreeSet<_>>().len()
        );
        assert_eq!(
            report.lines,
            bytes.iter().map(|b| b / 128).collect::<BTreeSet<_>>().len()
        );
        assert_eq!(report.ideal, bytes.len().div_ceil(32));
        Ok(())
    })
    .budget_ms(1_000);
}
