//! Checksums of the blocks of an HFile, which HBase's writer (Hudi up to 1.0) computes. Hudi's own leaves room for them
//! and says that there are none.
//!
//! Each covers a stretch of header and payload, as they are on disk; they follow the payload, as big-endian numbers.
//! Source: HBase's `ChecksumUtil`.

use std::sync::LazyLock;

use bytes::Bytes;
use mortice_base::cursor::Cursor;
use mortice_base::error::{Error, Result};

use super::block::HEADER;
use super::trailer::TRAILER;

/// The kinds of checksums (`ChecksumType`).
const CRC32: u8 = 1;
const CRC32C: u8 = 2;

/// Compares all checksums of a file. `file` is the whole file; offsets of errors are within it.
///
/// # Errors
/// `CorruptLog` for the first block whose checksum is another one, or whose lengths do not fit the file.
pub fn check_blocks(file: &Bytes) -> Result<()> {
    let end = (file.len() as u64).saturating_sub(TRAILER);
    let end = usize::try_from(end).unwrap_or(0);
    let mut at = 0;
    while at < end {
        let rest = file.get(at..end).unwrap_or_default();
        at += check_block(rest).map_err(|error| error.offset_from(at as u64))?;
    }
    Ok(())
}

/// Checks the block that `bytes` begin with, and returns its length.
fn check_block(bytes: &[u8]) -> Result<usize> {
    let mut cursor = Cursor::new(bytes);
    cursor.skip(8)?;
    let on_disk = length(cursor.i32_be()?)?;
    cursor.skip(4 + 8)?;
    let kind = cursor.u8()?;
    let stretch = length(cursor.i32_be()?)?;
    let covered = length(cursor.i32_be()?)?;
    let len = on_disk.saturating_add(HEADER);
    let (Some(payload), Some(sums)) = (bytes.get(..covered), bytes.get(covered..len)) else {
        let message = format!("invalid HFile block: {len} bytes, {covered} of them before its checksums");
        return Err(Error::corrupt(message).at_offset(8));
    };
    let sum: fn(&[u8]) -> u32 = match kind {
        CRC32 => libdeflater::crc32,
        CRC32C => crc32c,
        _ => return Ok(len),
    };
    let mut sums = Cursor::new(sums);
    for (number, stretch) in payload.chunks(stretch.max(1)).enumerate() {
        let stored = u32::from_be_bytes(sums.array()?);
        let found = sum(stretch);
        if stored != found {
            let message = format!(
                "the checksum {number} of an HFile block is {stored:08x}, and its bytes have {found:08x}: the file is damaged"
            );
            return Err(Error::corrupt(message).at_offset(0));
        }
    }
    Ok(len)
}

fn length(stored: i32) -> Result<usize> {
    let invalid = || Error::corrupt(format!("invalid length {stored} of an HFile block")).at_offset(8);
    usize::try_from(stored).map_err(|_| invalid())
}

/// CRC-32C (Castagnoli), by a table of the remainders of a byte.
fn crc32c(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82F6_3B78;
    static TABLE: LazyLock<[u32; 256]> = LazyLock::new(|| {
        let bit = |value: u32, _| if value & 1 == 1 { value >> 1 ^ POLYNOMIAL } else { value >> 1 };
        std::array::from_fn(|byte| (0..8).fold(u32::try_from(byte).unwrap_or(0), bit))
    });
    let step = |crc: u32, byte: &u8| {
        let [low, ..] = (crc ^ u32::from(*byte)).to_le_bytes();
        TABLE.get(usize::from(low)).copied().unwrap_or(0) ^ crc >> 8
    };
    !bytes.iter().fold(!0, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_crc_32c() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(crc32c(b""), 0);
    }

    /// A block with checksums of 8 bytes each, and a trailer.
    fn file(kind: u8, sum: fn(&[u8]) -> u32) -> Vec<u8> {
        let payload = b"some payload";
        let covered = HEADER + payload.len();
        let mut block = b"DATABLK*".to_vec();
        let stretches = covered.div_ceil(8);
        block.extend(i32::try_from(payload.len() + 4 * stretches).unwrap().to_be_bytes());
        block.extend(12_i32.to_be_bytes());
        block.extend(0_i64.to_be_bytes());
        block.push(kind);
        block.extend(8_i32.to_be_bytes());
        block.extend(i32::try_from(covered).unwrap().to_be_bytes());
        block.extend(payload);
        let sums: Vec<u8> = block.chunks(8).flat_map(|stretch| sum(stretch).to_be_bytes()).collect();
        block.extend(sums);
        block.extend([0; TRAILER as usize]);
        block
    }

    #[test]
    fn a_changed_byte_is_found() {
        for (kind, sum) in [(CRC32, libdeflater::crc32 as fn(&[u8]) -> u32), (CRC32C, crc32c)] {
            let sound = file(kind, sum);
            check_blocks(&sound.clone().into()).unwrap();
            for at in HEADER..HEADER + 12 {
                let mut damaged = sound.clone();
                damaged[at] ^= 1;
                let error = check_blocks(&damaged.into()).unwrap_err();
                assert!(error.to_string().contains("checksum"), "{error}");
            }
        }
        let mut without = file(0, crc32c);
        without[HEADER] ^= 1;
        check_blocks(&without.into()).unwrap();
    }
}
