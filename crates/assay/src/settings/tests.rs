//! Tests of settings from all sources.

use std::path::PathBuf;

use assay_report::terminal::Layout;
use clap::CommandFactory;

use super::{Effective, SettingSources, example, keys};
use crate::cli::Cli;

fn sources(file: Option<&str>, variables: &[(&str, &str)], flags: &[(&str, &str)]) -> SettingSources {
    let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    SettingSources {
        file: file.map(|text| (PathBuf::from("/etc/assay.toml"), text.to_owned())),
        variables: variables.iter().map(pair).collect(),
        flags: flags.iter().map(|(path, value)| ("--set".into(), (*path).into(), (*value).into())).collect(),
    }
}

fn load_error(file: Option<&str>, variables: &[(&str, &str)], flags: &[(&str, &str)]) -> String {
    Effective::load(&sources(file, variables, flags)).unwrap_err().to_string()
}

#[test]
fn the_example_holds_the_defaults_and_is_published() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/assay.example.toml");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write(path, example()).unwrap();
    }
    let published = std::fs::read_to_string(path).unwrap();
    assert!(published == example(), "run `assay serve --example-settings > docs/assay.example.toml`");
    let (read, default) = (sources(Some(&published), &[], &[]), SettingSources::default());
    let values = |sources: &SettingSources| format!("{:?}", Effective::load(sources).unwrap().settings);
    assert_eq!(values(&read), values(&default));
    // Settings without a default are commented out; their example values must be valid too.
    let uncommented: Vec<_> =
        published.lines().map(|line| line.strip_prefix("# ").filter(|l| is_setting(l)).unwrap_or(line)).collect();
    let without = |name: &&&str| !name.starts_with("key_file");
    let whole = uncommented.iter().filter(without).copied().collect::<Vec<_>>().join("\n");
    let effective = Effective::load(&sources(Some(&whole), &[], &[])).unwrap();
    assert!(effective.entries.iter().all(|entry| entry.key.path == "judge.key_file" || entry.value.is_some()));
}

/// Returns true if a line is `name = value`, as opposed to prose.
fn is_setting(line: &str) -> bool {
    line.split_once(" = ").is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
}

#[test]
fn flags_override_variables_and_variables_the_file() {
    let file = "[limits.rate]\nget_per_minute = 1\nwrite_per_minute = 2\nverify_per_minute = 3\n";
    let variables = [("ASSAY_LIMITS_RATE_GET_PER_MINUTE", "10"), ("ASSAY_LIMITS_RATE_WRITE_PER_MINUTE", "20")];
    let flags = [("limits.rate.get_per_minute", "100")];
    let effective = Effective::load(&sources(Some(file), &variables, &flags)).unwrap();
    let rate = &effective.settings.limits.rate;
    assert_eq!((rate.get_per_minute, rate.write_per_minute, rate.verify_per_minute), (100, 20, 3));
    assert_eq!(rate.submissions_per_minute, 10);
    let shown = effective.json();
    let origin = |key: &str| {
        let setting = &shown["settings"][format!("limits.rate.{key}")];
        format!("{} {}", setting["origin"], setting["name"])
    };
    assert_eq!(origin("get_per_minute"), "\"flag\" \"--set\"");
    assert_eq!(origin("write_per_minute"), "\"environment\" \"ASSAY_LIMITS_RATE_WRITE_PER_MINUTE\"");
    assert_eq!(origin("verify_per_minute"), "\"file\" \"/etc/assay.toml\"");
    assert_eq!(origin("submissions_per_minute"), "\"default\" null");
}

#[test]
fn flags_and_variables_are_named_after_their_settings() {
    const OTHERS: [&str; 6] = ["config", "set", "check", "connect", "json", "example_settings"];
    let command = Cli::command();
    let (serve, keys) = (command.find_subcommand("serve").unwrap(), keys::all());
    let options: Vec<_> = serve.get_arguments().filter(|option| !OTHERS.contains(&option.get_id().as_str())).collect();
    assert_eq!(options.len(), 19);
    for option in options {
        let id = option.get_id().as_str();
        let key = keys.iter().find(|key| key.flag() == id).unwrap_or_else(|| panic!("--{id} sets nothing"));
        assert_eq!(option.get_long(), Some(id.replace('_', "-").as_str()));
        assert!(option.get_env().is_none_or(|variable| variable == key.variable().as_str()), "{id}");
    }
}

