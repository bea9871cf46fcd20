//! The byte maps of DESIGN.md against the code: every row says where a field lies, and there it is found, in the
//! bytes of a filter block and of a table file.

use bloomline::format::{HEADER_BYTES, Header, Kind, crc32};
use bloomline::hash::{HasherId, HasherIdentity};
use bloomline::table::{FILE_HEADER_BYTES, FOOTER_BYTES};
use bloomline::{TableOptions, TableWriter};

const DESIGN: &str = include_str!("../DESIGN.md");

/// A row of a byte map: offset, size and the text of the field.
#[derive(Debug)]
struct Row {
    offset: usize,
    size: usize,
    field: &'static str,
}

/// The rows of the first table after a heading whose first two columns are numbers.
fn byte_map(heading: &str) -> Vec<Row> {
    let section = DESIGN.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading}")).1;
    let rows: Vec<Row> = section
        .lines()
        .map(|line| line.split('|').map(str::trim).collect::<Vec<_>>())
        .skip_while(|cells| cells.get(1).is_none_or(|cell| cell.parse::<usize>().is_err()))
        .map_while(|cells| {
            let (offset, size) = (cells.get(1)?.parse().ok()?, cells.get(2)?.parse().ok()?);
            Some(Row { offset, size, field: cells.get(3)? })
        })
        .collect();
    assert!(rows.len() > 3, "{heading}: {rows:?}");
    rows
}

/// Fields follow each other without gaps, from 0 to the end.
fn assert_covers(rows: &[Row], end: usize) {
    let mut at = 0;
    for row in rows {
        assert_eq!(row.offset, at, "{row:?}");
        at += row.size;
    }
    assert_eq!(at, end);
}

fn little_endian(bytes: &[u8], row: &Row) -> u64 {
    let mut number = [0; 8];
    number[..row.size].copy_from_slice(&bytes[row.offset..row.offset + row.size]);
    u64::from_le_bytes(number)
}

#[test]
fn the_filter_block() {
    let rows = byte_map("## The filter block");
    assert_covers(&rows, HEADER_BYTES);
    let hasher =
        HasherIdentity { id: HasherId::new(0x8102), seed: 0x1112_1314_1516_1718, check: 0x2122_2324 };
    let header = Header {
        kind: Kind::Blocked,
        probes: 6,
        bits: 512 * 0x0003_0201,
        count: 0x3132_3334_3536_3738,
        hasher,
        body_crc: 0x4142_4344,
    };
    let bytes = header.encode();
    for row in &rows {
        let wanted = match row.field {
            "magic" => 0x464C_4289,
            "version" => 1,
            "kind" => 2,
            "probes" => 6,
            "flags" | "reserved" => 0,
            "bits" => header.bits,
            "count" => header.count,
            "seed" => hasher.seed,
            "hasher" => 0x8102,
            "check" => hasher.check.into(),
            "body CRC" => header.body_crc.into(),
            "header CRC" => crc32(&bytes[..row.offset]).into(),
            other => panic!("DESIGN.md names a field that no code writes: {other}"),
        };
        assert_eq!(little_endian(&bytes, row), wanted, "{row:?}");
    }
}

#[test]
fn the_table_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fruit.table");
    let mut writer = TableWriter::create(&path, TableOptions::default()).unwrap();
    writer.add(b"apple", b"red").unwrap();
    writer.finish().unwrap();
    let file = std::fs::read(&path).unwrap();

    let rows = byte_map("### File header");
    assert_covers(&rows, FILE_HEADER_BYTES);
    for row in &rows {
        let wanted = match row.field {
            field if field.starts_with("magic `89 42 4C 54 0D 0A 1A 0A`") => {
                u64::from_le_bytes([0x89, 0x42, 0x4C, 0x54, 0x0D, 0x0A, 0x1A, 0x0A])
            }
            "version = 1" => 1,
            "flags, zero in version 1" => 0,
            "CRC32 of bytes 0–11" => crc32(&file[..12]).into(),
            other => panic!("DESIGN.md names a field that no code writes: {other}"),
        };
        assert_eq!(little_endian(&file, row), wanted, "{row:?}");
    }

    let rows = byte_map("### Footer");
    assert_covers(&rows, FOOTER_BYTES);
    let footer = &file[file.len() - FOOTER_BYTES..];
    let number = |at: usize| usize::try_from(little_endian(footer, &rows[at])).unwrap();
    for row in &rows {
        let got = little_endian(footer, row);
        match row.field {
            // The filter begins at 16 mod 64 with its magic; the sections end where the next one begins.
            "filter: offset, 0 where there is none" => {
                assert_eq!(got % 64, 16);
                assert_eq!(&file[number(0)..number(0) + 4], b"\x89BLF");
            }
            "filter: bytes, 0 where there is none" => assert_eq!(number(0) + number(1), number(2)),
            "index: offset, 0 where there is none" => assert_eq!(file[number(2) + number(3) - 5], 2),
            "index: bytes, trailer included, 0 where there is none" => {
                assert_eq!(number(2) + number(3), number(4));
            }
            "properties: offset" => assert_eq!(file[number(4) + number(5) - 5], 3),
            "properties: bytes, trailer included" => {
                assert_eq!(number(4) + number(5), file.len() - FOOTER_BYTES);
            }
            "version, as in the file header" => assert_eq!(got, 1),
            "flags, zero in version 1" => assert_eq!(got, 0),
            "CRC32 of bytes 0–51 of the footer" => assert_eq!(got, crc32(&footer[..52]).into()),
            field if field.starts_with("magic `89 42 4C 54 2D 45 4E 44`") => {
                assert_eq!(got.to_le_bytes(), *b"\x89BLT-END");
            }
            other => panic!("DESIGN.md names a field that no code writes: {other}"),
        }
    }
}
