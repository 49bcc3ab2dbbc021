//! Jobs from POST to verdict.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use assay_model::{Blame, EpisodeStatus, JobReport, JobStatus, Sha256Digest, Verdict};
use assay_testkit::{Account, archive, example, wait_for, zip_folder};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::serve::{CARTPOLE, JOB_LIMIT, SLOW, assay, drawn_job, serve, shared_server};

/// Maximum time from the answer to a cancellation to the end of the job's processes, on a quiet machine.
const CANCEL_LIMIT: Duration = Duration::from_secs(2);

#[test]
fn the_service_and_the_command_line_have_the_same_results() {
    let assay = assay();
    let (_server, Account { client, .. }) = shared_server("default");
    for (policy, verdict) in [("reference", Verdict::Safe), ("reckless", Verdict::Unsafe)] {
        let zip = zip_folder(&example(CARTPOLE, policy));
        let parts = [("scenario", CARTPOLE), ("num_episodes", "3"), ("seed", "7"), ("record", "none")];
        let job = client.ended_job(&client.verify(&zip, &parts), JOB_LIMIT);
        assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(verdict)), "{:?}", job.error_message);

        let path = assay.write("policy.zip", &zip);
        let arguments = ["verify", path.to_str().unwrap(), "--scenario", CARTPOLE, "--seed", "7", "--json"];
        let local: JobReport = serde_json::from_str(&assay.run(&arguments).stdout).unwrap();
        assert_eq!(local.policy_sha256, job.policy_sha256);
        assert_eq!(comparable(&job), comparable(&local));
    }
}

/// Returns a report without the fields that depend on place or time.
fn comparable(report: &JobReport) -> serde_json::Value {
    let mut value = serde_json::to_value(report).unwrap();
    let apart = [
        "job_id",
        "signed_by",
        "policy_name",
        "created_at",
        "started_at",
        "completed_at",
        "review_reasons",
        "needs_review",
        "video_url",
        "report_url",
        "attestation_url",
    ];
    apart.iter().for_each(|field| value[*field] = serde_json::Value::Null);
    for episode in value["episode_details"].as_array_mut().unwrap() {
        assert!(episode["trace_hash"].is_string());
        for field in [
            "wall_time_s",
            "policy_latency_ms",
            "deadline_misses",
            "log_url",
            "log_type",
            "video_url",
            "evidence",
            "evidence_notes",
        ] {
            episode[field] = serde_json::Value::Null;
        }
    }
    value
}

#[test]
fn a_certification_ends_at_its_first_failure() {
    let assay = assay();
    let (server, Account { client, .. }) = shared_server("default");
    let source: &[u8] = b"class Policy:
    def reset(self, *, seed, scenario, instruction):
        self.bad = seed % 4 == 0

    def act(self, observation):
        if self.bad:
            raise RuntimeError('this world is too hard')
        return [0]
";
    let zip = archive(&[("policy.py", source)]);
    let parts = [("max_violation_probability", "0.3"), ("confidence_level", "0.9"), ("seed", "5"), ("record", "none")];
    let id = client.verify(&zip, &[&parts[..], &[("scenario", CARTPOLE)]].concat());
    let job = client.ended_job(&id, JOB_LIMIT);
    let path = assay.write("policy.zip", &zip);
    let wish = ["--max-violation-probability", "0.3", "--confidence", "0.9", "--seed", "5", "--json"];
    let arguments = [&["verify", path.to_str().unwrap(), "--scenario", CARTPOLE], &wish[..]].concat();
    let local: JobReport = serde_json::from_str(&assay.run(&arguments).stdout).unwrap();
    assert_eq!(job.num_episodes, 7);
    assert_eq!(job.verdict, Some(Verdict::Inconclusive));
    assert_eq!(comparable(&job), comparable(&local));
    let mut listed: Vec<_> =
        job.episode_details.iter().flat_map(|episode| &episode.evidence).map(|file| file.sha256.to_string()).collect();
    listed.sort();
    listed.dedup();
    wait_for("the end of evidence that does not count", JOB_LIMIT, || {
        let kept = fs::read_dir(server.data().join("blobs/jobs").join(&id)).unwrap();
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut kept: Vec<_> = kept.map(|entry| name(entry).trim_end_matches(".pack").to_owned()).collect();
        kept.sort();
        // A file that is being packed has two names for a moment.
        kept.dedup();
        (kept == listed).then_some(())
    });
}

