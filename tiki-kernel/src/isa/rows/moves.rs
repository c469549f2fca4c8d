//! Moves, packing and addresses.

use super::super::effects::PURE;
use super::super::row::{since, table};
use super::{ALWAYS, BULK, HOPPER};

table! { $ moves:
    #[doc = "d = a: a register, an immediate, a special register or the address of a variable"]
    MOV = "mov t:pred|b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64|b128", "=d:t a:t", ALWAYS, PURE, Lanes(moves::mov);
    #[doc = "d = the parts of a"]
    UNPACK2 = "mov t:b16|b32|b64|b128", "=d:~b8*2 a:t", ALWAYS, PURE, Lanes(moves::unpack);
    #[doc = "d = the parts of a"]
    UNPACK4 = "mov t:b32|b64", "=d:~b8*4 a:t", ALWAYS, PURE, Lanes(moves::unpack);
    #[doc = "d = the parts a, the first lowest"]
    PACK2 = "mov t:b16|b32|b64|b128", "=d:t a:~b8*2", ALWAYS, PURE, Lanes(moves::pack);
    #[doc = "d = the parts a, the first lowest"]
    PACK4 = "mov t:b32|b64", "=d:t a:~b8*4", ALWAYS, PURE, Lanes(moves::pack);
    #[doc = "d = the generic address of an address in a space"]
    CVTA = "cvta space:global|shared|shared::cta|shared::cluster|local|const t:u32|u64", "=d:t a:t", ALWAYS, PURE, Lanes(moves::cvta);
    #[doc = "d = the generic address of a parameter"]
    CVTA_PARAM = "cvta space:param|param::entry t:u32|u64", "=d:t a:t", since((7, 7), (7, 0)), PURE, Lanes(moves::cvta);
    #[doc = "d = the address in a space of a generic address"]
    CVTA_TO = "cvta to space:global|shared|shared::cta|shared::cluster|local|const|param|param::entry t:u32|u64", "=d:t a:t", ALWAYS, PURE, Lanes(moves::cvta_to);
    #[doc = "p = whether a generic address lies in a space"]
    ISSPACEP = "isspacep space:global|shared|shared::cta|shared::cluster|local|const|param|param::entry", "=d:pred a:~b32", ALWAYS, PURE, Lanes(moves::isspacep);
    #[doc = "d = the address in block b of the cluster of what a is in this one"]
    MAPA = "mapa space?:shared::cluster t:u32|u64", "=d:t a:t b:u32", HOPPER, PURE, Lanes(moves::mapa);
    #[doc = "d = the rank of the block that an address belongs to"]
    GETCTARANK = "getctarank space?:shared::cluster t:u32|u64", "=d:u32 a:t", HOPPER, PURE, Lanes(moves::getctarank);
    #[doc = "d = a cache policy for a fraction of accesses"]
    CREATEPOLICY = "createpolicy fractional primary:L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged secondary?:L2::evict_first|L2::evict_unchanged b64", "=d:b64 a:f32?", since((7, 4), (8, 0)), PURE, Lanes(moves::policy);
    #[doc = "p = the one elected lane among those of a mask; d = its number"]
    ELECT = "elect sync", "=d:b32|p a:b32", BULK, PURE.convergent(), Lanes(moves::elect);
}
