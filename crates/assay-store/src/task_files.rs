//! Tasks that a client of some server waits for and that a worker on another host does. Each is a folder in the data
//! folder, which all servers of a site share.
//!
//! A task lives as long as the request that made it. Its state is the name of one file in its folder, which is changed
//! by renaming it: `queued-N`, `leased-N` and `done-N`, where N counts claims. So a claim that was lost can change
//! nothing. The file's content is the worker of the last claim.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use uuid::Uuid;

use crate::WorkerName;

/// Name of the request's file.
const REQUEST: &str = "request.json";
/// Name of the file with the workers that failed at a task, a line each.
const FAILED: &str = "failed";
/// Maximum number of tasks that a look for work returns.
const MAX_QUEUED: usize = 64;

/// The tasks.
#[derive(Debug, Clone)]
pub struct TaskFiles {
    root: PathBuf,
}

/// The right to answer a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TaskFence {
    /// The task.
    pub id: Uuid,
    /// Number of this claim, from 1.
    pub attempt: u32,
}

/// The state of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState {
    /// It waits for a worker.
    Queued,
    /// A worker has it.
    Leased {
        /// The claim.
        fence: TaskFence,
        /// Time of the last renewal, by the clock of the file system.
        renewed: SystemTime,
    },
    /// It is answered.
    Done {
        /// The claim under which it was.
        fence: TaskFence,
        /// The answer.
        answer: Vec<u8>,
    },
    /// It was removed.
    Gone,
}

impl TaskFiles {
    /// Name of the folder in the data folder.
    pub const FOLDER: &str = "tasks";

