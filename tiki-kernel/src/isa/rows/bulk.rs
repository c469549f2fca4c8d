//! Bulk copies and tensor copies, and the editing of tensor maps.

use super::super::Space;
use super::super::effects::{
    Async, Effects, Group, PURE,
    Where::{Chosen, In},
};
use super::super::row::{since, table};
use super::BULK;

const LOAD: Effects = PURE
    .reads(In(Space::Global))
    .writes(In(Space::SharedCluster))
    .through_async()
    .group(Async::Transaction);
const STORE: Effects = PURE
    .reads(In(Space::Shared))
    .writes(In(Space::Global))
    .through_async()
    .group(Async::Issues(Group::Bulk));
const EDIT: Effects = PURE.reads(Chosen).writes(Chosen);

table! { $ bulk:
    #[doc = "copy n bytes from global to shared memory; a barrier object counts them"]
    LOAD_1D = "cp async bulk space:shared::cluster|shared::cta global mbarrier::complete_tx::bytes hint?:L2::cache_hint", "[dst] [src] n:u32 [bar] hint:b64?", BULK, LOAD, Asks(bulk::load);
    #[doc = "the same to the blocks of a mask"]
    LOAD_1D_ALL = "cp async bulk space:shared::cluster global mbarrier::complete_tx::bytes multicast::cluster hint?:L2::cache_hint", "[dst] [src] n:u32 [bar] mask:b16 hint:b64?", BULK, LOAD, Asks(bulk::load);
    #[doc = "copy n bytes to the shared memory of another block"]
    PEER = "cp async bulk space:shared::cluster shared::cta mbarrier::complete_tx::bytes", "[dst] [src] n:u32 [bar]", BULK, LOAD, Asks(bulk::peer);
    #[doc = "copy n bytes from shared to global memory"]
    STORE_1D = "cp async bulk global space:shared::cta bulk_group hint?:L2::cache_hint", "[dst] [src] n:u32 hint:b64?", BULK, STORE, Asks(bulk::store);
    #[doc = "combine n bytes of shared memory into global memory"]
    REDUCE_1D = "cp reduce async bulk global space:shared::cta bulk_group hint?:L2::cache_hint op:and|or|xor|add|inc|dec|min|max noftz? t:f16|bf16|b32|u32|s32|b64|u64|s64|f32|f64", "[dst] [src] n:u32 hint:b64?", BULK, STORE, Asks(bulk::store);
    #[doc = "fetch n bytes ahead"]
    PREFETCH_1D = "cp async bulk prefetch L2 global hint?:L2::cache_hint", "[src] n:u32 hint:b64?", BULK, PURE.fence(), Asks(bulk::prefetch);
    #[doc = "copy a box of a tensor to shared memory; a barrier object counts its bytes"]
    LOAD_BOX = "cp async bulk tensor dim:1d|2d|3d|4d|5d space:shared::cluster|shared::cta global tile?:tile mbarrier::complete_tx::bytes hint?:L2::cache_hint", "[dst] [map,c] [bar] hint:b64?", BULK, LOAD, Asks(bulk::load_box);
    #[doc = "the same to the blocks of a mask"]
    LOAD_BOX_ALL = "cp async bulk tensor dim:1d|2d|3d|4d|5d space:shared::cluster global tile?:tile mbarrier::complete_tx::bytes multicast::cluster hint?:L2::cache_hint", "[dst] [map,c] [bar] mask:b16 hint:b64?", BULK, LOAD, Asks(bulk::load_box);
    #[doc = "copy pixels of an image in the order a convolution wants"]
    LOAD_IM2COL_3D = "cp async bulk tensor dim:3d space:shared::cluster|shared::cta global im2col mbarrier::complete_tx::bytes hint?:L2::cache_hint", "[dst] [map,c] [bar] off:b16*1 hint:b64?", BULK, LOAD, Asks(bulk::load_box);
    #[doc = "copy pixels of an image in the order a convolution wants"]
    LOAD_IM2COL_4D = "cp async bulk tensor dim:4d space:shared::cluster|shared::cta global im2col mbarrier::complete_tx::bytes hint?:L2::cache_hint", "[dst] [map,c] [bar] off:b16*2 hint:b64?", BULK, LOAD, Asks(bulk::load_box);
    #[doc = "copy pixels of an image in the order a convolution wants"]
    LOAD_IM2COL_5D = "cp async bulk tensor dim:5d space:shared::cluster|shared::cta global im2col mbarrier::complete_tx::bytes hint?:L2::cache_hint", "[dst] [map,c] [bar] off:b16*3 hint:b64?", BULK, LOAD, Asks(bulk::load_box);
    #[doc = "copy a box from shared memory into a tensor"]
    STORE_BOX = "cp async bulk tensor dim:1d|2d|3d|4d|5d global space:shared::cta tile?:tile bulk_group hint?:L2::cache_hint", "[map,c] [src] hint:b64?", BULK, STORE, Asks(bulk::store_box);
    #[doc = "combine a box of shared memory into a tensor"]
    REDUCE_BOX = "cp reduce async bulk tensor dim:1d|2d|3d|4d|5d global space:shared::cta op:and|or|xor|add|inc|dec|min|max tile?:tile bulk_group hint?:L2::cache_hint", "[map,c] [src] hint:b64?", BULK, STORE, Asks(bulk::store_box);
    #[doc = "fetch a box ahead"]
    PREFETCH_BOX = "cp async bulk prefetch tensor dim:1d|2d|3d|4d|5d L2 global tile?:tile hint?:L2::cache_hint", "[map,c] hint:b64?", BULK, PURE.fence(), Asks(bulk::prefetch);
    #[doc = "close the group of this thread's bulk copies"]
    COMMIT = "cp async bulk commit_group", "", BULK, PURE.group(Async::Commits(Group::Bulk)).fence(), Asks(bulk::commit);
    #[doc = "wait until at most n groups are under way, or, with read, still read their source"]
    WAIT = "cp async bulk wait_group read?", "#n:u32", BULK, PURE.group(Async::Waits(Group::Bulk)).fence(), Asks(bulk::wait);
    #[doc = "change the address of a tensor map"]
    MAP_ADDRESS = "tensormap replace tile field:global_address space?:global|shared::cta b1024 t:b64", "[a] b:t", since((8, 3), (9, 0)).exact(), EDIT, Asks(bulk::edit);
    #[doc = "change the rank of a tensor map, to one more than b"]
    MAP_RANK = "tensormap replace tile field:rank space?:global|shared::cta b1024 t:b32", "[a] b:t", since((8, 3), (9, 0)).exact(), EDIT, Asks(bulk::edit);
    #[doc = "change one of a tensor map's choices, by its number"]
    MAP_CHOICE = "tensormap replace tile field:elemtype|interleave_layout|swizzle_mode|fill_mode space?:global|shared::cta b1024 t:b32", "[a] #b:u32", since((8, 3), (9, 0)).exact(), EDIT, Asks(bulk::edit);
    #[doc = "change one dimension of a tensor map, in elements"]
    MAP_DIM = "tensormap replace tile field:box_dim|global_dim|element_stride space?:global|shared::cta b1024 t:b32", "[a] #i:u32 b:t", since((8, 3), (9, 0)).exact(), EDIT, Asks(bulk::edit);
    #[doc = "change one stride of a tensor map, in bytes"]
    MAP_STRIDE = "tensormap replace tile field:global_stride space?:global|shared::cta b1024 t:b64", "[a] #i:u32 b:t", since((8, 3), (9, 0)).exact(), EDIT, Asks(bulk::edit);
    #[doc = "copy an edited tensor map to global memory and publish it"]
    MAP_PUBLISH = "tensormap cp_fenceproxy global shared::cta tensormap::generic release scope:cta|cluster|gpu|sys sync aligned", "[dst] [src] #n:u32", since((8, 3), (9, 0)), PURE.reads(In(Space::Shared)).writes(In(Space::Global)).fence().convergent(), Asks(bulk::publish);
}
