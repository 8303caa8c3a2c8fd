//! Content of a delete block (`HoodieDeleteBlock`): log block version, byte length, then depending on the version:
//!
//! | version | written by | bytes |
//! |---|---|---|
//! | 1 | 0.9, 0.10 | an array of keys in Kryo |
//! | 2 | 0.11 to 0.13 | an array of delete records in Kryo |
//! | others | 0.14 and later | a list of delete records in Avro |

use bytes::Bytes;

use super::avro_data::head;
use super::deleted::DeletedKeys;
use super::{delete_avro, kryo};
use mortice_base::error::{Error, Result};

/// Returns the deleted keys of a block; an empty content has none.
pub fn deletes(content: &Bytes) -> Result<DeletedKeys> {
    let (version, len) = head(content)?;
    let Some(data) = usize::try_from(len).ok().and_then(|len| content.get(8..)?.get(..len)) else {
        let left = content.len().saturating_sub(8);
        return Err(Error::corrupt(format!(
            "unexpected end of data: deleted keys have {len} bytes, only {left} remain"
        ))
        .at_offset(4));
    };
    if u32::try_from(content.len()).is_err() {
        return Err(Error::corrupt("invalid content: 4 GiB or more, which no Hudi release writes").at_offset(0));
    }
    match version {
        1 => kryo::keys(data),
        2 => kryo::delete_records(data),
        _ => delete_avro::list(data).map(|deleted| DeletedKeys { text: content.clone(), deleted }),
    }
    .map_err(|error| error.offset_from(8))
}

#[cfg(test)]
mod tests {
    use super::super::deleted::{DeletedKey, StoredOrdering};
    use super::*;

    fn parse(content: &[u8]) -> Result<DeletedKeys> {
        deletes(&Bytes::copy_from_slice(content))
    }

    /// (a,p,Int 0) (b,p,Long 7) (c,p,"s") (d,p,null), as Hudi 1.2.0 writes it.
    const REAL: [u8; 42] = [
        0, 0, 0, 3, 0, 0, 0, 0x22, 8, 2, 2, 0x61, 2, 2, 0x70, 4, 0, 2, 2, 0x62, 2, 2, 0x70, 6, 0x0e, 2, 2, 0x63, 2, 2,
        0x70, 0x0e, 2, 0x73, 2, 2, 0x64, 2, 2, 0x70, 0, 0,
    ];

