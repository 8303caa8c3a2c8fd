//! Where a datum is being read: one lane for one datum.
//!
//! Reads are checked against the whole content, so that eight bytes can be looked at where a number has two, and the
//! last records of a content alone take the slow way. That a datum is not left is checked wherever a length or a count
//! is believed, and once more at its end. Avro: int and long are zig-zag varints, float and double little-endian.

use mortice_base::error::{Error, Result};

/// Short values are copied as blocks of these sizes and the surplus cut off again, which spares a call to copy memory.
pub(super) const SHORT: usize = 32;
pub(super) const MIDDLING: usize = 64;

/// The low seven bits of each byte.
const SEVENS: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// One datum in a content: read up to `at`, not beyond `end`. `at` never passes the end of the content.
///
/// What can fail goes on a cold way, which gets the lane as a copy: its address must not be taken, or it would live in
/// memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lane<'a> {
    pub(super) content: &'a [u8],
    pub(super) at: u32,
    pub(super) end: u32,
}

impl<'a> Lane<'a> {
    /// Over all of a content (its first 4 GiB).
    pub(super) fn new(content: &'a [u8]) -> Self {
        Self { content, at: 0, end: u32::try_from(content.len()).unwrap_or(u32::MAX) }
    }

    /// Bytes of the content that lie before the next read.
    #[inline]
    pub(super) fn at(&self) -> usize {
        self.at as usize
    }

    /// Bytes left in the datum; none where reads have passed its end.
    #[inline]
    pub(super) fn remaining(&self) -> usize {
        self.end.saturating_sub(self.at) as usize
    }

    /// Fails where reads have passed the end of the datum.
    #[inline]
    pub(super) fn check_end(&self) -> Result<()> {
        if self.at <= self.end { Ok(()) } else { Err(self.ends_early()) }
    }

    /// The next byte.
    #[inline(always)]
    pub(super) fn byte(&mut self) -> Result<u8> {
        match self.content.get(self.at as usize) {
            Some(byte) => {
                self.at += 1;
                Ok(*byte)
            }
            None => Err(self.ends_early()),
        }
    }

