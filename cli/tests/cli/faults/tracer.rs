//! Runs the program under `ptrace` and makes one of its system calls go wrong.
//!
//! A library put in front of libc would not do: it sees nothing of the calls that a program makes itself, as
//! `tempfile` does by way of `rustix`. The kernel sees all.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::libc::{self, user_regs_struct};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{self, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::call::Call;
use crate::support::{Run, program};

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It does nothing and returns this error.
    Error(Errno),
    /// It moves half of the bytes that it was asked to, rounded down, but one at least.
    Short,
    /// The process is killed before it.
    Kill,
}

/// A run of the program.
#[derive(Debug)]
pub(super) struct Traced {
    /// The calls about files in the folder, in order.
    pub(super) calls: Vec<Call>,
    pub(super) run: Run,
}

/// Runs the program in `folder` with these words as arguments. `fault` happens to the call of that number, among
/// those about files in the folder; a run that makes no such call is a failure of the test.
pub(super) fn trace(folder: &Path, args: &str, fault: Option<(usize, Fault)>) -> Traced {
    // The shell stops itself, so that it can be seized before it becomes the program.
    let mut child = Command::new("sh")
        .args(["-c", "kill -STOP $$; exec \"$0\" \"$@\""])
        .arg(program())
        .args(args.split_whitespace())
        .current_dir(folder)
        // Built with the address sanitizer, a program can't look for leaks while it is traced.
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let process = Pid::from_raw(child.id().try_into().unwrap());
    let stopped = waitpid(process, Some(WaitPidFlag::WUNTRACED)).unwrap();
    assert_eq!(stopped, WaitStatus::Stopped(process, Signal::SIGSTOP));
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(process, options).expect("tracing a child must be permitted where these tests run");
    signal::kill(process, Signal::SIGCONT).unwrap();

    let mut tracer =
        Tracer { process, folder, fault, calls: Vec::new(), inside: HashMap::new(), started: false };
    let code = tracer.run();
    let Tracer { calls, .. } = tracer;
    // The pipes hold all that a run prints.
    let (mut stdout, mut stderr) = (Vec::new(), String::new());
    child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    // Reaped already: nothing but the memory of it is left to give back.
    let _ = child.wait();
    if let Some((number, fault)) = fault {
        assert!(number < calls.len(), "{fault:?} at call {number} was never injected: {} calls", calls.len());
    }
    Traced { calls, run: Run { code, stdout, stderr } }
}

struct Tracer<'a> {
    process: Pid,
    folder: &'a Path,
    fault: Option<(usize, Fault)>,
    calls: Vec<Call>,
    /// The threads that are inside a system call.
    inside: HashMap<Pid, Inside>,
    /// The shell has become the program.
    started: bool,
}

/// A call that has not come back.
#[derive(Default)]
struct Inside {
    /// Its number in [`Tracer::calls`], if it is there.
    number: Option<usize>,
    /// What the kernel is to return in place of its own result.
    error: Option<Errno>,
    /// How many bytes it was asked to move, where it was made fewer.
    bytes: Option<u64>,
}

impl Tracer<'_> {
    /// Runs the program to its end and gives its exit code; `None` where a signal ended it.
    fn run(&mut self) -> Option<i32> {
        loop {
            // Of this thread's children only: other tests wait for theirs.
            let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
            let (thread, signal) = match waitpid(None, Some(flags)).unwrap() {
                WaitStatus::Exited(thread, code) if thread == self.process => return Some(code),
                WaitStatus::Signaled(thread, ..) if thread == self.process => return None,
                WaitStatus::Exited(thread, _) | WaitStatus::Signaled(thread, ..) => {
                    self.inside.remove(&thread);
                    continue;
                }
                WaitStatus::PtraceSyscall(thread) => {
                    if let Err(error) = self.at_call(thread) {
                        // It was killed meanwhile, by a fault or by the end of another thread.
                        assert_eq!(error, Errno::ESRCH);
                        continue;
                    }
                    (thread, None)
                }
                WaitStatus::PtraceEvent(thread, _, libc::PTRACE_EVENT_EXEC) => {
                    self.started = true;
                    self.inside.insert(thread, Inside::default());
                    (thread, None)
                }
                WaitStatus::PtraceEvent(thread, ..) => (thread, None),
                WaitStatus::Stopped(thread, signal) => (thread, Some(signal)),
                other => panic!("{other:?}"),
            };
            let resume = if self.started { ptrace::syscall } else { ptrace::cont };
            if let Err(error) = resume(thread, signal) {
                assert_eq!(error, Errno::ESRCH);
            }
        }
    }

    /// A thread enters a call, or comes back from it.
    fn at_call(&mut self, thread: Pid) -> nix::Result<()> {
        let mut regs = ptrace::getregs(thread)?;
        let Some(inside) = self.inside.remove(&thread) else {
            assert_eq!(regs.rax, error_result(Errno::ENOSYS), "entries and exits of calls are confused");
            let inside = self.enter(thread, &mut regs)?;
            self.inside.insert(thread, inside);
            return Ok(());
        };
        if let Some(error) = inside.error {
            regs.rax = error_result(error);
        }
        if let Some(bytes) = inside.bytes {
            // Programs rely on a call to leave its arguments as they were.
            regs.rdx = bytes;
        }
        if inside.error.is_some() || inside.bytes.is_some() {
            ptrace::setregs(thread, regs)?;
        }
        if let Some(number) = inside.number {
            self.calls[number].result = Some(regs.rax.cast_signed());
        }
        Ok(())
    }

    /// Notes a call about a file in the folder, and changes it if it is the one that goes wrong.
    fn enter(&mut self, thread: Pid, regs: &mut user_regs_struct) -> nix::Result<Inside> {
        let Some(call) = Call::of(thread, regs, self.folder) else { return Ok(Inside::default()) };
        let number = self.calls.len();
        let moves_bytes = call.moves_bytes;
        self.calls.push(call);
        let mut inside = Inside { number: Some(number), ..Inside::default() };
        match self.fault.filter(|&(at, _)| at == number).map(|(_, fault)| fault) {
            None => return Ok(inside),
            Some(Fault::Short) => {
                assert!(moves_bytes);
                inside.bytes = Some(regs.rdx);
                regs.rdx = (regs.rdx / 2).max(1);
            }
            // The kernel refuses a call that does not exist.
            Some(Fault::Error(error)) => {
                inside.error = Some(error);
                regs.orig_rax = u64::MAX;
            }
            Some(Fault::Kill) => regs.orig_rax = u64::MAX,
        }
        ptrace::setregs(thread, *regs)?;
        if let Some((_, Fault::Kill)) = self.fault {
            signal::kill(self.process, Signal::SIGKILL)?;
        }
        Ok(inside)
    }
}

/// What the kernel leaves in the register of the result for an error.
fn error_result(error: Errno) -> u64 {
    i64::from(-(error as i32)).cast_unsigned()
}
