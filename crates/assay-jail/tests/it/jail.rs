//! Real jails around small programs of the host: their restrictions, their exits, and their clean-up.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use assay_jail::{
    Activity, Bind, Child, Exit, ExitReason, FLOOD_BYTES, Jail, JailSpec, Profile, TAIL_BYTES, default_cache_root,
    give_to_jail, native_program, probe, sweep_orphans,
};

/// Maximum time of a wait that only ends what hangs, on a slow and busy machine.
const LIMIT: Duration = Duration::from_secs(600);
/// A kill that waits for something takes at least this long.
const PROMPT: Duration = Duration::from_secs(1);
/// Number of attempts to see a prompt kill: each may wait for a processor, but one that runs into a limit always does.
const ATTEMPTS: usize = 20;

fn spec(profile: Profile, program: &str, args: &[&str]) -> JailSpec {
    let program = native_program(Path::new(program), None, Path::new("/program"), &default_cache_root()).unwrap();
    let mut spec = JailSpec::new(profile, [program.path.as_os_str()]);
    spec.argv.extend(args.iter().map(Into::into));
    spec.binds = program.binds;
    spec.env = program.env;
    spec
}

fn shell(profile: Profile, script: &str) -> JailSpec {
    spec(profile, "/bin/sh", &["-c", script])
}

fn spawn(spec: JailSpec) -> Child {
    Jail::find().unwrap().spawn(spec).unwrap()
}

fn end(child: &mut Child) -> (Exit, String) {
    let exit = child.wait_deadline(LIMIT).unwrap_or_else(|| child.kill());
    (exit, String::from_utf8_lossy(&child.output_tail()).into_owned())
}

/// Waits until `condition` holds.
#[track_caller]
fn eventually(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + LIMIT;
    while !condition() {
        assert!(Instant::now() < end, "after {LIMIT:?} still missing: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn run(spec: JailSpec) -> (Exit, String) {
    end(&mut spawn(spec))
}

#[test]
fn every_profile_runs_a_program_and_reports_its_exit() {
    for profile in Profile::ALL {
        let (exit, log) = run(shell(profile, "echo out; echo err >&2; exit 3"));
        assert_eq!((exit.code, exit.reason, log.as_str()), (Some(3), ExitReason::Exited, "out\nerr\n"), "{profile:?}");
        assert_eq!(exit.output_bytes, 8);
        assert!(exit.cpu > Duration::ZERO && exit.max_rss_bytes > 0);
    }
}

#[test]
fn host_files_and_processes_are_invisible() {
    for profile in Profile::ALL {
        let script = "for f in /etc/passwd /proc/self /sys/kernel /home /root /tmp /dev/kvm; do \
                      [ -e $f ] && echo sees $f; done; true";
        assert_eq!(run(shell(profile, script)).1, "", "{profile:?}");
    }
}

#[test]
fn only_a_writable_bind_is_writable() {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::set_permissions(scratch.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let inside = scratch.path().join("scratch");
    std::fs::create_dir(&inside).unwrap();
    give_to_jail(&inside).unwrap();
    let mut spec = shell(Profile::Step, "echo x > /file; echo x > /assay/lib/file; echo kept > /scratch/file");
    spec.binds.push(Bind::writable(&inside, "/scratch"));
    let (exit, log) = run(spec);
    assert!(exit.is_success() && log.matches("Read-only file system").count() == 2, "{log}");
    assert_eq!(std::fs::read_to_string(inside.join("file")).unwrap(), "kept\n");
}

#[test]
fn a_second_process_cannot_be_started() {
    for profile in Profile::ALL {
        let (_, log) = run(shell(profile, "(echo child)"));
        assert!(log.contains("Cannot fork") && !log.contains("child"), "{profile:?}: {log}");
    }
}

#[test]
fn a_stepping_jail_can_not_signal_the_processes_it_shares_a_namespace_with() {
    let mut victim = spawn(spec(Profile::Step, "/bin/sleep", &["1000"]));
    for profile in [Profile::Step, Profile::StepWithCameras] {
        let (_, log) = run(shell(profile, &format!("kill -9 {}; kill -0 1", victim.pid())));
        assert_eq!(log.matches("Function not implemented").count(), 2, "{profile:?} {log}");
    }
    assert_eq!(victim.try_wait(), None);
    assert_eq!(victim.kill().reason, ExitReason::Killed);
}

#[test]
fn the_environment_contains_only_the_given_variables() {
    let mut spec = spec(Profile::Policy, "/usr/bin/env", &[]);
    spec.env.push(("GIVEN".to_owned(), "1".to_owned()));
    let log = run(spec).1;
    let names: Vec<_> = log.lines().filter_map(|line| line.split('=').next()).collect();
    assert!(names.iter().all(|name| ["GIVEN", "LD_LIBRARY_PATH", "PWD"].contains(name)), "{log}");
    assert!(names.contains(&"GIVEN"));
}

#[test]
fn descriptor_0_is_the_stream_and_there_is_no_other() {
    let (mut own_end, jail_end) = UnixStream::pair().unwrap();
    let leak = std::fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).unwrap();
    let script = "read word; echo got $word >&0; for n in 3 4 5 6 7 8 9; do \
                  if (: <&$n) 2>/dev/null || eval \": <&$n\" 2>/dev/null; then echo open $n; fi; done";
    let mut spec = shell(Profile::Policy, script);
    spec.stdin = Some(jail_end.into());
    let mut child = spawn(spec);
    own_end.write_all(b"hello\n").unwrap();
    let mut answer = String::new();
    own_end.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "got hello\n");
    assert_eq!(end(&mut child).1.matches("open").count(), 0);
}

#[test]
fn a_flood_is_stopped_and_its_end_kept() {
    let mut child = spawn(spec(Profile::Policy, "/usr/bin/yes", &["flood"]));
    let (exit, log) = end(&mut child);
    assert_eq!(exit.reason, ExitReason::Flooded);
    assert!(exit.output_bytes > FLOOD_BYTES && exit.output_bytes < 2 * FLOOD_BYTES);
    assert!(log.len() <= TAIL_BYTES && log.contains("flood\nflood\n"));
}

#[test]
fn the_cpu_limit_ends_an_endless_loop() {
    let mut spec = shell(Profile::Policy, "while :; do :; done");
    spec.limits.cpu_s = 1;
    let (exit, _) = run(spec);
    assert_eq!((exit.signal, exit.reason), (Some(libc::SIGKILL), ExitReason::Signalled));
    // The kernel counts this limit in ticks, which differ from the exact time.
    assert!(exit.cpu >= Duration::from_millis(500), "{exit:?}");
}

#[test]
fn a_process_that_ignores_signals_is_killed_and_nothing_is_left() {
    for profile in Profile::ALL {
        let took = (0..ATTEMPTS).map(|_| kill_of_a_stubborn_process(profile)).find(|took| *took < PROMPT);
        assert!(took.is_some(), "{profile:?}: no kill was prompt");
    }
}

/// Returns how long the kill takes.
fn kill_of_a_stubborn_process(profile: Profile) -> Duration {
    let mut child = spawn(shell(profile, "trap '' TERM INT HUP; echo up; while :; do :; done"));
    let pid = child.pid();
    eventually("the loop", || !child.output_tail().is_empty());
    eventually("a process that can run", || child.activity() == Some(Activity::Ready));
    assert_eq!(child.try_wait(), None);
    assert!(child.cpu_time().unwrap() > Duration::ZERO);
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::STOP).unwrap();
    eventually("a stopped process", || child.activity() == Some(Activity::Stopped));

    child.pin(0).unwrap();
    let start = Instant::now();
    assert_eq!(child.kill().reason, ExitReason::Killed);
    let took = start.elapsed();
    assert!(!is_alive(pid) && own_children().is_empty());
    took
}

