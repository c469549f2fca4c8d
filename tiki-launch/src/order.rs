//! Who must wait for whom: the order of work that touches one buffer from several streams.
//!
//! Every piece of work given to a stream takes the stream's next *ticket*. A buffer remembers the
//! ticket that wrote it last and the tickets that read it since. Work on the same stream is in order
//! by itself; for work on another stream
//!
//! - a read must come after the last write,
//! - a write must come after the last write and every read since.
//!
//! Only then is an event recorded, once per stream however many buffers need it: it covers every
//! earlier ticket of that stream, and the waiting stream remembers how far it has waited. A program with
//! one stream records none, and neither does a program whose second stream touches other buffers.
//!
//! A buffer is freed in stream order behind its last use, so dropping a tensor whose kernel still runs is safe.
//!
//! While a stream is *captured* nothing runs: the graph notes the buffers and takes its tickets each
//! time it is launched. Frees that fall due on a captured stream are put off to the end of the capture.
//!
//! All of it happens under one lock per device, held while the work is handed over, so that an event
//! recorded on behalf of a ticket always lies behind that ticket's work.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::error::LaunchError;
use crate::kernel::Module;
use crate::machine::{Machine, RawEvent, RawStream};

/// Streams of a device, those included that were dropped and still have work to do.
const STREAMS: usize = 1 << 20;
const TICKET_BITS: u32 = 44;

/// One piece of work: stream and ticket in a word; 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mark(u64);

impl Mark {
    fn new(stream: usize, ticket: u64) -> Mark {
        Mark((stream as u64) << TICKET_BITS | ticket)
    }
    fn stream(self) -> usize {
        (self.0 >> TICKET_BITS) as usize
    }
    pub fn ticket(self) -> u64 {
        self.0 & ((1 << TICKET_BITS) - 1)
    }
}

/// What a buffer remembers.
#[derive(Debug, Default)]
struct Use {
    writer: Mark,
    /// The reading stream since that write, if there is just one.
    reader: Mark,
    /// Reads of further streams.
    others: Vec<Mark>,
}

/// A number for a buffer's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BufferId(u32);

/// A buffer's part in a captured graph.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub buffer: Arc<Buffer>,
    pub writes: bool,
}

/// What a captured graph needs to stay alive.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    pub parts: Vec<Part>,
    pub code: Vec<Arc<Module>>,
}

#[derive(Debug)]
struct Slot {
    raw: RawStream,
    /// We made it, so we destroy it.
    owned: bool,
    /// Tickets given.
    ticket: u64,
    /// Tickets known to be finished.
    done: u64,
    /// Tickets of the streams that had this number before, all of them finished.
    before: u64,
    /// Last event and the ticket it covers.
    event: Option<(RawEvent, u64)>,
    /// For each other stream, the ticket this one has waited for.
    seen: Vec<u64>,
    /// Host threads that use it outside the lock.
    pins: u32,
    closed: bool,
    capture: Option<Captured>,
    /// Buffers to free when the capture ends.
    deferred: Vec<u64>,
}

/// The streams and buffers of one device.
#[derive(Debug, Default)]
pub(crate) struct Order {
    slots: Vec<Slot>,
    /// Dropped streams whose work may go on.
    closing: Vec<usize>,
    /// Numbers of dropped streams with nothing left to do: the next stream takes one.
    idle: Vec<usize>,
    uses: Vec<Use>,
    vacant: Vec<u32>,
}

impl Order {
    /// Enters a stream.
    pub fn open(
        &mut self,
        machine: &dyn Machine,
        raw: RawStream,
        owned: bool,
    ) -> Result<usize, LaunchError> {
        self.sweep(machine);
        let number = self.idle.pop();
        // Tickets go on where the number's last stream ended: what is remembered of it stays finished.
        let before = number.map_or(0, |i| self.slots[i].ticket);
        let slot = Slot {
            raw,
            owned,
            ticket: before,
            done: before,
            before,
            event: None,
            seen: Vec::new(),
            pins: 0,
            closed: false,
            capture: None,
            deferred: Vec::new(),
        };
        match number {
            Some(i) => {
                self.slots[i] = slot;
                Ok(i)
            }
            None if self.slots.len() == STREAMS => Err(LaunchError::Streams { limit: STREAMS }),
            None => {
                self.slots.push(slot);
                Ok(self.slots.len() - 1)
            }
        }
    }

    /// A dropped stream's work goes on; its last event stands for all of it.
    pub fn close(&mut self, machine: &dyn Machine, stream: usize) {
        let slot = &mut self.slots[stream];
        slot.closed = true;
        if slot.ticket > slot.done && self.cover(machine, stream).is_err() {
            // Without an event the only way to know is to wait here.
            let slot = &mut self.slots[stream];
            let _ = machine.synchronize(slot.raw);
            slot.done = slot.ticket;
        }
        self.destroy_if_idle(machine, stream);
        self.closing.push(stream);
    }

