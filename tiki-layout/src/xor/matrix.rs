//! [`BitMatrix`]: a linear map of bit vectors, by the images of the unit vectors.

use super::{Refusal, Subspace};

/// A linear map: column `i` is the image of bit `i`. Bits beyond the last column go to 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BitMatrix {
    columns: Vec<u64>,
}

impl BitMatrix {
    /// The map with the given images of bits 0, 1, ..; at most 63.
    pub fn new(columns: Vec<u64>) -> BitMatrix {
        BitMatrix { columns }
    }

    /// The map that moves nothing, on `bits` bits.
    pub fn identity(bits: u32) -> BitMatrix {
        BitMatrix {
            columns: (0..bits.min(63)).map(|bit| 1 << bit).collect(),
        }
    }

    /// The images of the bits.
    pub fn columns(&self) -> &[u64] {
        &self.columns
    }

    /// The image of a vector.
    pub fn apply(&self, vector: u64) -> u64 {
        let set = self
            .columns
            .iter()
            .enumerate()
            .filter(|(bit, _)| vector >> bit & 1 == 1);
        set.fold(0, |sum, (_, column)| sum ^ column)
    }

    /// The map `self` after `first`.
    #[must_use]
    pub fn after(&self, first: &BitMatrix) -> BitMatrix {
        BitMatrix {
            columns: first
                .columns
                .iter()
                .map(|column| self.apply(*column))
                .collect(),
        }
    }

    /// All images.
    pub fn image(&self) -> Subspace {
        Subspace::span(self.columns.iter().copied())
    }

    /// The dimension of the image.
    pub fn rank(&self) -> u32 {
        self.image().dim()
    }

    /// The vectors that go to 0.
    pub fn kernel(&self) -> Subspace {
        let mut rows: Vec<(u64, u64)> = Vec::new();
        let mut kernel = Subspace::default();
        for (bit, column) in self.columns.iter().enumerate() {
            let (image, source) = reduce(&rows, *column, 1 << bit);
            if image == 0 {
                kernel.insert(source);
            } else {
                place(&mut rows, image, source);
            }
        }
        kernel
    }

    /// A vector with the given image.
    pub fn solve(&self, image: u64) -> Option<u64> {
        let (left, source) = reduce(&self.echelon(), image, 0);
        (left == 0).then_some(source)
    }

    /// A map `R` with `self(R(self(x))) = self(x)`, defined on `bits` bits: vectors outside of the image go where
    /// their reduced part is dropped. If `self` has no kernel, `R(self(x)) = x`.
    #[must_use]
    pub fn quasi_inverse(&self, bits: u32) -> BitMatrix {
        let rows = self.echelon();
        BitMatrix {
            columns: (0..bits.min(63))
                .map(|bit| reduce(&rows, 1 << bit, 0).1)
                .collect(),
        }
    }

    /// The inverse of a square map without kernel.
    pub fn inverse(&self) -> Result<BitMatrix, Refusal> {
        match self.kernel().basis().first() {
            Some(vector) => Err(Refusal::NotInjective {
                index: *vector as i64,
            }),
            None => Ok(self.quasi_inverse(self.columns.len() as u32)),
        }
    }

    /// Pairs (image, source), images with distinct leading bits, highest first.
    fn echelon(&self) -> Vec<(u64, u64)> {
        let mut rows = Vec::new();
        for (bit, column) in self.columns.iter().enumerate() {
            let (image, source) = reduce(&rows, *column, 1 << bit);
            if image != 0 {
                place(&mut rows, image, source);
            }
        }
        rows
    }
}

fn reduce(rows: &[(u64, u64)], mut image: u64, mut source: u64) -> (u64, u64) {
    for (row, from) in rows {
        if image ^ row < image {
            image ^= row;
            source ^= from;
        }
    }
    (image, source)
}

fn place(rows: &mut Vec<(u64, u64)>, image: u64, source: u64) {
    let at = rows.iter().take_while(|(row, _)| *row > image).count();
    rows.insert(at, (image, source));
}
