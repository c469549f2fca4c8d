//! What a misspelt name may have meant: the nearest of the names that there are.
//!
//! The distance counts letters that are put in, left out, exchanged for others, or swapped with their neighbour,
//! capitals being their small letters. A name is near if less than half of it differs, by three edits at most; a name
//! that differs in capitals alone is near however short it is.

use crate::diag::Diag;

/// Edits from one name to the other, up to capitals.
fn distance(a: &str, b: &str) -> usize {
    let letters = |s: &str| s.chars().flat_map(char::to_lowercase).collect();
    let (a, b): (Vec<char>, Vec<char>) = (letters(a), letters(b));
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let exchanged = rows[i][j] + usize::from(x != y);
            let mut least = exchanged.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// The nearest of several names; of equally near ones the first in the alphabet.
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let limit = (name.len() / 3).clamp(1, 3);
    let near = |d: usize| d == 0 || (d <= limit && 2 * d < name.len());
    let all = names.into_iter().map(|n| (distance(name, n), n));
    let found = all.filter(|(d, n)| near(*d) && *n != name).min();
    found.map(|(_, n)| n)
}

/// The question, where a name is near: `did you mean `load`?`.
pub fn question<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    nearest(name, names).map(|n| format!("did you mean `{n}`?"))
}

/// Names, each in quotes: `` `a`, `b` ``.
pub fn quoted<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let each: Vec<String> = names.into_iter().map(|n| format!("`{n}`")).collect();
    each.join(", ")
}

impl Diag {
    /// Asks whether the nearest of these names was meant; if none is near, says which there are.
    #[must_use]
    pub fn near<'n>(self, name: &str, names: impl IntoIterator<Item = &'n str>) -> Diag {
        let names: Vec<&str> = names.into_iter().collect();
        match question(name, names.iter().copied()) {
            Some(question) => self.help(question),
            None if names.is_empty() => self,
            None if names.len() == 1 => self.help(format!("there is {}", quoted(names))),
            None => self.help(format!("there are {}", quoted(names))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn a_letter_is_near_to_none_but_its_capital() {
        let near = |name| nearest(name, ["E", "BM", "STAGES", "load"]);
        assert_eq!((near("M"), near("BN"), near("e")), (None, None, Some("E")));
        assert_eq!(
            (near("STAGE"), near("stages")),
            (Some("STAGES"), Some("STAGES"))
        );
        assert_eq!((near("laod"), near("ldao")), (Some("load"), None));
        assert_eq!((near("loads"), near("BMM")), (Some("load"), Some("BM")));
    }

    /// Invariant: a distance is a metric as far as one can tell: symmetric, zero for the same name, and at most one edit's
    /// cost away after one edit. Witness: all words of up to four letters of two.
    #[test]
    fn a_distance_is_symmetric_and_counts_edits() {
        let words: Vec<String> = (0..5usize)
            .flat_map(|n| (0..1usize << n).map(move |bits| (n, bits)))
            .map(|(n, bits)| {
                (0..n)
                    .map(|i| if bits >> i & 1 == 1 { 'b' } else { 'a' })
                    .collect()
            })
            .collect();
        for a in &words {
            assert_eq!(distance(a, a), 0);
            for b in &words {
                assert_eq!(distance(a, b), distance(b, a), "{a} {b}");
                assert_eq!(a == b, distance(a, b) == 0, "{a} {b}");
                let longer = a.len().max(b.len());
                assert!(distance(a, b) >= a.len().abs_diff(b.len()) && distance(a, b) <= longer);
            }
            for i in 0..a.len() {
                let mut shorter = a.clone();
                shorter.remove(i);
                assert_eq!(distance(a, &shorter), 1, "{a} {shorter}");
            }
        }
    }
}