    fn destroy_if_idle(&mut self, machine: &dyn Machine, stream: usize) {
        let slot = &mut self.slots[stream];
        if slot.closed && slot.pins == 0 && slot.owned {
            slot.owned = false;
            machine.drop_stream(slot.raw);
        }
    }

    /// Gives back the events and the numbers of dropped streams that have finished.
    fn sweep(&mut self, machine: &dyn Machine) {
        let Order {
            slots,
            closing,
            idle,
            ..
        } = self;
        closing.retain(|&stream| {
            let slot = &mut slots[stream];
            if let Some((event, _)) = slot.event
                && machine.reached(event)
            {
                slot.done = slot.ticket;
                slot.event = None;
                slot.seen = Vec::new();
                machine.drop_event(event);
            }
            let over = slot.event.is_none() && slot.done == slot.ticket && slot.pins == 0;
            if over {
                idle.push(stream);
            }
            !over
        });
    }

    /// The stream that did a piece of work, or the default one if it is gone.
    fn living(&self, mark: Mark) -> usize {
        let slot = &self.slots[mark.stream()];
        if slot.closed || mark.ticket() <= slot.before {
            0
        } else {
            mark.stream()
        }
    }

    /// Everything is waited for and given back; the device goes away.
    pub fn shut(&mut self, machine: &dyn Machine) {
        for slot in &mut self.slots {
            if slot.owned {
                let _ = machine.synchronize(slot.raw);
                machine.drop_stream(slot.raw);
                slot.owned = false;
            }
            if let Some((event, _)) = slot.event.take() {
                machine.drop_event(event);
            }
        }
    }

    /// Enters a buffer that the stream has just allocated.
    pub fn register(&mut self, stream: usize) -> BufferId {
        let writer = self.next(stream);
        let fresh = Use {
            writer,
            ..Use::default()
        };
        match self.vacant.pop() {
            Some(i) => {
                self.uses[i as usize] = fresh;
                BufferId(i)
            }
            None => {
                self.uses.push(fresh);
                BufferId(self.uses.len() as u32 - 1)
            }
        }
    }

    /// Forgets a buffer and frees its memory, if `address` is given, behind its last use.
    pub fn release(&mut self, machine: &dyn Machine, buffer: BufferId, address: Option<u64>) {
        let used = std::mem::take(&mut self.uses[buffer.0 as usize]);
        self.vacant.push(buffer.0);
        let Some(address) = address else { return };
        let last = if used.reader == Mark::default() {
            used.writer
        } else {
            used.reader
        };
        let home = self.living(last);
        if self.slots[home].capture.is_some() {
            self.slots[home].deferred.push(address);
            return;
        }
        for mark in [used.writer, used.reader].into_iter().chain(used.others) {
            if self.after(machine, home, mark).is_err() {
                // An event could not be had: wait on the host instead, and free all the same.
                let slot = &self.slots[mark.stream()];
                if slot.closed || machine.synchronize(slot.raw).is_err() {
                    return; // better to leak than to free under a running kernel
                }
            }
        }
        machine.free(address, self.slots[home].raw);
    }

    /// Lets `stream` wait, on the device, until it may read (or write) the buffer.
    #[inline(always)]
    pub fn before(
        &mut self,
        machine: &dyn Machine,
        stream: usize,
        buffer: BufferId,
        writes: bool,
    ) -> Result<(), LaunchError> {
        let used = &self.uses[buffer.0 as usize];
        let behind = |mark: Mark| mark.stream() == stream || self.is_behind(stream, mark);
        if behind(used.writer) && (!writes || used.others.is_empty() && behind(used.reader)) {
            return Ok(());
        }
        self.after_all(machine, stream, buffer, writes)
    }

    #[cold]
    fn after_all(
        &mut self,
        machine: &dyn Machine,
        stream: usize,
        buffer: BufferId,
        writes: bool,
    ) -> Result<(), LaunchError> {
        let used = &self.uses[buffer.0 as usize];
        let (writer, reader, others) = (used.writer, used.reader, used.others.clone());
        self.after(machine, stream, writer)?;
        if writes {
            self.after(machine, stream, reader)?;
            for mark in others {
                self.after(machine, stream, mark)?;
            }
        }
        Ok(())
    }

    /// Notes that a piece of work reads (or writes) the buffer.
    #[inline(always)]
    pub fn touched(&mut self, mark: Mark, buffer: BufferId, writes: bool) {
        let stream = mark.stream();
        let used = &mut self.uses[buffer.0 as usize];
        if writes {
            used.writer = mark;
            used.reader = Mark::default();
            used.others.clear();
        } else if used.reader == Mark::default() || used.reader.stream() == stream {
            used.reader = mark;
        } else {
            match used.others.iter_mut().find(|m| m.stream() == stream) {
                Some(other) => *other = mark,
                None => used.others.push(mark),
            }
        }
    }

    /// Gives the stream a piece of work: its next ticket.
    #[inline]
    pub fn next(&mut self, stream: usize) -> Mark {
        let slot = &mut self.slots[stream];
        slot.ticket += 1;
        Mark::new(stream, slot.ticket)
    }

