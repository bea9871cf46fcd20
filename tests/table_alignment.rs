//! Where filters lie: line-aligned in every file, and right at any other address too.

mod table_common;

use bloomline::format::Kind;
use bloomline::hash::Hashers;
use bloomline::{FilterBuilder, FilterOptions, FilterReader};
use table_common::{entries, filter_file_bytes, scratch, small_blocks, surgery, write_entries};

#[test]
fn the_lines_of_every_file_begin_at_multiples_of_64() {
    let (_folder, path) = scratch("aligned.table");
    for count in 0..130 {
        write_entries(&path, small_blocks(), &entries(count));
        let table = table_common::open(&path).unwrap();
        let block = table.filter().unwrap().clone().into_inner();
        assert_eq!((block.as_ref().as_ptr() as usize + 48) % 64, 0, "{count} entries");
    }
    assert_eq!(surgery::map(&filter_file_bytes()).filter.unwrap().start, 16);
}

#[test]
fn a_block_answers_alike_at_every_address() {
    for kind in [Kind::Blocked, Kind::Classic] {
        let mut builder = FilterBuilder::new(FilterOptions::default().kind(kind));
        for i in 0..500_u32 {
            builder.add(&i.to_le_bytes());
        }
        let block = builder.finish().unwrap();
        let keys: Vec<_> = (0..3000_u32).map(u32::to_le_bytes).collect();
        let mut expected = vec![false; keys.len()];
        FilterReader::open(&block, &Hashers::new()).unwrap().might_contain_batch(&keys, &mut expected);
        assert!(expected[..500].iter().all(|&maybe| maybe) && expected[500..].contains(&false));
        let mut buffer = vec![0; block.len() + 128];
        let base = buffer.as_ptr().align_offset(64);
        for shift in 0..64 {
            let place = &mut buffer[base + shift..][..block.len()];
            place.copy_from_slice(&block);
            assert_eq!(place.as_ptr() as usize % 64, shift);
            let reader = FilterReader::open(&*place, &Hashers::new()).unwrap();
            let mut answers = vec![false; keys.len()];
            reader.might_contain_batch(&keys, &mut answers);
            assert_eq!(answers, expected, "shifted by {shift}");
            let one_by_one: Vec<_> = keys.iter().map(|key| reader.might_contain(key)).collect();
            assert_eq!(one_by_one, expected, "shifted by {shift}");
        }
    }
}
