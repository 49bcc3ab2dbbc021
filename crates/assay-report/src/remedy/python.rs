//! Advice for messages of Python and of the libraries that policies use.

/// Maximum length of a quoted name, in bytes. Longer ones are not names.
const MAX_NAME_BYTES: usize = 300;
/// Common frameworks that no shipped runtime has, by the names of their modules.
const FRAMEWORKS: [&str; 14] = [
    "torch",
    "torchvision",
    "safetensors",
    "lerobot",
    "transformers",
    "diffusers",
    "stable_baselines3",
    "tensorflow",
    "keras",
    "jax",
    "flax",
    "openvino",
    "ai_edge_litert",
    "tflite_runtime",
];
/// The module of the runtime `onnx`.
const ONNX: &str = "onnxruntime";
/// The policy's folder in its jail.
const FOLDER: &str = "/policy/";

const NO_MODULE: &str = "No module named '";
const NO_LIBRARY: &str = ": cannot open shared object file";
/// Beginnings of messages about a missing file, each with the end of the file's name: Python's, the safetensors
/// library's, and ONNX Runtime's.
const NO_FILE: [(&str, &str); 3] = [
    ("No such file or directory: '", "'"),
    ("No such file or directory: \"", "\""),
    ("NO_SUCHFILE : Load model from ", " failed:"),
];

/// Parts of tracebacks in which a file is opened for writing.
const WRITERS: [&str; 7] = ["FileHandler", ", \"w\")", ", 'w')", ", \"a\")", ", 'a')", "in basicConfig", ", \"wb\")"];

/// Parts of other messages, and the advice for each. The first that occurs counts.
const OTHERS: [(&[&str], &str); 10] = [
    (
        &["version `GLIBC", "version `CXXABI"],
        "a library of the archive was built for a newer system than the policy's runtime: use the package's manylinux \
         wheel, a runtime that has it (assay runtime list), or a policy server",
    ),
    (
        &["failed to map segment from shared object"],
        "the library does not fit into the policy's address space: use a smaller package, or a scenario with a larger \
         `budget.memory_mib`",
    ),
    (
        &["Torch not compiled with CUDA", "Found no NVIDIA driver", "on a CUDA device", "libcuda.so", "libcudart.so"],
        "jails have no GPU: load the weights with `map_location=\"cpu\"`, set the device to `cpu`, or run the policy as a \
         policy server",
    ),
    (
        &["huggingface.co", "unknown url type: https", "name resolution", "Name or service not known"],
        "a policy has no network: download the files on your own machine, put them into the archive, and load them by \
         their path",
    ),
    (
        &["No usable temporary directory", "Read-only file system"],
        "a policy can't write files: keep the data in memory (`io.BytesIO`), and turn off the library's cache",
    ),
    (
        &["INVALID_PROTOBUF", "while deserializing header"],
        "the model's file is damaged or not the model: check whether it is complete, and not a pointer of Git LFS \
         (`git lfs pull`)",
    ),
    (
        &["Weights only load failed"],
        "the file has more than weights: on your own machine, save `state_dict()` with safetensors, and load that",
    ),
    (
        &["can't start new thread"],
        "a policy may have about 15 threads: let every library use one thread, because a policy has one processor",
    ),
    (
        &["[Errno 38] Function not implemented"],
        "a policy is one process: it can't start others (`subprocess`, `multiprocessing`, a data loader with workers)",
    ),
    (
        &["Unable to allocate", "DefaultCPUAllocator: can't allocate memory"],
        "it exceeds the scenario's `budget.memory_mib`: load less data, or load it in smaller pieces",
    ),
];

/// Returns advice for the first known message in `text`.
pub(super) fn remedy(text: &str) -> Option<String> {
    module(text).or_else(|| other(text)).or_else(|| library(text)).or_else(|| file(text))
}

/// Returns advice for a missing module.
fn module(text: &str) -> Option<String> {
    let module = quoted(text, NO_MODULE, "'")?;
    let package = module.split('.').next().unwrap_or(module);
    let part = module.rsplit('.').next().filter(|part| *part != package);
    Some(if package == ONNX {
        "onnxruntime is in the runtime `onnx`: declare it in a comment of policy.py, `# /// script`, \
         `# dependencies = [\"onnxruntime\"]`, `# ///`"
            .to_owned()
    } else if FRAMEWORKS.contains(&package) {
        format!(
            "{package} is not in the policy's runtime: if a runtime with it is offered (assay runtime list), declare the \
             dependency in policy.py; otherwise export the network to ONNX and use the runtime `onnx`, or run the policy \
             as a policy server"
        )
    } else if part.is_some_and(|part| part.starts_with('_')) {
        // The names of compiled parts contain the interpreter's version.
        format!(
            "the compiled part {module} of the package {package} is missing, or was built for another version of Python: \
             put the wheel for the runtime's version into the archive (assay runtime list), or declare the package"
        )
    } else {
        "put the module into the archive, or declare the package that it belongs to, so that a runtime with it is chosen"
            .to_owned()
    })
}

fn other(text: &str) -> Option<String> {
    let found = OTHERS.iter().find(|(parts, _)| parts.iter().any(|part| text.contains(part)));
    found.map(|(_, advice)| (*advice).to_owned())
}

