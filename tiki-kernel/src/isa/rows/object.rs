//! Barrier objects in shared memory.
//!
//! A phase is over when its pending arrivals and its pending bytes are both zero.

use super::super::Space;
use super::super::effects::{Barrier, Effects, PURE, Where::In};
use super::super::row::table;
use super::{AMPERE, BULK, HOPPER};

const OBJECT: Effects = PURE
    .reads(In(Space::Shared))
    .writes(In(Space::Shared))
    .barrier(Barrier::Object);

table! { $ object:
    #[doc = "make a barrier object for n arrivals a phase"]
    INIT = "mbarrier init space?:shared|shared::cta b64", "[a] n:u32", AMPERE, OBJECT, Asks(object::init);
    #[doc = "end its life"]
    INVAL = "mbarrier inval space?:shared|shared::cta b64", "[a]", AMPERE, OBJECT, Asks(object::inval);
    #[doc = "arrive, n times"]
    ARRIVE = "mbarrier mode:arrive noComplete?:noComplete order?:release|relaxed scope?:cta|cluster space?:shared|shared::cta|shared::cluster b64", "=d:b64 [a] n:u32?", AMPERE, OBJECT, Asks(object::arrive);
    #[doc = "arrive and leave, n times"]
    ARRIVE_DROP = "mbarrier mode:arrive_drop noComplete?:noComplete order?:release|relaxed scope?:cta|cluster space?:shared|shared::cta|shared::cluster b64", "=d:b64 [a] n:u32?", AMPERE, OBJECT, Asks(object::arrive);
    #[doc = "expect n bytes more, then arrive"]
    ARRIVE_TX = "mbarrier mode:arrive|arrive_drop expect_tx order?:release|relaxed scope?:cta|cluster space?:shared|shared::cta|shared::cluster b64", "=d:b64 [a] n:u32", BULK, OBJECT, Asks(object::arrive_tx);
    #[doc = "expect n bytes more, or fewer"]
    TX = "mbarrier mode:expect_tx|complete_tx order?:relaxed scope?:cta|cluster space?:shared|shared::cta|shared::cluster b64", "[a] n:u32", BULK, OBJECT, Asks(object::tx);
    #[doc = "p = whether the phase of a token is over"]
    TEST_WAIT = "mbarrier mode:test_wait order?:acquire|relaxed scope?:cta|cluster space?:shared|shared::cta b64", "=d:pred [a] b:b64", AMPERE, OBJECT, Asks(object::wait);
    #[doc = "p = whether the phase of a parity is over"]
    TEST_WAIT_PARITY = "mbarrier mode:test_wait parity order?:acquire|relaxed scope?:cta|cluster space?:shared|shared::cta b64", "=d:pred [a] b:b32", AMPERE, OBJECT, Asks(object::wait);
    #[doc = "p = whether the phase of a token is over, after waiting a while"]
    TRY_WAIT = "mbarrier mode:try_wait order?:acquire|relaxed scope?:cta|cluster space?:shared|shared::cta b64", "=d:pred [a] b:b64 ns:u32?", HOPPER, OBJECT, Asks(object::wait);
    #[doc = "p = whether the phase of a parity is over, after waiting a while"]
    TRY_WAIT_PARITY = "mbarrier mode:try_wait parity order?:acquire|relaxed scope?:cta|cluster space?:shared|shared::cta b64", "=d:pred [a] b:b32 ns:u32?", HOPPER, OBJECT, Asks(object::wait);
    #[doc = "d = pending arrivals of a token"]
    PENDING = "mbarrier pending_count b64", "=d:u32 a:b64", AMPERE, PURE, Asks(object::pending);
}
