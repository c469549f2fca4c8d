//! What decides an assembled kernel.
//!
//! One row of [`COMPONENTS`] is one thing the result depends on. The key is the hash of all of them, each with
//! its name and length, so that no two lists of values run together.

use std::fmt;

use crate::assembler::OPTIONS;
use crate::machine::Unit;

/// Everything a key covers, and what of a kernel is in it.
pub const COMPONENTS: &[(&str, &str)] = &[
    ("format", "version of the entries' format"),
    ("compiler", "version of this library"),
    ("options", "what the assembler is asked for"),
    (
        "assembler",
        "the file of the assembler: its length and last change",
    ),
    ("card", "compute capability of the card it is assembled for"),
    ("kernel", "hash of the kernel's text: its normalised tree"),
    (
        "instance",
        "element types, constants and specialised shapes",
    ),
    (
        "convention",
        "bytes of each parameter, shared memory and cluster of a launch",
    ),
    ("entry", "name of the entry"),
    (
        "ptx",
        "the text: layouts, schedule, target, strides, and the source lines in it",
    ),
];

/// Version of the entries' format.
pub(super) const FORMAT: &str = "tiki-cubin 2";

/// The name of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// The key of a value for each component, in the order of [`COMPONENTS`].
    #[must_use]
    pub fn of(values: &[&[u8]; COMPONENTS.len()]) -> Key {
        let mut hash = blake3::Hasher::new();
        for ((name, _), value) in COMPONENTS.iter().zip(values) {
            for part in [name.as_bytes(), value] {
                hash.update(&(part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        Key(*hash.finalize().as_bytes())
    }

    /// The key of a module that is to be loaded on a card.
    pub(crate) fn of_unit(unit: &Unit<'_>, capability: (u32, u32), assembler: &str) -> Key {
        let (major, minor) = capability;
        let card = format!("{major}.{minor}");
        let kernel = format!("{:032x}", unit.fingerprint);
        let convention = format!("{:?} {} {}", unit.widths, unit.dynamic_shared, unit.cluster);
        Key::of(&[
            FORMAT.as_bytes(),
            env!("CARGO_PKG_VERSION").as_bytes(),
            OPTIONS.join(" ").as_bytes(),
            assembler.as_bytes(),
            card.as_bytes(),
            kernel.as_bytes(),
            unit.kernel.as_bytes(),
            convention.as_bytes(),
            unit.entry.as_bytes(),
            unit.ptx.as_bytes(),
        ])
    }
}

/// In hexadecimal, as files are named.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Invariant: a key depends on each component. Witness: each one changed in turn, and two whose
    /// values run into each other.
    #[test]
    fn every_component_counts() {
        let values = [b"ab".as_slice(); COMPONENTS.len()];
        let mut keys = HashSet::from([Key::of(&values)]);
        for i in 0..values.len() {
            for other in [b"ac".as_slice(), b"", b"abc"] {
                let mut changed = values;
                changed[i] = other;
                assert!(keys.insert(Key::of(&changed)), "{}", COMPONENTS[i].0);
            }
            if i > 0 {
                let mut shifted = values;
                (shifted[i - 1], shifted[i]) = (b"a", b"bab");
                assert!(keys.insert(Key::of(&shifted)), "{}", COMPONENTS[i].0);
            }
        }
    }

    #[test]
    fn what_a_module_is_decides_its_key() {
        let unit = Unit {
            kernel: "k<E = f16, N = 4>",
            entry: "k__f16__4",
            ptx: ".version 7.8",
            dynamic_shared: 16,
            cluster: 1,
            widths: &[8, 4],
            compiled: true,
            fingerprint: 7,
        };
        let key = |unit: &Unit<'_>| Key::of_unit(unit, (9, 0), "580.1");
        let base = key(&unit);
        assert_eq!(base, key(&unit.clone()));
        let others = [
            Key::of_unit(&unit, (8, 0), "580.1"),
            Key::of_unit(&unit, (9, 0), "580.2"),
            key(&Unit {
                kernel: "k<E = bf16, N = 4>",
                ..unit
            }),
            key(&Unit {
                kernel: "k<E = f16, N = 5>",
                ..unit
            }),
            key(&Unit { entry: "k", ..unit }),
            key(&Unit {
                ptx: ".version 7.9",
                ..unit
            }),
            key(&Unit {
                dynamic_shared: 32,
                ..unit
            }),
            key(&Unit { cluster: 2, ..unit }),
            key(&Unit {
                widths: &[8, 4, 4],
                ..unit
            }),
            key(&Unit {
                fingerprint: 8,
                ..unit
            }),
        ];
        let all: HashSet<Key> = others.into_iter().chain([base]).collect();
        assert_eq!(all.len(), 11);
    }
}
