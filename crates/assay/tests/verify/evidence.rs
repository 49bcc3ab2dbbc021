//! `--out`: the stored files, and their use.

use std::fs;
use std::path::Path;
use std::process::Command;

use assay_model::{EpisodeResult, JobReport, Sha256Digest};
use assay_testkit::{Assay, Run};
use serde_json::Value;

use crate::verify::log::read as read_log;
use crate::verify::{CARTPOLE, assay, hashes, report, verify};

/// Returns the properties of the first video stream from ffprobe: codec, width, height, seconds.
fn probe(video: &Path) -> (String, String, String, f64) {
    let fields = "stream=codec_name,width,height,duration";
    let mut ffprobe = Command::new("ffprobe");
    ffprobe.args(["-v", "error", "-select_streams", "v:0", "-show_entries", fields, "-of", "csv=p=0"]);
    let output = ffprobe.arg(video).output().expect("ffprobe is installed by tools/setup --dev");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let fields: Vec<_> = text.trim().split(',').map(str::to_owned).collect();
    (fields[0].clone(), fields[1].clone(), fields[2].clone(), fields[3].parse().unwrap())
}

fn videos(out: &Path) -> Vec<usize> {
    (0..3).filter(|episode| out.join(format!("episodes/{episode:03}/video.mp4")).is_file()).collect()
}

/// Files that are rendered after the verdict.
const DRAWN: [&str; 7] =
    ["clip.mp4", "images.mcap", "log.intoto.json", "log.mcap", "still.png", "video.intoto.json", "video.mp4"];

