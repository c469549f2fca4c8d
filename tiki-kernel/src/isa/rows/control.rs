//! Flow of control.

use super::super::effects::{Flow, PURE};
use super::super::row::table;
use super::ALWAYS;

table! { $ control:
    #[doc = "go to a label"]
    BRA = "bra uni?", "@l", ALWAYS, PURE.flow(Flow::Branch), Asks(control::bra);
    #[doc = "go to the label of a table that a says"]
    BRX = "brx idx uni?", "a:u32 @t", ALWAYS, PURE.flow(Flow::Switch), Asks(control::brx);
    #[doc = "run a function"]
    CALL = "call uni?", "(r) @f (a)", ALWAYS, PURE.flow(Flow::Call).convergent(), Asks(control::call);
    #[doc = "run a function that gives nothing"]
    CALL_ARGS = "call uni?", "@f (a)", ALWAYS, PURE.flow(Flow::Call).convergent(), Asks(control::call);
    #[doc = "run a function without parameters"]
    CALL_PLAIN = "call uni?", "@f", ALWAYS, PURE.flow(Flow::Call).convergent(), Asks(control::call);
    #[doc = "leave the function; in an entry, the kernel"]
    RET = "ret uni?", "", ALWAYS, PURE.flow(Flow::Return), Asks(control::ret);
    #[doc = "leave the kernel"]
    EXIT = "exit", "", ALWAYS, PURE.flow(Flow::Exit), Asks(control::exit);
    #[doc = "stop the kernel with an error"]
    TRAP = "trap", "", ALWAYS, PURE.flow(Flow::Trap), Asks(control::trap);
    #[doc = "stop for a debugger"]
    BRKPT = "brkpt", "", ALWAYS, PURE.fence(), Asks(control::nothing);
    #[doc = "wait about this many nanoseconds"]
    NANOSLEEP = "nanosleep u32", "a:u32", super::VOLTA, PURE.fence(), Asks(control::nothing);
    #[doc = "an event for a profiler"]
    PMEVENT = "pmevent", "#a:u32", ALWAYS, PURE.fence(), Asks(control::nothing);
}