    /// The next `N` bytes.
    #[inline(always)]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.window::<N>() {
            Some(bytes) => {
                self.at += N as u32;
                Ok(*bytes)
            }
            None => Err(self.ends_early()),
        }
    }

    #[inline(always)]
    fn window<const N: usize>(&self) -> Option<&'a [u8; N]> {
        let at = self.at as usize;
        self.content.get(at..at + N).and_then(<[u8]>::first_chunk)
    }

    /// The tag of a union of null and one type: whether a value follows.
    #[inline(always)]
    pub(super) fn tag(&mut self, null: Option<u8>, value: u8) -> Result<bool> {
        let tag = self.byte()?;
        if tag == value { Ok(true) } else { self.not_a_value(tag, null) }
    }

    #[inline]
    fn not_a_value(self, tag: u8, null: Option<u8>) -> Result<bool> {
        if Some(tag) == null { Ok(false) } else { Err(self.wrong_tag(tag)) }
    }

    /// Steps over the tag of a union of two, of which that is null's, and over the number behind it.
    #[inline(always)]
    pub(super) fn skip_nullable_varint(&mut self, null: u8) -> Result<()> {
        if let Some(window) = self.window::<8>() {
            let word = u64::from_le_bytes(*window);
            let stops = !(word >> 8) & (!SEVENS >> 8);
            if stops != 0 && word & 0xfd == 0 {
                // Null or not is no branch to be guessed: the number's bytes count, or count nothing.
                let bytes = stops.trailing_zeros() / 8 + 1;
                self.at += 1 + if word as u8 == null { 0 } else { bytes };
                return Ok(());
            }
        }
        if self.tag(Some(null), null ^ 2)? { self.skip_varint() } else { Ok(()) }
    }

    /// Steps over a number.
    #[inline(always)]
    pub(super) fn skip_varint(&mut self) -> Result<()> {
        if let Some(window) = self.window::<8>() {
            let stops = !u64::from_le_bytes(*window) & !SEVENS;
            if stops != 0 {
                self.at += stops.trailing_zeros() / 8 + 1;
                return Ok(());
            }
        }
        self.take_long_varint().map(drop)
    }

    /// An Avro long.
    #[inline(always)]
    pub(super) fn long(&mut self) -> Result<i64> {
        self.varint().map(signed)
    }

    /// An Avro int.
    #[inline(always)]
    pub(super) fn int(&mut self) -> Result<i32> {
        match i32::try_from(self.long()?) {
            Ok(value) => Ok(value),
            Err(_) => Err(self.corrupt("invalid int: more than 32 bits")),
        }
    }

    #[inline(always)]
    fn varint(&mut self) -> Result<u64> {
        let Some(window) = self.window::<8>() else { return self.take_long_varint() };
        let word = u64::from_le_bytes(*window);
        let stops = !word & !SEVENS;
        if stops == 0 {
            return self.take_long_varint();
        }
        let bits = stops.trailing_zeros() + 1;
        self.at += bits / 8;
        Ok(extract_sevens(word & (u64::MAX >> (64 - bits)) & SEVENS))
    }

    #[inline(always)]
    fn take_long_varint(&mut self) -> Result<u64> {
        let (value, at) = self.long_varint()?;
        self.at = at;
        Ok(value)
    }

    /// Numbers of more than eight bytes; and byte by byte those in the last bytes of the content. Gives where they end,
    /// too.
    #[inline(never)]
    fn long_varint(self) -> Result<(u64, u32)> {
        if let Some((value, bytes)) = self.window().and_then(nine_or_ten) {
            return Ok((value, self.at + bytes));
        }
        let mut value = 0_u64;
        let rest = self.content.get(self.at as usize..).unwrap_or_default();
        for (index, byte) in (0_u32..10).zip(rest) {
            let bits = u64::from(byte & 0x7f);
            if index == 9 && *byte > 1 {
                break;
            }
            value |= bits << (7 * index);
            if byte & 0x80 == 0 {
                return Ok((value, self.at + index + 1));
            }
        }
        if rest.len() < 10 {
            return Err(self.ends_early());
        }
        Err(self.corrupt("invalid variable-length integer: more than 64 bits"))
    }

    /// The index of a union's branch, of which there are at most 64.
    #[inline(always)]
    pub(super) fn branch(&mut self) -> Result<usize> {
        let branch = self.long()?;
        match usize::try_from(branch) {
            Ok(branch) => Ok(branch),
            Err(_) => Err(self.corrupt(format!("invalid union: branch {branch}"))),
        }
    }

    /// A length that the datum can hold.
    #[inline(always)]
    pub(super) fn length(&mut self) -> Result<usize> {
        let length = match self.content.get(self.at as usize) {
            Some(byte) if byte & 0x81 == 0 => {
                self.at += 1;
                i64::from(byte >> 1)
            }
            _ => self.long()?,
        };
        match usize::try_from(length) {
            Ok(length) if length <= self.remaining() => Ok(length),
            _ => Err(self.wrong_length(length)),
        }
    }

    /// The next `count` bytes of the datum.
    #[inline]
    pub(super) fn slice(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.content.get(self.at as usize..self.end as usize).and_then(|rest| rest.get(..count)) {
            Some(taken) => {
                self.at += count as u32;
                Ok(taken)
            }
            None => Err(self.ends_early()),
        }
    }

    /// A big-endian two's complement of 1 to 8 bytes, taken from one look at eight. None, and nothing read, for other
    /// sizes, where the datum has not so many bytes, and near the end of the content.
    #[inline(always)]
    pub(super) fn short_signed(&mut self, size: usize) -> Option<i128> {
        if !(1..=8).contains(&size) || size > self.remaining() {
            return None;
        }
        let word = i64::from_be_bytes(*self.window::<8>()?);
        self.at += size as u32;
        Some(i128::from(word >> (64 - 8 * size)))
    }

    /// Where the bytes behind a length lie, `offset << 32 | length`; steps over them.
    #[inline(always)]
    pub(super) fn place(&mut self) -> Result<u64> {
        let length = self.length()?;
        let at = self.at;
        self.at += length as u32;
        Ok(u64::from(at) << 32 | length as u64)
    }

    /// Appends the next `count` bytes of the datum.
    #[inline(always)]
    pub(super) fn copy_to(&mut self, count: usize, out: &mut Vec<u8>) -> Result<()> {
        if count > self.remaining() {
            return Err(self.ends_early());
        }
        let len = out.len() + count;
        if count <= SHORT
            && let Some(block) = self.window::<SHORT>()
        {
            out.extend_from_slice(block);
            out.truncate(len);
        } else if count <= MIDDLING
            && let Some(block) = self.window::<MIDDLING>()
        {
            out.extend_from_slice(block);
            out.truncate(len);
        } else {
            let at = self.at as usize;
            match self.content.get(at..at + count) {
                Some(bytes) => out.extend_from_slice(bytes),
                None => return Err(self.ends_early()),
            }
        }
        self.at += count as u32;
        Ok(())
    }

    /// Steps over `count` bytes of the datum.
    #[inline(always)]
    pub(super) fn skip(&mut self, count: usize) -> Result<()> {
        if count > self.remaining() {
            return Err(self.ends_early());
        }
        self.at += count as u32;
        Ok(())
    }

    /// The count that begins a block of array items or map entries; 0 ends them. A negative count is followed by the
    /// bytes that the block takes, which are given too. `least` is the fewest bytes of an item: no count may promise
    /// more items than the datum can hold, nor more than `MAX_EMPTY` where items take no bytes.
    #[inline]
    pub(super) fn block(&mut self, least: usize) -> Result<(usize, Option<usize>)> {
        const MAX_EMPTY: u64 = 65_536;
        let count = self.long()?;
        if count == 0 {
            return Ok((0, None));
        }
        let bytes = if count < 0 { Some(self.length()?) } else { None };
        let items = count.unsigned_abs();
        let (needed, there) = match least {
            0 => (Some(items), MAX_EMPTY),
            least => (items.checked_mul(least as u64), self.remaining() as u64),
        };
        match (usize::try_from(items), needed) {
            (Ok(items), Some(needed)) if needed <= there && self.at <= self.end => Ok((items, bytes)),
            _ => Err(self.corrupt(format!(
                "unexpected end of data: block has {count} items, only {} bytes remain",
                self.remaining()
            ))),
        }
    }

    /// An error at this place.
    #[cold]
    pub(super) fn corrupt(self, message: impl Into<String>) -> Error {
        Error::corrupt(message).at_offset(u64::from(self.at))
    }

    #[cold]
    fn ends_early(self) -> Error {
        Error::corrupt("unexpected end of an Avro datum: fields are missing")
            .at_offset(u64::from(self.at.min(self.end)))
    }

    #[cold]
    fn wrong_tag(self, tag: u8) -> Error {
        self.corrupt(format!("invalid union of null and one type: tag {tag:#04x}"))
    }

    #[cold]
    fn wrong_length(self, length: i64) -> Error {
        self.corrupt(format!("unexpected end of data: value has {length} bytes, only {} remain", self.remaining()))
    }
}

