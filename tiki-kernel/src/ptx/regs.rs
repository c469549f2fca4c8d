//! A short list of registers: what one instruction reads or writes.
//!
//! Passes ask for these lists a hundred thousand times for one kernel, and nearly all have a few members: those lie in
//! the value itself. Longer ones (the accumulators of a warpgroup's product) take memory.

use super::Reg;
use std::ops::Deref;

/// Members that need no memory.
const FEW: usize = 6;

/// Registers, in the order of the text.
#[derive(Debug, Clone)]
pub struct Regs {
    few: [Reg; FEW],
    count: usize,
    /// All of them, once there are more.
    many: Vec<Reg>,
}

impl Default for Regs {
    fn default() -> Regs {
        Regs {
            few: [Reg(0); FEW],
            count: 0,
            many: Vec::new(),
        }
    }
}

impl Regs {
    /// Puts one behind the others.
    pub fn push(&mut self, r: Reg) {
        if self.count < FEW {
            self.few[self.count] = r;
        } else {
            if self.count == FEW {
                self.many.reserve(8 * FEW);
                self.many.extend(self.few);
            }
            self.many.push(r);
        }
        self.count += 1;
    }
}

impl Deref for Regs {
    type Target = [Reg];
    fn deref(&self) -> &[Reg] {
        if self.count <= FEW {
            &self.few[..self.count]
        } else {
            &self.many
        }
    }
}

impl<'a> IntoIterator for &'a Regs {
    type Item = &'a Reg;
    type IntoIter = std::slice::Iter<'a, Reg>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The members one by one.
#[derive(Debug)]
pub struct Each {
    list: Regs,
    at: usize,
}

impl Iterator for Each {
    type Item = Reg;
    fn next(&mut self) -> Option<Reg> {
        self.at += 1;
        self.list.get(self.at - 1).copied()
    }
}

impl IntoIterator for Regs {
    type Item = Reg;
    type IntoIter = Each;
    fn into_iter(self) -> Each {
        Each { list: self, at: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_all_in_order() {
        let mut list = Regs::default();
        for n in 0..100 {
            assert_eq!(list.len(), n as usize);
            assert!(list.iter().map(|r| r.0).eq(0..n));
            assert!(list.clone().into_iter().eq(list.iter().copied()));
            list.push(Reg(n));
        }
    }
}
