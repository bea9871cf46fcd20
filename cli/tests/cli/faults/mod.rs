//! Every system call that the program makes on files goes wrong once: it fails, it moves fewer bytes than asked
//! for, or the process is killed before it. Whatever it was, the output is the old file or the new one, whole; no
//! temporary file is left but by a kill; and the program says what happened, in one line and by its exit code.
//!
//! Nothing is left to chance: a run without a fault tells the calls, then each has a run of its own for each
//! fault, and a run in which the fault was not reached fails the test.

mod call;
mod tracer;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use call::Call;
use nix::errno::Errno;
use tracer::{Fault, Traced, trace};

use crate::support::{Folder, Run};

/// The files of a folder, by name.
type Files = BTreeMap<String, Vec<u8>>;

/// A command, in a folder that has been made ready for it.
struct Scene {
    folder: Folder,
    args: &'static str,
    before: Files,
    /// Runs with a fault, for the record.
    runs: usize,
    /// The calls that something happened to.
    hit: BTreeSet<&'static str>,
}

impl Scene {
    fn new(folder: Folder, args: &'static str) -> Self {
        let before = files(&folder);
        Self { folder, args, before, runs: 0, hit: BTreeSet::new() }
    }

    fn trace(&self, fault: Option<(usize, Fault)>) -> Traced {
        // The kernel tells paths without links.
        trace(&self.folder.path(".").canonicalize().unwrap(), self.args, fault)
    }

    /// Runs the command once for each fault of each call, and hands over how that went.
    fn each_fault(
        &mut self,
        faults: fn(&Call) -> Vec<Fault>,
        mut check: impl FnMut(&Self, &Traced, &Call, Fault),
    ) {
        let clean = self.trace(None);
        self.restore();
        for (number, call) in clean.calls.iter().enumerate() {
            for fault in faults(call) {
                println!("{}: {fault:?} at call {number}, {} of {:?}", self.args, call.name, call.paths);
                let traced = self.trace(Some((number, fault)));
                assert_eq!(traced.calls[number].name, call.name, "runs differ in their calls");
                check(self, &traced, call, fault);
                self.restore();
                self.runs += 1;
                self.hit.insert(call.name);
            }
        }
        println!("{}: {} runs, faults at {:?}", self.args, self.runs, self.hit);
    }

    /// Makes the folder what it was.
    fn restore(&self) {
        let now = files(&self.folder);
        for name in now.keys().filter(|&name| !self.before.contains_key(name)) {
            std::fs::remove_file(self.folder.path(name)).unwrap();
        }
        for (name, bytes) in &self.before {
            if now.get(name) != Some(bytes) {
                self.folder.write(name, bytes);
            }
        }
    }
}

fn files(folder: &Folder) -> Files {
    folder.names().into_iter().map(|name| (name.clone(), folder.read(&name))).collect()
}

/// What can happen to a call. A kill before a call that changes nothing is a kill before the next that does.
fn every_fault(call: &Call) -> Vec<Fault> {
    let mut faults = vec![Fault::Error(Errno::EIO)];
    if call.changes {
        faults.extend([Fault::Error(Errno::ENOSPC), Fault::Kill]);
    }
    if call.moves_bytes {
        faults.extend([Fault::Short, Fault::Error(Errno::EINTR)]);
    }
    match call.name {
        // A file system without mmap.
        "mmap" => faults.push(Fault::Error(Errno::ENODEV)),
        // One without sync of folders.
        "fsync" => faults.push(Fault::Error(Errno::EINVAL)),
        _ => {}
    }
    faults
}

/// Whether a fault is nothing to the user: the program goes on, or tries another way.
fn is_harmless(fault: Fault, call: &Call) -> bool {
    match fault {
        Fault::Short | Fault::Error(Errno::EINTR | Errno::ENODEV) => true,
        Fault::Error(Errno::EINVAL) => call.paths.iter().all(|path| path.is_dir()),
        _ => false,
    }
}

/// A command that writes `output`, with every fault.
#[track_caller]
fn writes_whole_or_not_at_all(folder: Folder, args: &'static str, output: &str) {
    let mut scene = Scene::new(folder, args);
    let clean = scene.trace(None);
    assert_eq!(clean.run.code, Some(0), "{:?}", clean.run);
    let path = scene.folder.path(output).canonicalize().unwrap();
    let after = files(&scene.folder);
    assert_ne!(after, scene.before);
    assert_durable(&clean.calls, &path);
    scene.restore();

    scene.each_fault(every_fault, |scene, traced, call, fault| {
        let Traced { calls, run } = traced;
        let mut now = files(&scene.folder);
        if fault == Fault::Kill {
            assert_eq!(run.code, None);
            let left = now.keys().find(|name| name.starts_with(".bloomline-") && name.ends_with(".tmp"));
            if let Some(left) = left.cloned() {
                now.remove(&left);
            }
        }
        let renamed =
            calls.iter().any(|call| call.succeeded() && call.renames().is_some_and(|(_, to)| to == path));
        assert!(now == *if renamed { &after } else { &scene.before }, "neither the old files nor the new");
        match run.code {
            None => {
                assert_eq!(fault, Fault::Kill);
                // What a kill leaves is in no one's way.
                scene.folder.ok(scene.args);
                assert!(scene.folder.read(output) == after[output]);
            }
            Some(0) => {
                assert!(renamed && run.stderr.is_empty(), "{run:?}");
                assert_durable(calls, &path);
            }
            Some(_) => {
                run.fails_saying(2, &[]);
                assert!(!is_harmless(fault, call), "{run:?}");
                // The one step after the file has its name.
                assert!(
                    !renamed || (call.name == "fsync" && run.stderr.contains("sync its folder")),
                    "{run:?}"
                );
            }
        }
    });
    assert!(scene.hit.contains("write") && scene.hit.contains("fsync"), "{:?}", scene.hit);
    assert!(scene.hit.iter().any(|name| name.starts_with("rename")), "{:?}", scene.hit);
}