/// Returns advice for a missing shared library.
fn library(text: &str) -> Option<String> {
    let (before, _) = text.split_once(NO_LIBRARY)?;
    let library = before.rsplit([' ', '\'', '"', '\n']).next().filter(|name| is_name(name))?;
    Some(format!(
        "{library} is not in the policy's runtime: remove the code that needs it, use a wheel that includes it, choose a \
         runtime with the package that it belongs to (assay runtime list), or run the policy as a policy server"
    ))
}

/// Returns advice for a missing file.
fn file(text: &str) -> Option<String> {
    if WRITERS.iter().any(|writer| text.contains(writer)) && text.contains("No such file or directory") {
        return Some(
            "the file was opened for writing, and a policy can't write files: print instead, which the report keeps, or \
             remove the log file"
                .to_owned(),
        );
    }
    let file = NO_FILE.iter().find_map(|(begin, end)| quoted(text, begin, end))?;
    let name = file.rsplit('/').next().unwrap_or(file);
    Some(if let Some(inside) = file.strip_prefix(FOLDER) {
        format!(
            "{inside} is not in the archive: check whether it was written and added, and whether its name has the same \
             capital letters"
        )
    } else if file.starts_with('/') {
        format!(
            "{file} does not exist in the jail, which has only the policy's own files and its runtime: put the file into \
             the archive, and open `Path(__file__).parent / \"{name}\"`"
        )
    } else {
        format!(
            "the current folder is not the policy's: open `Path(__file__).parent / \"{file}\"`, and check whether the \
             file is in the archive"
        )
    })
}

/// Returns the name between `begin` and the next `end`.
fn quoted<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let (name, _) = text.split_once(begin)?.1.split_once(end)?;
    is_name(name).then_some(name)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_NAME_BYTES && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_has_its_advice() {
        for (message, part) in [
            ("ModuleNotFoundError: No module named 'torch'", "torch is not in the policy's runtime"),
            ("ModuleNotFoundError: No module named 'jax.numpy'", "jax is not in the policy's runtime"),
            ("ModuleNotFoundError: No module named 'lerobot.policies'", "export the network to ONNX"),
            ("ModuleNotFoundError: No module named 'onnxruntime'", "# dependencies = [\"onnxruntime\"]"),
            ("ModuleNotFoundError: No module named 'helpers'", "put the module into the archive"),
            ("ModuleNotFoundError: No module named 'scipy.linalg._fblas'", "built for another version of Python"),
            ("ModuleNotFoundError: No module named '_mine'", "put the module into the archive"),
            ("ImportError: libgomp.so.1: cannot open shared object file: No such file", "libgomp.so.1 is not in"),
            ("OSError: /policy/x.so: version `GLIBC_2.38' not found", "built for a newer system"),
            ("ImportError: x.so: failed to map segment from shared object", "address space"),
            ("ImportError: libcudart.so.12: cannot open shared object file", "jails have no GPU"),
            ("RuntimeError: Attempting to deserialize object on a CUDA device but ...", "map_location=\"cpu\""),
            ("URLError: <urlopen error unknown url type: https>", "has no network"),
            ("gaierror: [Errno -3] Temporary failure in name resolution", "has no network"),
            ("FileNotFoundError: [Errno 2] No usable temporary directory found in ['/tmp']", "can't write files"),
            ("OSError: [Errno 30] Read-only file system: 'cache.txt'", "can't write files"),
            ("InvalidProtobuf: [ONNXRuntimeError] : 7 : INVALID_PROTOBUF : Load model from x failed", "Git LFS"),
            ("SafetensorError: Error while deserializing header: HeaderTooLarge", "Git LFS"),
            ("RuntimeError: can't start new thread", "about 15 threads"),
            ("OSError: [Errno 38] Function not implemented", "one process"),
            ("MemoryError: Unable to allocate 16.0 GiB for an array", "budget.memory_mib"),
            ("No such file or directory: 'weights/w.npz'", "open `Path(__file__).parent / \"weights/w.npz\"`"),
            (
                "No such file or directory: \"model.safetensors\"",
                "open `Path(__file__).parent / \"model.safetensors\"`",
            ),
            (
                "  open(path, \"w\")\nFileNotFoundError: [Errno 2] No such file or directory: '/policy/out/x.log'",
                "was opened for writing",
            ),
            ("No such file or directory: '/policy/data/w.npz'", "data/w.npz is not in the archive"),
            ("No such file or directory: '/home/me/w.npz'", "open `Path(__file__).parent / \"w.npz\"`"),
            (
                "NoSuchFile: [ONNXRuntimeError] : 3 : NO_SUCHFILE : Load model from model.onnx failed:Load model model.onnx \
                 failed. File doesn't exist",
                "open `Path(__file__).parent / \"model.onnx\"`",
            ),
        ] {
            let found = remedy(message).unwrap_or_default();
            assert!(found.contains(part), "{message}: {found}");
        }
    }

    #[test]
    fn unknown_and_hostile_messages_have_none() {
        let long = format!("No module named '{}'", "x".repeat(MAX_NAME_BYTES + 1));
        let unclosed = "No such file or directory: 'w";
        let library = format!("{}: cannot open shared object file", "x".repeat(MAX_NAME_BYTES + 1));
        let lines = "No module named 'a\nb'";
        for message in ["", "ValueError: 3", "No module named ''", &long, unclosed, &library, lines] {
            assert_eq!(remedy(message), None, "{message}");
        }
    }
}
