//! Record positions: the row numbers in the base file that the records of a block update
//! (`HoodieLogBlock.getRecordPositions`).
//!
//! The header value is base64 of a roaring bitmap of 64-bit numbers in its portable form; all little-endian:
//!
//! ```text
//! buckets 8 · (high half of the numbers 4 · a bitmap of their low halves) each
//! bitmap: cookie 12347 with containers - 1 in its upper half, a bit for each container that holds runs
//!         or cookie 12346 4 · containers 4
//!         (upper quarter of the numbers 2 · numbers - 1 2) each
//!         offsets 4 each, but not where there are runs and fewer than 4 containers
//!         containers: runs 2 · (first 2 · length - 1 2) each; or up to 4096 numbers 2 each; or 65536 bits
//! ```
//!
//! The records of a block are in the order of their positions. A few bytes can represent billions of rows, so no more
//! positions are decoded than the block has records.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

const COOKIE: u32 = 12346;
const COOKIE_WITH_RUNS: u32 = 12347;
/// The maximum number of values in an array container.
const MOST_IN_ARRAY: usize = 4096;
const BITS: usize = 65536;

/// Decodes the positions of a block's records, ascending, from the header value RECORD_POSITIONS. Offsets of errors are
/// those in the decoded bitmap.
///
/// # Errors
/// `CorruptLog` if the value is not such a bitmap, or its number of positions is not the number of records.
pub fn positions(value: &[u8], records: usize) -> Result<Vec<u64>> {
    let bytes = STANDARD
        .decode(value.trim_ascii())
        .map_err(|error| Error::corrupt("invalid record positions: not base64").caused_by(error))?;
    let mut found = Positions { all: Vec::new(), most: records };
    let mut cursor = Cursor::new(&bytes);
    let buckets = u64::from_le_bytes(cursor.array()?);
    for _ in 0..buckets {
        let high = u64::from(u32::from_le_bytes(cursor.array()?)) << 32;
        bitmap(&mut cursor, high, &mut found)?;
    }
    if cursor.remaining() > 0 {
        let message = format!("invalid record positions: {} bytes follow the last one", cursor.remaining());
        return Err(Error::corrupt(message).at_offset(cursor.position() as u64));
    }
    if found.all.len() != records {
        return Err(Error::corrupt(format!("invalid record positions: expected {records}, found {}", found.all.len())));
    }
    Ok(found.all)
}

/// Encodes ascending positions as a header value, the inverse of [`positions`]. As in Hudi's optimized roaring bitmaps,
/// a container has runs if these take the fewest bytes.
pub(super) fn encode_positions(positions: &[u64]) -> Result<String> {
    if positions.windows(2).any(|pair| matches!(pair, [one, next] if one >= next)) {
        return Err(Error::invalid_argument("record positions must ascend"));
    }
    let buckets: Vec<&[u64]> = positions.chunk_by(|one, next| one >> 32 == next >> 32).collect();
    let mut out = (buckets.len() as u64).to_le_bytes().to_vec();
    for bucket in buckets {
        let high = bucket.first().map_or(0, |position| position >> 32);
        out.extend((high as u32).to_le_bytes());
        write_bitmap(bucket, &mut out);
    }
    Ok(STANDARD.encode(out))
}

/// The numbers of a container below 65536, and its runs if these take fewer bytes.
struct Container {
    key: u16,
    numbers: Vec<u16>,
    runs: Option<Vec<(u16, u16)>>,
}

impl Container {
    fn new(positions: &[u64]) -> Self {
        let key = positions.first().map_or(0, |position| (position >> 16) as u16);
        let numbers: Vec<u16> = positions.iter().map(|position| *position as u16).collect();
        let mut runs: Vec<(u16, u16)> = Vec::new();
        for number in &numbers {
            match runs.last_mut() {
                Some((first, more)) if first.wrapping_add(*more).wrapping_add(1) == *number && *number > 0 => {
                    *more += 1
                }
                _ => runs.push((*number, 0)),
            }
        }
        let plain = if numbers.len() > MOST_IN_ARRAY { BITS / 8 } else { 2 * numbers.len() };
        let runs = (2 + 4 * runs.len() < plain).then_some(runs);
        Self { key, numbers, runs }
    }

    fn write(&self, out: &mut Vec<u8>) {
        if let Some(runs) = &self.runs {
            out.extend((runs.len() as u16).to_le_bytes());
            for (first, more) in runs {
                out.extend(first.to_le_bytes());
                out.extend(more.to_le_bytes());
            }
        } else if self.numbers.len() > MOST_IN_ARRAY {
            let mut bits = vec![0_u8; BITS / 8];
            for number in &self.numbers {
                if let Some(byte) = bits.get_mut(usize::from(number / 8)) {
                    *byte |= 1 << (number % 8);
                }
            }
            out.extend(bits);
        } else {
            out.extend(self.numbers.iter().flat_map(|number| number.to_le_bytes()));
        }
    }
}

