//! Lines of 32 words, and the memory of a whole space or buffer.
//!
//! Most accesses of a warp, and nearly all of the accelerator, cover whole lines: lanes side by side, or a box of
//! a copy. A line that only such accesses have touched is *whole*: one [`Cell`] speaks for all its words, and an
//! access is held against it and noted once instead of 32 times. The lane of a whole stamp says how lanes lie
//! over the words ([`RUN`]); where two stamps differ in that, or anything clashes, the line is *split* into cells
//! of its words, so that what is found is the same word by word. A write of a whole line makes it whole again.
//!
//! Lines are made in groups when they are touched, so that the cost follows the accesses and not the size of the
//! memory.

use super::cell::{Cell, Clash, Lists, Stamp, View};

/// Words of a line.
pub(super) const LINE: usize = 32;
/// Lines of a group.
const GROUP: usize = 16;

/// Lanes of a whole stamp lie side by side: the binary logarithm of a lane's words in the bits from the fourth
/// on, the line's number among the access's below.
const RUN: u8 = 0x40;

/// The lane of a whole stamp of line `part` of an access whose lanes have `1 << shift` words each, side by side.
pub(super) fn side_by_side(shift: u32, part: usize) -> u8 {
    RUN | (shift as u8) << 3 | part as u8
}

impl Stamp {
    /// The stamp of word `i` of a line that has this one.
    pub(super) fn of_word(self, i: usize) -> Stamp {
        let lane = match self.lane & 0xe0 {
            RUN => {
                ((u32::from(self.lane & 7) * LINE as u32 + i as u32) >> (self.lane >> 3 & 3)) as u8
            }
            _ => self.lane,
        };
        Stamp { lane, ..self }
    }
}

/// A line: whole, or split into cells.
#[derive(Debug, Default)]
pub(super) struct Line {
    whole: Cell,
    split: bool,
    /// Kept for the next time when the line becomes whole.
    cells: Option<Box<[Cell; LINE]>>,
}

impl Line {
    /// The cell of a word. The lanes of its further stamps are those of the line.
    pub(super) fn cell(&self, i: usize) -> Cell {
        match &self.cells {
            Some(cells) if self.split => cells[i],
            _ => Cell {
                write: self.whole.write.of_word(i),
                read: self.whole.read.of_word(i),
                more: self.whole.more,
            },
        }
    }

    /// Cells of its own for each word.
    fn split(&mut self, lists: &mut Lists) -> &mut [Cell; LINE] {
        let cells = self.cells.get_or_insert_default();
        if !self.split {
            self.split = true;
            for (i, cell) in cells.iter_mut().enumerate() {
                *cell = Cell {
                    write: self.whole.write.of_word(i),
                    read: self.whole.read.of_word(i),
                    more: 0,
                };
            }
            if self.whole.more != 0 {
                let list = lists.lift(&mut self.whole);
                for (i, cell) in cells.iter_mut().enumerate() {
                    let own = list.1.iter().map(|(s, wrote)| (s.of_word(i), *wrote));
                    lists.give(cell, own);
                }
                lists.put_back(list);
            }
        }
        cells
    }

    /// Notes an access to all words, if the line is whole and stays so and nothing clashes.
    #[inline]
    fn enter_whole(&mut self, lists: &mut Lists, s: Stamp, write: bool, view: &View<'_>) -> bool {
        let read = &self.whole.read;
        if self.split
            || self.whole.look(lists, &s, write, view).is_some()
            || (!write && read.mask() != 0 && read.lane != s.lane && read.same_moment(&s))
        {
            return false;
        }
        self.whole.note(lists, s, write, view);
        true
    }

    /// All words were written alike: one cell speaks for them again, unless one has more to say.
    fn mend(&mut self, s: Stamp) {
        if let Some(cells) = &self.cells
            && cells.iter().all(|c| c.more == 0)
        {
            self.split = false;
            self.whole = Cell {
                write: s,
                ..Cell::default()
            };
        }
    }
}

/// The lines of one memory.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    groups: Vec<Option<Box<[Line; GROUP]>>>,
    pub(super) lists: Lists,
}

impl Shadow {
    #[inline]
    fn line(&mut self, line: usize) -> (&mut Line, &mut Lists) {
        let (g, i) = (line / GROUP, line % GROUP);
        if g >= self.groups.len() {
            self.groups.resize_with(g + 1, || None);
        }
        let group = self.groups[g].get_or_insert_default();
        (&mut group[i], &mut self.lists)
    }

    /// Notes an access to bytes of a word.
    #[inline]
    pub(super) fn enter(
        &mut self,
        word: usize,
        s: Stamp,
        write: bool,
        view: &View<'_>,
    ) -> Option<Clash> {
        let (line, lists) = self.line(word / LINE);
        line.split(lists)[word % LINE].enter(lists, s, write, view)
    }

