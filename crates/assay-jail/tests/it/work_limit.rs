//! Limits of work on real processes: what burns CPU time or sleeps is ended, what waits for a processor is not.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::time::{Duration, Instant};

use assay_jail::{Child, Jail, JailSpec, Profile, WorkEnd, WorkLimit, WorkWatch, default_cache_root, native_program};
use rustix::thread::{CpuSet, sched_getaffinity};

/// Number of endless loops beside a process on its processor.
const RIVALS: usize = 8;

fn spawn(program: &str, args: &[&str]) -> Child {
    let program = native_program(Path::new(program), None, Path::new("/program"), &default_cache_root()).unwrap();
    let mut spec = JailSpec::new(Profile::Policy, [program.path.as_os_str()]);
    spec.argv.extend(args.iter().map(Into::into));
    spec.binds = program.binds;
    spec.env = program.env;
    Jail::find().unwrap().spawn(spec).unwrap()
}

fn endless_loop() -> Child {
    spawn("/bin/sh", &["-c", "while :; do :; done"])
}

/// Watches until the work ends, or `enough` returns true.
fn watch(child: &mut Child, limit: WorkLimit, enough: impl Fn(&WorkWatch) -> bool) -> Option<WorkEnd> {
    let mut work = WorkWatch::of(limit, child).unwrap();
    loop {
        assert_eq!(child.wait_deadline(work.due_in().unwrap()), None, "it does not end by itself");
        let end = work.check(child);
        if end.is_some() || enough(&work) {
            return end;
        }
    }
}

/// Returns a processor that this process may use.
fn own_core() -> usize {
    let set = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).find(|core| set.is_set(*core)).unwrap()
}

#[test]
fn a_loop_ends_at_its_cpu_time() {
    let mut child = endless_loop();
    let limit = WorkLimit::new(Duration::from_secs(1), Duration::from_secs(60));
    assert_eq!(watch(&mut child, limit, |_| false), Some(WorkEnd::Cpu));
    assert!(child.cpu_time().unwrap() > limit.cpu);
}

#[test]
fn a_sleeper_ends_at_the_limit_of_its_sleep() {
    let mut child = spawn("/bin/sleep", &["1000"]);
    let limit = WorkLimit::new(Duration::from_secs(60), Duration::from_secs(1));
    let began = Instant::now();
    assert_eq!(watch(&mut child, limit, |_| false), Some(WorkEnd::Asleep));
    assert!(began.elapsed() > limit.asleep, "no sample counts for more than the time that passed");
}

#[test]
fn a_process_that_shares_its_processor_with_many_goes_on() {
    let core = own_core();
    let rivals: Vec<Child> = (0..RIVALS).map(|_| endless_loop()).collect();
    rivals.iter().for_each(|rival| rival.pin(core).unwrap());
    let mut child = endless_loop();
    child.pin(core).unwrap();
    let (before, began) = (child.cpu_time().unwrap(), Instant::now());
    // It waits for much longer than it may sleep.
    let limit = WorkLimit::new(Duration::from_secs(2), Duration::from_millis(400));
    let wanted = Duration::from_secs(1);
    assert_eq!(watch(&mut child, limit, |work| work.used() > wanted), None);
    let (cpu, wall) = (child.cpu_time().unwrap() - before, began.elapsed());
    assert!(wall > 3 * cpu, "it was alone on its processor: {cpu:?} of CPU time in {wall:?}");
    // Alone again, it ends at its CPU time.
    drop(rivals);
    assert_eq!(watch(&mut child, limit, |_| false), Some(WorkEnd::Cpu));
}
