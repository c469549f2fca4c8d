//! What the lanes of a warp do together.

use super::super::effects::{Barrier, PURE};
use super::super::row::table;
use super::{AMPERE, VOLTA};

table! { $ warp:
    #[doc = "d = a of another lane; p = whether that lane is in range"]
    SHFL = "shfl sync mode:up|down|bfly|idx t:b32", "=d:t|p a:t b:u32 c:u32 mask:b32", VOLTA, PURE.convergent(), Asks(warp::shfl);
    #[doc = "p = all, any or equal of a over the lanes of a mask"]
    VOTE = "vote sync mode:all|any|uni pred", "=d:pred !a:pred mask:b32", VOLTA, PURE.convergent(), Asks(warp::vote);
    #[doc = "d = the lanes of a mask where a holds"]
    BALLOT = "vote sync mode:ballot b32", "=d:b32 !a:pred mask:b32", VOLTA, PURE.convergent(), Asks(warp::vote);
    #[doc = "d = the lanes of a mask with the same a"]
    MATCH_ANY = "match mode:any sync t:b32|b64", "=d:b32 a:t mask:b32", VOLTA, PURE.convergent(), Asks(warp::matches);
    #[doc = "d = the mask if all of its lanes have the same a, else zero; p says which"]
    MATCH_ALL = "match mode:all sync t:b32|b64", "=d:b32|p a:t mask:b32", VOLTA, PURE.convergent(), Asks(warp::matches);
    #[doc = "d = op over a of the lanes of a mask"]
    REDUX = "redux sync op:add|min|max|and|or|xor t:u32|s32|b32", "=d:t a:t mask:b32", AMPERE, PURE.convergent(), Asks(warp::redux);
    #[doc = "d = the lanes that are here"]
    ACTIVEMASK = "activemask b32", "=d:b32", VOLTA, PURE.convergent(), Asks(warp::activemask);
    #[doc = "wait for the lanes of a mask"]
    BAR_WARP = "bar warp sync", "mask:b32", VOLTA, PURE.barrier(Barrier::Warp).convergent(), Asks(warp::sync);
}
