//! Advice for the error that stopped a policy.

use assay_model::{EpisodeError, PolicyErrorCode};

/// Common frameworks that no shipped runtime has.
const FRAMEWORKS: [&str; 7] = ["torch", "tensorflow", "jax", "flax", "stable_baselines3", "transformers", "lerobot"];
/// The package of the runtime `onnx`.
const ONNX: &str = "onnxruntime";
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
        if package == ONNX {
            return Some(
                "onnxruntime is in the runtime `onnx`: declare it in a comment of policy.py, `# /// script`, \
                 `# dependencies = [\"onnxruntime\"]`, `# ///`"
                    .to_owned(),
            );
        }
        if FRAMEWORKS.contains(&package) {
            return Some(format!(
                "{package} is not in the policy's runtime: if a runtime with it is offered (assay runtime list), declare the \
                 dependency in policy.py; otherwise export the network to ONNX and use the runtime `onnx`, or run the \
                 policy as a policy server"
            ));
        }
    }
    if let Some((before, _)) = text.split_once(NO_LIBRARY) {
        let library = before.rsplit([' ', '\'', '"']).next().unwrap_or(before);
        return Some(format!(
            "{library} is not in the policy's runtime: remove the code that needs it, choose a runtime with the package that \
             it belongs to (assay runtime list), or run the policy as a policy server"
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

fn by_code(code: &PolicyErrorCode) -> &'static str {
    match code {
        PolicyErrorCode::ImportError => {
            "put the module into the archive, or declare the package that it belongs to, so that a runtime with it is chosen"
        }
        PolicyErrorCode::SyntaxError => "fix the line named in the message",
        PolicyErrorCode::NoPolicy => "define `policy(observation)`, or a class `Policy` with `act(self, observation)`",
        PolicyErrorCode::BadAction => "return one finite number for each row of the action table",
        PolicyErrorCode::Exception => "read the end of the log below: it names your line",
        PolicyErrorCode::Memory => "load less data, or load it in smaller pieces",
        PolicyErrorCode::ImportTimeout => {
            "move work into `reset`, or ship what it computes as a file; let libraries use one thread \
             (`intra_op_num_threads = 1` in ONNX Runtime), because a policy has one processor"
        }
        PolicyErrorCode::Timeout => {
            "answer each observation at once; do not wait for anything; let libraries use one thread \
             (`intra_op_num_threads = 1` in ONNX Runtime), because a policy has one processor"
        }
        PolicyErrorCode::Connect => "start the server, or specify the address that it listens on",
        PolicyErrorCode::Mismatch => "choose another scenario, or another server",
        PolicyErrorCode::ServerError => "read the end of the server's message below",
        PolicyErrorCode::Protocol => "answer each request exactly once, and do not print to the stream",
        PolicyErrorCode::WallBudget
        | PolicyErrorCode::Exited
        | PolicyErrorCode::LogFlood
        | PolicyErrorCode::Closed
        | PolicyErrorCode::Unstable
        | PolicyErrorCode::SimulatorDied
        | PolicyErrorCode::CutOff
        | PolicyErrorCode::Other(_) => "read the end of the log below",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(code: PolicyErrorCode, message: &str, log: &str) -> String {
        of(&EpisodeError { code, message: message.into(), log_tail: log.into() })
    }

    #[test]
    fn advice_matches_pythons_message() {
        for (code, message, says) in [
            (
                PolicyErrorCode::ImportError,
                "ModuleNotFoundError: No module named 'torch'",
                "export the network to ONNX",
            ),
            (
                PolicyErrorCode::ImportError,
                "ModuleNotFoundError: No module named 'jax.numpy'",
                "jax is not in the policy's runtime",
            ),
            (
                PolicyErrorCode::ImportError,
                "ModuleNotFoundError: No module named 'onnxruntime'",
                "# dependencies = [\"onnxruntime\"]",
            ),
            (
                PolicyErrorCode::ImportError,
                "ModuleNotFoundError: No module named 'helpers'",
                "put the module into the archive",
            ),
            (
                PolicyErrorCode::ImportError,
                "ImportError: libgomp.so.1: cannot open shared object file: No such file or directory",
                "libgomp.so.1 is not in the policy's runtime",
            ),
            (
                PolicyErrorCode::Exception,
                "FileNotFoundError: [Errno 2] No such file or directory: 'weights/w.npz'",
                "open `Path(__file__).parent / \"weights/w.npz\"`",
            ),
            (
                PolicyErrorCode::Exception,
                "FileNotFoundError: [Errno 2] No such file or directory: '/data/w'",
                "read the end of the log",
            ),
            (PolicyErrorCode::Exception, "ValueError", "read the end of the log"),
            // ONNX Runtime with more threads than processors spins for seconds in its constructor.
            (PolicyErrorCode::ImportTimeout, "importing policy.py took more than 10 s", "`intra_op_num_threads = 1`"),
            (PolicyErrorCode::Timeout, "no answer within 20 s", "`intra_op_num_threads = 1`"),
        ] {
            let found = advice(code, message, "");
            assert!(found.contains(says), "{message}: {found}");
        }
        let in_log = advice(
            PolicyErrorCode::Exception,
            "OSError",
            "OSError: libGL.so.1: cannot open shared object file: No such file",
        );
        assert!(in_log.starts_with("libGL.so.1 is not"), "{in_log}");
    }
}
