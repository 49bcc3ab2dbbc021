//! Advice for the author of a policy that failed.
//!
//! It is derived from the error's code and from the messages of Python and of common libraries ([`python`]). Parts of
//! it are quoted from the policy's own text, so it is as untrusted as the error itself.

mod python;

use assay_model::{EpisodeError, PolicyErrorCode};

/// Number of threads, for errors that are typical of too many.
const ONE_THREAD: &str = "let libraries use one thread (`intra_op_num_threads = 1` in ONNX Runtime, \
                          `torch.set_num_threads(1)` in PyTorch), because a policy has one processor";

/// Beginning of the messages about a policy server's time-outs.
const SERVER: &str = "the policy server ";

/// Returns advice for `error`.
#[must_use]
pub fn remedy(error: &EpisodeError) -> String {
    by_cause(&error.code, &error.message, &error.log_tail)
        .unwrap_or_else(|| by_code(&error.code, names_a_line(&error.log_tail)).to_owned())
}

/// Returns advice for an error whose cause is known more precisely than its code tells; `None` if the message and the
/// log say everything there is to say.
pub(crate) fn by_cause(code: &PolicyErrorCode, message: &str, log_tail: &str) -> Option<String> {
    match code {
        PolicyErrorCode::ImportError | PolicyErrorCode::Exception | PolicyErrorCode::Memory => {
            python::remedy(message).or_else(|| python::remedy(log_tail))
        }
        PolicyErrorCode::ImportTimeout => Some(format!(
            "every episode imports the policy again: move work into `reset`, or ship what it computes as a file; \
             {ONE_THREAD}"
        )),
        PolicyErrorCode::Timeout if message.starts_with(SERVER) => Some(
            "load and warm up the model before the server answers, and serve fewer episodes at a time \
             (--policy-concurrency)"
                .to_owned(),
        ),
        PolicyErrorCode::Timeout => Some(format!("do less per step, and do not wait for anything; {ONE_THREAD}")),
        _ => None,
    }
}

/// Returns whether a log ends with a traceback that names a line of the author's.
fn names_a_line(log: &str) -> bool {
    log.contains("File \"") && log.contains(", line ")
}

fn by_code(code: &PolicyErrorCode, names_a_line: bool) -> &'static str {
    match code {
        PolicyErrorCode::ImportError if !names_a_line => {
            "importing policy.py raised this error; no line of it was reached: the message says what is wrong"
        }
        PolicyErrorCode::Exception if !names_a_line => {
            "the error was raised outside of your files: the message says what the policy was called with or lacks"
        }
        PolicyErrorCode::ImportError => {
            "importing policy.py raised this error: the end of the log below names your line"
        }
        PolicyErrorCode::SyntaxError => "fix the line named in the message",
        PolicyErrorCode::NoPolicy => "define `policy(observation)`, or a class `Policy` with `act(self, observation)`",
        PolicyErrorCode::BadAction => "return one finite number for each row of the action table",
        PolicyErrorCode::Exception => "read the end of the log below: it names your line",
        PolicyErrorCode::Memory => "load less data, or load it in smaller pieces",
        PolicyErrorCode::Connect => "start the server, or specify the address that it listens on",
        PolicyErrorCode::Adapter => {
            "the message says what to change in policy.toml or in the network (docs/adapters.md)"
        }
        PolicyErrorCode::Mismatch => "choose another scenario, or change what the policy or server declares",
        PolicyErrorCode::ServerError => "read the end of the server's message below",
        PolicyErrorCode::Protocol => "answer each request exactly once, and do not print to the stream",
        PolicyErrorCode::ImportTimeout
        | PolicyErrorCode::Timeout
        | PolicyErrorCode::WallBudget
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
        remedy(&EpisodeError { code, message: message.into(), log_tail: log.into() })
    }

    #[test]
    fn the_message_is_more_specific_than_the_code() {
        use PolicyErrorCode::{Exception, ImportError, ImportTimeout, ServerError, Timeout};
        const LINE: &str = "Traceback (most recent call last):\n  File \"policy.py\", line 3, in act\nValueError";
        let torch = "ModuleNotFoundError: No module named 'torch'";
        for (code, message, log, part) in [
            (ImportError, torch, "", "export the network to ONNX"),
            (
                Exception,
                "OSError",
                "OSError: libGL.so.1: cannot open shared object file: No such file",
                "libGL.so.1 is",
            ),
            (ImportError, "KeyError: 'x'", LINE, "the end of the log below names your line"),
            (Exception, "ValueError", LINE, "read the end of the log below: it names your line"),
            (ImportError, "KeyError: 'x'", "", "no line of it was reached"),
            (Exception, "TypeError: Policy() takes no arguments", "", "raised outside of your files"),
            // ONNX Runtime with more threads than processors spins for seconds in its constructor.
            (ImportTimeout, "importing policy.py took more than 10 s", "", "`intra_op_num_threads = 1`"),
            (Timeout, "no answer within 20 s", "", "`torch.set_num_threads(1)`"),
            (Timeout, "the policy server did not answer within 10 s", "", "warm up the model"),
            // A message that the policy printed earlier, and a server's own environment.
            (Timeout, "no answer within 20 s", torch, "do less per step"),
            (ServerError, torch, torch, "read the end of the server's message"),
        ] {
            let found = advice(code, message, log);
            assert!(found.contains(part), "{message}: {found}");
        }
    }

    #[test]
    fn advice_that_only_points_to_the_log_is_not_repeated_in_reports() {
        assert_eq!(by_cause(&PolicyErrorCode::Exception, "ValueError", "Traceback"), None);
        assert_eq!(by_cause(&PolicyErrorCode::BadAction, "it has 2 numbers", ""), None);
    }
}
