//! Policies as zip archives.

use std::io::Write;
use std::path::{Path, PathBuf};

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

/// A zip archive with these files: name and content.
#[must_use]
pub fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, content) in files {
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A zip archive of the files in a folder (not of those in folders below).
#[must_use]
pub fn zip_folder(folder: &Path) -> Vec<u8> {
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.unwrap().path();
        path.is_file().then(|| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
    };
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().filter_map(read).collect();
    files.sort();
    archive(&files.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect::<Vec<_>>())
}

/// The folder of an example policy that ships with the source.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn example(scenario: &str, name: &str) -> PathBuf {
    let path = crate::program::home().join("examples/policies").join(scenario).join(name);
    assert!(path.join("policy.py").is_file(), "{} has no policy.py", path.display());
    path
}

/// Folder of the policies that cheat: a folder a scenario, and `common.py`.
#[must_use]
pub fn cheats() -> PathBuf {
    crate::program::home().join("crates/assay/tests/policies/cheats")
}

/// The source of a policy that cheats: the scenario's reference, what cheats use, and `cheats/SCENARIO/NAME.py`.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn cheat(scenario: &str, name: &str) -> String {
    let own = cheats().join(scenario).join(format!("{name}.py"));
    let parts = [example(scenario, "reference").join("policy.py"), cheats().join("common.py"), own];
    let read = |path: PathBuf| std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    parts.map(read).join("\n\n")
}

/// Threads that [`violating_once`] starts after its violation.
pub const VIOLATOR_THREADS: usize = 8;

/// Seconds since 1970, as a policy's `time.time()` counts them.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "a policy of a test reads the same clock")]
pub fn now_s() -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64()
}

/// A policy for the scenario `cartpole_keepin` that drives out of the zone where its episode begins before the moment
/// `until_s` ([`now_s`]); then it shows that it has by [`VIOLATOR_THREADS`] threads, and goes on slowly. Later it is
/// the reference.
#[must_use]
pub fn violating_once(until_s: f64) -> String {
    let reference = std::fs::read_to_string(example("cartpole_keepin", "reference").join("policy.py")).unwrap();
    let honest = reference.replace("class Policy:", "class Honest:");
    format!(
        "{honest}\n\nimport threading, time\n\nclass Policy(Honest):\n    bad = None\n    def act(self, observation):\n        \
         if self.bad is None:\n            self.bad = time.time() < {until_s}\n        if not self.bad:\n            \
         return super().act(observation)\n        if observation['time'] > 2:\n            if \
         threading.active_count() < {VIOLATOR_THREADS}:\n                for _ in range({VIOLATOR_THREADS}):\n                    \
         threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n            time.sleep(1)\n        \
         return [12.0]\n"
    )
}
