//! Sixty-four datums read in lockstep: a field of each before the next field of any. What each field costs to dispatch
//! is paid once for all of them, no read waits for the one before it, and a null mask of theirs is one word.

use super::lane::{Lane, MIDDLING, SHORT};
use mortice_base::error::{Error, Result};

/// Datums that are read side by side.
pub(super) const LANES: usize = 64;

/// Up to sixty-four lanes over one content. A lane that is not active has no value here (an enclosing struct is null).
pub(super) struct Lanes<'a> {
    pub(super) content: &'a [u8],
    at: LanePositions,
    end: [u32; LANES],
    count: usize,
    active: u64,
}

impl<'a> Lanes<'a> {
    /// No lanes yet.
    pub(super) fn new(content: &'a [u8]) -> Self {
        Self { content, at: LanePositions::default(), end: [0; LANES], count: 0, active: 0 }
    }

    /// Takes other datums (at most [`LANES`]), each `at..at + len` within the content.
    pub(super) fn load(&mut self, datums: impl Iterator<Item = (u32, u32)>) -> Result<()> {
        self.count = 0;
        for ((at, len), (from, to)) in datums.zip(self.at.now_mut(LANES).iter_mut().zip(&mut self.end)) {
            let end = at.checked_add(len).filter(|end| *end as usize <= self.content.len());
            let Some(end) = end else {
                return Err(Error::corrupt(format!("unexpected end of data: Avro datum of {len} bytes"))
                    .at_offset(u64::from(at)));
            };
            (*from, *to) = (at, end);
            self.count += 1;
        }
        self.active = full(self.count);
        Ok(())
    }

    /// Takes other lanes, at most [`LANES`], from `at` to `end` each, within the content.
    #[inline]
    pub(super) fn take(&mut self, found: &[(u32, u32)]) {
        self.count = found.len().min(LANES);
        for ((at, end), (from, to)) in found.iter().zip(self.at.now_mut(LANES).iter_mut().zip(&mut self.end)) {
            (*from, *to) = (*at, *end);
        }
        self.active = full(self.count);
    }

    /// How many lanes there are, active or not.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// A bit for each lane that has a value.
    #[inline]
    pub(super) fn active(&self) -> u64 {
        self.active
    }

    /// Says which lanes have a value; gives back which had.
    #[inline]
    pub(super) fn set_active(&mut self, active: u64) -> u64 {
        std::mem::replace(&mut self.active, active)
    }

    /// Fails where a lane has passed the end of its datum.
    pub(super) fn check_ends(&mut self) -> Result<()> {
        self.each(|_, lane| lane.check_end())
    }

    /// Where each lane stands, to come back to.
    pub(super) fn places(&self) -> [u32; LANES] {
        *self.at.now()
    }

    /// Takes every lane back to where it stood.
    pub(super) fn go_back(&mut self, places: [u32; LANES]) {
        self.at.now_mut(LANES).copy_from_slice(&places);
    }

