//! Tensor maps in the driver's own form.

use cudarc::driver::sys;
use tiki_kernel::dtype::DType;

use super::context::Gpu;
use super::status::check;
use crate::error::LaunchError;
use crate::tensor_map::{AXES, Map, MapOf};

impl Gpu {
    /// Writes a map. The driver does this on the host alone.
    pub(super) fn encode_map(&self, of: &MapOf) -> Result<Map, LaunchError> {
        use sys::CUtensorMapDataType_enum as Type;
        use sys::CUtensorMapSwizzle_enum as Swizzle;
        self.bind()?;
        let ty = match of.dtype {
            DType::F32 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
            DType::TF32 => Type::CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
            DType::F16 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
            DType::BF16 => Type::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            DType::F64 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
            DType::I32 => Type::CU_TENSOR_MAP_DATA_TYPE_INT32,
            DType::U32 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT32,
            DType::I64 => Type::CU_TENSOR_MAP_DATA_TYPE_INT64,
            DType::U64 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT64,
            t if t.bytes() == 2 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT16,
            _ => Type::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        };
        let swizzle = match of.swizzle {
            0 => Swizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
            32 => Swizzle::CU_TENSOR_MAP_SWIZZLE_32B,
            64 => Swizzle::CU_TENSOR_MAP_SWIZZLE_64B,
            _ => Swizzle::CU_TENSOR_MAP_SWIZZLE_128B,
        };
        let each = [1_u32; AXES];
        let mut map = Map([0; 16]);
        // A box's rows are lines of 128 bytes at most: to fetch their neighbours with them costs the cache, and a product of
        // few rows up to 5% of its speed.
        // SAFETY: the map has 128 bytes, aligned to 64; the arrays hold at least `rank` entries (pitches one
        // fewer); the driver reads them before it returns and does not touch the tensor.
        let result = unsafe {
            sys::cuTensorMapEncodeTiled(
                (&raw mut map).cast(),
                ty,
                of.rank as u32,
                std::ptr::with_exposed_provenance_mut(of.address as usize),
                of.extents.as_ptr(),
                of.pitches.as_ptr(),
                of.tile.as_ptr(),
                each.as_ptr(),
                sys::CUtensorMapInterleave_enum::CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzle,
                sys::CUtensorMapL2promotion_enum::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                sys::CUtensorMapFloatOOBfill_enum::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        check("describing a tensor to the accelerator", result)?;
        Ok(map)
    }
}
