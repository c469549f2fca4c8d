//! Host types that a tensor can hold: one line each, tied to a row of the element table.
//!
//! A value's bytes on the host are its bytes on the device (both little-endian), so a transfer is a
//! copy of bytes. `bool` is a byte; on the way back every byte but 0 reads as true.

pub use float8::{F8E4M3 as e4m3, F8E5M2 as e5m2};
use half::{bf16, f16};
use tiki_kernel::dtype::DType;

mod sealed {
    use crate::error::LaunchError;

    pub trait Sealed: Sized {
        /// Bytes of a slice, for the way to the device.
        fn bytes(slice: &[Self]) -> &[u8];
        /// A vector whose bytes `fill` writes, for the way back.
        fn receive(
            count: usize,
            fill: &mut dyn FnMut(&mut [u8]) -> Result<(), LaunchError>,
        ) -> Result<Vec<Self>, LaunchError>;
        /// The value's bits in the low end of a word.
        fn word(self) -> u64;
    }
}
pub(crate) use sealed::Sealed;

/// A type of element a tensor can hold, or a scalar argument can have.
pub trait Element: Sealed + Copy + Default + Send + Sync + std::fmt::Debug + 'static {
    /// Its row in the element table.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($host:ty = $dtype:ident, $word:expr;)*) => {$(
        impl Sealed for $host {
            fn bytes(slice: &[Self]) -> &[u8] {
                bytemuck::cast_slice(slice)
            }
            fn receive(
                count: usize,
                fill: &mut dyn FnMut(&mut [u8]) -> Result<(), crate::LaunchError>,
            ) -> Result<Vec<Self>, crate::LaunchError> {
                let mut all = vec![Self::default(); count];
                fill(bytemuck::cast_slice_mut(&mut all))?;
                Ok(all)
            }
            #[inline]
            fn word(self) -> u64 {
                let word: fn($host) -> u64 = $word;
                word(self)
            }
        }
        impl Element for $host {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}

elements! {
    f32  = F32,  |x| x.to_bits().into();
    f16  = F16,  |x| x.to_bits().into();
    bf16 = BF16, |x| x.to_bits().into();
    f64  = F64,  |x| x.to_bits();
    i32  = I32,  |x| u64::from(x as u32);
    u32  = U32,  |x| x.into();
    i64  = I64,  |x| x as u64;
    u64  = U64,  |x| x;
    i8   = I8,   |x| u64::from(x as u8);
    u8   = U8,   |x| x.into();
    i16  = I16,  |x| u64::from(x as u16);
    u16  = U16,  |x| x.into();
    e4m3 = E4M3, |x| x.to_bits().into();
    e5m2 = E5M2, |x| x.to_bits().into();
}

impl Sealed for bool {
    fn bytes(slice: &[Self]) -> &[u8] {
        bytemuck::cast_slice(slice)
    }
    fn receive(
        count: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> Result<(), crate::LaunchError>,
    ) -> Result<Vec<Self>, crate::LaunchError> {
        let mut all = vec![0u8; count];
        fill(&mut all)?;
        Ok(all.into_iter().map(|byte| byte != 0).collect())
    }
    #[inline]
    fn word(self) -> u64 {
        self.into()
    }
}

impl Element for bool {
    const DTYPE: DType = DType::BOOL;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees<E: Element + PartialEq>(values: &[E]) {
        assert_eq!(size_of::<E>(), E::DTYPE.bytes() as usize, "{}", E::DTYPE);
        let bytes = E::bytes(values).to_vec();
        let back = E::receive(values.len(), &mut |to| {
            to.copy_from_slice(&bytes);
            Ok(())
        });
        assert_eq!(back.unwrap(), values);
        for (value, bytes) in values.iter().zip(bytes.chunks(size_of::<E>())) {
            assert_eq!(&value.word().to_le_bytes()[..bytes.len()], bytes);
            assert!(
                value.word().to_le_bytes()[bytes.len()..]
                    .iter()
                    .all(|&b| b == 0)
            );
        }
    }

    #[test]
    fn bytes_and_words_are_the_value_in_its_own_width() {
        agrees(&[1.5f32, -0.0, f32::INFINITY]);
        agrees(&[f16::from_f32(-2.25), f16::MAX]);
        agrees(&[bf16::from_f32(-2.25), bf16::MAX]);
        agrees(&[1.5f64, -1e300]);
        agrees(&[-1i32, i32::MIN]);
        agrees(&[u32::MAX, 7]);
        agrees(&[-1i64, i64::MIN]);
        agrees(&[u64::MAX, 7]);
        agrees(&[-1i8, 3]);
        agrees(&[255u8, 3]);
        agrees(&[-1i16, 3]);
        agrees(&[65535u16, 3]);
        agrees(&[true, false]);
        agrees(&[e4m3::from_f32(-1.75), e4m3::MAX]);
        agrees(&[e5m2::from_f32(-1.75), e5m2::MAX]);
    }

    #[test]
    fn any_nonzero_byte_reads_as_true() {
        let back = bool::receive(3, &mut |to| {
            to.copy_from_slice(&[0, 1, 7]);
            Ok(())
        });
        assert_eq!(back.unwrap(), [false, true, true]);
    }
}
