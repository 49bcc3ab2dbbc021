//! Engine for tests that start no process.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::os::unix::fs::symlink;

use assay_store_testing::fingerprint;

use super::*;
use crate::episode::tests::script::scenario;

impl Engine {
    /// Creates an engine that knows one small scenario and has no programs to run it.
    pub(crate) fn without_programs() -> Self {
        let scratch = Scratch::new().unwrap();
        let work = scratch.folder("work").unwrap();
        let known = scenario();
        symlink(&known.folder, work.path().join(known.id.as_str())).unwrap();
        let library = Library::open(work.path(), &known.robots_folder).unwrap();
        let why = "this engine is for tests".to_owned();
        Self {
            jail: Jail::of(Isolation::None).unwrap(),
            lane: Program { path: LANE_INSIDE.into(), binds: Vec::new(), env: Vec::new(), files: Vec::new() },
            pools: Err(NotIsolated { strongest: Isolation::None, why }),
            remote: remote(AddressGuard::new(Vec::new())).unwrap(),
            cache_root: work.path().to_owned(),
            recently_staged: Mutex::default(),
            scratch,
            library,
            versions: None,
            runtimes: RuntimeLibrary::new(Vec::new(), work.path().to_owned()),
            fingerprint: fingerprint(),
            lanes: 1,
            wall_budget: WallBudget::default(),
            video_format: VideoFormat::default(),
            _work: work,
        }
    }
}

#[test]
fn lanes_take_turns_on_the_processors_that_this_process_may_use() {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let many = usize::try_from(allowed.count()).unwrap();
    let cores: std::collections::BTreeSet<usize> = (0..many).map(core_of).collect();
    assert!(cores.len() == many && cores.iter().all(|core| allowed.is_set(*core)), "{cores:?}");
    assert_eq!(core_of(many), core_of(0));
}
