//! The templates of policies: files of `python/templates`, in which placeholders stand for facts about the scenario.

use std::path::Path;

use clap::ValueEnum;

/// The address on which the template's policy server listens.
const SERVER: &str = "http://127.0.0.1:8000";

/// The kind of policy to start from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum PolicyTemplate {
    /// Python with numpy
    #[default]
    Numpy,
    /// A network run by ONNX Runtime, and a program that writes one
    Onnx,
    /// A network run by PyTorch, and a program that trains it; needs a runtime that an operator adds
    Torch,
    /// A checkpoint of LeRobot (ACT or Diffusion); needs a runtime that an operator adds
    Lerobot,
    /// A policy server over HTTP
    Server,
}

/// Lists files of a template with their text.
macro_rules! files {
    ($folder:literal: $($name:literal),+) => {
        &[$(($name, include_str!(concat!("../../../../../python/templates/", $folder, "/", $name)))),+]
    };
}

impl PolicyTemplate {
    /// Returns the names of its files and their text with placeholders, the most important file first.
    pub(super) fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Numpy => files!("numpy": "policy.py", "README.md"),
            Self::Onnx => files!("onnx": "policy.toml", "export.py", "README.md"),
            Self::Torch => files!("torch": "policy.py", "network.py", "train.py", "README.md"),
            Self::Lerobot => files!("lerobot": "policy.toml", "README.md"),
            Self::Server => files!("server": "server.py", "policy.py", "README.md"),
        }
    }

    /// Returns what must be done between reading the task and the first try: a label and a command for each step.
    pub(super) fn steps(self, dir: &Path) -> Vec<(&'static str, String)> {
        let python = |name: &str| format!("python3 {}", dir.join(name).display());
        let runtime = |name: &str| format!("assay runtime show {name}    # README.md: how to add it");
        match self {
            Self::Numpy => Vec::new(),
            Self::Onnx => vec![("the network:", python("export.py"))],
            Self::Torch => vec![("the weights:", python("train.py")), ("the runtime:", runtime("torch"))],
            Self::Lerobot => {
                let copy = format!("cp -r PRETRAINED_MODEL {}", dir.join("checkpoint").display());
                vec![("the weights:", copy), ("the runtime:", runtime("lerobot"))]
            }
            Self::Server => vec![("the server:", python("server.py"))],
        }
    }

    /// Returns the argument that names the policy in commands.
    pub(super) fn policy(self, dir: &Path) -> String {
        match self {
            Self::Server => SERVER.to_owned(),
            _ => dir.display().to_string(),
        }
    }
}
