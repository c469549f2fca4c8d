//! Asynchronous work that barrier objects or bulk groups complete, and when it happens.
//!
//! Eager, it happens when it is issued. Late, it happens when nothing else in the team can run; with a seed,
//! also now and then before that, in an order that the seed gives.

use super::block::Team;
use super::exec::Result;
use super::fault::{Code, Fault};
use super::launch::Env;
use super::options::Async;
use super::tensor_map::Box;
use super::transfer::Copy;
use std::boxed::Box as Boxed;

/// A piece of work.
#[derive(Debug, Clone)]
pub(super) enum Pending {
    /// Copies of a thread, then an arrival.
    Copies {
        b: usize,
        copies: Vec<Copy>,
        object: (u32, u32),
    },
    /// Words stored to a block, then their bytes are counted.
    Words {
        b: usize,
        at: usize,
        words: Vec<u32>,
        object: (u32, u32),
    },
    /// Bytes of global memory to blocks of the team.
    Load {
        from: u64,
        at: usize,
        bytes: usize,
        blocks: Vec<usize>,
        object: u32,
    },
    /// Bytes of a block to another.
    Peer {
        from: (usize, usize),
        to: (usize, usize),
        bytes: usize,
        object: (u32, u32),
    },
    /// A box of a tensor to blocks of the team.
    LoadBox {
        map: Boxed<Box>,
        at: usize,
        blocks: Vec<usize>,
        object: u32,
    },
}

#[derive(Debug, Default)]
pub(super) struct Engine {
    queue: Vec<Pending>,
    random: u64,
    idle: u32,
}

impl Engine {
    /// The next number of the seed's generator.
    fn draw(&mut self, seed: u64) -> u64 {
        if self.random == 0 {
            self.random = seed ^ 0x9e37_79b9_7f4a_7c15;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

impl Team {
    /// Does work now or later, as the launch says.
    pub(super) fn put_off(
        &mut self,
        env: &Env<'_>,
        work: Pending,
    ) -> std::result::Result<u64, String> {
        if env.options.completion == Async::Eager {
            return self.complete(env, work).map(|()| 0);
        }
        self.engine.queue.push(work);
        Ok(0)
    }

    /// Called between turns: work that a seed lets happen early, and work that spinning warps wait for.
    pub(super) fn breathe(&mut self, env: &Env<'_>) -> Result<()> {
        if self.engine.queue.is_empty() {
            return Ok(());
        }
        self.engine.idle += 1;
        let early = match env.options.completion {
            Async::Seed(seed) => self.engine.draw(seed).is_multiple_of(3),
            _ => false,
        };
        if early || self.engine.idle > 64 {
            self.complete_something(env)?;
        }
        Ok(())
    }

    /// Completes a piece of work that was put off; whether there was one.
    pub(super) fn complete_something(&mut self, env: &Env<'_>) -> Result<bool> {
        if self.engine.queue.is_empty() {
            return Ok(false);
        }
        self.engine.idle = 0;
        let n = self.engine.queue.len() as u64;
        let at = match env.options.completion {
            Async::Seed(seed) => (self.engine.draw(seed) % n) as usize,
            _ => 0,
        };
        let work = self.engine.queue.remove(at);
        self.complete(env, work)
            .map_err(|text| self.engine_fault(env, text))?;
        Ok(true)
    }

    fn engine_fault(&self, env: &Env<'_>, text: String) -> Boxed<Fault> {
        let mut f = Fault::new(Code::Object, &env.kernel.name, text);
        f.block = self.blocks[0].id;
        Boxed::new(f)
    }

    fn complete(&mut self, env: &Env<'_>, work: Pending) -> std::result::Result<(), String> {
        match work {
            Pending::Copies { b, copies, object } => {
                copies.iter().for_each(|c| self.copy_now(env, b, c));
                self.objects.change(object.0, object.1, 1, 0)?;
            }
            Pending::Words {
                b,
                at,
                words,
                object,
            } => {
                for (k, w) in words.iter().enumerate() {
                    self.blocks[b].shared.store(at + 4 * k, 4, u64::from(*w));
                }
                self.objects
                    .change(object.0, object.1, 0, -4 * words.len() as i64)?;
            }
            Pending::Load {
                from,
                at,
                bytes,
                blocks,
                object,
            } => {
                let data = self.fetch_bytes(env, from, bytes)?;
                for b in blocks {
                    for (k, w) in data.iter().enumerate() {
                        self.blocks[b].shared.store(at + 4 * k, 4, u64::from(*w));
                    }
                    self.objects.change(b as u32, object, 0, -(bytes as i64))?;
                }
            }
            Pending::Peer {
                from,
                to,
                bytes,
                object,
            } => {
                for k in (0..bytes).step_by(4) {
                    let w = self.blocks[from.0].shared.load(from.1 + k, 4);
                    self.blocks[to.0].shared.store(to.1 + k, 4, w);
                }
                self.objects
                    .change(object.0, object.1, 0, -(bytes as i64))?;
            }
            Pending::LoadBox {
                map,
                at,
                blocks,
                object,
            } => {
                let words = map.load(env)?;
                for b in blocks {
                    map.place(&words, &mut self.blocks[b].shared, at);
                    self.objects
                        .change(b as u32, object, 0, -(4 * words.len() as i64))?;
                }
            }
        }
        Ok(())
    }

    /// Words of global memory.
    fn fetch_bytes(
        &self,
        env: &Env<'_>,
        from: u64,
        bytes: usize,
    ) -> std::result::Result<Vec<u32>, String> {
        let (id, off) = super::memory::split(from);
        let Some(Some(buffer)) = env.table.get(id) else {
            return Err(format!(
                "a bulk copy from {from:#x}, which belongs to no buffer"
            ));
        };
        if off + bytes as u64 > buffer.bytes.len() as u64 {
            return Err(format!(
                "a bulk copy of bytes {off} to {} of `{}`, which has {}",
                off + bytes as u64,
                buffer.name,
                buffer.bytes.len()
            ));
        }
        Ok((0..bytes / 4)
            .map(|k| buffer.bytes.load32(off as usize + 4 * k))
            .collect())
    }
}