    fn key(one: &DeletedKey) -> &'static str {
        let range = one.key.clone().unwrap();
        std::str::from_utf8(&REAL[range.start as usize..range.end as usize]).unwrap()
    }

    #[test]
    fn reads_what_hudi_writes() {
        let all = parse(&REAL).unwrap().deleted;
        assert_eq!(all.iter().map(key).collect::<String>(), "abcd");
        let found: Vec<_> = all.into_iter().map(|one| one.ordering).collect();
        assert_eq!(
            found,
            [StoredOrdering::Int(0), StoredOrdering::Long(7), StoredOrdering::Text(33..34), StoredOrdering::None]
        );
    }

    /// Version 2, in Kryo, as Hudi 0.12 writes it: a file of Hudi's own tests.
    #[test]
    fn a_delete_block_of_hudis_tests() {
        let content = include_bytes!("../../../../../tests/data/format/delete-block-v2-content-10-records.data");
        let deletes = parse(content).unwrap();
        let text = |range: &Option<std::ops::Range<u32>>| {
            let range = range.clone().unwrap();
            str::from_utf8(&deletes.text[range.start as usize..range.end as usize]).unwrap().to_owned()
        };
        let found: Vec<(String, String)> =
            deletes.deleted.iter().map(|one| (text(&one.key), text(&one.partition))).collect();
        let keys: Vec<&str> = found.iter().map(|(key, _)| &key[..8]).collect();
        let expected = "d448e1b8 df3f71cd cf64885c 9884e134 698544b8 081c279e 1041fac7 69c003f8 e574d164 d76007d2";
        assert_eq!(keys.join(" "), expected);
        assert!(found.iter().all(|(key, partition)| key.len() == 36 && partition == "0000/00/00"));
        assert!(deletes.deleted.iter().all(|one| one.ordering == StoredOrdering::Int(0)));
    }

    #[test]
    fn several_ordering_values_and_decimals() {
        // (1, "x") and a decimal of -1.
        let data = [4, 0, 0, 0x18, 2, 4, 4, 2, 0x0e, 2, 0x78, 0, 0, 0, 0x12, 2, 0xff, 0];
        let mut content = vec![0, 0, 0, 3, 0, 0, 0, u8::try_from(data.len()).unwrap()];
        content.extend(data);
        let all = parse(&content).unwrap().deleted;
        assert_eq!(all[0].ordering, StoredOrdering::Array(vec![StoredOrdering::Int(1), StoredOrdering::Text(18..19)]));
        assert_eq!(all[1].ordering, StoredOrdering::Decimal { unscaled: -1, scale: 15 });
    }

    #[test]
    fn every_truncation_and_every_flip_is_survived() {
        for len in 0..REAL.len() {
            assert!(parse(&REAL[..len]).is_err(), "{len}");
        }
        for at in 0..REAL.len() {
            for bit in 0..8 {
                let mut bytes = REAL;
                bytes[at] ^= 1 << bit;
                let _ = parse(&bytes);
            }
        }
    }

    /// The same four deletes as version 2, as Hudi 1.2.0 writes them: classes and the partition path are referred to.
    fn version_2() -> Vec<u8> {
        let mut bytes = vec![0, 0, 0, 2, 0, 0, 0, 0xb2, 1, 0];
        bytes.extend(b"[Lorg.apache.hudi.common.model.DeleteRecord\xbb\x01\x05\x01\x01");
        bytes.extend(b"org.apache.hudi.common.model.DeleteRecor\xe4\x01\x01\x02");
        bytes.extend(b"org.apache.hudi.common.model.HoodieKe\xf9\x01\x01\x82p\x01\x82a\x02\0");
        bytes.extend([1, 1, 1, 1, 2, 1, 5, 1, 0x82, b'b', 9, 0x0e]);
        bytes.extend([1, 1, 1, 1, 2, 1, 5, 1, 0x82, b'c', 3, 1, 0x82, b's']);
        bytes.extend([1, 1, 1, 1, 2, 1, 5, 1, 0x82, b'd', 0]);
        bytes
    }

    /// (a,p), (key-0002, 2021/09/01), (ключ,p) as version 1, as Hudi 0.9.0 writes them.
    fn version_1() -> Vec<u8> {
        let mut bytes = vec![0, 0, 0, 1, 0, 0, 0, 0x81, 1, 0];
        bytes.extend(b"[Lorg.apache.hudi.common.model.HoodieKey\xbb\x01\x04\x01\x01");
        bytes.extend(b"org.apache.hudi.common.model.HoodieKe\xf9\x01\x01\x82p\x01\x82a");
        bytes.extend(b"\x01\x01\x01\x012021/09/0\xb1\x01key-000\xb2\x01\x01\x01\x04\x01\x85");
        bytes.extend("ключ".as_bytes());
        bytes
    }

    fn strings(deletes: &DeletedKeys) -> Vec<(String, String)> {
        let text = |range: &Option<std::ops::Range<u32>>| {
            let range = range.clone().unwrap();
            String::from_utf8(deletes.text[range.start as usize..range.end as usize].to_vec()).unwrap()
        };
        deletes.deleted.iter().map(|one| (text(&one.key), text(&one.partition))).collect()
    }

    #[test]
    fn version_2_is_read() {
        let deletes = parse(&version_2()).unwrap();
        assert_eq!(strings(&deletes), ["a", "b", "c", "d"].map(|key| (key.to_owned(), "p".to_owned())));
        let found: Vec<_> = deletes.deleted.iter().map(|one| one.ordering.clone()).collect();
        assert_eq!(found[..2], [StoredOrdering::Int(0), StoredOrdering::Long(7)]);
        let StoredOrdering::Text(place) = &found[2] else { panic!("{found:?}") };
        assert_eq!(&deletes.text[place.start as usize..place.end as usize], b"s");
        assert_eq!(found[3], StoredOrdering::None);
        assert_eq!(deletes.text.len(), "pabcds".len(), "the partition path is kept once");
    }

    #[test]
    fn version_1_is_read() {
        let deletes = parse(&version_1()).unwrap();
        let pairs = [("a", "p"), ("key-0002", "2021/09/01"), ("ключ", "p")];
        assert_eq!(strings(&deletes), pairs.map(|(key, path)| (key.to_owned(), path.to_owned())));
        assert!(deletes.deleted.iter().all(|one| one.ordering == StoredOrdering::Int(0)));
    }

    #[test]
    fn kryo_survives_every_truncation_and_every_flip() {
        for real in [version_1(), version_2()] {
            for len in 0..real.len() {
                assert!(parse(&real[..len]).is_err(), "{len}");
            }
            for at in 0..real.len() {
                for bit in 0..8 {
                    let mut bytes = real.clone();
                    bytes[at] ^= 1 << bit;
                    let _ = parse(&bytes);
                }
            }
        }
    }

    /// One delete of key `k` whose ordering value is given in Kryo: class and value.
    fn ordered(value: &[u8]) -> Result<StoredOrdering> {
        let mut data = b"\x01\0[Lorg.apache.hudi.common.model.DeleteRecord\xbb\x01\x02\x01\x01".to_vec();
        data.extend(b"org.apache.hudi.common.model.DeleteRecor\xe4\x01\x01\x02");
        data.extend(b"org.apache.hudi.common.model.HoodieKe\xf9\x01\x01\x82p\x01\x82k");
        data.extend(value);
        let len = u32::try_from(data.len()).unwrap();
        let content = [&2_u32.to_be_bytes()[..], &len.to_be_bytes(), &data].concat();
        parse(&content).map(|deletes| deletes.deleted[0].ordering.clone())
    }

    fn named(class: &str, value: &[u8]) -> Vec<u8> {
        let mut bytes = vec![1, 3];
        bytes.extend(class.as_bytes());
        if let Some(last) = bytes.last_mut() {
            *last |= 0x80;
        }
        bytes.push(1);
        bytes.extend(value);
        bytes
    }

    #[test]
    fn ordering_values_of_every_class() {
        let decimal = |unscaled, scale| StoredOrdering::Decimal { unscaled, scale };
        let positive_long = |mut value: u64| {
            let mut bytes = Vec::new();
            while value >= 0x80 && bytes.len() < 8 {
                bytes.push(value as u8 & 0x7f | 0x80);
                value >>= 7;
            }
            bytes.push(value as u8);
            bytes
        };
        for (value, expected) in [
            (vec![2, 0x0d], StoredOrdering::Int(-7)),
            (vec![8, 0xff, 0xfe], StoredOrdering::Int(-2)),
            (vec![6, 0xff], StoredOrdering::Int(-1)),
            (vec![5, 1], StoredOrdering::Boolean(true)),
            (vec![4, 0x3f, 0xc0, 0, 0], StoredOrdering::Float(1.5)),
            (vec![10, 0xbf, 0xf8, 0, 0, 0, 0, 0, 0], StoredOrdering::Double(-1.5)),
            // Midnight of the same day in Hawaii, and in New Zealand in summer.
            (named("java.sql.Date", &positive_long(86_400_000 + 36_000_000)), StoredOrdering::Date(1)),
            (named("java.sql.Date", &positive_long(86_400_000 - 46_800_000)), StoredOrdering::Date(1)),
            (
                named("java.sql.Timestamp", &positive_long((-1_i64).cast_unsigned())),
                StoredOrdering::TimestampMicros(-1000),
            ),
            (named("java.math.BigInteger", &[2, 0xff]), decimal(-1, 0)),
            (named("java.math.BigDecimal", &[3, 0x04, 0xd2, 4]), decimal(1234, 2)),
            (named("java.time.LocalDate", &[0xb2, 0x0f, 1, 2]), StoredOrdering::Date(1)),
            (named("java.time.Instant", &[1, 0x88, 0x27]), StoredOrdering::TimestampMicros(1_000_005)),
            (
                named("java.time.LocalDateTime", &[0xb2, 0x0f, 1, 1, 1, !2]),
                StoredOrdering::TimestampMicros(3_720_000_000),
            ),
        ] {
            assert_eq!(ordered(&value).unwrap(), expected, "{value:?}");
        }
        // Utf8, registered with any id, and by name with and without its hash: the same string.
        let by_name = |fields: &[u8]| named("org.apache.hudi.org.apache.avro.util.Utf8", fields);
        for value in
            [vec![0x2e, 1, 3, b'o', b'k'], by_name(&[1, 3, b'o', b'k', 4, 0]), by_name(&[1, 3, b'o', b'k', 99, 4, 0])]
        {
            assert!(matches!(ordered(&value).unwrap(), StoredOrdering::Text(place) if place.len() == 2), "{value:?}");
        }
        let error = ordered(&named("com.acme.Sequence", &[])).unwrap_err();
        assert_eq!(error.kind(), mortice_base::ErrorKind::Unsupported);
        assert!(error.to_string().contains("com.acme.Sequence"));
    }

    #[test]
    fn references_must_fit_and_the_data_must_end() {
        // The last key of version 2 is (class, new, partition path, new, "d"), its ordering value null.
        let real = version_2();
        let end = real.len();
        let changed = |from_end: usize, byte: u8| {
            let mut bytes = real.clone();
            bytes[end - from_end] = byte;
            parse(&bytes).unwrap_err()
        };
        assert_eq!(real[end - 5..], [5, 1, 0x82, b'd', 0]);
        for (byte, why) in [(3, "object 1: it is not a string"), (0x7f, "object 125: it is not a string")] {
            let error = changed(5, byte);
            assert_eq!(error.kind(), mortice_base::ErrorKind::CorruptLog);
            assert!(error.to_string().contains(why), "{error}");
            assert_eq!(error.location().offset, Some(end as u64 - 4));
        }
        let mut longer = real.clone();
        longer.push(0);
        longer[7] += 1;
        assert!(parse(&longer).unwrap_err().to_string().contains("found 1 more bytes"));
    }

    #[test]
    fn numbers_without_bytes_and_with_too_many_are_refused() {
        // Java takes neither for a number, or gives more digits than a decimal has.
        let avro = |digits: &[u8]| {
            let mut content = vec![0, 0, 0, 3, 0, 0, 0, 6 + u8::try_from(digits.len()).unwrap(), 2, 0, 0, 0x12];
            content.push(u8::try_from(digits.len()).unwrap() * 2);
            content.extend(digits);
            content.push(0);
            parse(&content)
        };
        assert!(avro(&[0x7f; 16]).is_ok());
        assert!(avro(&[]).is_err());
        assert!(avro(&[0; 17]).is_err());
        let kryo = |digits: &[u8]| {
            let count = [&[u8::try_from(digits.len()).unwrap() + 1], digits].concat();
            ordered(&named("java.math.BigInteger", &count))
        };
        assert!(kryo(&[0x7f; 16]).is_ok());
        assert_eq!(kryo(&[]).unwrap_err().kind(), mortice_base::ErrorKind::CorruptLog);
        assert_eq!(kryo(&[0; 17]).unwrap_err().kind(), mortice_base::ErrorKind::Unsupported);
    }
}