#[test]
fn a_flag_sets_the_setting_of_its_name() {
    let words =
        ["assay", "serve", "--lanes", "3", "--judge-frames", "5", "--policy-networks", "10.0.0.0/8,192.168.1.7"];
    let matches = Cli::command().get_matches_from(words.into_iter().chain(["--run-untrusted-code-without-isolation"]));
    let (_, matches) = matches.subcommand().unwrap();
    let effective = Effective::load(&SettingSources::gather(None, &[], matches).unwrap()).unwrap();
    let settings = &effective.settings;
    assert_eq!((settings.server.lanes, settings.judge.frames), (Some(3), 5));
    assert_eq!(settings.server.policy_networks.len(), 2);
    assert!(settings.server.run_untrusted_code_without_isolation);
    let shown = effective.json();
    assert_eq!(shown["settings"]["judge.frames"]["name"], "--judge-frames");
}

#[test]
fn each_kind_is_parsed_from_text() {
    let variables = [
        ("ASSAY_LISTEN", "0.0.0.0:9"),
        ("ASSAY_DATA", "12"),
        ("ASSAY_LANES", "7"),
        ("ASSAY_POLICY_NETWORKS", "10.0.0.0/8, 192.168.1.7"),
        ("ASSAY_RUN_UNTRUSTED_CODE_WITHOUT_ISOLATION", "yes"),
        ("ASSAY_ACCEPT_WEAKER_ISOLATION", "landlock"),
        ("ASSAY_UPLOADS_IDLE_S", "0.5"),
    ];
    let settings = Effective::load(&sources(None, &variables, &[])).unwrap().settings;
    assert_eq!(settings.server.listen.port(), 9);
    assert_eq!(settings.server.data.as_deref(), Some(std::path::Path::new("12")));
    assert_eq!(settings.server.lanes, Some(7));
    assert_eq!(settings.server.policy_networks.len(), 2);
    assert!(settings.server.run_untrusted_code_without_isolation);
    assert!(settings.server.accept_weaker_isolation.is_some());
    assert_eq!(settings.uploads.idle_s.get().as_millis(), 500);
}

#[test]
fn a_list_is_written_with_commas_or_as_in_a_file() {
    for text in ["10.0.0.0/8,192.168.1.7", "[\"10.0.0.0/8\", '192.168.1.7']", " [ \"10.0.0.0/8\",\n\"192.168.1.7\" ] "]
    {
        let settings = Effective::load(&sources(None, &[], &[("server.policy_networks", text)])).unwrap().settings;
        assert_eq!(settings.server.policy_networks.len(), 2, "{text}");
    }
    let none = Effective::load(&sources(None, &[], &[("server.policy_networks", "[]")])).unwrap().settings;
    assert!(none.server.policy_networks.is_empty());
}