fn write_bitmap(positions: &[u64], out: &mut Vec<u8>) {
    let containers: Vec<Container> =
        positions.chunk_by(|one, next| one >> 16 == next >> 16).map(Container::new).collect();
    let count = containers.len() as u32;
    let with_runs = containers.iter().any(|container| container.runs.is_some());
    let start = out.len();
    if with_runs {
        out.extend((COOKIE_WITH_RUNS | count.saturating_sub(1) << 16).to_le_bytes());
        let mut flags = vec![0_u8; containers.len().div_ceil(8)];
        for (at, container) in containers.iter().enumerate() {
            if let Some(byte) = flags.get_mut(at / 8) {
                *byte |= u8::from(container.runs.is_some()) << (at % 8);
            }
        }
        out.extend(flags);
    } else {
        out.extend(COOKIE.to_le_bytes());
        out.extend(count.to_le_bytes());
    }
    for container in &containers {
        out.extend(container.key.to_le_bytes());
        out.extend((container.numbers.len().saturating_sub(1) as u16).to_le_bytes());
    }
    let mut bodies = Vec::new();
    let has_offsets = !with_runs || containers.len() >= 4;
    let first = out.len() - start + if has_offsets { 4 * containers.len() } else { 0 };
    for container in &containers {
        if has_offsets {
            out.extend(((first + bodies.len()) as u32).to_le_bytes());
        }
        container.write(&mut bodies);
    }
    out.append(&mut bodies);
}

/// The positions found so far, ascending.
struct Positions {
    all: Vec<u64>,
    most: usize,
}

impl Positions {
    fn add(&mut self, position: u64) -> Result<()> {
        if self.all.len() == self.most {
            return Err(Error::corrupt(format!(
                "invalid record positions: more than the {} records of the block",
                self.most
            )));
        }
        if self.all.last().is_some_and(|last| *last >= position) {
            return Err(Error::corrupt("invalid record positions: not in ascending order"));
        }
        self.all.push(position);
        Ok(())
    }
}

fn bitmap(cursor: &mut Cursor<'_>, high: u64, found: &mut Positions) -> Result<()> {
    let at = cursor.position() as u64;
    let cookie = u32::from_le_bytes(cursor.array()?);
    let (count, runs): (usize, &[u8]) = match cookie & 0xffff {
        COOKIE_WITH_RUNS => {
            let count = (cookie >> 16) as usize + 1;
            (count, cursor.take(count.div_ceil(8))?)
        }
        _ if cookie == COOKIE => (u32::from_le_bytes(cursor.array()?) as usize, &[]),
        _ => return Err(Error::corrupt(format!("invalid roaring bitmap: unknown cookie {cookie:#x}")).at_offset(at)),
    };
    if count > BITS {
        return Err(
            Error::corrupt(format!("invalid roaring bitmap: {count} containers (at most {BITS})")).at_offset(at)
        );
    }
    let mut heads = Cursor::new(cursor.take(count * 4)?);
    if runs.is_empty() || count >= 4 {
        cursor.skip(count * 4)?;
    }
    for container in 0..count {
        let high = high | u64::from(u16::from_le_bytes(heads.array()?)) << 16;
        let numbers = usize::from(u16::from_le_bytes(heads.array()?)) + 1;
        let (at, before) = (cursor.position() as u64, found.all.len());
        let of_runs = runs.get(container / 8).is_some_and(|byte| byte >> (container % 8) & 1 == 1);
        if of_runs {
            runs_of(cursor, high, found)?;
        } else if numbers <= MOST_IN_ARRAY {
            for _ in 0..numbers {
                found.add(high | u64::from(u16::from_le_bytes(cursor.array()?)))?;
            }
        } else {
            for (at, byte) in (0_u64..).zip(cursor.take(BITS / 8)?) {
                let set = (0..8).filter(|bit| byte >> bit & 1 == 1);
                set.map(|bit| high | (at * 8 + bit)).try_for_each(|position| found.add(position))?;
            }
        }
        if found.all.len() - before != numbers {
            let message = format!(
                "invalid roaring bitmap: found {} positions in a container, expected {numbers}",
                found.all.len() - before
            );
            return Err(Error::corrupt(message).at_offset(at));
        }
    }
    Ok(())
}

