//! The settings of the real program: file, environment, flags, and the output of `--check`.

use assay_testkit::archive;
use rustix::process::Signal;
use serde_json::Value;

use crate::serve::{STOP_LIMIT, assay, drawn_job};

#[test]
fn a_check_shows_the_effective_settings_and_their_sources() {
    let assay = assay()
        .with_variable("ASSAY_LIMITS_RATE_GET_PER_MINUTE", "77")
        .with_variable("ASSAY_JUDGE_URL", "http://127.0.0.1:1/v1")
        .with_variable("ASSAY_JUDGE_KEY", "k-3141592653");
    assay.write("assay.toml", "[server]\ndata = \"elsewhere\"\nlanes = 2\n[judge]\nmodel = \"m\"\n");
    let run = assay.run(&["serve", "--check", "--lanes", "1", "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let shown: Value = serde_json::from_str(&run.stdout).unwrap();
    let setting = |path: &str| {
        let setting = &shown["settings"][path];
        format!("{} {} {}", setting["value"], setting["origin"], setting["name"])
    };
    assert_eq!(setting("server.data"), "\"elsewhere\" \"file\" \"assay.toml\"");
    assert_eq!(setting("server.lanes"), "1 \"flag\" \"--lanes\"");
    assert_eq!(setting("limits.rate.get_per_minute"), "77 \"environment\" \"ASSAY_LIMITS_RATE_GET_PER_MINUTE\"");
    assert_eq!(setting("judge.key"), "\"[secret]\" \"environment\" \"ASSAY_JUDGE_KEY\"");
    assert_eq!(setting("uploads.max_bytes"), "104857600 \"default\" null");
    let people = assay.run(&["serve", "--check"]);
    let line = people.stdout.lines().find(|line| line.starts_with("limits.rate.get_per_minute")).unwrap();
    assert!(line.contains(" 77 ") && line.ends_with("ASSAY_LIMITS_RATE_GET_PER_MINUTE"), "{line}");
    for text in [run.stdout, run.stderr, people.stdout, people.stderr] {
        assert!(!text.contains("k-3141592653"), "{text}");
    }
    assert!(!assay.path("elsewhere").exists(), "a check makes nothing");
}

#[test]
fn invalid_settings_prevent_the_start() {
    let assay = assay();
    let file = assay.write("other.toml", "[limits.rate]\nget_per_minut = 5\n");
    let file = file.to_str().unwrap();
    for (arguments, expected) in [
        (&["serve"][..], "server.data = (not set)"),
        (&["serve", "--config", "missing.toml"], "can't read the settings in missing.toml"),
        (&["serve", "--config", file, "--data", "d"], "did you mean limits.rate.get_per_minute?"),
        (&["serve", "--data", "d", "--set", "uploads.max_bytes=0"], "uploads.max_bytes = 0: must be from 1"),
        (&["serve", "--data", "d", "--set", "uploads"], "--set PATH=VALUE"),
    ] {
        let run = assay.run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{arguments:?}: {}", run.stderr);
    }
    assert!(!assay.path("d").exists());
}

#[test]
fn a_server_runs_by_its_file() {
    let assay = assay();
    let settings = "[server]\npublic_url = \"https://assay.test/x\"\n[limits.job]\nmax_episodes = 7\n";
    let file = assay.write("assay.toml", settings);
    let server = assay.serve(&assay.path("data"), &["--config", file.to_str().unwrap(), "--lanes", "1"]);
    let client = server.client(&std::fs::read_to_string(assay.path("data/bootstrap-key")).unwrap());
    assert_eq!(client.get("/openapi.json").body["servers"][0]["url"], "https://assay.test/x");
    let answer = client.try_verify(b"PK", &[("scenario", "cartpole_keepin"), ("num_episodes", "8")]).unwrap();
    assert_eq!(answer.status, 400);
    assert!(answer.text.contains("from 1 to 7"), "{}", answer.text);
    assert_eq!(server.stop(Signal::TERM, STOP_LIMIT).code, 0);
}

#[test]
fn a_server_keeps_no_more_evidence_than_the_limit() {
    let assay = assay();
    let source: &[u8] = b"def policy(observation):\n    if observation['time'] > 0.2:\n        raise RuntimeError('seen enough')\n    return [0] * 7\n";
    let zip = archive(&[("policy.py", source)]);
    // The compiled world alone is larger than half a MiB.
    let episode = |data: &str, more: &[&str]| {
        let server = assay.serve(&assay.path(data), &[&["--lanes", "1"], more].concat());
        let client = server.client(&std::fs::read_to_string(assay.path(data).join("bootstrap-key")).unwrap());
        let id = client.verify(&zip, &[("scenario", "tabletop_reach"), ("num_episodes", "2")]);
        drawn_job(&client, &id).report.episode_details.remove(0)
    };
    let names = |episode: &assay_model::EpisodeResult| -> Vec<String> {
        episode.evidence.iter().map(|file| file.name.rsplit('/').next().unwrap().to_owned()).collect()
    };
    let (whole, capped) = (episode("a", &[]), episode("b", &["--max-evidence-mib", "1"]));
    let video = "video.mp4".to_owned();
    assert!(whole.evidence_notes.is_empty() && names(&whole).contains(&video), "{:?}", whole.evidence_notes);
    let notes = &capped.evidence_notes;
    assert!(notes.len() == 1 && notes[0].starts_with("images were left out: "), "{notes:?}");
    assert_eq!(capped.video_path, None);
    let images = [&video, "images.mcap", "still.png", "video.intoto.json"];
    let others = names(&whole).into_iter().filter(|name| !images.contains(&name.as_str()));
    assert_eq!(names(&capped), others.collect::<Vec<_>>());
    assert_eq!(capped.trace_hash, whole.trace_hash);
}
