//! Looking at a file takes no hasher: header, fill and checksums of its filter, but no answer about a key.

use bloomline::error::{FormatError, HasherError, TableError, TableFault};
use bloomline::filter::{Membership, open_any};
use bloomline::format::Kind;
use bloomline::hash::{Hasher, Hashers, SecretKey};
use bloomline::sizing::{BlockedParams, ClassicParams, ScalableParams};
use bloomline::table::{verify_file, write_filter_file};
use bloomline::{
    AtomicBlockedFilter, BlockedFilter, ClassicFilter, FilterBuilder, FilterOptions, FilterReader,
    ScalableFilter, Synchronized, TableReader,
};
use tempfile::tempdir;

fn secret() -> SecretKey {
    SecretKey::from_bytes([9; 16])
}

/// A filter of every kind and of some forms, with 500 keys under a secret key.
fn filters() -> Vec<Box<dyn Membership>> {
    let hasher = Hasher::siphash_2_4(secret());
    let keys: Vec<[u8; 4]> = (0..500_u32).map(u32::to_le_bytes).collect();
    let blocked = BlockedParams::for_fpp(500, 0.01).unwrap();
    let mut builder = FilterBuilder::new(FilterOptions::default().kind(Kind::Compact).hasher(hasher.clone()));
    keys.iter().for_each(|key| builder.add(key));
    let hashers = Hashers::new().with_secret_key(secret());
    let compact = FilterReader::open(builder.finish().unwrap(), &hashers).unwrap();
    let mut plain = BlockedFilter::with_hasher(blocked, hasher.clone()).unwrap();
    plain.add_batch(&keys);
    let classic = ClassicParams::for_fpp(500, 0.01).unwrap();
    let mut classic = ClassicFilter::with_hasher(classic, hasher.clone()).unwrap();
    classic.add_batch(&keys);
    let growing = ScalableParams::new(100, 0.01).unwrap();
    let mut scalable = ScalableFilter::<BlockedParams>::with_hasher(growing, hasher.clone()).unwrap();
    scalable.add_batch(&keys);
    let atomic = AtomicBlockedFilter::with_hasher(blocked, hasher.clone()).unwrap();
    atomic.add_batch(&keys);
    let locked = Synchronized::new(BlockedFilter::with_hasher(blocked, hasher).unwrap());
    locked.add_batch(&keys);
    vec![
        Box::new(plain),
        Box::new(classic),
        Box::new(compact),
        Box::new(scalable),
        Box::new(atomic),
        Box::new(locked),
    ]
}

#[test]
fn every_kind_is_written_as_it_is_encoded_and_shown_without_its_key() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("filter");
    for filter in filters() {
        let bytes = write_filter_file(&path, &*filter).unwrap();
        let file = std::fs::read(&path).unwrap();
        assert_eq!(bytes, file.len() as u64);
        let block = filter.encode();
        assert!(file[16..].starts_with(&block), "{:?}", filter.kind());

        let reader = TableReader::open_to_inspect(&path, &Hashers::new()).unwrap();
        reader.verify_unasked().unwrap();
        assert!(reader.filter().is_none());
        let shown = reader.filter_block().unwrap().expect("a filter");
        assert_eq!((shown.kind(), shown.header().count), (filter.kind(), filter.count()));
        assert_eq!(shown.expected_fpp(), filter.expected_fpp());
        assert_eq!(shown.expected_fpp_from_fill(), filter.expected_fpp_from_fill());
        assert!(shown.fill() > 0.1);

        // To ask, and to verify that the filter can be asked, takes the key.
        for error in [
            TableReader::open(&path, &Hashers::new()).map(drop),
            TableReader::open_unverified(&path, &Hashers::new()).map(drop),
            reader.verify(),
        ] {
            let Err(TableError::File { source: TableFault::Filter(fault), .. }) = error else {
                panic!("it was taken")
            };
            assert!(matches!(fault, FormatError::Hasher(HasherError::SecretKeyNeeded { .. })), "{fault}");
        }
        let asked = shown.clone().with_hasher(&Hashers::new().with_secret_key(secret())).unwrap();
        assert!((0..500_u32).all(|key| asked.might_contain(&key.to_le_bytes())));
        assert!(open_any(&block, &Hashers::new().with_secret_key(secret())).is_ok());
    }
}

/// `verify_file` once checked a filter whose key it lacked by the checksum of the whole body alone: a reserved bit
/// of a compact filter, or a layer's wrong checksum, went unseen where the body's was mended.
#[test]
fn what_is_wrong_within_a_body_is_found_without_the_key() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("filter");
    for filter in filters().into_iter().filter(|filter| filter.kind() == Kind::Scalable) {
        write_filter_file(&path, &*filter).unwrap();
        let mut file = std::fs::read(&path).unwrap();
        let block = filter.encode();
        let last = 16 + block.len() - 1;
        file[last] ^= 0x80;
        // The checksum of the body lies at 40 of the block, that of its header at 44.
        let crc = bloomline::format::crc32(&file[64..=last]);
        file[56..60].copy_from_slice(&crc.to_le_bytes());
        let crc = bloomline::format::crc32(&file[16..60]);
        file[60..64].copy_from_slice(&crc.to_le_bytes());
        std::fs::write(&path, &file).unwrap();
        let Err(TableError::File { source: TableFault::Filter(fault), .. }) =
            verify_file(&path, &Hashers::new())
        else {
            panic!("it was taken")
        };
        assert!(matches!(fault, FormatError::Layer { .. }), "{fault}");
    }
}

#[test]
fn a_table_without_a_filter_has_none_to_show() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("table");
    let options = bloomline::TableOptions::default().filter(None);
    let writer = bloomline::TableWriter::create(&path, options).unwrap();
    writer.finish().unwrap();
    let reader = TableReader::open_to_inspect(&path, &Hashers::new()).unwrap();
    assert!(matches!(reader.filter_block(), Ok(None)));
    reader.verify_unasked().unwrap();
}
