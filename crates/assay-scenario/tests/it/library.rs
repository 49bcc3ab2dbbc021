//! The built-in scenarios.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

use assay_model::Verdict;
use assay_scenario::{Library, Scenario};

use crate::folder::{Folder, copy, repository};

#[test]
fn every_built_in_scenario_loads() {
    let library = Library::open(&repository().join("scenarios"), &repository().join("robots")).unwrap();
    assert!(library.scenarios().len() >= 2);
    for scenario in library.scenarios() {
        assert_eq!(library.get(&scenario.id).unwrap().digest, scenario.digest);
        assert_eq!(library.find(scenario.id.as_str()).unwrap().digest, scenario.digest);
        assert!(scenario.decimation() >= 1 && scenario.control_steps() >= 1, "{}", scenario.id);
        assert!(!scenario.clauses.is_empty(), "{} proves nothing about safety", scenario.id);
        assert!(!scenario.stages.is_empty(), "{} shows no progress", scenario.id);
        assert!(!scenario.long_description.trim().is_empty(), "{} tells authors nothing", scenario.id);
        assert_eq!(scenario.signal_names()[0], "time");
    }
}

#[test]
fn every_built_in_folder_is_in_the_library() {
    let library = Library::open(&repository().join("scenarios"), &repository().join("robots")).unwrap();
    let folders = std::fs::read_dir(repository().join("scenarios")).unwrap();
    let folders = folders.map(Result::unwrap).filter(|entry| entry.file_type().unwrap().is_dir());
    assert_eq!(folders.filter(|entry| entry.file_name() != "clips").count(), library.scenarios().len());
}

#[test]
fn every_built_in_scenario_has_small_clips_of_its_present_version() {
    const MAX_VIDEO_BYTES: u64 = 256 << 10;
    const MAX_POSTER_BYTES: u64 = 24 << 10;
    let library = Library::open(&repository().join("scenarios"), &repository().join("robots")).unwrap();
    for scenario in library.scenarios() {
        let clips = library.clips(scenario).unwrap();
        let found: Vec<_> = clips.iter().map(|clip| (clip.policy, clip.report.verdict)).collect();
        let expected = [("reference", Some(Verdict::Safe)), ("reckless", Some(Verdict::Unsafe))];
        assert_eq!(found, expected, "{}: run tools/scenario-clips {0}", scenario.id);
        for clip in clips {
            for (file, most) in [(clip.video, MAX_VIDEO_BYTES), (clip.poster, MAX_POSTER_BYTES)] {
                let size = file.metadata().unwrap().len();
                assert!((1000..=most).contains(&size), "{}: {size} bytes", file.display());
            }
        }
    }
}

#[test]
fn a_clip_of_another_version_is_not_shown_and_a_broken_report_is_named() {
    let scenarios = tempfile::tempdir().unwrap();
    let source = repository().join("scenarios");
    for folder in ["cartpole_keepin", "clips/cartpole_keepin"] {
        copy(&source.join(folder), &scenarios.path().join(folder));
    }
    let open = || Library::open(scenarios.path(), &repository().join("robots")).unwrap();
    let library = open();
    assert_eq!(library.clips(&library.scenarios()[0]).unwrap().len(), 2);
    std::fs::write(scenarios.path().join("cartpole_keepin/README.md"), "Another version.").unwrap();
    let changed = open();
    assert!(changed.clips(&changed.scenarios()[0]).unwrap().is_empty());
    std::fs::write(scenarios.path().join("clips/cartpole_keepin/reference.json"), "{}").unwrap();
    let message = changed.clips(&changed.scenarios()[0]).unwrap_err().to_string();
    assert!(message.contains("clips/cartpole_keepin"), "{message}");
}

#[test]
fn an_unknown_scenario_is_answered_with_what_there_is() {
    let library = Library::open(&repository().join("scenarios"), &repository().join("robots")).unwrap();
    let message = library.find("cartpole").unwrap_err().to_string();
    assert!(message.contains("did you mean cartpole_keepin?") && message.contains("tabletop_reach"), "{message}");
    let message = library.find("nothing").unwrap_err().to_string();
    assert!(!message.contains("did you mean"), "{message}");
}

#[test]
fn a_folder_by_path_is_found() {
    let folder = Folder::of("cartpole_keepin");
    let library = Library::open(&repository().join("scenarios"), &repository().join("robots")).unwrap();
    assert_eq!(library.find(folder.scenario().to_str().unwrap()).unwrap().id.as_str(), "cartpole_keepin");
}

#[test]
fn an_unknown_robot_is_answered_with_what_there_is() {
    let folder = Folder::edited("tabletop_reach", "model = \"panda\"", "model = \"pandas\"");
    let message = Scenario::load(&folder.scenario(), &repository().join("robots")).unwrap_err().to_string();
    assert!(message.contains("robot[0].model") && message.contains("did you mean panda?"), "{message}");
    assert!(message.contains("Known robots: ") && message.contains("crazyflie"), "{message}");
}

#[test]
fn a_folder_must_have_its_scenarios_name() {
    let folder = Folder::of("cartpole_keepin");
    let scenarios = tempfile::tempdir().unwrap();
    copy(&folder.scenario(), &scenarios.path().join("other"));
    let opened = Library::open(scenarios.path(), &folder.robots()).unwrap_err();
    let library = Library::open(&repository().join("scenarios"), &folder.robots()).unwrap();
    let found = library.find(scenarios.path().join("other").to_str().unwrap()).unwrap_err();
    for message in [opened.to_string(), found.to_string()] {
        let both = "scenario.toml: id: is \"cartpole_keepin\", but the folder is called \"other\"; rename the folder";
        assert!(message.starts_with(both), "{message}");
    }
    // What the service keeps is called by its digest.
    assert!(Scenario::load(&scenarios.path().join("other"), &folder.robots()).is_ok());
}

#[test]
fn collections_name_scenarios_that_there_are_and_leave_none_out() {
    let library = Library::open(&repository().join("scenarios"), &repository().join("robots")).unwrap();
    assert!(library.collections().len() >= 4);
    for scenario in library.scenarios() {
        let id = scenario.id.as_str();
        assert!(library.collections().iter().any(|c| c.scenarios.iter().any(|s| s == id)), "{id} is in no collection");
    }
}

#[test]
fn a_broken_list_of_collections_is_told() {
    let one = "[[collection]]\nid = \"a\"\nname = \"A\"\ndescription = \"A.\"\n";
    let cases = [
        (format!("{one}scenarios = [\"nothing\"]"), "there is no scenario \"nothing\""),
        (format!("{one}scenarios = []\n{one}scenarios = []"), "collection[1].id"),
        (format!("{one}scenario = []"), "scenario"),
    ];
    for (text, words) in cases {
        let scenarios = tempfile::tempdir().unwrap();
        std::fs::write(scenarios.path().join("collections.toml"), text).unwrap();
        let message = Library::open(scenarios.path(), &repository().join("robots")).unwrap_err().to_string();
        assert!(message.contains("collections.toml") && message.contains(words), "{message}");
    }
}
