//! What a device's lock guards.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use tiki_kernel::artifact::Artifact;

use super::{KNOWN, place};
use crate::buffer::Memory;
use crate::kernel::Function;
use crate::machine::{Machine, RawFunction, RawModule};
use crate::order::Order;
use crate::tensor_map::Maps;
use crate::word_hash::WordHasher;
use crate::workspace::Workspaces;

/// What the device's lock guards.
#[derive(Default)]
pub(crate) struct State {
    pub order: Order,
    /// Loaded artefacts, by the address of the artefact.
    pub functions: HashMap<usize, Function, BuildHasherDefault<WordHasher>>,
    /// Some of them once more, each in its place: most launches find theirs here.
    at_hand: Vec<(usize, RawFunction)>,
    pub workspaces: Workspaces,
    pub memory: Memory,
    pub maps: Maps,
    /// Code to take away as soon as no stream is under capture.
    pub(super) retired: Vec<RawModule>,
}

impl State {
    /// The entry of a loaded artefact.
    #[inline]
    pub fn function(&mut self, artifact: &'static Artifact) -> Option<RawFunction> {
        let address = std::ptr::from_ref(artifact).addr();
        match self.at_hand.get(place(address)) {
            Some(&(known, function)) if known == address => Some(function),
            _ => self.look_up(address),
        }
    }

    #[cold]
    fn look_up(&mut self, address: usize) -> Option<RawFunction> {
        let function = self.functions.get(&address)?.entry.function;
        self.at_hand.resize(KNOWN, (0, function));
        self.at_hand[place(address)] = (address, function);
        Some(function)
    }

    /// Takes away what was retired, if that is possible now.
    pub fn unload_retired(&mut self, machine: &dyn Machine) {
        if !self.order.any_capturing() {
            for module in self.retired.drain(..) {
                machine.unload(module);
            }
        }
    }
}
