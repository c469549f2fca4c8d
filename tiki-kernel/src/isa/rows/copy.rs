//! Copies from global to shared memory in groups of a thread.

use super::super::Space;
use super::super::effects::Effects;
use super::super::effects::{Async, Group, PURE, Where::In};
use super::super::row::{Since, since, table};
use super::AMPERE;

const HINTED: Since = since((7, 4), (8, 0));
const ISSUE: Effects = PURE
    .reads(In(Space::Global))
    .writes(In(Space::Shared))
    .group(Async::Issues(Group::Copy));

table! { $ copy:
    #[doc = "copy n bytes from src to dst; of these, only size from memory, the rest zero"]
    CP_ASYNC = "cp async cop:ca|cg space:shared|shared::cta global hint?:L2::cache_hint l2?:L2::64B|L2::128B|L2::256B", "[dst] [src] #n:u32 size:u32? hint:b64?", HINTED, ISSUE, Asks(copy::issue);
    #[doc = "close the group of this thread's copies"]
    COMMIT = "cp async commit_group", "", AMPERE, PURE.group(Async::Commits(Group::Copy)).fence(), Asks(copy::commit);
    #[doc = "wait until at most n groups are under way"]
    WAIT = "cp async wait_group", "#n:u32", AMPERE, PURE.group(Async::Waits(Group::Copy)).fence(), Asks(copy::wait);
    #[doc = "wait for all copies of this thread"]
    WAIT_ALL = "cp async wait_all", "", AMPERE, PURE.group(Async::Waits(Group::Copy)).fence(), Asks(copy::wait);
    #[doc = "arrive at a barrier object when this thread's copies have landed"]
    ARRIVE = "cp async mbarrier::arrive noinc? space?:shared|shared::cta b64", "[bar]", AMPERE, PURE.writes(In(Space::Shared)).group(Async::Commits(Group::Copy)).fence(), Asks(copy::arrive);
    #[doc = "the same, as most write it"]
    ARRIVE_DOT = "cp async mbarrier arrive noinc? space?:shared|shared::cta b64", "[bar]", AMPERE, PURE.writes(In(Space::Shared)).group(Async::Commits(Group::Copy)).fence(), Asks(copy::arrive);
}
