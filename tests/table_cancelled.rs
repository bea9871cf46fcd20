//! A filter of gigabytes was being written when its user pressed Ctrl-C, and nothing stopped until all of it was
//! on the disk. A writer asks whether to stop at least every 8 MiB and right before the file gets its name.

mod table_common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bloomline::error::TableError;
use bloomline::sizing::BlockedParams;
use bloomline::table::{Cancel, write_filter_file_with};
use bloomline::{BlockedFilter, TableWriter};
use table_common::{entries, names_in, scratch, small_blocks};

/// Stops at question `last`; counts the questions.
fn cancel_at(last: u64) -> (Cancel, Arc<AtomicU64>) {
    let asked = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&asked);
    (Cancel::when(move || count.fetch_add(1, Ordering::Relaxed) + 1 >= last), asked)
}

#[test]
fn a_filter_file_can_be_cancelled_at_every_question() {
    let (folder, path) = scratch("cancelled.filter");
    std::fs::write(&path, "the old file").unwrap();
    // A body of 24 MiB, so that it is asked in its midst.
    let filter = BlockedFilter::new(BlockedParams::explicit(24 << 23, 6).unwrap()).unwrap();
    let (cancel, asked) = cancel_at(u64::MAX);
    let whole = write_filter_file_with(&path, &filter, &cancel).unwrap();
    let questions = asked.load(Ordering::Relaxed);
    assert!(questions > whole >> 23, "{questions} questions in {whole} bytes");
    std::fs::write(&path, "the old file").unwrap();
    for last in 1..=questions {
        let (cancel, asked) = cancel_at(last);
        let error = write_filter_file_with(&path, &filter, &cancel).unwrap_err();
        assert!(matches!(&error, TableError::Interrupted { path: named } if *named == path), "{error}");
        assert!(!error.is_damage());
        assert_eq!(asked.load(Ordering::Relaxed), last, "no question after the answer");
        assert_eq!(names_in(folder.path()), ["cancelled.filter"]);
        assert_eq!(std::fs::read(&path).unwrap(), b"the old file");
    }
}

#[test]
fn a_table_can_be_cancelled() {
    let (folder, path) = scratch("cancelled.table");
    let (cancel, _) = cancel_at(2);
    let mut writer = TableWriter::create(&path, small_blocks().cancel(cancel)).unwrap();
    for (key, value) in &entries(1000) {
        writer.add(key, value).unwrap();
    }
    // The second question comes right before the file would get its name.
    assert!(matches!(writer.finish(), Err(TableError::Interrupted { .. })));
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn a_cancelled_table_takes_no_more_entries() {
    let (folder, path) = scratch("cancelled.table");
    let (cancel, _) = cancel_at(2);
    let mut writer = TableWriter::create(&path, small_blocks().cancel(cancel)).unwrap();
    let value = vec![0; 3 << 20];
    let added: Vec<_> = (0..6_u8).map(|key| writer.add(&[key], &value)).collect();
    let first_error = added.iter().position(Result::is_err).unwrap();
    assert!(first_error < 5, "asked after 8 MiB");
    assert!(matches!(added[first_error], Err(TableError::Interrupted { .. })));
    assert!(matches!(added[5], Err(TableError::GivenUp { .. })));
    assert!(matches!(writer.finish(), Err(TableError::GivenUp { .. })));
    assert!(names_in(folder.path()).is_empty());
}
