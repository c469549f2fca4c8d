//! The bank model against the counters of a card.
//!
//! Invariant: wavefronts and sectors of a request are what the profiler counted. Witness: recorded requests of every
//! kind, `tests/goldens/banks_h200.csv`.

use tiki_layout::banks::{GlobalAccess, SharedAccess};

#[test]
fn wavefronts_and_sectors_are_what_the_card_counted() {
    let mut counted = std::collections::BTreeMap::new();
    for (n, row) in include_str!("goldens/banks_h200.csv")
        .lines()
        .enumerate()
        .skip(1)
    {
        let cells: Vec<&str> = row.split(',').collect();
        let [_, _, _, operation, bytes, addresses, wavefronts, sectors] = cells[..] else {
            panic!("row {n}: {} cells", cells.len());
        };
        let width: i64 = bytes.parse().expect("bytes");
        let lanes: Vec<Option<i64>> = addresses.split(' ').map(|a| a.parse().ok()).collect();
        let shared = match operation {
            "ld.shared" => SharedAccess::load(width, lanes),
            "st.shared" => SharedAccess::store(width, lanes),
            "ldmatrix" | "stmatrix" => SharedAccess::matrices(lanes.into_iter().flatten()),
            _ => {
                let access = GlobalAccess::new(width, lanes).expect("aligned");
                assert_eq!(access.report().sectors.to_string(), sectors, "row {n}");
                *counted.entry(operation).or_insert(0) += 1;
                continue;
            }
        };
        let ours = shared.expect("aligned").report().wavefronts;
        // The launch itself counts one.
        assert_eq!((ours + 1).to_string(), wavefronts, "row {n}: {row}");
        *counted.entry(operation).or_insert(0) += 1;
    }
    assert_eq!(counted.values().sum::<usize>(), 820, "{counted:?}");
    assert_eq!(counted.len(), 5, "{counted:?}");
}
