//! Logs and videos that follow the verdict, and `assay render`, which renders missing ones later.

use std::fs;
use std::path::Path;

use assay_testkit::Assay;

use crate::verify::evidence::SHORT;
use crate::verify::{assay, verify};

#[track_caller]
fn check(assay: &Assay, file: &str, code: i32, part: &str) {
    let run = assay.run(&["attest", "verify", file]);
    assert_eq!(run.code, code, "{file}: {}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains(part), "{file}: {}", run.stdout);
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn videos_can_be_rendered_later_without_changing_signed_files() {
    let assay = assay();
    let policy = assay.write("policy.py", SHORT);
    let run = verify(&assay, &policy, &["--episodes", "2", "--out", "out", "--no-wait-video"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("assay render out"), "{}", run.stderr);
    let (first, second) = (assay.path("out/episodes/000"), assay.path("out/episodes/001"));
    assert!(!first.join("video.mp4").exists() && !first.join("log.mcap").exists());
    let signed = ["report.json", "report.html", "report.intoto.json"].map(|name| assay.path("out").join(name));
    let before = signed.clone().map(|path| fs::read(path).unwrap());
    check(&assay, "out/report.intoto.json", 0, "result     VERIFIED");

    let keys = assay.run(&["attest", "keys", "--json"]).stdout;
    let first_key = keys.split('"').find(|text| text.len() == 64).unwrap();
    assert_eq!(assay.run(&["attest", "rotate"]).code, 0);
    let run = assay.run(&["render", "out"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("out/episodes/000/video.mp4") && run.stderr.contains("log rendered"), "{}", run.stdout);
    assert_eq!(files(&second).len(), 6, "nothing was violated in it");
    assert_eq!(signed.map(|path| fs::read(path).unwrap()), before);
    check(&assay, "out/report.intoto.json", 0, "result     VERIFIED");
    // A statement signed with a key that is not trusted is not accepted.
    let pinned = assay.run(&["attest", "verify", "out/report.intoto.json", "--keyid", first_key]);
    assert_eq!(pinned.code, 1, "{}", pinned.stdout);
    assert!(pinned.stdout.contains("REFUSED, the rendering check failed"), "{}", pinned.stdout);
    let video = fs::read(first.join("video.mp4")).unwrap();
    fs::remove_file(first.join("video.mp4")).unwrap();
    check(&assay, "out/report.intoto.json", 3, "INCOMPLETE, missing: episodes/000/video.mp4");
    fs::write(first.join("video.mp4"), video).unwrap();
    for name in ["log", "video"] {
        let file = format!("out/episodes/000/{name}.intoto.json");
        check(&assay, &file, 0, "result     VERIFIED");
        check(&assay, &file, 0, "job        the statement beside the report is the one that it belongs to");
    }
    let page = assay.run(&["report", "out/report.json", "--html"]).stdout;
    assert!(page.contains("episodes/000/video.mp4"), "a page that is written now shows them");
    assert_eq!(assay.run(&["render", "out"]).stdout.lines().next(), Some("nothing is missing"));

    // Renders all others too, including a video whose statement is missing.
    fs::remove_file(first.join("video.intoto.json")).unwrap();
    check(
        &assay,
        "out/report.intoto.json",
        3,
        "INCOMPLETE, unsigned: episodes/000/images.mcap, episodes/000/still.png, episodes/000/video.mp4",
    );
    fs::write(first.join("video.mp4"), b"half a video").unwrap();
    let run = assay.run(&["render", "out", "--record", "all"]);
    assert_eq!((run.code, files(&second).len()), (0, 12), "{}", run.stderr);
    check(&assay, "out/episodes/000/video.intoto.json", 0, "result     VERIFIED");

    // Another video, another recording, another job.
    let good = fs::read(second.join("video.mp4")).unwrap();
    fs::copy(first.join("video.mp4"), second.join("video.mp4")).unwrap();
    check(&assay, "out/episodes/001/video.intoto.json", 1, "video.mp4 (sha256");
    check(&assay, "out/report.intoto.json", 1, "REFUSED, the rendering check failed: episodes/001/video.mp4 (sha256");
    fs::write(second.join("video.mp4"), good).unwrap();
    check(&assay, "out/episodes/001/video.intoto.json", 0, "VERIFIED");
    check(&assay, "out/report.intoto.json", 0, "rendered   all ");
    // The other episode's video with its statement.
    let own = ["video.mp4", "video.intoto.json"].map(|name| (second.join(name), fs::read(second.join(name)).unwrap()));
    for (path, _) in &own {
        fs::copy(first.join(path.file_name().unwrap()), path).unwrap();
    }
    check(&assay, "out/report.intoto.json", 1, "episodes/001/video.intoto.json is about another job or episode");
    own.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    fs::write(second.join("notes.txt"), b"SAFE").unwrap();
    check(&assay, "out/report.intoto.json", 3, "unsigned: episodes/001/notes.txt");
    fs::remove_file(second.join("notes.txt")).unwrap();
    fs::copy(first.join("trace.parquet"), second.join("trace.parquet")).unwrap();
    check(&assay, "out/episodes/001/video.intoto.json", 1, "the recording check failed");
    fs::remove_file(second.join("video.intoto.json")).unwrap();
    let run = assay.run(&["render", "out", "--record", "all"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("episode 1: no video: the recording is not the one"), "{}", run.stderr);
    fs::write(assay.path("out/report.intoto.json"), b"{}").unwrap();
    check(&assay, "out/episodes/000/video.intoto.json", 1, "the job check failed");
    assay.assert_clean();
}

#[test]
fn renderings_that_fail_are_reported() {
    let assay = assay();
    for (arguments, part) in [
        (&["render", "nowhere"][..], "nowhere/report.json"),
        (&["render", "x", "--data", "."], "is not the id of a job"),
        (&["render", "019aa6f0-3c5e-7b21-9d4f-2b8c6e1a7f30", "--data", "nowhere"], "no such folder"),
    ] {
        let run = assay.run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{arguments:?}: {}", run.stderr);
    }
}