    /// Runs `read` on each lane in turn, active or not, until one fails.
    #[inline(always)]
    pub(super) fn each(&mut self, mut read: impl FnMut(usize, &mut Lane<'a>) -> Result<()>) -> Result<()> {
        let content = self.content;
        let places = self.at.now_mut(self.count).iter_mut();
        for (index, (at, end)) in places.zip(&self.end).enumerate() {
            let mut lane = Lane { content, at: *at, end: *end };
            let outcome = read(index, &mut lane);
            *at = lane.at;
            outcome?;
        }
        Ok(())
    }

    /// Fills a slot from each lane that has a value: it is active and, where `TAGGED`, the tag in front of it is
    /// `tags.1` and not that of null, `tags.0`. Every other slot is passed. Gives a bit for each lane that has a value.
    #[inline(always)]
    pub(super) fn fill<const TAGGED: bool, S: SlotSource>(
        &mut self,
        tags: (Option<u8>, u8),
        slots: &mut [S::Slot],
        source: &mut S,
    ) -> Result<u64> {
        let content = self.content;
        let mut active = self.active;
        let (mut there, mut bit) = (0_u64, 1_u64);
        let places = self.at.now_mut(self.count).iter_mut();
        for ((at, end), slot) in places.zip(&self.end).zip(slots) {
            let mut lane = Lane { content, at: *at, end: *end };
            if active & 1 == 1 && (!TAGGED || lane.tag(tags.0, tags.1)?) {
                *slot = source.read(&mut lane)?;
                there |= bit;
            } else {
                *slot = source.pass();
            }
            *at = lane.at;
            bit = bit.wrapping_shl(1);
            active >>= 1;
        }
        Ok(there)
    }

    /// As [`Lanes::fill`], of values that can be decoded from the bytes ahead. Nothing is called from the loop, so that
    /// all of it stays in registers. None, and no lane moved, if one value cannot.
    #[inline(always)]
    pub(super) fn peek<const TAGGED: bool, S: PeekValue>(
        &mut self,
        tags: (Option<u8>, u8),
        slots: &mut [S::Slot],
        source: &S,
    ) -> Option<u64> {
        let is_read = match self.active == full(self.count) {
            true => self.peek_at::<TAGGED, true, S>(tags, slots, source),
            false => self.peek_at::<TAGGED, false, S>(tags, slots, source),
        }?;
        self.at.go_on();
        Some(is_read)
    }

    #[inline(always)]
    fn peek_at<const TAGGED: bool, const ALL: bool, S: PeekValue>(
        &mut self,
        (null, value): (Option<u8>, u8),
        slots: &mut [S::Slot],
        source: &S,
    ) -> Option<u64> {
        let content = self.content;
        // Where there is no null, no other tag than the value's is known.
        let null = null.unwrap_or(value);
        let active = self.active;
        let mut nulls = 0_u64;
        let (places, next) = self.at.both(self.count);
        for (index, ((at, next), slot)) in places.iter().zip(next).zip(slots).enumerate() {
            let from = *at as usize;
            let ahead: &[u8; AHEAD] = content.get(from..from + AHEAD)?.first_chunk()?;
            let tag = *ahead.first()?;
            if !ALL && active >> index & 1 == 0 {
                *slot = S::Slot::default();
                *next = *at;
            } else if !TAGGED || tag == value {
                let (read, bytes, is_read) =
                    source.peek(if TAGGED { ahead.last_chunk()? } else { ahead.first_chunk()? });
                if !is_read {
                    return None;
                }
                *slot = read;
                *next = *at + u32::from(TAGGED) + bytes;
            } else if tag == null {
                *slot = S::Slot::default();
                *next = *at + 1;
                nulls |= 1 << index;
            } else {
                return None;
            }
        }
        Some(active & !nulls)
    }

    /// Copies short values, each a length and as many bytes, to the head of `out`, one after the other, and notes where
    /// each ends, counted from `base`. They are copied as blocks, and what is too much is written over by the next; so
    /// `out` has to have [`ROOM`] for them. None, and no lane moved, where a value is longer than a block or its bytes
    /// cannot be decoded so.
    ///
    /// Lengths are not held against the ends of datums: that is seen at the end of a group, and all is within the
    /// content.
    #[inline(always)]
    pub(super) fn copy_short<const TAGGED: bool>(
        &mut self,
        tags: (Option<u8>, u8),
        out: &mut [u8],
        ends: &mut [i32],
        base: i32,
    ) -> Option<(u64, usize)> {
        let copied = match self.active == full(self.count) {
            true => self.copy_short_at::<TAGGED, true>(tags, out, ends, base),
            false => self.copy_short_at::<TAGGED, false>(tags, out, ends, base),
        }?;
        self.at.go_on();
        Some(copied)
    }

    #[inline(always)]
    fn copy_short_at<const TAGGED: bool, const ALL: bool>(
        &mut self,
        (null, value): (Option<u8>, u8),
        out: &mut [u8],
        ends: &mut [i32],
        base: i32,
    ) -> Option<(u64, usize)> {
        /// A tag, a length and the bytes.
        const SEEN: usize = 2 + SHORT;
        let content = self.content;
        let null = null.unwrap_or(value);
        let active = self.active;
        let (mut nulls, mut to) = (0_u64, 0_usize);
        let (places, next) = self.at.both(self.count);
        for (index, ((at, next), end)) in places.iter().zip(next).zip(ends).enumerate() {
            let from = *at as usize;
            let ahead: &[u8; SEEN] = content.get(from..from + SEEN)?.first_chunk()?;
            let [first, second, ..] = *ahead;
            let (tag, length) = if TAGGED { (first, second) } else { (value, first) };
            if !ALL && active >> index & 1 == 0 {
                *next = *at;
            } else if tag == value {
                // Negative, or of more bytes than this one.
                if length & 0x81 != 0 {
                    return None;
                }
                let length = usize::from(length >> 1);
                let from = from + usize::from(TAGGED) + 1;
                let block: &[u8; SHORT] =
                    if TAGGED { ahead.last_chunk()? } else { ahead.get(1..=SHORT)?.first_chunk()? };
                out.get_mut(to..to + SHORT)?.copy_from_slice(block);
                if length > SHORT {
                    let block: &[u8; MIDDLING] = content.get(from..from + MIDDLING)?.first_chunk()?;
                    out.get_mut(to..to + MIDDLING)?.copy_from_slice(block);
                }
                *next = (from + length) as u32;
                to += length;
            } else if tag == null {
                *next = *at + 1;
                nulls |= 1 << index;
            } else {
                return None;
            }
            *end = base.wrapping_add(to as i32);
        }
        Some((active & !nulls, to))
    }

    /// Steps over values that are a length and as many bytes, and returns their ranges. Lanes without a value have no
    /// bytes.
    #[inline(always)]
    pub(super) fn spans<const TAGGED: bool>(&mut self, tags: (Option<u8>, u8), spans: &mut LaneRanges) -> Result<u64> {
        let content = self.content;
        let (mut active, mut there, mut bit, mut total) = (self.active, 0_u64, 1_u64, 0);
        let places = self.at.now_mut(self.count).iter_mut();
        for ((at, end), (from, len)) in places.zip(&self.end).zip(spans.at.iter_mut().zip(&mut spans.len)) {
            let mut lane = Lane { content, at: *at, end: *end };
            let mut length = 0;
            if active & 1 == 1 && (!TAGGED || lane.tag(tags.0, tags.1)?) {
                length = lane.length()?;
                there |= bit;
            }
            // What the datum can hold is below 4 GiB.
            (*from, *len) = (lane.at, length as u32);
            *at = lane.at + length as u32;
            total += length;
            bit = bit.wrapping_shl(1);
            active >>= 1;
        }
        spans.total = total;
        Ok(there)
    }
}

/// A list whose items are being found: from where it goes on, where its lane ends, where the next item is noted, and
/// how many there are left.
#[derive(Clone, Copy, Default)]
struct List {
    at: u32,
    end: u32,
    to: u32,
    left: u32,
}

impl Lanes<'_> {
    /// Steps over the lists of the lanes in `there`, an item of each before the next item of any. Reports from where to
    /// where each item goes, list by list, and, in `ends`, after how many items each list ends, counted from `base`;
    /// gives how many there are. None, and no lane moved, where a list is longer than one short block, as which writers
    /// give a short list, or is not sound.
    #[inline(always)]
    pub(super) fn find_items(
        &mut self,
        there: u64,
        least: usize,
        skip: impl Fn(&mut Lane<'_>) -> Result<()>,
        (ends, base): (&mut [i32], i32),
        places: &mut Vec<(u32, u32)>,
    ) -> Option<usize> {
        let mut lists = [List::default(); LANES];
        let mut order = [0_u8; LANES];
        let (total, open) = self.begin_lists(there, least, &mut lists, &mut order, (ends, base))?;
        if places.len() < total {
            places.resize(total, (0, 0));
        }
        let (content, begun) = (self.content, order);
        let mut still_open = open;
        while still_open > 0 {
            let mut still = 0;
            for step in 0..still_open {
                let index = *order.get(step)?;
                let list = lists.get_mut(usize::from(index))?;
                let mut item = Lane { content, at: list.at, end: list.end };
                skip(&mut item).ok()?;
                if item.at > list.end {
                    return None;
                }
                *places.get_mut(list.to as usize)? = (list.at, item.at);
                *list = List { at: item.at, end: list.end, to: list.to + 1, left: list.left - 1 };
                *order.get_mut(still)? = index;
                still += usize::from(list.left > 0);
            }
            still_open = still;
        }
        // Behind the last item of each stands the 0 that ends the list.
        for index in begun.get(..open)? {
            let list = lists.get_mut(usize::from(*index))?;
            if *content.get(list.at as usize)? != 0 {
                return None;
            }
            list.at += 1;
        }
        let (_, next) = self.at.both(self.count);
        for (next, list) in next.iter_mut().zip(&lists) {
            *next = list.at;
        }
        self.at.go_on();
        Some(total)
    }

    /// Reads the counts of the lists: how many items there are in all, and how many lists that have some, which are
    /// noted in `order`.
    fn begin_lists(
        &self,
        there: u64,
        least: usize,
        lists: &mut [List; LANES],
        order: &mut [u8; LANES],
        (ends, base): (&mut [i32], i32),
    ) -> Option<(usize, usize)> {
        let (mut total, mut open) = (0_u32, 0_usize);
        let places = self.at.now().iter().zip(&self.end).take(self.count).zip(lists).zip(ends);
        for (index, (((at, end), list), last)) in places.enumerate() {
            let mut items = 0;
            let mut from = *at;
            if there >> index & 1 == 1 {
                let byte = *self.content.get(from as usize)?;
                from += 1;
                items = u32::from(byte >> 1);
                if byte & 0x81 != 0 || items as usize * least > end.saturating_sub(from) as usize {
                    return None;
                }
                *order.get_mut(open)? = index as u8;
                open += usize::from(items > 0);
            }
            *list = List { at: from, end: *end, to: total, left: items };
            total += items;
            *last = base.checked_add(i32::try_from(total).ok()?)?;
        }
        Some((total as usize, open))
    }

    /// Steps over a value in each active lane, of which `step` says from the bytes ahead how many it takes, if it can.
    /// None, and no lane moved, where it cannot.
    #[inline(always)]
    pub(super) fn skip_by_peek(&mut self, step: impl Fn(&[u8; SKIPPED_AHEAD]) -> Option<u32>) -> Option<()> {
        match self.active == full(self.count) {
            true => self.skip_by_peek_at::<true>(step),
            false => self.skip_by_peek_at::<false>(step),
        }?;
        self.at.go_on();
        Some(())
    }

    #[inline(always)]
    fn skip_by_peek_at<const ALL: bool>(&mut self, step: impl Fn(&[u8; SKIPPED_AHEAD]) -> Option<u32>) -> Option<()> {
        let (content, active) = (self.content, self.active);
        let (places, next) = self.at.both(self.count);
        for (index, ((at, next), end)) in places.iter().zip(next).zip(&self.end).enumerate() {
            if !ALL && active >> index & 1 == 0 {
                *next = *at;
                continue;
            }
            let from = *at as usize;
            let to = from + step(content.get(from..from + SKIPPED_AHEAD)?.first_chunk()?)? as usize;
            if to > *end as usize {
                return None;
            }
            *next = to as u32;
        }
        Some(())
    }

    /// Reads the tag in each active lane; a bit for each lane that has a value.
    pub(super) fn tags(&mut self, (null, value): (Option<u8>, u8)) -> Result<u64> {
        let (content, active) = (self.content, self.active);
        let mut there = 0;
        let places = self.at.now_mut(self.count).iter_mut().zip(&self.end);
        for (index, (at, end)) in places.enumerate() {
            if active >> index & 1 == 1 {
                let mut lane = Lane { content, at: *at, end: *end };
                there |= u64::from(lane.tag(null, value)?) << index;
                *at = lane.at;
            }
        }
        Ok(there)
    }
}

/// Where lanes stand, and where they stand next: what fails half-way has moved none.
#[derive(Default)]
struct LanePositions {
    sides: [Side; 2],
    turned: bool,
}

struct Side([u32; LANES]);

impl Default for Side {
    fn default() -> Self {
        Self([0; LANES])
    }
}

impl LanePositions {
    #[inline(always)]
    fn now(&self) -> &[u32; LANES] {
        let [one, two] = &self.sides;
        if self.turned { &two.0 } else { &one.0 }
    }

