//! The built-in scenarios.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

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
    let folders = folders.filter(|entry| entry.as_ref().unwrap().file_type().unwrap().is_dir()).count();
    assert_eq!(folders, library.scenarios().len());
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