    /// Notes an access to all bytes of a line; the first clash and its word. `s.lane` is of the whole line.
    #[inline]
    pub(super) fn enter_line(
        &mut self,
        line: usize,
        s: Stamp,
        write: bool,
        view: &View<'_>,
    ) -> Option<(Clash, usize)> {
        let first = line * LINE;
        let (line, lists) = self.line(line);
        if line.enter_whole(lists, s, write, view) {
            return None;
        }
        let mut clash = None;
        for (i, cell) in line.split(lists).iter_mut().enumerate() {
            if let Some(c) = cell.enter(lists, s.of_word(i), write, view) {
                clash.get_or_insert((c, first + i));
            }
        }
        if write && clash.is_none() {
            line.mend(s);
        }
        clash
    }

    /// The cell of a word that was touched.
    pub(super) fn cell(&self, word: usize) -> Option<Cell> {
        let line = word / LINE;
        let group = self.groups.get(line / GROUP)?.as_ref()?;
        Some(group[line % GROUP].cell(word % LINE))
    }

    /// The lines that may have been touched, by number.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &Line)> {
        let groups = self.groups.iter().enumerate();
        groups
            .filter_map(|(g, group)| Some((g, group.as_ref()?)))
            .flat_map(|(g, group)| {
                let lines = group.iter().enumerate();
                lines.map(move |(i, line)| (g * GROUP + i, line))
            })
            .filter(|(_, line)| {
                line.split || !line.whole.untouched() || line.whole.write.mask() != 0
            })
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::{MANY, PLAIN_MASK};
    use super::super::clock::Known;
    use super::*;

    fn stamp(agent: u16, clock: u32, pc: u32, lane: u8) -> Stamp {
        Stamp {
            clock,
            pc,
            team: 0,
            agent,
            lane,
            bits: PLAIN_MASK,
        }
    }

    /// Invariant: whole lines find what words find, and remember the same. Witness: random accesses of three warps
    /// that sometimes learn of one another, to one line, in both records.
    #[test]
    fn a_whole_line_is_its_words() {
        let mut x = 1u64;
        let mut below = |n: u64| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (x >> 33) % n
        };
        let (mut clashes, mut quiet) = (0, 0);
        for _ in 0..4000 {
            let (mut lines, mut words) = (Shadow::default(), Shadow::default());
            let mut known = [Known::default(), Known::default(), Known::default()];
            let mut clocks = [1u32; 3];
            for pc in 0..12 {
                let w = below(3) as usize;
                match below(6) {
                    0 => clocks[w] += 1,
                    1 => {
                        let (other, all) = (below(3) as usize, clocks);
                        known[w].seen.raise(other as u16, all[other]);
                    }
                    _ => {}
                }
                let write = below(3) == 0;
                let shift = below(4) as u32;
                let lane = match below(4) {
                    0 => below(32) as u8,
                    1 => MANY,
                    _ => side_by_side(shift, below(1 << shift) as usize),
                };
                let s = stamp(w as u16, clocks[w], pc, lane);
                let view = View {
                    team: 0,
                    agent: w as u16,
                    clock: clocks[w],
                    known: &known[w],
                    lanes: true,
                };
                let one = below(8) == 0;
                let at = below(32) as usize;
                let got = if one {
                    lines
                        .enter(at, s.of_word(at), write, &view)
                        .map(|c| (c, at))
                } else {
                    lines.enter_line(0, s, write, &view)
                };
                let mut want = None;
                for i in if one { at..at + 1 } else { 0..LINE } {
                    if let Some(c) = words.enter(i, s.of_word(i), write, &view) {
                        want.get_or_insert((c, i));
                    }
                }
                assert_eq!(got, want);
                clashes += usize::from(got.is_some());
                quiet += usize::from(got.is_none());
                for i in 0..LINE {
                    let (a, b) = (lines.cell(i), words.cell(i));
                    let of = |c: &Option<Cell>| c.map(|c| (c.write, c.read));
                    assert_eq!(of(&a).is_some(), of(&b).is_some() || one);
                    if let (Some(a), Some(b)) = (&a, &b) {
                        assert_eq!(
                            (a.write.mask(), a.read.mask()),
                            (b.write.mask(), b.read.mask())
                        );
                        if a.write.mask() != 0 {
                            assert_eq!(a.write, b.write);
                        }
                        if a.read.mask() != 0 {
                            assert_eq!(a.read, b.read);
                        }
                        let more: Vec<_> = lines
                            .lists
                            .of(a)
                            .iter()
                            .map(|(s, w)| (s.of_word(i), *w))
                            .collect();
                        assert_eq!(more, words.lists.of(b));
                    }
                }
            }
        }
        assert!(
            clashes > 1000 && quiet > 10_000,
            "{clashes} clashes, {quiet} quiet"
        );
    }
}
