//! What is noted while a team runs.
//!
//! A [`Note`] is a span under way. Work that runs beside a warp is open until a wait ends it: groups of copies, of
//! stores and of multiplies by the warp's own waits, what a barrier object counts by the first wait that finds its
//! phase over. Barriers keep, by generation, the moment at which the last of what they count was there.

use super::super::launch::Env;
use super::super::program::Step;
use super::{On, Phase, Recorder, Row, Span, Timeline};
use std::collections::{HashMap, VecDeque};

/// A span, as it is noted.
#[derive(Debug)]
struct Note {
    warp: usize,
    phase: Phase,
    beside: bool,
    from: u64,
    to: u64,
    pc: u32,
    /// Work beside the warp: a wait has ended it.
    over: bool,
    on: Option<On>,
}

/// Work of a warp in groups, as its waits count them.
#[derive(Debug, Default)]
pub(super) struct Groups {
    open: Vec<usize>,
    closed: VecDeque<Vec<usize>>,
}

impl Groups {
    pub(super) fn close(&mut self) {
        let group = std::mem::take(&mut self.open);
        self.closed.push_back(group);
    }
    /// Takes out all closed groups but the newest.
    fn older(&mut self, keep: usize) -> Vec<usize> {
        let n = self.closed.len().saturating_sub(keep);
        self.closed.drain(..n).flatten().collect()
    }
    fn all(&mut self) -> Vec<usize> {
        let mut out = self.older(0);
        out.append(&mut self.open);
        out
    }
}

/// Kinds of groups of a warp.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Copies,
    Stores,
    Multiplies,
}

#[derive(Debug, Default)]
struct Side {
    clock: u64,
    last: Option<usize>,
    groups: [Groups; 3],
}

/// What a phase of a barrier counts.
#[derive(Debug, Default, Clone)]
struct Counted {
    /// When the last of it was there.
    at: u64,
    work: Vec<usize>,
}

#[derive(Debug)]
pub(in crate::vm) struct Tape {
    recorder: Recorder,
    per_block: usize,
    sides: Vec<Side>,
    objects: HashMap<(u32, u32), Vec<Counted>>,
    bars: HashMap<(usize, u32), Vec<Counted>>,
    cluster: Vec<Counted>,
    notes: Vec<Note>,
    left_out: u64,
}

/// The phase of this number.
fn nth(list: &mut Vec<Counted>, n: u64) -> &mut Counted {
    let n = n as usize;
    if n >= list.len() {
        list.resize(n + 1, Counted::default());
    }
    &mut list[n]
}

impl Tape {
    /// A tape for a team, if its launch records one of its blocks.
    pub(in crate::vm) fn new(
        env: &Env<'_>,
        ids: &[[u32; 3]],
        per_block: usize,
    ) -> Option<Box<Tape>> {
        let recorder = env.options.timeline.clone()?;
        ids.contains(&recorder.block()).then(|| {
            Box::new(Tape {
                recorder,
                per_block,
                sides: (0..ids.len() * per_block)
                    .map(|_| Side::default())
                    .collect(),
                objects: HashMap::new(),
                bars: HashMap::new(),
                cluster: vec![],
                notes: vec![],
                left_out: 0,
            })
        })
    }
    /// Number of a warp among those of the team.
    pub(super) fn row(&self, b: usize, warp: u32) -> usize {
        b * self.per_block + warp as usize
    }

    /// A warp issues an instruction.
    pub(super) fn step(&mut self, code: &[Step], w: usize, pc: u32, phase: Phase) {
        let side = &mut self.sides[w];
        let from = side.clock;
        side.clock += 1;
        if let Some(n) = side.last {
            let note = &mut self.notes[n];
            let same = match phase {
                Phase::Wait => note.pc == pc,
                _ => line(&code[note.pc as usize]) == line(&code[pc as usize]),
            };
            if note.phase == phase && note.to == from && same {
                note.to = side.clock;
                return;
            }
        }
        let note = Note {
            warp: w,
            phase,
            beside: false,
            from,
            to: from + 1,
            pc,
            over: true,
            on: None,
        };
        self.sides[w].last = self.note(note);
    }

    fn note(&mut self, note: Note) -> Option<usize> {
        if self.notes.len() >= Timeline::MOST {
            self.left_out += 1;
            return None;
        }
        self.notes.push(note);
        Some(self.notes.len() - 1)
    }