#[test]
fn dropping_a_child_ends_it() {
    let child = spawn(spec(Profile::Step, "/bin/sleep", &["1000"]));
    let pid = child.pid();
    assert!(is_alive(pid));
    drop(child);
    assert!(!is_alive(pid));
}

#[test]
fn a_child_dies_with_the_thread_that_spawned_it() {
    let spawner = std::thread::spawn(|| {
        let child = spawn(shell(Profile::Policy, "echo up; while :; do :; done"));
        eventually("the child's output", || !child.output_tail().is_empty());
        child
    });
    let mut child = spawner.join().unwrap();
    let exit = child.wait_deadline(LIMIT).unwrap();
    assert_eq!((exit.signal, exit.reason), (Some(libc::SIGKILL), ExitReason::Signalled));
}

#[test]
fn jails_of_a_killed_owner_are_swept_and_those_of_a_live_one_are_kept() {
    let mut gone = Command::new("/bin/true").spawn().unwrap();
    gone.wait().unwrap();
    let sleeper =
        |owner: u32| Command::new("/bin/sleep").arg0(format!("assay-jail-{owner}")).arg("1000").spawn().unwrap();
    let (mut orphan, mut other) = (sleeper(gone.id()), sleeper(std::process::id()));
    // The spawn returns while the kernel still executes the program: its name appears a moment later.
    let named = |child: &std::process::Child| {
        std::fs::read(format!("/proc/{}/cmdline", child.id())).is_ok_and(|line| line.starts_with(b"assay-jail-"))
    };
    eventually("the sleepers' names", || named(&orphan) && named(&other));
    assert!(sweep_orphans() >= 1);
    assert_eq!(orphan.wait().unwrap().signal(), Some(libc::SIGKILL));
    assert!(other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_missing_program_and_a_missing_source_are_distinguished() {
    let (exit, log) = run({
        let mut spec = shell(Profile::Step, "");
        spec.argv = vec!["/nothing".into()];
        spec
    });
    assert!(!exit.is_success() && log.contains("/nothing"), "{log}");
    let mut spec = shell(Profile::Step, "");
    spec.binds.push(Bind::read_only("/no/such/folder", "/x"));
    let error = Jail::find().unwrap().spawn(spec).unwrap_err();
    assert_eq!(error.to_string(), "the jail's source /no/such/folder does not exist");
}

#[test]
fn this_machine_meets_the_requirements_of_jails() {
    let failed: Vec<_> = probe().into_iter().filter(|check| check.required && !check.holds).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

fn is_alive(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Children of this thread: none may stay, not even as zombies.
fn own_children() -> String {
    std::fs::read_to_string("/proc/thread-self/children").unwrap()
}

#[test]
fn a_jail_gives_way_to_everything_else_until_it_is_needed() {
    let group_of = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/autogroup")).unwrap_or_default();
    let own = group_of("self");
    let mut child = spawn(spec(Profile::Policy, "/bin/sleep", &["1000"]));
    let pid = child.pid().to_string();
    // Only if the kernel has such groups, and for users who may undo the change.
    let can = !own.is_empty() && rustix::process::geteuid().is_root();
    if !own.is_empty() {
        eventually("a session of its own", || group_of(&pid) != own);
    }
    assert_eq!(child.lower_priority(), can);
    assert_eq!(group_of(&pid).contains("nice 19"), can, "{}", group_of(&pid));
    child.compete().unwrap();
    assert_eq!(group_of(&pid).contains("nice 0"), !own.is_empty(), "{}", group_of(&pid));
    assert_eq!(group_of("self"), own, "this process's group is unchanged");
    child.kill();
}