/// Checks that the report lists exactly the files of the episode on which the verdict is based, with hash and size.
#[track_caller]
fn verify_hashes(out: &Path, episode: &EpisodeResult) {
    let folder = format!("episodes/{:03}", episode.episode);
    let mut names: Vec<_> = fs::read_dir(out.join(&folder)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let listed: Vec<_> = episode.evidence.iter().map(|file| file.name.clone()).collect();
    let found: Vec<_> = names.iter().map(|name| format!("{folder}/{}", name.to_str().unwrap())).collect();
    // Files rendered after the verdict have their own statements.
    let (drawn, recorded): (Vec<_>, Vec<_>) = found.into_iter().partition(|name| DRAWN.contains(&&name[13..]));
    assert_eq!(listed, recorded);
    assert_eq!(
        recorded.iter().map(|name| &name[13..]).collect::<Vec<_>>(),
        ["actions.npy", "inputs.npz", "model.mjb", "plots.json", "state.bin", "trace.parquet"]
    );
    let has = |name: &str| drawn.iter().any(|drawn| drawn.ends_with(name));
    assert_eq!(has("log.mcap"), has("log.intoto.json"), "{drawn:?}");
    for name in ["video.mp4", "images.mcap"] {
        assert_eq!(has(name), has("video.intoto.json"), "{drawn:?}");
    }
    for file in &episode.evidence {
        let bytes = fs::read(out.join(&file.name)).unwrap();
        let sha256 = Sha256Digest::of(&bytes);
        assert_eq!((sha256, bytes.len() as u64), (file.sha256, file.size_bytes), "{}", file.name);
    }
}

#[track_caller]
fn kept(out: &Path, run: &Run, code: i32) -> JobReport {
    assert_eq!(run.code, code, "{}", run.stderr);
    let printed = report(run);
    let written: JobReport = serde_json::from_slice(&fs::read(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(printed, written);
    let html = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(html.contains("<html") && html.contains(CARTPOLE) && html.contains(&hashes(&printed)[0]));
    for name in ["scenario/scenario.toml", "scenario/scene.xml"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    for episode in &printed.episode_details {
        verify_hashes(out, episode);
        let path = episode.log_path.as_ref().unwrap();
        let folder = format!("episodes/{:03}", episode.episode);
        assert_eq!(*path, format!("{folder}/trace.parquet"), "the log comes after the verdict");
        let trace = fs::read(out.join(&folder).join("trace.parquet")).unwrap();
        assert!(trace.starts_with(b"PAR1") && trace.ends_with(b"PAR1"), "{path}");
        assert_eq!(episode.video_path, None, "the video comes after the verdict");
        let shown = html.contains(&format!("src=\"{folder}/video.mp4\""));
        assert_eq!(shown, videos(out).contains(&(episode.episode as usize)), "the page leads to the video");
    }
    printed
}

/// Does nothing for two seconds, then fails: rendering complete episodes would take most of the tests' time.
pub(crate) const SHORT: &str = "import numpy as np\n\ndef policy(observation):\n    if observation['time'] > 2.0:\n        raise RuntimeError('seen enough')\n    return np.zeros(1)\n";

#[test]
fn a_recorded_episode_has_a_video_that_plays() {
    let assay = assay();
    let policy = assay.write("policy.py", SHORT);
    let out = assay.path("out");
    let arguments = ["--json", "--episodes", "2", "--out", out.to_str().unwrap(), "--video", "960x540@20"];
    let report = kept(&out, &verify(&assay, &policy, &arguments), 3);
    assert_eq!(videos(&out), [0], "the first one only: nothing was violated");
    let (codec, width, height, seconds) = probe(&out.join("episodes/000/video.mp4"));
    assert_eq!((codec.as_str(), width.as_str(), height.as_str()), ("h264", "960", "540"));
    let simulated = report.episode_details[0].sim_time_s;
    assert!((seconds - simulated).abs() < 0.1, "{seconds} s of video for {simulated} s");
    assay.assert_clean();

    // The folder of an earlier run is replaced.
    let arguments = ["--json", "--episodes", "1", "--record", "none", "--out", out.to_str().unwrap()];
    kept(&out, &verify(&assay, &policy, &arguments), 3);
    assert!(videos(&out).is_empty() && !out.join("episodes/001").exists());
}

#[test]
fn violations_are_recorded() {
    let assay = assay();
    let out = assay.path("out");
    // The pole falls in the first episodes, and one of them has a violation.
    let source = "import numpy as np\n\nclass Policy:\n    def reset(self, *, seed, scenario, instruction):\n        self.force = 12.0 if seed % 2 else 0.0\n\n    def act(self, observation):\n        if observation['time'] > 1.5:\n            raise RuntimeError('seen enough')\n        return np.array([self.force])\n";
    let policy = assay.write("policy.py", source);
    let arguments = ["--json", "--seed", "3", "--out", out.to_str().unwrap()];
    let run = verify(&assay, &policy, &arguments);
    let report = kept(&out, &run, 1);
    let violated = |episode: &&assay_model::EpisodeResult| !episode.violations.is_empty();
    let with_violation: Vec<_> = report.episode_details.iter().filter(violated).map(|e| e.episode as usize).collect();
    let mut expected = with_violation.clone();
    expected.extend([0]);
    expected.sort_unstable();
    expected.dedup();
    assert!((1..3).contains(&with_violation.len()), "take another seed: {with_violation:?}");
    assert_eq!(videos(&out), expected);
    let html = fs::read_to_string(out.join("report.html")).unwrap();
    let names = |episode: &usize| ["still.png", "clip.mp4"].map(|name| format!("episodes/{episode:03}/{name}"));
    let is_shown = |episode: &&usize| names(episode).iter().all(|name| html.contains(&format!("\"{name}\"")));
    let gravest = with_violation.iter().find(is_shown).expect("the page shows the gravest violation");
    let [still, clip] = names(gravest).map(|name| out.join(name));
    let size = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    let png = fs::read(&still).unwrap();
    assert_eq!((size(&png[16..20]), size(&png[20..24])), (1280, 720));
    let seconds = probe(&clip).3;
    assert!((0.1..=2.6).contains(&seconds), "{seconds} s around the worst moment");

    let run = verify(&assay, &policy, &[&arguments[..], &["--record", "all"]].concat());
    kept(&out, &run, 1);
    assert_eq!(videos(&out), [0, 1, 2]);
    assay.assert_clean();
}

#[test]
fn over_the_limit_images_are_left_out() {
    let assay = assay();
    let policy = assay.write("policy.py", SHORT);
    let out = assay.path("out");
    let arguments = ["--json", "--episodes", "10", "--max-evidence-mib", "1", "--out", out.to_str().unwrap()];
    let run = verify(&assay, &policy, &arguments);
    assert_eq!((run.code, report(&run).episode_details[0].evidence_notes.len()), (3, 0), "{}", run.stderr);
    assert!(videos(&out).is_empty(), "the model alone takes more than a tenth of a MiB");
    assert!(run.stderr.contains("episode 0: video: images were left out: "), "{}", run.stderr);
    assert!(out.join("episodes/000/log.mcap").is_file(), "the log does without them");
    assay.assert_clean();
}

/// Number of episodes that share a job's space, so that the share of one can be chosen finely.
const SHARES: u64 = 24;

/// Runs an episode in which a policy with cameras waits for a second and a half, then fails. Returns the result, the
/// log, and the line about its video. The job has `limit_mib` for its evidence, and the other episodes end at once.
#[track_caller]
fn watched(assay: &Assay, limit_mib: u64, first_seed: u64) -> (EpisodeResult, Value, String) {
    let source = format!(
        "import numpy as np\n\nclass Policy:\n    def reset(self, *, seed, scenario, instruction):\n        self.end = \
         1.5 if {first_seed} in (0, seed) else -1.0\n\n    def act(self, observation):\n        if observation['time'] \
         > self.end:\n            raise RuntimeError('seen enough')\n        return np.zeros(7)\n"
    );
    let (policy, out) = (assay.write("policy.py", source), assay.path("out"));
    let (episodes, limit) = (if first_seed == 0 { 1 } else { SHARES }.to_string(), limit_mib.to_string());
    let words = ["verify", policy.to_str().unwrap(), "--scenario", "tidy_by_sight", "--episodes", &episodes, "--json"];
    let run = assay.run(&[&words[..], &["--max-evidence-mib", &limit, "--out", out.to_str().unwrap()]].concat());
    assert_eq!(run.code, 3, "{}", run.stderr);
    let episode = report(&run).episode_details.remove(0);
    verify_hashes(&out, &episode);
    let line = run.stderr.lines().find(|line| line.starts_with("episode 0: video")).unwrap_or_default().to_owned();
    (episode, read_log(&out.join("episodes/000")), line)
}

#[test]
fn the_policys_images_are_dropped_before_the_video() {
    let assay = assay();
    let counts = |log: &Value| (log["images"].as_object().unwrap().len(), log["frames"].as_u64().unwrap());
    let file = |of: &EpisodeResult, name: &str| of.evidence.iter().find(|f| f.name.ends_with(name)).unwrap().clone();
    let (whole, log, line) = watched(&assay, 4096, 0);
    let (cameras, frames) = counts(&log);
    assert!(cameras == 2 && frames > 30 && line.ends_with("video rendered"), "{line} {log}");

    // Enough space for the video, which is stored twice, but not for the images from the cameras.
    let recorded: u64 = whole.evidence.iter().map(|file| file.size_bytes).sum();
    let size = |name: &str| fs::metadata(assay.path("out/episodes/000").join(name)).unwrap().len();
    let needed = recorded + size("log.mcap") + size("log.intoto.json") + 2 * size("video.mp4");
    let (first, log, line) = watched(&assay, (needed * SHARES).div_ceil(1 << 20), whole.seed);
    assert_eq!(counts(&log), (0, frames), "{line}");
    assert!(line.contains("what the policy's cameras saw was left out") && !line.contains("images were"), "{line}");

    let (second, log, line) = watched(&assay, 1, whole.seed);
    assert_eq!((counts(&log), videos(&assay.path("out"))), ((0, 0), Vec::new()), "{line}");
    assert!(line.contains("cameras saw was left out") && line.contains("images were left out: "), "{line}");

    // Everything else exists, and is the same.
    for episode in [&first, &second] {
        assert_eq!((&episode.trace_hash, episode.steps), (&whole.trace_hash, whole.steps));
        for name in ["actions.npy", "inputs.npz", "model.mjb", "state.bin"] {
            assert_eq!(file(episode, name), file(&whole, name));
        }
    }
    assay.assert_clean();
}