    /// The first `count`.
    #[inline(always)]
    fn now_mut(&mut self, count: usize) -> &mut [u32] {
        let [one, two] = &mut self.sides;
        let now = if self.turned { two } else { one };
        now.0.get_mut(..count).unwrap_or_default()
    }

    /// The first `count`, now and next.
    #[inline(always)]
    fn both(&mut self, count: usize) -> (&[u32], &mut [u32]) {
        let [one, two] = &mut self.sides;
        let (now, next) = if self.turned { (two, one) } else { (one, two) };
        (now.0.get(..count).unwrap_or_default(), next.0.get_mut(..count).unwrap_or_default())
    }

    #[inline(always)]
    fn go_on(&mut self) {
        self.turned = !self.turned;
    }
}

/// Where the bytes of values lie, lane by lane.
pub(super) struct LaneRanges {
    pub(super) at: [u32; LANES],
    pub(super) len: [u32; LANES],
    /// Bytes in all.
    pub(super) total: usize,
}

impl LaneRanges {
    pub(super) fn new() -> Self {
        Self { at: [0; LANES], len: [0; LANES], total: 0 }
    }

    /// Copies the bytes of so many spans to the head of `out`, one after the other, and notes where each ends, counted
    /// from `base`. Short ones are copied as blocks, and what is too much is written over by the next; so `out` has to
    /// have room for a block more.
    #[inline(always)]
    pub(super) fn copy(&self, content: &[u8], out: &mut [u8], ends: &mut [i32], base: i32) {
        let mut to = 0_usize;
        for ((at, len), end) in self.at.iter().zip(&self.len).zip(ends) {
            let (at, len) = (*at as usize, *len as usize);
            if len > MIDDLING
                || !copy_block::<SHORT>(content, at, out, to)
                || (len > SHORT && !copy_block::<MIDDLING>(content, at, out, to))
            {
                copy_exactly(content, at, len, out, to);
            }
            to += len;
            *end = base.wrapping_add(to as i32);
        }
    }
}

#[inline(always)]
fn copy_block<const N: usize>(content: &[u8], at: usize, out: &mut [u8], to: usize) -> bool {
    match (content.get(at..at + N), out.get_mut(to..to + N)) {
        (Some(from), Some(out)) => {
            out.copy_from_slice(from);
            true
        }
        _ => false,
    }
}

#[inline(never)]
fn copy_exactly(content: &[u8], at: usize, len: usize, out: &mut [u8], to: usize) {
    if let (Some(from), Some(out)) = (content.get(at..at + len), out.get_mut(to..to + len)) {
        out.copy_from_slice(from);
    }
}

/// The room that [`Lanes::copy_short`] needs.
pub(super) const ROOM: usize = (LANES + 1) * MIDDLING;

/// A tag and sixteen bytes behind it.
const AHEAD: usize = 17;

/// The same to step over one: a tag, and the longest number.
const SKIPPED_AHEAD: usize = 11;

/// What [`Lanes::fill`] fills slots from. Not closures: their bodies grow too large to be compiled into the loop, and a
/// lane that is passed to a function lives in memory instead of registers.
pub(super) trait SlotSource {
    /// What is kept of each value.
    type Slot;

    /// Reads a value.
    fn read(&mut self, lane: &mut Lane<'_>) -> Result<Self::Slot>;

    /// What stands for a value that is not there.
    fn pass(&mut self) -> Self::Slot;
}

/// Values that can mostly be decoded from sixteen bytes.
pub(super) trait PeekValue {
    /// What is kept of each value.
    type Slot: Default;

    /// The value at the head of the bytes, how many of them it takes, and whether that is so: where not, it has to be
    /// read.
    fn peek(&self, ahead: &[u8; 16]) -> (Self::Slot, u32, bool);
}

/// A bit for each of `count` lanes.
#[inline]
pub(super) fn full(count: usize) -> u64 {
    if count >= LANES { u64::MAX } else { (1 << count) - 1 }
}