    /// Opens the tasks in the folder `root`, which is created.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn folder(root: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(root)?;
        Ok(Self { root: root.to_owned() })
    }

    /// Removes the tasks of killed servers. To be called by a server that has the data folder for itself.
    ///
    /// # Errors
    /// A folder cannot be removed.
    pub fn sweep(&self) -> io::Result<()> {
        fs::read_dir(&self.root)?.try_for_each(|entry| fs::remove_dir_all(entry?.path()))
    }

    /// Queues a task. Its inputs, files or folders, are linked, or copied where that is not possible.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn create(&self, id: Uuid, request: &[u8], inputs: &[(&str, &Path)]) -> io::Result<()> {
        let fresh = self.root.join(format!(".{id}"));
        let written = (|| {
            DirBuilder::new().mode(0o700).create(&fresh)?;
            fs::write(fresh.join(REQUEST), request)?;
            for (name, path) in inputs {
                add(path, &fresh.join(name))?;
            }
            File::create(fresh.join("queued-0"))?;
            fs::rename(&fresh, self.root.join(id.to_string()))
        })();
        if written.is_err() {
            drop(fs::remove_dir_all(&fresh));
        }
        written
    }

    /// Lists the tasks that wait for a worker, the oldest first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn queued(&self) -> io::Result<Vec<Uuid>> {
        let mut found = Vec::new();
        for id in self.ids()? {
            if self.state_file(id)?.is_some_and(|(state, _)| state == "queued") {
                found.push(id);
            }
        }
        found.truncate(MAX_QUEUED);
        Ok(found)
    }

    /// Lists all tasks, the oldest first.
    fn ids(&self) -> io::Result<Vec<Uuid>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            found.extend(entry?.file_name().to_str().and_then(|name| name.parse::<Uuid>().ok()));
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Returns a task's request; `None` if it was removed.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn request(&self, id: Uuid) -> io::Result<Option<Vec<u8>>> {
        present(fs::read(self.path(id).join(REQUEST)))
    }

    /// Claims a task for a worker; `None` if it does not wait any more, or the worker failed at it.
    ///
    /// # Errors
    /// A file cannot be renamed or written.
    pub fn claim(&self, id: Uuid, worker: &WorkerName) -> io::Result<Option<TaskFence>> {
        if self.failed(id)?.contains(worker) {
            return Ok(None);
        }
        let Some((_, before)) = self.state_file(id)?.filter(|(state, _)| state == "queued") else { return Ok(None) };
        let fence = TaskFence { id, attempt: before.saturating_add(1) };
        let path = self.path(id);
        let renamed = fs::rename(path.join(format!("queued-{before}")), path.join(lease_name(fence)));
        if present(renamed)?.is_none() {
            return Ok(None);
        }
        let Some(mut file) = self.open_lease(fence)? else { return Ok(None) };
        file.set_len(0)?;
        file.write_all(worker.as_str().as_bytes())?;
        // Otherwise its age would be that of the task.
        file.set_modified(SystemTime::UNIX_EPOCH)?;
        Ok(Some(fence))
    }

    /// Returns true if the claim is still valid.
    #[must_use]
    pub fn holds(&self, fence: TaskFence) -> bool {
        self.path(fence.id).join(lease_name(fence)).is_file()
    }

    /// Renews a claim at `now`. Returns false if it is lost.
    ///
    /// # Errors
    /// The file cannot be changed.
    pub fn renew(&self, fence: TaskFence, now: SystemTime) -> io::Result<bool> {
        self.open_lease(fence)?.map_or(Ok(false), |file| file.set_modified(now).map(|()| true))
    }

    /// Queues a task again. Returns false if the claim is lost.
    ///
    /// # Errors
    /// A file cannot be renamed.
    pub fn give_back(&self, fence: TaskFence) -> io::Result<bool> {
        let path = self.path(fence.id);
        let renamed = fs::rename(path.join(lease_name(fence)), path.join(format!("queued-{}", fence.attempt)));
        Ok(present(renamed)?.is_some())
    }

    /// Requeues all tasks that a worker has, because it has restarted or was taken out of service. Returns their
    /// number.
    ///
    /// # Errors
    /// The folder cannot be read, or a file cannot be renamed.
    pub fn give_back_all(&self, worker: &WorkerName) -> io::Result<usize> {
        let mut given_back = 0;
        for id in self.ids()? {
            let Some((_, attempt)) = self.state_file(id)?.filter(|(state, _)| state == "leased") else { continue };
            let fence = TaskFence { id, attempt };
            let holder = present(fs::read_to_string(self.path(id).join(lease_name(fence))))?;
            if holder.is_some_and(|holder| holder == worker.as_str()) {
                given_back += usize::from(self.give_back(fence)?);
            }
        }
        Ok(given_back)
    }

    /// Queues an answered task again for workers other than the one that answered it and those that failed before.
    /// Returns these.
    ///
    /// # Errors
    /// A file cannot be read, renamed or written.
    pub fn leave_to_others(&self, answered: TaskFence) -> io::Result<Vec<WorkerName>> {
        let path = self.path(answered.id);
        let done = path.join(format!("done-{}", answered.attempt));
        let worker = fs::read_to_string(&done)?;
        writeln!(File::options().create(true).append(true).open(path.join(FAILED))?, "{worker}")?;
        fs::rename(done, path.join(format!("queued-{}", answered.attempt)))?;
        self.failed(answered.id)
    }

    /// Returns the workers that failed at a task.
    fn failed(&self, id: Uuid) -> io::Result<Vec<WorkerName>> {
        let text = present(fs::read_to_string(self.path(id).join(FAILED)))?;
        Ok(text.iter().flat_map(|text| text.lines()).filter_map(WorkerName::parse).collect())
    }

    /// Answers a task. Returns false if the claim is lost.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(&self, fence: TaskFence, answer: &[u8]) -> io::Result<bool> {
        if !self.holds(fence) {
            return Ok(false);
        }
        let path = self.path(fence.id);
        let text = path.join(format!("answer-{}", fence.attempt));
        if present(fs::write(&text, answer))?.is_none() {
            return Ok(false);
        }
        let renamed = fs::rename(path.join(lease_name(fence)), path.join(format!("done-{}", fence.attempt)));
        Ok(present(renamed)?.is_some())
    }

    /// Returns the state of a task.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn state(&self, id: Uuid) -> io::Result<TaskState> {
        let Some((state, attempt)) = self.state_file(id)? else { return Ok(TaskState::Gone) };
        let path = self.path(id);
        Ok(match state.as_str() {
            "leased" => {
                let fence = TaskFence { id, attempt };
                match present(fs::metadata(path.join(lease_name(fence))).and_then(|about| about.modified()))? {
                    Some(renewed) => TaskState::Leased { fence, renewed },
                    // It has just changed.
                    None => TaskState::Queued,
                }
            }
            "done" => {
                let answer = present(fs::read(path.join(format!("answer-{attempt}"))))?;
                let fence = TaskFence { id, attempt };
                answer.map_or(TaskState::Gone, |answer| TaskState::Done { fence, answer })
            }
            _ => TaskState::Queued,
        })
    }

    /// Returns the path of an input, which need not exist.
    #[must_use]
    pub fn input(&self, id: Uuid, name: &str) -> PathBuf {
        self.path(id).join(name)
    }

    /// Removes a task.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn remove(&self, id: Uuid) -> io::Result<()> {
        present(fs::remove_dir_all(self.path(id))).map(drop)
    }

    fn path(&self, id: Uuid) -> PathBuf {
        self.root.join(id.to_string())
    }

    fn open_lease(&self, fence: TaskFence) -> io::Result<Option<File>> {
        present(File::options().append(true).open(self.path(fence.id).join(lease_name(fence))))
    }

    /// Returns state and number of the file that is the task's state.
    fn state_file(&self, id: Uuid) -> io::Result<Option<(String, u32)>> {
        let Some(entries) = present(fs::read_dir(self.path(id)))? else { return Ok(None) };
        for entry in entries {
            let name = entry?.file_name();
            if let Some(found) = parse(&name) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

fn lease_name(fence: TaskFence) -> String {
    format!("leased-{}", fence.attempt)
}

/// Parses the name of a file that is a task's state.
fn parse(name: &OsStr) -> Option<(String, u32)> {
    let (state, number) = name.to_str()?.split_once('-')?;
    let is_state = ["queued", "leased", "done"].contains(&state);
    is_state.then(|| Some((state.to_owned(), number.parse().ok()?))).flatten()
}

/// Links or copies a file or a folder.
fn add(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        DirBuilder::new().recursive(true).mode(0o700).create(to)?;
        return fs::read_dir(from)?.try_for_each(|entry| {
            let entry = entry?;
            add(&entry.path(), &to.join(entry.file_name()))
        });
    }
    if let Some(parent) = to.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    match fs::hard_link(from, to) {
        Err(_) => fs::copy(from, to).map(drop),
        linked => linked,
    }
}

/// Returns `None` if there is no such file.
fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn worker(name: &str) -> WorkerName {
        WorkerName::parse(name).unwrap()
    }

    fn task(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    #[test]
    fn a_task_is_claimed_once_and_a_lost_claim_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let tasks = TaskFiles::folder(&folder.path().join("tasks")).unwrap();
        let input = folder.path().join("input");
        fs::write(&input, "zip").unwrap();
        tasks.create(task(2), b"second", &[]).unwrap();
        tasks.create(task(1), b"first", &[("policy", &input)]).unwrap();
        assert_eq!(tasks.queued().unwrap(), [task(1), task(2)]);
        assert_eq!(tasks.request(task(1)).unwrap().unwrap(), b"first");
        assert_eq!(fs::read(tasks.input(task(1), "policy")).unwrap(), b"zip");

        let lost = tasks.claim(task(1), &worker("a")).unwrap().unwrap();
        assert_eq!((tasks.claim(task(1), &worker("a")).unwrap(), tasks.queued().unwrap()), (None, vec![task(2)]));
        assert!(tasks.renew(lost, SystemTime::UNIX_EPOCH).unwrap() && tasks.holds(lost));
        assert!(tasks.give_back(lost).unwrap());
        let fence = tasks.claim(task(1), &worker("a")).unwrap().unwrap();
        assert_eq!(fence.attempt, 2);
        for stale in [
            tasks.renew(lost, SystemTime::UNIX_EPOCH),
            tasks.give_back(lost),
            tasks.finish(lost, b"late"),
            Ok(tasks.holds(lost)),
        ] {
            assert!(!stale.unwrap());
        }
        assert!(matches!(tasks.state(task(1)).unwrap(), TaskState::Leased { fence: held, .. } if held == fence));
        assert!(tasks.finish(fence, b"answer").unwrap());
        assert_eq!(tasks.state(task(1)).unwrap(), TaskState::Done { fence, answer: b"answer".to_vec() });
        assert!(!tasks.finish(fence, b"again").unwrap(), "once");

        tasks.remove(task(1)).unwrap();
        assert_eq!(tasks.state(task(1)).unwrap(), TaskState::Gone);
        assert!(!tasks.holds(fence) && tasks.claim(task(1), &worker("a")).unwrap().is_none());
        tasks.sweep().unwrap();
        assert_eq!(tasks.state(task(2)).unwrap(), TaskState::Gone);
    }

    #[test]
    fn tasks_of_a_worker_are_given_back_together_and_one_that_failed_gets_none_again() {
        let folder = tempfile::tempdir().unwrap();
        let tasks = TaskFiles::folder(&folder.path().join("tasks")).unwrap();
        let [a, b] = ["a", "b"].map(worker);
        for number in 1..4 {
            tasks.create(task(number), b"request", &[]).unwrap();
        }
        let [first, second] = [1, 2].map(|number| tasks.claim(task(number), &a).unwrap().unwrap());
        let other = tasks.claim(task(3), &b).unwrap().unwrap();
        assert_eq!(tasks.give_back_all(&a).unwrap(), 2);
        assert!(!tasks.holds(first) && !tasks.holds(second) && tasks.holds(other));
        assert_eq!((tasks.queued().unwrap(), tasks.give_back_all(&a).unwrap()), (vec![task(1), task(2)], 0));

        let first = tasks.claim(task(1), &b).unwrap().unwrap();
        assert!(tasks.finish(first, b"broken").unwrap());
        assert_eq!(tasks.leave_to_others(first).unwrap(), [worker("b")]);
        assert_eq!((tasks.state(task(1)).unwrap(), tasks.claim(task(1), &b).unwrap()), (TaskState::Queued, None));
        let again = tasks.claim(task(1), &a).unwrap().unwrap();
        assert_eq!(again.attempt, 3);
        assert!(tasks.finish(again, b"broken").unwrap());
        assert_eq!(tasks.leave_to_others(again).unwrap(), [worker("b"), worker("a")]);
    }
}