/// The Avro long at the head of eight bytes, how many of them it takes, and whether it ends within them at all.
#[inline(always)]
pub(super) fn peek_long(ahead: [u8; 8]) -> (i64, u32, bool) {
    let word = u64::from_le_bytes(ahead);
    let stops = !word & !SEVENS;
    let zigzag = extract_sevens(word & (stops ^ stops.wrapping_sub(1)) & SEVENS);
    (signed(zigzag), stops.trailing_zeros() / 8 + 1, stops != 0)
}

/// The same for any long, of ten bytes at most.
#[inline(always)]
pub(super) fn peek_any_long(ahead: &[u8; 10]) -> (i64, u32, bool) {
    match ahead.first_chunk().map(|head| peek_long(*head)) {
        Some(is_read @ (.., true)) => is_read,
        // Identifiers and hashes are as long as that, and then most values of a column are.
        _ => match nine_or_ten(ahead) {
            Some((zigzag, bytes)) => (signed(zigzag), bytes, true),
            None => (0, 0, false),
        },
    }
}

/// A number of nine or ten bytes, and how many they are.
#[inline(always)]
fn nine_or_ten(ahead: &[u8; 10]) -> Option<(u64, u32)> {
    let [head @ .., ninth, tenth] = *ahead;
    let head = u64::from_le_bytes(head);
    let ends = ninth < 0x80;
    let last = if ends { 0 } else { u64::from(tenth) };
    let is_one = head & !SEVENS == !SEVENS && last <= 1;
    let value = extract_sevens(head & SEVENS) | u64::from(ninth & 0x7f) << 56 | last << 63;
    is_one.then_some((value, if ends { 9 } else { 10 }))
}