#[test]
fn the_evidence_of_a_job_is_kept() {
    let assay = assay();
    let (_server, client) = serve(&assay);
    // One simulated second, because rendering is slow.
    let source = b"def policy(observation):\n    if observation['time'] > 1.0:\n        raise RuntimeError('enough')\n    return [0]\n";
    let zip = archive(&[("policy.py", source)]);
    let id = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "2")]);
    let job = drawn_job(&client, &id);
    assert_eq!(job.verdict, Some(Verdict::Inconclusive));
    for (name, kept) in
        [("000/trace.parquet", true), ("000/video.mp4", true), ("001/trace.parquet", true), ("001/video.mp4", false)]
    {
        let name = format!("episodes/{name}");
        let file = job.episode_details.iter().flat_map(|e| &e.evidence).find(|file| file.name == name);
        let lies = |sha256: Sha256Digest| {
            let folder = assay.path("data/blobs/jobs").join(&id);
            [sha256.to_string(), format!("{sha256}.pack")].iter().any(|name| folder.join(name).is_file())
        };
        assert_eq!(file.is_some_and(|file| lies(file.sha256)), kept, "{name}");
    }
}

#[test]
fn faults_of_a_policy_are_results() {
    let (_server, Account { client, .. }) = shared_server("default");
    let faults: [(&[u8], &str, &str); 4] = [
        (b"def policy(observation:\n    return [0]\n", "syntax_error", "line 1"),
        (b"import torch_of_nowhere\n", "import_error", "torch_of_nowhere"),
        (b"def policy(observation):\n    return [0, 1, 2]\n", "bad_action", "(3,)"),
        (b"import os\n\ndef policy(observation):\n    os._exit(3)\n", "exited", "status 3"),
    ];
    let jobs = faults.map(|(source, code, message)| {
        let zip = archive(&[("policy.py", source)]);
        (client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "2"), ("record", "none")]), code, message)
    });
    for (id, code, message) in jobs {
        let job = client.ended_job(&id, JOB_LIMIT);
        assert_eq!((job.status, job.verdict), (JobStatus::Completed, Some(Verdict::Inconclusive)), "{code}");
        assert_eq!(job.blame, Some(Blame::Policy), "{code}");
        assert!(job.error_message.as_ref().unwrap().contains(message), "{code}: {:?}", job.error_message);
        for episode in &job.episode_details {
            assert_eq!(
                (episode.status, episode.error.as_ref().unwrap().code.as_str()),
                (EpisodeStatus::PolicyError, code)
            );
        }
    }
    assert_eq!(client.get("/healthz").status, 200);
}

#[test]
fn bad_archives_are_refused_at_once() {
    let assay = assay();
    let (_server, client) = serve(&assay);
    let good: &[u8] = b"def policy(observation):\n    return [0]\n";
    let bomb = vec![0; 4 << 20];
    for (zip, part) in [
        (b"no archive".to_vec(), "not a usable zip archive"),
        (archive(&[("main.py", good)]), "no policy.py"),
        (archive(&[("policy.py", good), ("../up.py", good)]), "'../up.py'"),
        (archive(&[("policy.py", good), ("bomb", &bomb)]), "'bomb'"),
    ] {
        let answer = client.try_verify(&zip, &[("scenario", CARTPOLE)]).unwrap();
        assert_eq!((answer.status, answer.body["error"]["code"].as_str()), (400, Some("VALIDATION_ERROR")));
        assert_eq!(answer.body["error"]["details"]["field"], "policy", "{}", answer.body);
        assert!(answer.body["error"]["message"].as_str().unwrap().contains(part), "{}", answer.body);
    }
    let unknown = client.try_verify(&archive(&[("policy.py", good)]), &[("scenario", "nowhere")]).unwrap();
    assert_eq!((unknown.status, unknown.body["error"]["details"]["field"].as_str()), (400, Some("scenario")));
    assert_eq!(fs::read_dir(assay.path("data/policies")).unwrap().count(), 0, "a refused archive is not kept");
}