    /// The machine's stream.
    #[inline]
    pub fn raw(&self, stream: usize) -> RawStream {
        self.slots[stream].raw
    }

    /// A stream behind the buffer's last write, pinned so that it outlives the lock.
    pub fn pin_writer(
        &mut self,
        machine: &dyn Machine,
        buffer: BufferId,
    ) -> Result<(usize, u64), LaunchError> {
        let stream = self.living(self.uses[buffer.0 as usize].writer);
        self.before(machine, stream, buffer, false)?;
        Ok((stream, self.pin(stream)))
    }

    /// Pins a stream for use outside the lock; returns its newest ticket.
    pub fn pin(&mut self, stream: usize) -> u64 {
        self.slots[stream].pins += 1;
        self.slots[stream].ticket
    }

    /// Ends a pin. `finished`: all tickets up to this one are known to be done.
    pub fn unpin(&mut self, machine: &dyn Machine, stream: usize, finished: Option<u64>) {
        let slot = &mut self.slots[stream];
        slot.pins -= 1;
        if let Some(ticket) = finished {
            slot.done = slot.done.max(ticket);
        }
        self.destroy_if_idle(machine, stream);
    }

    /// Whether the stream is being captured.
    #[inline]
    pub fn capturing(&self, stream: usize) -> bool {
        self.slots[stream].capture.is_some()
    }

    /// Whether any stream is.
    pub fn any_capturing(&self) -> bool {
        self.slots.iter().any(|slot| slot.capture.is_some())
    }

    /// Begins to note buffers instead of ordering them. What was given to the stream before gets its
    /// event now: one recorded later would become part of the graph.
    pub fn begin_capture(
        &mut self,
        machine: &dyn Machine,
        stream: usize,
    ) -> Result<(), LaunchError> {
        if self.slots[stream].ticket > self.slots[stream].done {
            self.cover(machine, stream)?;
        }
        self.slots[stream].capture = Some(Captured::default());
        Ok(())
    }

    /// Notes a buffer in the graph under capture.
    pub fn capture(&mut self, stream: usize, buffer: &Arc<Buffer>, writes: bool) {
        let Some(Captured { parts, .. }) = &mut self.slots[stream].capture else {
            return;
        };
        match parts.iter_mut().find(|p| Arc::ptr_eq(&p.buffer, buffer)) {
            Some(part) => part.writes |= writes,
            None => parts.push(Part {
                buffer: buffer.clone(),
                writes,
            }),
        }
    }

    /// Notes loaded code that the graph under capture will run.
    pub fn keep(&mut self, stream: usize, module: &Arc<Module>) {
        let Some(Captured { code, .. }) = &mut self.slots[stream].capture else {
            return;
        };
        if !code.iter().any(|m| Arc::ptr_eq(m, module)) {
            code.push(module.clone());
        }
    }

    /// Ends the capture: frees what was put off, and returns what the graph must keep alive.
    pub fn end_capture(&mut self, machine: &dyn Machine, stream: usize) -> Captured {
        let slot = &mut self.slots[stream];
        let captured = slot.capture.take().unwrap_or_default();
        for address in std::mem::take(&mut slot.deferred) {
            machine.free(address, slot.raw);
        }
        captured
    }

    /// Whether all further work of `stream` comes behind that of a mark as it is.
    #[inline(always)]
    fn is_behind(&self, stream: usize, mark: Mark) -> bool {
        let (other, ticket) = (mark.stream(), mark.ticket());
        let waited = || self.slots[stream].seen.get(other);
        other == stream
            || ticket <= self.slots[other].done
            || waited().is_some_and(|&seen| ticket <= seen)
    }

    /// Lets `stream` wait for the work of a mark.
    fn after(
        &mut self,
        machine: &dyn Machine,
        stream: usize,
        mark: Mark,
    ) -> Result<(), LaunchError> {
        let (other, ticket) = (mark.stream(), mark.ticket());
        if self.is_behind(stream, mark) {
            return Ok(());
        }
        let (event, covered) = match self.slots[other].event {
            Some((event, covered)) if ticket <= covered => (event, covered),
            _ => self.cover(machine, other)?,
        };
        let slot = &mut self.slots[stream];
        machine.wait(slot.raw, event)?;
        if slot.seen.len() <= other {
            slot.seen.resize(other + 1, 0);
        }
        slot.seen[other] = covered;
        Ok(())
    }

    /// Records the stream's event behind all its work so far.
    fn cover(
        &mut self,
        machine: &dyn Machine,
        stream: usize,
    ) -> Result<(RawEvent, u64), LaunchError> {
        let slot = &mut self.slots[stream];
        let event = match slot.event {
            Some((event, _)) => event,
            None => machine.new_event(false)?,
        };
        slot.event = Some((event, 0)); // until recorded it covers nothing, but it is not lost
        machine.record(event, slot.raw)?;
        slot.event = Some((event, slot.ticket));
        Ok((event, slot.ticket))
    }
}

#[cfg(test)]
mod tests;
