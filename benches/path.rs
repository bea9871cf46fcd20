//! The whole path of a lookup in a table: nanoseconds and, where valgrind is installed, instructions.
//!
//! ```text
//! cargo bench --bench path
//! ```
//!
//! Three ways through [`TableReader::get`]: a miss that the filter stops, a miss that it lets through (a false
//! positive, which reads the index and a data block), and a hit. The table has a million keys of 16 bytes with values
//! of 100, and lies in the page cache. Times are medians of interleaved rounds; with several threads on one reader, of
//! each thread. Instructions are counted by callgrind, the same in every run, with the functions that take the most.

use std::env;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use bloomline::{Hashers, TableOptions, TableReader, TableWriter};

const KEYS: u64 = 1_000_000;

/// Lookups of one round, or of one count of instructions.
const ASKED: usize = 10_000;

const ROUNDS: usize = 21;

type Key = [u8; 16];

/// Even numbers are in the table, odd ones are not.
fn key(number: u64) -> Key {
    let mut key = *b"key/\0\0\0\0\0\0\0\0\0\0\0\0";
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Numbers in no order, each once: the step has no factor in common with the number of keys.
fn shuffled() -> impl Iterator<Item = u64> {
    (1..=KEYS).map(|i| i * 618_033_987 % KEYS)
}

fn write(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut writer = TableWriter::create(path, TableOptions::default())?;
    for number in 0..KEYS {
        writer.add(&key(2 * number), &[b'v'; 100])?;
    }
    writer.finish()?;
    Ok(())
}

/// A way through a lookup: its name, and the keys that take it.
struct Way {
    name: &'static str,
    keys: Vec<Key>,
    found: bool,
}

fn ways(table: &TableReader) -> Vec<Way> {
    let filter = table.filter().expect("a table with a filter");
    let absent = || shuffled().map(|number| key(2 * number + 1));
    let again = |keys: Vec<Key>| keys.iter().copied().cycle().take(ASKED).collect();
    vec![
        Way {
            name: "miss",
            keys: absent().filter(|key| !filter.might_contain(key)).take(ASKED).collect(),
            found: false,
        },
        Way {
            name: "false positive",
            keys: again(absent().filter(|key| filter.might_contain(key)).collect()),
            found: false,
        },
        Way {
            name: "hit",
            keys: shuffled().map(|number| key(2 * number)).take(ASKED).collect(),
            found: true,
        },
    ]
}

/// The loop that is timed, and whose instructions are counted: named, so that callgrind finds it.
#[inline(never)]
fn ask_all(table: &TableReader, keys: &[Key]) -> usize {
    keys.iter().filter(|key| table.get(*key).expect("a sound table").is_some()).count()
}

/// Nanoseconds for each lookup of `threads` threads at once.
fn time(table: &TableReader, way: &Way, threads: usize) -> f64 {
    // Brings the filter, and what else fits, into the cache: what ran before has driven it out.
    ask_all(table, &way.keys);
    let of_one = || {
        let start = Instant::now();
        let found = black_box(ask_all(table, black_box(&way.keys)));
        let elapsed = start.elapsed();
        assert_eq!(found, if way.found { ASKED } else { 0 }, "{}", way.name);
        elapsed.as_secs_f64() * 1e9 / ASKED as f64
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(of_one)).collect();
        let times = running.into_iter().map(|thread| thread.join().expect("a thread that ends"));
        times.sum::<f64>() / threads as f64
    })
}

/// Instructions of each lookup by callgrind, with the functions that take the most; `None` without valgrind.
fn instructions(folder: &Path, way: usize) -> Option<(f64, Vec<String>)> {
    let counts = folder.join("callgrind.out");
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--toggle-collect=*ask_all*"])
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(env::current_exe().ok()?)
        .arg("--ask")
        .arg(way.to_string())
        .arg(folder.join("table"))
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&run.stderr);
    let collected: f64 =
        said.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())?;
    let report = Command::new("callgrind_annotate").arg(&counts).output().ok()?;
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    let functions = report.lines().skip_while(|line| !line.contains("file:function")).skip(2).take(6);
    let functions = functions.filter_map(|line| short(line, ASKED as f64)).collect();
    Some((collected / ASKED as f64, functions))
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// A line of callgrind's report, `count (share) file:function [object]`, as instructions of each lookup and the name
/// of the function.
fn short(line: &str, lookups: f64) -> Option<String> {
    let (count, rest) = line.split_once(" (")?;
    let count: f64 = count.replace([',', ' '], "").parse().ok()?;
    let (_, place) = rest.split_once(')')?;
    let name = place.rsplit_once(" [").map_or(place, |(name, _)| name);
    let (_, function) = name.split_once(':')?;
    Some(format!("{:8.1}  {function}", count / lookups))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().collect();
    if arguments.get(1).is_some_and(|first| first == "--ask") {
        let [_, _, way, path] = &arguments[..] else { return Err("--ask takes a way and a table".into()) };
        let table = TableReader::open(Path::new(path), &Hashers::new())?;
        let way = &ways(&table)[way.parse::<usize>()?];
        assert_eq!(ask_all(&table, &way.keys), if way.found { ASKED } else { 0 });
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("table");
    write(&path)?;
    let table = TableReader::open(&path, &Hashers::new())?;
    let ways = ways(&table);
    let mut times = vec![[const { Vec::new() }; 2]; ways.len()];
    for _ in 0..ROUNDS {
        for (way, times) in ways.iter().zip(&mut times) {
            for (times, threads) in times.iter_mut().zip(1..) {
                times.push(time(&table, way, threads));
            }
        }
    }
    println!(
        "`TableReader::get` on {KEYS} keys of 16 bytes with values of 100, in the page cache: medians of {ROUNDS}"
    );
    println!("rounds of {ASKED} lookups. Two threads share the reader; the machine has {} cores.", cores());
    println!("Instructions are those that callgrind counts.\n");
    println!("| a lookup that is a | one thread, ns | two threads, ns each | instructions |");
    println!("|---|---|---|---|");
    let mut hottest = Vec::new();
    for (at, (way, times)) in ways.iter().zip(&mut times).enumerate() {
        let [one, two] = times.each_mut().map(|times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        let counted = instructions(folder.path(), at);
        let count = counted.as_ref().map_or("no valgrind".to_owned(), |(count, _)| format!("{count:.1}"));
        println!("| {} | {one:.1} | {two:.1} | {count} |", way.name);
        hottest.extend(counted.map(|(_, functions)| (way.name, functions)));
    }
    for (name, functions) in hottest {
        println!(
            "\n{name}: instructions of each lookup in the functions that take the most, without those they call"
        );
        functions.iter().for_each(|line| println!("{line}"));
    }
    Ok(())
}
