//! Writes fields of protobuf messages; [`mortice_base::protobuf`] reads them.

const NUMBER: u64 = 0;
const BYTES: u64 = 2;

/// Appends a varint.
pub(super) fn append_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        #[expect(clippy::cast_possible_truncation, reason = "the low seven bits")]
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    #[expect(clippy::cast_possible_truncation, reason = "less than 128")]
    out.push(number as u8);
}

/// Appends a field that is a number.
pub(super) fn append_number(field: u64, number: u64, out: &mut Vec<u8>) {
    append_varint(field << 3 | NUMBER, out);
    append_varint(number, out);
}

/// Appends a field of bytes.
pub(super) fn append_bytes(field: u64, bytes: &[u8], out: &mut Vec<u8>) {
    append_varint(field << 3 | BYTES, out);
    append_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}
