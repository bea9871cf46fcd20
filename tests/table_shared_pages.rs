//! Processes that have a filter open share its pages: together they hold it in memory once.

#![cfg(target_os = "linux")]

mod table_common;

use std::path::Path;

use bloomline::BlockedFilter;
use bloomline::hash::Hashers;
use bloomline::sizing::BlockedParams;
use bloomline::table::write_filter_file;
use table_common::child;

const PROCESSES: usize = 4;
const FILTER_BYTES: u64 = 16 << 20;

/// The KiB of a field of /proc/pid/smaps, over the mappings of the file.
fn kib(pid: u32, file: &Path, field: &str) -> u64 {
    let smaps = std::fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap();
    let mut of_file = false;
    let mut sum = 0;
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if !first.ends_with(':') {
            of_file = line.ends_with(file.to_str().unwrap());
        } else if of_file && first.strip_suffix(':') == Some(field) {
            sum += words.next().unwrap().parse::<u64>().unwrap();
        }
    }
    sum
}

#[test]
fn four_processes_hold_one_filter() {
    if let Some(path) = child::path() {
        let reader = bloomline::TableReader::open_unverified(&path, &Hashers::new()).unwrap();
        let filter = reader.filter().unwrap();
        // Reads every line.
        assert!(filter.fill() > 0.0);
        assert!(filter.might_contain(b"a key"));
        child::reached("all read");
        child::wait_for_parent();
        return;
    }
    let (_folder, path) = table_common::scratch("shared.filter");
    let mut filter = BlockedFilter::new(BlockedParams::explicit(8 * FILTER_BYTES, 6).unwrap()).unwrap();
    filter.add(b"a key");
    write_filter_file(&path, &filter).unwrap();
    drop(filter);

    let start = || child::start(child::command("four_processes_hold_one_filter", &path));
    let mut children: Vec<_> = (0..PROCESSES).map(|_| start()).collect();
    for child in &mut children {
        child::wait_until_reached(child, "all read");
    }
    let pids: Vec<_> = children.iter().map(std::process::Child::id).collect();
    let size = FILTER_BYTES / 1024;
    for &pid in &pids {
        let resident = kib(pid, &path, "Rss");
        assert!(resident >= size, "a process has read {resident} of {size} KiB");
    }
    let together: u64 = pids.iter().map(|&pid| kib(pid, &path, "Pss")).sum();
    assert!(
        together < size * 11 / 10,
        "{PROCESSES} processes hold {together} KiB for a filter of {size} KiB"
    );
    for mut child in children {
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
}