/// Zig-zag undone.
#[inline(always)]
const fn signed(zigzag: u64) -> i64 {
    (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed()
}

/// Takes the high bit out of each byte: eight groups of seven bits become 56 bits in a row.
#[inline(always)]
fn extract_sevens(sevens: u64) -> u64 {
    let pairs = (sevens & 0x007f_007f_007f_007f) | ((sevens & 0x7f00_7f00_7f00_7f00) >> 1);
    let fours = (pairs & 0x0000_3fff_0000_3fff) | ((pairs & 0x3fff_0000_3fff_0000) >> 2);
    (fours & 0x0fff_ffff) | ((fours & 0x0fff_ffff_0000_0000) >> 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zigzag(value: i64) -> Vec<u8> {
        let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
        let mut bytes = Vec::new();
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        bytes
    }

    #[test]
    fn longs_of_every_width_read_the_same_with_and_without_slack() {
        for shift in 0..64 {
            for value in [1_i64 << shift, -(1_i64 << shift.min(62)), (1_i64 << shift).wrapping_sub(1), i64::MIN] {
                let mut bytes = zigzag(value);
                let width = bytes.len();
                let mut lane = Lane::new(&bytes);
                assert_eq!((lane.long().unwrap(), lane.at()), (value, width));
                bytes.extend([0xff; 10]);
                let mut lane = Lane::new(&bytes);
                assert_eq!((lane.long().unwrap(), lane.at()), (value, width));
                assert!(Lane::new(&bytes[..width - 1]).long().is_err());
                assert_eq!(peek_any_long(bytes.first_chunk().unwrap_or(&[0xff; 10])), (value, width as u32, true));
            }
        }
        assert!(Lane::new(&[0xff; 20]).long().is_err());
        let too_long = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert!(!peek_any_long(&too_long).2);
        assert!(Lane::new(&too_long).long().is_err());
        assert!(Lane::new(&zigzag(1 << 31)).int().is_err());
    }

    #[test]
    fn a_length_is_not_believed_beyond_the_datum() {
        let content = [6_u8, b'a', b'b', b'c', b'd'];
        let mut lane = Lane { content: &content, at: 0, end: 3 };
        let error = lane.length().unwrap_err();
        assert!(error.to_string().contains("value has 3 bytes, only 2 remain"), "{error}");
        assert!(Lane::new(&[1]).length().is_err());
        assert!(Lane::new(&zigzag(i64::MAX)).length().is_err());
    }

    #[test]
    fn counts_are_held_against_the_bytes_left() {
        assert!(Lane::new(&zigzag(1_000_000)).block(1).is_err());
        assert!(Lane::new(&zigzag(i64::MIN)).block(1).is_err());
        assert!(Lane::new(&zigzag(1_000_000)).block(0).is_err());
        assert_eq!(Lane::new(&zigzag(1_000)).block(0).unwrap(), (1_000, None));
        assert_eq!(Lane::new(&[3, 2, 0, 0]).block(1).unwrap(), (2, Some(1)));
    }
}
