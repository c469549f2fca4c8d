//! Flow of control.

use super::Ask;
use tiki_kernel::isa::Op;

macro_rules! plain {
    ($($name:ident: $ask:ident;)*) => { $(
        /// See the row.
        #[must_use]
        pub fn $name(_: &Op) -> Option<Ask> { Some(Ask::$ask) }
    )* };
}
plain! {
    bra: Branch;
    brx: Switch;
    call: Call;
    ret: Return;
    exit: Exit;
    trap: Trap;
    nothing: Nothing;
}
