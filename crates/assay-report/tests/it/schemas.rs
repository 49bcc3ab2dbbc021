//! Tests that output matches its schema: `report.json` the published one, SARIF that of the standard.
#![expect(clippy::unwrap_used, reason = "a test may stop here")]

use assay_model::{JobReport, PolicyErrorCode};
use assay_report::{json, sarif, schema};
use jsonschema::Validator;
use serde_json::Value;

use crate::fixtures;

const SARIF: &str = include_str!("../data/sarif-schema-2.1.0.json");
const PUBLISHED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/report.schema.json");

fn validator(schema: &str) -> Validator {
    jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap()
}

fn reports() -> [JobReport; 4] {
    [fixtures::safe(), fixtures::violated(), fixtures::failed(), fixtures::uncertified()]
}

#[track_caller]
fn fits(validator: &Validator, document: &Value) {
    let problems: Vec<_> = validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn the_published_schema_is_up_to_date() {
    let published = std::fs::read_to_string(PUBLISHED).unwrap_or_default();
    assert!(published == schema::render().unwrap(), "run `assay report --schema -o docs/report.schema.json`");
}

#[test]
fn the_schema_names_every_error_code() {
    let schema: Value = serde_json::from_str(&schema::render().unwrap()).unwrap();
    let code = &schema["$defs"]["EpisodeError"]["properties"]["code"];
    assert_eq!(code["type"], "string");
    for name in PolicyErrorCode::NAMED {
        assert!(code["description"].as_str().unwrap().contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn reports_fit_their_schema() {
    let validator = validator(&schema::render().unwrap());
    for report in reports() {
        let good: Value = serde_json::from_str(&json::render(&report).unwrap()).unwrap();
        fits(&validator, &good);
        for (place, wrong) in [
            ("/verdict", Value::from("FINE")),
            ("/score", Value::from("high")),
            ("/num_episodes", Value::from(-1)),
            ("/episode_details", Value::Null),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(place).unwrap() = wrong;
            assert!(!validator.is_valid(&bad), "{place}");
        }
        for field in good.as_object().unwrap().keys() {
            let mut bad = good.clone();
            bad.as_object_mut().unwrap().remove(field);
            assert!(!validator.is_valid(&bad), "without {field}");
        }
    }
}

#[test]
fn sarif_fits_the_standards_schema() {
    let mut schema: Value = serde_json::from_str(SARIF).unwrap();
    // This regular expression has an extra bracket that only JavaScript tolerates. Reports do not contain a language.
    for definition in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][definition]["properties"]["language"];
        language.as_object_mut().unwrap().remove("pattern").unwrap();
    }
    let validator = validator(&schema.to_string());
    for report in reports() {
        let mut document: Value = serde_json::from_str(&sarif::render(&report, "0.1.0").unwrap()).unwrap();
        fits(&validator, &document);
        document["runs"][0]["tool"]["driver"]["name"] = Value::Null;
        assert!(!validator.is_valid(&document), "the schema is strict enough to be of use");
    }
}
