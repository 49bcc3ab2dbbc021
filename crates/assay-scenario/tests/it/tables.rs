//! The tables in the READMEs are those that the scenarios say.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

use assay_scenario::Library;

use crate::folder::repository;

/// Set to write them anew: `UPDATE_TABLES=1 cargo test -p assay-scenario tables`.
const UPDATE: &str = "UPDATE_TABLES";

#[test]
fn every_readme_has_its_tables_and_they_are_current() {
    let library = Library::open(&repository().join("scenarios"), &repository().join("robots")).unwrap();
    for scenario in library.scenarios() {
        let wanted = scenario.readme_with_tables();
        let wanted = wanted.unwrap_or_else(|| panic!("{}: README.md has no marks for its tables", scenario.id));
        if std::env::var_os(UPDATE).is_some() {
            std::fs::write(scenario.folder.join("README.md"), &wanted).unwrap();
        } else {
            assert_eq!(scenario.long_description, wanted, "{}: set {UPDATE}=1 to renew its tables", scenario.id);
        }
        for observation in &scenario.observations {
            assert!(
                !observation.description.trim().is_empty(),
                "{}: {} has no description",
                scenario.id,
                observation.name
            );
        }
        assert!(!scenario.description_for_people().contains("<!--"), "{}", scenario.id);
    }
}

#[test]
fn a_table_tells_names_shapes_units_and_ranges() {
    let library = Library::open(&repository().join("scenarios"), &repository().join("robots")).unwrap();
    let scenario = library.find("tidy_by_sight").unwrap();
    let (observation, action) = (scenario.observation_table(), scenario.action_table());
    for row in ["| `images/overhead` | 224 x 224 x 3 | 0 to 255 | ", "| `joint_position` | 7 | rad | "] {
        assert!(observation.contains(row), "{observation}");
    }
    assert!(action.contains("| 0 | `vx` | -0.5 | 0.5 | m/s |"), "{action}");
}
