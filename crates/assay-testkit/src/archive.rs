//! Packs policies as zip archives.

use std::io::Write;
use std::path::{Path, PathBuf};

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

/// Returns a zip archive with these files, each with name and content.
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

/// Returns a zip archive of the files in a folder, without its subfolders.
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

/// Returns the folder of an example policy in the source tree.
///
/// # Panics
/// Panics if it does not exist.
#[must_use]
pub fn example(scenario: &str, name: &str) -> PathBuf {
    let path = crate::program::home().join("examples/policies").join(scenario).join(name);
    assert!(path.join("policy.py").is_file(), "{} has no policy.py", path.display());
    path
}

/// Returns the folder of the policies that cheat: a folder per scenario, and `common.py`.
#[must_use]
pub fn cheats() -> PathBuf {
    crate::program::home().join("crates/assay/tests/policies/cheats")
}

/// Returns the source of a policy that cheats: the scenario's reference, `common.py`, and `cheats/SCENARIO/NAME.py`.
///
/// # Panics
/// Panics if it does not exist.
#[must_use]
pub fn cheat(scenario: &str, name: &str) -> String {
    let own = cheats().join(scenario).join(format!("{name}.py"));
    let parts = [example(scenario, "reference").join("policy.py"), cheats().join("common.py"), own];
    let read = |path: PathBuf| std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    parts.map(read).join("\n\n")
}

/// Threads that [`violating_once`] starts after its violation.
pub const VIOLATOR_THREADS: usize = 8;

/// Returns the seconds since 1970, like a policy's `time.time()`.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "a policy of a test reads the same clock")]
pub fn now_s() -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64()
}

/// Returns a policy for the scenario `cartpole_keepin`. If its episode begins before the time `until_s` ([`now_s`]), it
/// drives out of the zone, signals that by starting [`VIOLATOR_THREADS`] threads, and continues slowly. Otherwise it
/// behaves like the reference.
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