#[test]
fn a_cancelled_job_stops_at_once() {
    let assay = assay();
    let (_server, client) = serve(&assay);
    let id = client.verify(&archive(&[("policy.py", SLOW)]), &[("scenario", CARTPOLE), ("num_episodes", "2")]);
    wait_for("two lanes", JOB_LIMIT, || {
        (assay.jailed().iter().filter(|jailed| jailed.is_lane()).count() >= 2).then_some(())
    });
    let answer = client.post(&format!("/verify/{id}/cancel"));
    assert_eq!((answer.status, answer.body["status"].as_str()), (200, Some("CANCELLED")), "{}", answer.body);
    wait_for("the end of the lanes", CANCEL_LIMIT, || {
        (!assay.jailed().iter().any(assay_testkit::Jailed::is_lane)).then_some(())
    });
    let job = client.job(&id);
    assert_eq!((job.status, job.verdict, job.episode_details.len()), (JobStatus::Cancelled, None, 0));
    // The lanes are free for others.
    let zip = zip_folder(&example(CARTPOLE, "idle"));
    let next = client.verify(&zip, &[("scenario", CARTPOLE), ("num_episodes", "2"), ("record", "none")]);
    assert_eq!(client.ended_job(&next, JOB_LIMIT).verdict, Some(Verdict::Safe));
}

#[test]
fn evidence_can_be_downloaded() {
    let assay = assay();
    let (_server, client) = serve(&assay);
    let source: &[u8] =
        b"def policy(observation):\n    if observation['time'] > 0.5:\n        raise RuntimeError('seen enough')\n    return [0.0]\n";
    let parts = [("scenario", CARTPOLE), ("num_episodes", "1")];
    let id = client.verify(&archive(&[("policy.py", source)]), &parts);
    let job = drawn_job(&client, &id);
    let episode = &job.episode_details[0];
    assert_eq!(episode.evidence.len(), 12, "{:?}", episode.evidence_notes);
    for file in &episode.evidence {
        let bytes = client.download(job.evidence_url(file).unwrap());
        let sha256 = Sha256Digest::of(&bytes);
        assert_eq!((sha256, bytes.len() as u64), (file.sha256, file.size_bytes), "{}", file.name);
    }
    let report = client.get(&format!("/verify/{id}/report.json")).text;
    let sha256 = Sha256Digest::of(&report).to_string();
    let statement = client.get(&format!("/verify/{id}/attestation")).body;
    let payload = BASE64_STANDARD.decode(statement["payload"].as_str().unwrap()).unwrap();
    assert!(
        String::from_utf8(payload).unwrap().contains(&sha256),
        "the signed report equals the downloaded one, byte for byte"
    );
    let video = client.download(job.url("/video_url").unwrap());
    assert_eq!(&video[4..8], b"ftyp");
    assert!(client.download(job.episode_url(0, "log_url").unwrap()).starts_with(b"\x89MCAP0\r\n"));
    // The data folder contains only files that the results refer to, and the secret is readable by its owner only.
    assert_eq!(fs::read_dir(assay.path("data/blobs/jobs").join(&id)).unwrap().count(), 12);
    wait_for("incoming files that are gone", JOB_LIMIT, || {
        (fs::read_dir(assay.path("data/blobs/incoming")).unwrap().count() == 0).then_some(())
    });
    let mode = fs::metadata(assay.path("data/artifact-secret")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
