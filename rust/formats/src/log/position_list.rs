//! Record positions of native logs, in the order of the records (`LogReaderUtils.decodeRecordPositionsLongList`):
//! base64 of their number in four bytes, big-endian, and a varint for each.
//!
//! Inline logs have another encoding, a bitmap ([`super::positions`]).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

/// Decodes the positions of a native log's records. Offsets of errors are those in the decoded bytes.
///
/// # Errors
/// `CorruptLog` if the value is not such a list, or its number of positions is not the number of records.
pub(super) fn position_list(value: &[u8], records: usize) -> Result<Vec<u64>> {
    let bytes = STANDARD
        .decode(value.trim_ascii())
        .map_err(|error| Error::corrupt("invalid record positions: not base64").caused_by(error))?;
    let mut cursor = Cursor::new(&bytes);
    let count = cursor.i32_be()?;
    if usize::try_from(count) != Ok(records) {
        return Err(Error::corrupt(format!("invalid record positions: expected {records}, found {count}")).at_offset(0));
    }
    // A position takes at least one byte.
    if records > cursor.remaining() {
        let message = format!("invalid record positions: {records} positions in {} bytes", cursor.remaining());
        return Err(Error::corrupt(message).at_offset(4));
    }
    let mut positions = Vec::with_capacity(records);
    for _ in 0..records {
        let at = cursor.position() as u64;
        let position = cursor.uvarint()?;
        if i64::try_from(position).is_err() {
            return Err(Error::corrupt(format!("invalid record position {position}")).at_offset(at));
        }
        positions.push(position);
    }
    if cursor.remaining() > 0 {
        let message = format!("invalid record positions: {} bytes follow the last one", cursor.remaining());
        return Err(Error::corrupt(message).at_offset(cursor.position() as u64));
    }
    Ok(positions)
}

/// Encodes the positions of a native log's records.
///
/// # Errors
/// `InvalidArgument` for more positions than a Java int counts, or one beyond a Java long.
pub(super) fn encode_position_list(positions: &[u64]) -> Result<String> {
    let count = i32::try_from(positions.len())
        .map_err(|_| Error::invalid_argument(format!("{} record positions (less than 2^31)", positions.len())))?;
    let mut bytes = count.to_be_bytes().to_vec();
    for position in positions {
        if i64::try_from(*position).is_err() {
            return Err(Error::invalid_argument(format!("invalid record position {position}")));
        }
        let mut rest = *position;
        while rest > 0x7f {
            bytes.push((rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
    Ok(STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reader_reads_what_is_written() {
        for positions in [&[][..], &[0], &[5, 3, 300, 0, 127, 128, 16384], &[i64::MAX as u64, 1]] {
            let text = encode_position_list(positions).unwrap();
            assert_eq!(position_list(text.as_bytes(), positions.len()).unwrap(), positions);
        }
        // As Hudi 1.3 writes it.
        assert_eq!(encode_position_list(&[1, 3]).unwrap(), "AAAAAgED");
        assert!(encode_position_list(&[u64::MAX]).is_err());
    }

    fn encoded(count: i32, bytes: &[u8]) -> Vec<u8> {
        STANDARD.encode([&count.to_be_bytes()[..], bytes].concat()).into_bytes()
    }

    #[test]
    fn positions_are_in_the_order_of_the_records() {
        assert_eq!(position_list(&encoded(4, &[5, 3, 0xac, 0x02, 0]), 4).unwrap(), [5, 3, 300, 0]);
        assert_eq!(position_list(&encoded(0, &[]), 0).unwrap(), [0_u64; 0]);
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(position_list(&encoded(1, &most), 1).unwrap(), [i64::MAX as u64]);
    }

    #[test]
    fn wrong_counts_and_bytes_are_errors() {
        for (count, bytes, records, word) in [
            (2, &[1_u8][..], 2, "positions in 1 bytes"),
            (i32::MAX, &[1, 2], i32::MAX as usize, "positions in 2 bytes"),
            (2, &[1, 2], 3, "expected 3, found 2"),
            (-1, &[1, 2], 2, "found -1"),
            (1, &[1, 2], 1, "1 bytes follow"),
            (1, &[0x80], 1, ""),
            (1, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], 1, "invalid record position"),
            (1, &[0xff; 11], 1, ""),
        ] {
            let error = position_list(&encoded(count, bytes), records).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
        assert!(position_list(b"!", 0).is_err() && position_list(b"", 0).is_err());
    }
}