    /// The instruction that a warp has just issued began work beside it.
    fn begin(&mut self, w: usize, pc: u32, phase: Phase, on: Option<On>) -> Option<usize> {
        let clock = self.sides[w].clock;
        self.note(Note {
            warp: w,
            phase,
            beside: true,
            from: clock.saturating_sub(1),
            to: clock,
            pc,
            over: false,
            on,
        })
    }
    /// The same, in a group of the warp.
    pub(super) fn begin_grouped(&mut self, w: usize, pc: u32, phase: Phase, kind: Kind) {
        let work = self.begin(w, pc, phase, None);
        self.sides[w].groups[kind as usize].open.extend(work);
    }
    /// The same, counted by barrier objects in their current phases: the first stands for the work, all wait for it.
    pub(super) fn begin_counted(
        &mut self,
        w: usize,
        pc: u32,
        phase: Phase,
        places: &[((u32, u32), u64)],
    ) {
        let on = places.first().map(|((rank, byte), phase)| On::Object {
            rank: *rank,
            byte: *byte,
            phase: *phase,
        });
        let work = self.begin(w, pc, phase, on);
        for (place, n) in places {
            self.arrive(w, *place, *n);
            let counted = nth(self.objects.entry(*place).or_default(), *n);
            counted.work.extend(work);
        }
    }
    pub(super) fn close(&mut self, w: usize, kind: Kind) {
        self.sides[w].groups[kind as usize].close();
    }
    /// A warp has waited for all groups but the newest, open ones too if all.
    pub(super) fn waited(&mut self, w: usize, kind: Kind, keep: Option<usize>) {
        let groups = &mut self.sides[w].groups[kind as usize];
        let work = match keep {
            Some(n) => groups.older(n),
            None => groups.all(),
        };
        self.finish(w, &work);
    }
    /// A warp's copies are counted by an object from now on.
    pub(super) fn hand_over(&mut self, w: usize, place: (u32, u32), n: u64) {
        let work = self.sides[w].groups[Kind::Copies as usize].all();
        self.arrive(w, place, n);
        nth(self.objects.entry(place).or_default(), n)
            .work
            .extend(work);
    }

    /// An object is made: its phases begin anew.
    pub(super) fn object_made(&mut self, place: (u32, u32)) {
        self.objects.remove(&place);
    }
    /// Something that a phase of an object counts is there.
    pub(super) fn arrive(&mut self, w: usize, place: (u32, u32), n: u64) {
        let clock = self.sides[w].clock;
        let counted = nth(self.objects.entry(place).or_default(), n);
        counted.at = counted.at.max(clock);
    }
    pub(super) fn arrive_bar(&mut self, w: usize, bar: (usize, u32), n: u64) {
        let clock = self.sides[w].clock;
        let counted = nth(self.bars.entry(bar).or_default(), n);
        counted.at = counted.at.max(clock);
    }
    pub(super) fn arrive_cluster(&mut self, w: usize, n: u64) {
        let clock = self.sides[w].clock;
        let counted = nth(&mut self.cluster, n);
        counted.at = counted.at.max(clock);
    }

    /// A warp's wait for a phase of an object is over.
    pub(super) fn passed(&mut self, w: usize, place: (u32, u32), n: u64) {
        let counted = nth(self.objects.entry(place).or_default(), n);
        let (at, work) = (counted.at, counted.work.clone());
        let on = On::Object {
            rank: place.0,
            byte: place.1,
            phase: n,
        };
        self.go_on(w, at, on);
        self.finish(w, &work);
    }
    pub(super) fn passed_bar(&mut self, w: usize, bar: (usize, u32), n: u64) {
        let at = nth(self.bars.entry(bar).or_default(), n).at;
        self.go_on(w, at, On::Barrier(bar.1));
    }
    pub(super) fn passed_cluster(&mut self, w: usize, n: u64) {
        let at = nth(&mut self.cluster, n).at;
        self.go_on(w, at, On::Cluster);
    }
    /// A warp goes on at a moment, not before.
    fn go_on(&mut self, w: usize, at: u64, on: On) {
        let side = &mut self.sides[w];
        let before = side.clock;
        side.clock = side.clock.max(at);
        if let Some(n) = side.last {
            let note = &mut self.notes[n];
            if note.phase == Phase::Wait && note.to == before {
                (note.to, note.on) = (side.clock, Some(on));
            }
        }
    }
    /// Work ends at the first moment at which a warp knows that it is over.
    fn finish(&mut self, w: usize, work: &[usize]) {
        let clock = self.sides[w].clock;
        for n in work {
            let note = &mut self.notes[*n];
            let to = if note.over { note.to.min(clock) } else { clock };
            (note.to, note.over) = (to.max(note.from + 1), true);
        }
    }

    /// Hands the timeline over.
    pub(in crate::vm) fn keep(self, env: &Env<'_>, ids: &[[u32; 3]]) {
        let end = |w: usize| self.sides[w].clock;
        let spans = self.notes.iter().map(|n| {
            let step = &env.kernel.code[n.pc as usize];
            Span {
                row: n.warp,
                phase: n.phase,
                beside: n.beside,
                from: n.from,
                to: if n.over { n.to } else { n.to.max(end(n.warp)) },
                ptx_line: step.line,
                source: env.source(step),
                on: n.on,
            }
        });
        let rows = (0..self.sides.len()).map(|w| Row {
            block: ids[w / self.per_block],
            warp: (w % self.per_block) as u32,
            end: end(w),
        });
        self.recorder.keep(Timeline {
            kernel: env.kernel.name.clone(),
            rows: rows.collect(),
            spans: spans.collect(),
            left_out: self.left_out,
        });
    }
}

/// What instructions of one line have in common.
fn line(step: &Step) -> (Option<u32>, u32) {
    step.loc
        .map_or((None, step.line), |l| (Some(l.file), l.line))
}