#[test]
fn errors_name_path_value_and_source() {
    let file = |text| load_error(Some(text), &[], &[]);
    let variable = |name, value| load_error(None, &[(name, value)], &[]);
    for (message, parts) in [
        (
            file("[limits.rate]\nverify_per_minutes = 1"),
            &["/etc/assay.toml: ", "limits.rate.verify_per_minutes", "did you mean limits.rate.verify_per_minute?"][..],
        ),
        (file("[limit]\nx = 1"), &["/etc/assay.toml: there is no section limit; did you mean limits?"]),
        (
            file("[limit.rate]\nget_per_minute = 1"),
            &["/etc/assay.toml: there is no section limit.rate; did you mean limits.rate?"],
        ),
        (file("[blob.x.y]\na = 1"), &["there is no section blob.x.y"]),
        (
            file("[store]\nurl = \"mysql://u:secret@db/assay\""),
            &["store.url = [secret]: ", "PostgreSQL", "other databases are not supported", "SQLite"],
        ),
        (
            load_error(None, &[], &[("server.policy_networks", "[10.0.0.0/8]")]),
            &["--set: server.policy_networks = ", "must be a list of strings, as a,b or [\"a\", \"b\"]"],
        ),
        (file("listen = \"x\""), &["there is no setting listen"]),
        (file("limits = 3"), &["there is no setting limits"]),
        (file("[uploads]\nmax_bytes = \"lots\""), &["uploads.max_bytes = \"lots\": must be a whole number"]),
        (file("[uploads]\nmax_bytes = 0"), &["uploads.max_bytes = 0: must be from 1 to 1099511627776"]),
        (file("[uploads]\nidle_s = -1"), &["uploads.idle_s = -1: must be a number of seconds, 0 or more"]),
        (file("[server]\nlanes = 257"), &["server.lanes = 257: must be from 0 to 256"]),
        (file("[server]\nlanes = -1"), &["server.lanes = -1: must be a whole number from 0 to 65535, not -1"]),
        (file("[server]\nlisten = \"here\""), &["server.listen = \"here\": invalid socket address"]),
        (
            file("[server]\npublic_url = \"x.org\""),
            &["server.public_url = \"x.org\": must be an address that starts with http"],
        ),
        (
            file("[server]\npolicy_networks = [\"10.0.0.0/8\", \"x\"]"),
            &["server.policy_networks[1] = ", "a network such as"],
        ),
        (file("[server]\naccept_weaker_isolation = \"none\""), &["must be landlock"]),
        (file("[judge]\nurl = \"https://x.org\""), &["judge.model = (not set): must be set together with judge.url"]),
        (file("[server\n"), &["/etc/assay.toml, line 1: "]),
        (variable("ASSAY_LANES", "many"), &["ASSAY_LANES: server.lanes = \"many\": must be a whole number"]),
        (
            variable("ASSAY_LIMITS_RATE_GET_PER_MINUT", "1"),
            &[
                "ASSAY_LIMITS_RATE_GET_PER_MINUT in the environment is not a setting; did you mean ASSAY_LIMITS_RATE_GET_PER_MINUTE?",
            ],
        ),
        (load_error(None, &[], &[("no.such", "1")]), &["--set: there is no setting no.such"]),
        (
            load_error(None, &[], &[("limits.rate.get_per_minute", "0")]),
            &["--set: limits.rate.get_per_minute = 0: must be from 1"],
        ),
    ] {
        for part in parts {
            assert!(message.contains(part), "{part:?} is missing in {message}");
        }
    }
    let two = load_error(Some("[server]\na = 1\nb = 2"), &[], &[]);
    assert!(two.contains("server.a") && two.contains("server.b"), "all problems are listed at once: {two}");
}

#[test]
fn an_unknown_variable_outside_the_sections_is_a_warning() {
    let variables = [("ASSAY_SERVICE_HOST", "10.0.0.1"), ("ASSAY_LANE", "3"), ("ASSAY_LOG", "debug")];
    let effective = Effective::load(&sources(None, &variables, &[])).unwrap();
    assert_eq!(effective.warnings.len(), 2, "{:?}", effective.warnings);
    assert!(effective.warnings[1].contains("did you mean ASSAY_LANES?"), "{:?}", effective.warnings);
}

#[test]
fn secrets_are_never_shown() {
    let key = "k-3141592653";
    let file = format!("[judge]\nkey = \"{key}\"\n");
    let by_file = sources(Some(&file), &[], &[]);
    let by_variable = sources(None, &[("ASSAY_JUDGE_KEY", key)], &[]);
    for sources in [by_file, by_variable] {
        let effective = Effective::load(&sources).unwrap();
        assert_eq!(effective.settings.judge.key.as_ref().unwrap().reveal(), key);
        let settings = format!("{:?}", effective.settings);
        for text in [
            effective.table(Layout::new(120, false)),
            effective.json().to_string(),
            settings,
            format!("{effective:?}"),
            format!("{sources:?}"),
        ] {
            assert!(!text.contains(key), "{text}");
        }
        assert!(effective.table(Layout::new(120, false)).contains("[secret]"));
    }
    for wrong in [
        format!("[judge]\nkey = [\"{key}\"]"),
        format!("[judge]\nkey = \"{key}\n"),
        format!("[judge]\nkey = \"{key}\"\nkey_file = \"x\""),
    ] {
        let message = load_error(Some(&wrong), &[], &[]);
        assert!(!message.contains(key), "{message}");
    }
}
