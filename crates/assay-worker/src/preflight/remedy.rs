//! Advice for the error that stopped a policy.

use assay_model::EpisodeError;

/// Common frameworks that are not available in the jail.
const FRAMEWORKS: [&str; 8] =
    ["torch", "tensorflow", "jax", "flax", "onnxruntime", "stable_baselines3", "transformers", "lerobot"];
/// Python's messages for a missing module, and for a missing shared library or file.
const NO_MODULE: &str = "No module named '";
const NO_LIBRARY: &str = ": cannot open shared object file";
const NO_FILE: &str = "No such file or directory: '";

/// Returns advice for `error`.
pub(super) fn of(error: &EpisodeError) -> String {
    specific(&error.message).or_else(|| specific(&error.log_tail)).unwrap_or_else(|| by_code(&error.code).to_owned())
}

/// Returns advice for messages of Python that are more specific than the error's code.
fn specific(text: &str) -> Option<String> {
    if let Some(module) = quoted(text, NO_MODULE) {
        let package = module.split('.').next().unwrap_or(module);
        if FRAMEWORKS.contains(&package) {
            return Some(format!(
                "{package} is not in the jail: export the weights to a .npz file and compute the network with numpy, or run \
                 the policy as a policy server"
            ));
        }
    }
    if let Some((before, _)) = text.split_once(NO_LIBRARY) {
        let library = before.rsplit([' ', '\'', '"']).next().unwrap_or(before);
        return Some(format!(
            "{library} is not in the jail, which has the libraries of Python and numpy alone: leave out what needs it, or \
             run the policy as a policy server"
        ));
    }
    let file = quoted(text, NO_FILE).filter(|file| !file.starts_with('/'))?;
    Some(format!(
        "the current folder is not the policy's: open `Path(__file__).parent / \"{file}\"`, and look whether the file is in the \
         archive"
    ))
}

/// Returns the text between `begin` and the next quote.
fn quoted<'a>(text: &'a str, begin: &str) -> Option<&'a str> {
    text.split_once(begin)?.1.split('\'').next()
}

fn by_code(code: &str) -> &'static str {
    match code {
        "import_error" => "put the module into the archive; beside the standard library there is only numpy",
        "syntax_error" => "mend the line that is named",
        "no_policy" => "define `policy(observation)`, or a class `Policy` with `act(self, observation)`",
        "bad_action" => "return one finite number for each row of the action's table",
        "exception" => "read the end of the log below: it names your line",
        "memory" => "load less, or in smaller pieces",
        "import_timeout" => "move work into `reset`, or ship what it computes as a file",
        "timeout" => "answer each observation at once; do not wait for anything",
        "connect" => "start the server, or give the address that it listens on",
        "mismatch" => "choose another scenario, or another server",
        "server_error" => "read the end of the server's message below",
        "protocol" => "answer each request once, and print nothing into the stream",
        _ => "read the end of the log below",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(code: &str, message: &str, log: &str) -> String {
        of(&EpisodeError { code: code.into(), message: message.into(), log_tail: log.into() })
    }

    #[test]
    fn advice_is_about_what_python_says() {
        for (code, message, says) in [
            (
                "import_error",
                "ModuleNotFoundError: No module named 'torch'",
                "torch is not in the jail: export the weights",
            ),
            ("import_error", "ModuleNotFoundError: No module named 'jax.numpy'", "jax is not in the jail"),
            ("import_error", "ModuleNotFoundError: No module named 'helpers'", "put the module into the archive"),
            (
                "import_error",
                "ImportError: libgomp.so.1: cannot open shared object file: No such file or directory",
                "libgomp.so.1 is not in the jail",
            ),
            (
                "exception",
                "FileNotFoundError: [Errno 2] No such file or directory: 'weights/w.npz'",
                "open `Path(__file__).parent / \"weights/w.npz\"`",
            ),
            (
                "exception",
                "FileNotFoundError: [Errno 2] No such file or directory: '/data/w'",
                "read the end of the log",
            ),
            ("exception", "ValueError", "read the end of the log"),
        ] {
            let found = advice(code, message, "");
            assert!(found.contains(says), "{message}: {found}");
        }
        let in_log =
            advice("exception", "OSError", "OSError: libGL.so.1: cannot open shared object file: No such file");
        assert!(in_log.starts_with("libGL.so.1 is not"), "{in_log}");
    }
}