/// A file is on the disk before it gets its name, and its name is on the disk before the program ends.
#[track_caller]
fn assert_durable(calls: &[Call], output: &PathBuf) {
    let step =
        |wanted: &dyn Fn(&Call) -> bool| calls.iter().rposition(|call| call.succeeded() && wanted(call));
    let named = step(&|call| call.renames().is_some_and(|(_, to)| to == output)).expect("a new name");
    let (temporary, _) = calls[named].renames().unwrap();
    let is_sync = |call: &Call| matches!(call.name, "fsync" | "fdatasync");
    let written = step(&|call| call.name.contains("write") && call.paths == [temporary]).expect("a write");
    let synced = step(&|call| is_sync(call) && call.paths == [temporary]).expect("a sync of the file");
    let is_of_folder = |call: &Call| is_sync(call) && call.paths == [output.parent().unwrap()];
    let no_such_sync = Some(-(Errno::EINVAL as i64));
    let folder_synced = calls
        .iter()
        .rposition(|call| is_of_folder(call) && (call.succeeded() || call.result == no_such_sync));
    let folder_synced = folder_synced.expect("a sync of the folder");
    assert!(written < synced && synced < named && named < folder_synced, "{calls:?}");
}

/// A command that only reads, with every fault: it answers as without, or says that it can't.
#[track_caller]
fn answers_right_or_not_at_all(folder: Folder, args: &'static str) {
    let mut scene = Scene::new(folder, args);
    let clean = scene.trace(None).run;
    assert!(clean.code == Some(0) && !clean.stdout.is_empty(), "{clean:?}");
    let faults = |call: &Call| {
        assert!(!call.changes, "{call:?}");
        every_fault(call)
    };
    scene.each_fault(faults, |scene, traced, call, fault| {
        let run = &traced.run;
        assert!(files(&scene.folder) == scene.before);
        if run.code == Some(0) {
            assert!(run.stdout == clean.stdout && run.stderr.is_empty(), "{run:?}");
        } else {
            // What was answered before stands.
            assert!(clean.stdout.starts_with(&run.stdout), "{run:?}");
            Run { stdout: Vec::new(), ..run.clone() }.fails_saying(2, &[]);
            assert!(!is_harmless(fault, call), "{run:?}");
        }
    });
    assert!(scene.hit.contains("mmap"), "{:?}", scene.hit);
}

/// A folder with `keys`, `pairs` (more than a mebibyte, so that they are sorted by way of files), and as `out` an
/// older file of each command's kind.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("keys", (0..20_000).map(|number| format!("key {number}\n")).collect::<String>());
    let pair = |number: u32| format!("{:08x}\t{number:032}\n", number.wrapping_mul(0x9E37_79B9));
    folder.write("pairs", (0..30_000).map(pair).collect::<String>());
    folder.write("old", "old\n");
    folder.ok("build old -o out");
    folder
}

#[test]
fn a_filter_that_replaces_another() {
    writes_whole_or_not_at_all(folder(), "build keys -o out --capacity 1e6", "out");
}

#[test]
fn a_filter_under_a_new_name() {
    writes_whole_or_not_at_all(folder(), "build keys -o new", "new");
}

#[test]
fn filters_of_other_kinds() {
    for args in
        ["build keys -o out --kind compact", "build keys -o out --kind scalable --first-capacity 1000"]
    {
        writes_whole_or_not_at_all(folder(), args, "out");
    }
}

#[test]
fn a_table_sorted_by_way_of_files() {
    writes_whole_or_not_at_all(folder(), "table pairs -o out --memory 1", "out");
}

#[test]
fn a_merged_filter() {
    let folder = folder();
    folder.ok("build keys -o a --capacity 30000");
    folder.ok("build old -o b --capacity 30000");
    writes_whole_or_not_at_all(folder, "merge a b -o out", "out");
}

#[test]
fn answers() {
    for args in
        ["query filter keys --count", "verify filter", "inspect filter", "get table asked", "verify table"]
    {
        let folder = folder();
        folder.write("asked", "00000000\n");
        folder.ok("build keys -o filter");
        folder.ok("table pairs -o table");
        answers_right_or_not_at_all(folder, args);
    }
}

/// Whether the output is a file that is read is told by its device and number. When they could not be had, it was
/// taken for another file, and the input was replaced.
#[test]
fn an_output_that_cannot_be_told_from_an_input() {
    for args in ["build keys -o keys", "table pairs -o pairs", "merge out old-out -o out"] {
        let folder = folder();
        folder.ok("build old -o old-out");
        let mut scene = Scene::new(folder, args);
        scene.each_fault(every_fault, |scene, traced, _, _| {
            assert!(files(&scene.folder) == scene.before, "the input is gone");
            traced.run.fails_saying(2, &[]);
        });
        assert!(scene.runs > 0);
    }
}
