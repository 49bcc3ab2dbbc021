//! The fuzz target of the messages and files of workers on other hosts: they are parsed before anything of them is
//! checked.

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

use assay_fuzz::{memory_folder, pair};
use assay_model::lane::RenderPart;
use assay_model::{
    ClaimRequest, HeartbeatRequest, NoteRequest, RegisterRequest, RenderReturn, ResultsRequest, Sha256Digest,
    ShardReturn, TaskAnswer,
};
use tokio::runtime::{Builder, Runtime};

use super::renders::rendered_files;
use super::reported::cleaned;

/// Lengths of the pieces in which a body arrives: they end anywhere in the list, and in the files.
const PIECES: [usize; 3] = [1, 7, 4096];

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().build().expect("a runtime for fuzzing"));

/// Parses a message. An accepted message can be written, and is read back as the same message.
macro_rules! message {
    ($kind:ty, $body:expr) => {
        serde_json::from_slice::<$kind>($body).ok().inspect(|message| {
            let text = serde_json::to_vec(message).expect("a message can be written");
            assert_eq!(serde_json::from_slice::<$kind>(&text).expect("a message can be read"), *message);
        })
    };
}

/// Parses a message, or receives a rendering; the first part of the input is its kind.
///
/// # Panics
/// Panics if the input reveals a bug.
pub fn worker(data: &[u8]) {
    let (kind, body) = pair(data);
    match kind {
        b"log" => rendering(body, RenderPart::Log),
        b"video" => rendering(body, RenderPart::Video),
        b"results" => {
            for leased in message!(ResultsRequest, body).into_iter().flat_map(|request| request.results) {
                let cleaned = cleaned(leased.result, &[]);
                assert!(cleaned.deadline_misses <= cleaned.steps && cleaned.replaced_attempts.is_empty());
            }
        }
        b"register" => drop(message!(RegisterRequest, body)),
        b"claim" => drop(message!(ClaimRequest, body)),
        b"beat" => drop(message!(HeartbeatRequest, body)),
        b"note" => drop(message!(NoteRequest, body)),
        b"return" => drop(message!(ShardReturn, body)),
        b"render return" => drop(message!(RenderReturn, body)),
        _ => drop(message!(TaskAnswer, body)),
    }
}

/// Receives a body in pieces of several lengths: all are refused, or all give the listed files and nothing else.
fn rendering(body: &[u8], part: RenderPart) {
    let mut outcomes = Vec::new();
    for length in PIECES {
        let folder = memory_folder();
        let pieces: Vec<&[u8]> = body.chunks(length).collect();
        let listed = RUNTIME.block_on(rendered_files(&pieces, part, folder.path()));
        let written = fs::read_dir(folder.path()).expect("the folder").flatten().map(|entry| entry.file_name());
        let written: BTreeSet<String> = written.filter_map(|name| name.into_string().ok()).collect();
        assert!(written.iter().all(|name| part.files().contains(&name.as_str())), "{written:?}");
        for file in listed.iter().flat_map(|listed| &listed.files) {
            let content = fs::read(folder.path().join(&file.name)).expect("a listed file");
            assert_eq!((content.len() as u64, Sha256Digest::of(&content)), (file.size_bytes, file.sha256));
        }
        outcomes.push(listed);
    }
    assert!(outcomes.windows(2).all(|pair| pair[0] == pair[1]), "{outcomes:?}");
}

#[cfg(test)]
mod tests {
    use assay_fuzz::run_corpus;

    #[test]
    fn worker_accepts_its_corpus() {
        run_corpus("worker", super::worker);
    }
}