fn runs_of(cursor: &mut Cursor<'_>, high: u64, found: &mut Positions) -> Result<()> {
    let count = u16::from_le_bytes(cursor.array()?);
    for _ in 0..count {
        let at = cursor.position() as u64;
        let first = u64::from(u16::from_le_bytes(cursor.array()?));
        let last = first + u64::from(u16::from_le_bytes(cursor.array()?));
        if last > 0xffff {
            return Err(
                Error::corrupt(format!("invalid roaring bitmap: a run ends at {last:#x}, after 0xffff")).at_offset(at)
            );
        }
        (first..=last).try_for_each(|low| found.add(high | low))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As written by Hudi.
    #[test]
    fn real_positions() {
        assert_eq!(positions(b"AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAIAEAAAAAAAAQACAA==", 3).unwrap(), [0, 1, 2]);
        assert_eq!(positions(b"AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAEAEAAAAAMABQA=", 2).unwrap(), [3, 5]);
    }

    /// 1,000 numbers in 1,000 containers: a file of Hudi's tests.
    #[test]
    fn positions_of_hudis_tests() {
        let last_line = |text: &'static str| text.lines().last().unwrap();
        let value = last_line(include_str!("../../../../tests/data/format/record_positions_header_v3.data"));
        let expected = last_line(include_str!("../../../../tests/data/format/expected_record_positions.data"));
        let mut expected: Vec<u64> = expected.split(',').map(|number| number.parse().unwrap()).collect();
        expected.sort_unstable();
        assert_eq!(positions(value.as_bytes(), expected.len()).unwrap(), expected);
    }

    #[test]
    fn positions_are_written_as_by_hudi() {
        assert_eq!(encode_positions(&[0, 1, 2]).unwrap(), "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAIAEAAAAAAAAQACAA==");
        assert_eq!(encode_positions(&[3, 5]).unwrap(), "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAEAEAAAAAMABQA=");
        let last_line = |text: &'static str| text.lines().last().unwrap();
        let value = last_line(include_str!("../../../../tests/data/format/record_positions_header_v3.data"));
        let positions: Vec<u64> = super::positions(value.as_bytes(), 1000).unwrap();
        assert_eq!(encode_positions(&positions).unwrap(), value.trim());
        assert!(encode_positions(&[1, 1]).is_err());
    }

    #[test]
    fn positions_that_are_written_are_read() {
        let sets: [Vec<u64>; 6] = [
            vec![],
            (0..200_000).collect(),
            (0..200_000).step_by(2).collect(),
            (0..70_000).chain([1 << 32, u64::MAX - 1, u64::MAX]).collect(),
            (0..5).flat_map(|high| (0..100).map(move |low| (high << 16) | (low * low))).collect(),
            (65_530..65_540).collect(),
        ];
        for set in sets {
            let value = encode_positions(&set).unwrap();
            assert_eq!(positions(value.as_bytes(), set.len()).unwrap(), set);
        }
    }

    fn encoded(bytes: &[u8]) -> Vec<u8> {
        STANDARD.encode(bytes).into_bytes()
    }

    /// One bucket of one container: the cookie and what it brings, then the container.
    fn one_container(head: &[u8], container: &[u8]) -> Vec<u8> {
        encoded(&[&1_u64.to_le_bytes()[..], &7_u32.to_le_bytes(), head, container].concat())
    }

    #[test]
    fn runs_and_bits() {
        let runs = one_container(&[0x3b, 0x30, 0, 0, 1, 2, 0, 4, 0], &[2, 0, 1, 0, 2, 0, 9, 0, 1, 0]);
        let high = 7_u64 << 32 | 2 << 16;
        assert_eq!(positions(&runs, 5).unwrap(), [1, 2, 3, 9, 10].map(|low| high | low));
        let mut bits = vec![0xff; 625];
        bits.resize(8192, 0);
        let head = [&COOKIE.to_le_bytes()[..], &1_u32.to_le_bytes(), &[2, 0, 0x87, 0x13], &[0; 4]].concat();
        let found = positions(&one_container(&head, &bits), 5000).unwrap();
        assert_eq!(found, (0..5000).map(|low| high | low).collect::<Vec<_>>());
    }

    #[test]
    fn what_does_not_fit_the_block_is_an_error() {
        // A run of 65536 rows in a few bytes.
        let all = one_container(&[0x3b, 0x30, 0, 0, 1, 0, 0, 0xff, 0xff], &[1, 0, 0, 0, 0xff, 0xff]);
        assert!(positions(&all, 10).unwrap_err().to_string().contains("more than the 10 records of the block"));
        assert_eq!(positions(&all, 65536).unwrap().len(), 65536);
        for (value, records) in
            [(&b"AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAEAEAAAAAMABQA="[..], 3), (b"!", 0), (b"", 0), (b"AQAA", 1)]
        {
            assert!(positions(value, records).is_err());
        }
        assert_eq!(positions(&encoded(&[0; 8]), 0).unwrap(), [0_u64; 0]);
        // A run that exceeds its container, and one with fewer numbers than announced.
        let beyond = one_container(&[0x3b, 0x30, 0, 0, 1, 0, 0, 2, 0], &[1, 0, 0xfe, 0xff, 2, 0]);
        assert!(positions(&beyond, 3).unwrap_err().to_string().contains("a run ends at 0x10000"));
        let fewer = one_container(&[0x3b, 0x30, 0, 0, 1, 0, 0, 2, 0], &[1, 0, 0, 0, 1, 0]);
        assert!(positions(&fewer, 2).unwrap_err().to_string().contains("found 2 positions in a container, expected 3"));
        // More buckets than there are bytes.
        assert!(positions(&encoded(&[0xff; 8]), 0).is_err());
    }
}
