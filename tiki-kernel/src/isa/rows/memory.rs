//! Loads, stores, atomics, prefetches and fences of ordinary memory.

use super::super::Space;
use super::super::effects::{
    PURE,
    Where::{Chosen, In},
};
use super::super::row::{since, table};
use super::{ALWAYS, BULK, VOLTA};

table! { $ memory:
    #[doc = "d = memory at a"]
    LD = "ld order?:weak|volatile|relaxed|acquire scope?:cta|cluster|gpu|sys space?:global|shared|shared::cta|shared::cluster|local|param|param::entry|param::func|const cop?:ca|cg|cs|lu|cv l1?:L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate l2e?:L2::evict_last|L2::evict_first hint?:L2::cache_hint l2?:L2::64B|L2::128B|L2::256B vec?:v2|v4|v8 t:b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "=d:~t*vec [a] hint:b64?", ALWAYS, PURE.reads(Chosen), Asks(memory::load);
    #[doc = "d = memory at a, which nothing writes during the kernel"]
    LD_NC = "ld space:global cop?:ca|cg|cs nc l1?:L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate l2e?:L2::evict_last|L2::evict_first hint?:L2::cache_hint l2?:L2::64B|L2::128B|L2::256B vec?:v2|v4|v8 t:b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "=d:~t*vec [a] hint:b64?", ALWAYS, PURE.reads(In(Space::Global)), Asks(memory::load);
    #[doc = "d = memory at a, the same for the whole warp"]
    LDU = "ldu space?:global vec?:v2|v4 t:b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "=d:~t*vec [a]", ALWAYS, PURE.reads(Chosen), Asks(memory::load);
    #[doc = "memory at a = b"]
    ST = "st order?:weak|volatile|relaxed|release scope?:cta|cluster|gpu|sys space?:global|shared|shared::cta|shared::cluster|local|param|param::func cop?:wb|cg|cs|wt l1?:L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate hint?:L2::cache_hint vec?:v2|v4|v8 t:b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "[a] b:~t*vec hint:b64?", ALWAYS, PURE.writes(Chosen), Asks(memory::store);
    #[doc = "d = memory at a, which becomes op(memory, b)"]
    ATOM = "atom order?:relaxed|acquire|release|acq_rel scope?:cta|cluster|gpu|sys space?:global|shared|shared::cta|shared::cluster op:and|or|xor|exch|add|inc|dec|min|max hint?:L2::cache_hint t:b32|b64|u32|u64|s32|s64|f32|f64", "=d:t [a] b:t hint:b64?", ALWAYS, PURE.reads(Chosen).writes(Chosen), Asks(memory::atom);
    #[doc = "the same, with the operation before the space"]
    ATOM_OP = "atom order?:relaxed|acquire|release|acq_rel scope?:cta|cluster|gpu|sys op:and|or|xor|exch|add|inc|dec|min|max space:global|shared|shared::cta|shared::cluster t:b32|b64|u32|u64|s32|s64|f32|f64", "=d:t [a] b:t", ALWAYS, PURE.reads(Chosen).writes(Chosen), Asks(memory::atom);
    #[doc = "d = memory at a, which becomes memory + b, in 16-bit floats"]
    ATOM_HALF = "atom order?:relaxed|acquire|release|acq_rel scope?:cta|cluster|gpu|sys space?:global|shared|shared::cta|shared::cluster op:add noftz hint?:L2::cache_hint t:f16|f16x2|bf16|bf16x2", "=d:t [a] b:t hint:b64?", VOLTA, PURE.reads(Chosen).writes(Chosen), Asks(memory::atom);
    #[doc = "d = memory at a, which becomes c if it was b, bit for bit"]
    ATOM_CAS = "atom order?:relaxed|acquire|release|acq_rel scope?:cta|cluster|gpu|sys space?:global|shared|shared::cta|shared::cluster op:cas hint?:L2::cache_hint t:b16|b32|b64|u32|u64|s32|s64", "=d:t [a] b:t c:t hint:b64?", ALWAYS, PURE.reads(Chosen).writes(Chosen), Asks(memory::atom);
    #[doc = "d = the 16 bytes at a, which become b"]
    ATOM_WIDE = "atom order?:relaxed|acquire|release|acq_rel scope?:cta|cluster|gpu|sys space?:global|shared|shared::cta|shared::cluster op:exch hint?:L2::cache_hint t:b128", "=d:t [a] b:t hint:b64?", since((8, 3), (9, 0)), PURE.reads(Chosen).writes(Chosen), Asks(memory::atom);
    #[doc = "d = the 16 bytes at a, which become c if they were b"]
    ATOM_WIDE_CAS = "atom order?:relaxed|acquire|release|acq_rel scope?:cta|cluster|gpu|sys space?:global|shared|shared::cta|shared::cluster op:cas hint?:L2::cache_hint t:b128", "=d:t [a] b:t c:t hint:b64?", since((8, 3), (9, 0)), PURE.reads(Chosen).writes(Chosen), Asks(memory::atom);
    #[doc = "d = neighbouring words at a, each of which becomes op(word, b); every word is atomic on its own"]
    ATOM_VEC = "atom order?:relaxed|acquire|release|acq_rel scope?:cta|cluster|gpu|sys space?:global op:add|min|max hint?:L2::cache_hint vec:v2|v4|v8 t:f32|f16|f16x2|bf16|bf16x2", "=d:t*vec [a] b:t*vec hint:b64?", since((8, 1), (9, 0)), PURE.reads(Chosen).writes(Chosen), Asks(memory::atom);
    #[doc = "memory at a becomes op(memory, b)"]
    RED = "red order?:relaxed|release scope?:cta|cluster|gpu|sys space?:global|shared|shared::cta|shared::cluster op:and|or|xor|add|inc|dec|min|max hint?:L2::cache_hint t:b32|b64|u32|u64|s32|s64|f32|f64", "[a] b:t hint:b64?", ALWAYS, PURE.reads(Chosen).writes(Chosen), Asks(memory::red);
    #[doc = "memory at a becomes memory + b, in 16-bit floats"]
    RED_HALF = "red order?:relaxed|release scope?:cta|cluster|gpu|sys space?:global|shared|shared::cta|shared::cluster op:add noftz hint?:L2::cache_hint t:f16|f16x2|bf16|bf16x2", "[a] b:t hint:b64?", VOLTA, PURE.reads(Chosen).writes(Chosen), Asks(memory::red);
    #[doc = "neighbouring words at a become op(word, b)"]
    RED_VEC = "red order?:relaxed|release scope?:cta|cluster|gpu|sys space?:global op:add|min|max noftz? hint?:L2::cache_hint vec:v2|v4|v8 t:f32|f16|f16x2|bf16|bf16x2", "[a] b:t*vec hint:b64?", since((8, 1), (9, 0)), PURE.reads(Chosen).writes(Chosen), Asks(memory::red);
    #[doc = "a remote store that reports its bytes to a barrier object"]
    ST_ASYNC = "st async weak? space?:shared::cluster mbarrier::complete_tx::bytes vec?:v2|v4 t:b32|b64|u32|u64|s32|s64|f32|f64", "[a] b:t*vec [bar]", since((8, 1), (9, 0)), PURE.writes(In(Space::SharedCluster)).through_async(), Asks(memory::store_async);
    #[doc = "fetch ahead"]
    PREFETCH = "prefetch space?:global|local level:L1|L2|L2::evict_last|L2::evict_normal", "[a]", ALWAYS, PURE.fence(), Asks(memory::prefetch);
    #[doc = "fetch a tensor map ahead"]
    PREFETCH_MAP = "prefetch space?:param|const tensormap", "[a]", BULK, PURE.fence(), Asks(memory::prefetch);
    #[doc = "earlier accesses of this thread before later ones, as others see them"]
    FENCE = "fence order?:sc|acq_rel scope:cta|cluster|gpu|sys", "", VOLTA, PURE.fence(), Asks(memory::fence);
    #[doc = "the older spelling of a fence"]
    MEMBAR = "membar level:cta|gl|sys", "", ALWAYS, PURE.fence(), Asks(memory::fence);
    #[doc = "accesses through the ordinary path before those through the asynchronous one"]
    FENCE_PROXY = "fence proxy async fspace?:global|shared::cta|shared::cluster", "", BULK, PURE.fence(), Asks(memory::fence_proxy);
    #[doc = "accesses through another alias"]
    FENCE_ALIAS = "fence proxy alias", "", since((7, 5), (7, 0)), PURE.fence(), Asks(memory::fence_proxy);
    #[doc = "a tensor map that others wrote is seen from here on"]
    FENCE_MAP_ACQUIRE = "fence proxy tensormap::generic order:acquire scope:cta|cluster|gpu|sys", "[a] #n:u32", since((8, 3), (9, 0)), PURE.fence(), Asks(memory::fence_map);
    #[doc = "a tensor map written here is published"]
    FENCE_MAP_RELEASE = "fence proxy tensormap::generic order:release scope:cta|cluster|gpu|sys", "", since((8, 3), (9, 0)), PURE.fence(), Asks(memory::fence_proxy);
    #[doc = "initialised barrier objects are seen by the cluster"]
    FENCE_INIT = "fence mbarrier_init order:release scope:cluster", "", BULK, PURE.fence(), Asks(memory::fence);
}
