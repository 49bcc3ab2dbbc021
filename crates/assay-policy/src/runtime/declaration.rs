//! The declaration of a policy's runtime and models, in `policy.toml` or in the inline metadata of `policy.py`.

use assay_model::{DeclaredModel, RuntimeName};
use pep440_rs::{Version, VersionSpecifiers};
use serde::Deserialize;

use super::error::{DeclarationError, MAX_DECLARATION_BYTES, MAX_DEPENDENCIES, MAX_MODELS};
use super::manifest::RuntimeManifest;
use super::requirement::PackageRequirement;
use super::{script, toml_text};
use crate::adapter::{AdapterTable, PolicyAdapter};

/// The file with a policy's code.
pub(crate) const SCRIPT_FILE: &str = "policy.py";
/// The file with a policy's declaration.
pub(crate) const DECLARATION_FILE: &str = "policy.toml";

/// Most actions of an answer, as for policy servers.
const MAX_REPLAN_STEPS: u32 = 1000;

/// Extensions of files that Python would import. A declared model is not part of what is read before a policy runs.
const CODE: [&str; 4] = ["py", "pyc", "pyd", "so"];

/// The runtime and the models that a policy needs. By default any runtime will do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PolicyDeclaration {
    /// The runtime's name.
    pub runtime: Option<RuntimeName>,
    /// The versions of Python.
    requires_python: Option<VersionSpecifiers>,
    /// The packages.
    dependencies: Vec<PackageRequirement>,
    /// The models, with unchecked paths.
    pub models: Vec<DeclaredModel>,
    /// The adapter of a policy without code.
    pub adapter: Option<PolicyAdapter>,
    /// Number of actions of an answer that are executed before the policy is asked again, for a policy with code.
    pub replan_steps: Option<u32>,
}

/// The document: keys of PEP 723, models and an adapter. Those of other tools are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct DeclarationFile {
    requires_python: Option<String>,
    #[serde(default)]
    dependencies: Vec<String>,
    #[serde(default)]
    models: Vec<ModelTable>,
    adapter: Option<AdapterTable>,
    #[serde(default)]
    tool: Tools,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelTable {
    path: String,
    sha256: String,
    size_bytes: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct Tools {
    #[serde(default)]
    assay: AssayTable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct AssayTable {
    runtime: Option<String>,
    replan_steps: Option<u32>,
}

impl PolicyDeclaration {
    /// Reads the declaration of a policy from the text of `policy.py` and that of `policy.toml`, as far as they exist.
    /// Only the first 256 KiB of `policy.py` are searched.
    ///
    /// # Errors
    /// The name of the file at fault, and the problem.
    pub fn read(script: Option<&[u8]>, toml: Option<&[u8]>) -> Result<Self, (&'static str, DeclarationError)> {
        let has_script = script.is_some();
        let script = script.unwrap_or_default();
        let script = &script[..script.len().min(MAX_DECLARATION_BYTES)];
        // Python reports text in another encoding better than this could.
        let inline = script::metadata(&String::from_utf8_lossy(script)).map_err(|error| (SCRIPT_FILE, error))?;
        let (file, declaration) = match (toml, inline) {
            (Some(_), Some(_)) => (SCRIPT_FILE, Err(DeclarationError::Both)),
            (Some(text), None) => (DECLARATION_FILE, Self::of_file(text)),
            (None, Some(text)) => (SCRIPT_FILE, Self::parse(&text)),
            (None, None) => return Ok(Self::default()),
        };
        match declaration.map_err(|error| (file, error))? {
            Self { adapter: Some(_), .. } if has_script => Err((file, DeclarationError::AdapterAndScript)),
            declaration => Ok(declaration),
        }
    }

    fn of_file(text: &[u8]) -> Result<Self, DeclarationError> {
        if text.len() > MAX_DECLARATION_BYTES {
            return Err(DeclarationError::TooLarge);
        }
        Self::parse(std::str::from_utf8(text).map_err(|_| DeclarationError::NotText)?)
    }

    fn parse(text: &str) -> Result<Self, DeclarationError> {
        let document: DeclarationFile = toml_text::read(text).map_err(DeclarationError::Toml)?;
        let DeclarationFile { requires_python, dependencies, models, adapter, tool } = document;
        let adapter = adapter.map(AdapterTable::check).transpose()?;
        if dependencies.len() > MAX_DEPENDENCIES {
            return Err(DeclarationError::TooMany(dependencies.len()));
        }
        if models.len() > MAX_MODELS {
            return Err(DeclarationError::TooManyModels(models.len()));
        }
        let invalid = |key, value: &str, why: String| DeclarationError::Value { key, value: value.to_owned(), why };
        // An adapter says what it needs.
        let package = adapter.as_ref().map(|adapter| adapter.package().to_owned());
        let runtime = tool.assay.runtime.map(|name| {
            let why = "is not the name of a runtime, such as base or onnx".to_owned();
            name.parse().map_err(|_| invalid("tool.assay.runtime", &name, why))
        });
        let replan_steps = tool.assay.replan_steps;
        if let Some(steps) = replan_steps {
            let key = "tool.assay.replan_steps";
            if adapter.is_some() {
                let why = "is for policies with code; declare adapter.action.replan_steps".to_owned();
                return Err(invalid(key, &steps.to_string(), why));
            }
            if !(1..=MAX_REPLAN_STEPS).contains(&steps) {
                let why = format!("is not in 1 to {MAX_REPLAN_STEPS}");
                return Err(invalid(key, &steps.to_string(), why));
            }
        }
        let python = requires_python.map(|versions| {
            let why = "is not a version specifier such as \">=3.11\" (PEP 440)".to_owned();
            versions.parse().map_err(|_| invalid("requires-python", &versions, why))
        });
        let model = |ModelTable { path, sha256, size_bytes }: ModelTable| {
            let why = "is not a SHA-256 of 64 lower-case hexadecimal digits".to_owned();
            let digest = sha256.parse().map_err(|_| invalid("models.sha256", &sha256, why))?;
            if is_code(&path) {
                let why = "is the name of a program; models are data, code belongs in the archive".to_owned();
                return Err(invalid("models.path", &path, why));
            }
            Ok::<_, DeclarationError>(DeclaredModel { path, sha256: digest, size_bytes })
        };
        let dependency =
            |text: &String| PackageRequirement::parse(text).map_err(|why| invalid("dependencies", text, why));
        Ok(Self {
            runtime: runtime.transpose()?,
            requires_python: python.transpose()?,
            dependencies: dependencies.iter().chain(&package).map(dependency).collect::<Result<_, _>>()?,
            models: models.into_iter().map(model).collect::<Result<_, _>>()?,
            adapter,
            replan_steps,
        })
    }

    /// Returns the requirements that `runtime` does not meet, in words.
    pub(super) fn unmet_in(&self, runtime: &RuntimeManifest) -> Vec<String> {
        let python = self.requires_python.iter().filter_map(|wanted| {
            let version = runtime.python.parse::<Version>().ok();
            (!version.is_some_and(|version| wanted.contains(&version))).then(|| format!("Python {wanted}"))
        });
        python.chain(self.dependencies.iter().filter_map(|one| one.unmet_in(runtime))).collect()
    }
}

/// Returns true if Python would import a file of this name. Names such as `libc.so.6` count too, in upper or lower
/// case.
fn is_code(path: &str) -> bool {
    path.rsplit('/').next().unwrap_or(path).split('.').skip(1).any(|part| CODE.contains(&&*part.to_lowercase()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn read(toml: &str) -> Result<PolicyDeclaration, DeclarationError> {
        PolicyDeclaration::read(Some(b""), Some(toml.as_bytes())).map_err(|(file, error)| {
            assert_eq!(file, "policy.toml");
            error
        })
    }

    #[test]
    fn both_forms_declare_the_same() {
        let toml = "requires-python = \">=3.11\"\ndependencies = [\"onnxruntime>=1.20\"]\n[tool.assay]\nruntime = \
                    \"onnx\"\n[tool.other]\nkey = 1\n";
        let commented: String = toml.lines().map(|line| format!("# {line}\n")).collect();
        let script = format!("# /// script\n{commented}# ///\nimport numpy\n");
        let inline = PolicyDeclaration::read(Some(script.as_bytes()), None).unwrap();
        assert_eq!(inline, read(toml).unwrap());
        assert_eq!(inline.runtime.unwrap().as_str(), "onnx");
        let both = PolicyDeclaration::read(Some(script.as_bytes()), Some(toml.as_bytes()));
        assert_eq!(both, Err(("policy.py", DeclarationError::Both)));
        assert_eq!(PolicyDeclaration::read(Some(b"import numpy\n\xff"), None).unwrap(), PolicyDeclaration::default());
    }

    #[test]
    fn models_are_named_by_their_digest() {
        let digest = "ab".repeat(32);
        let model = format!("[[models]]\npath = \"m.onnx\"\nsha256 = \"{digest}\"\n");
        let models = read(&format!("{model}size_bytes = 7\n{model}")).unwrap().models;
        let sizes: Vec<_> = models.iter().map(|model| (model.path.as_str(), model.size_bytes)).collect();
        assert_eq!(sizes, [("m.onnx", Some(7)), ("m.onnx", None)]);
        assert!(models.iter().all(|model| model.sha256.to_string() == digest));
        let wrong = model.replace("ab", "AB");
        assert!(read(&wrong).unwrap_err().to_string().contains("is not a SHA-256"), "{wrong}");
        for (toml, part) in [
            (
                format!("{model}url = \"https://example.org\"\n"),
                "line 4, models.url: url is not known; use one of path",
            ),
            ("[[models]]\npath = \"m\"\n".to_owned(), "line 1, models: sha256 is missing"),
            ("models = \"m\"\n".to_owned(), "line 1, models must be a list"),
            (model.replace("m.onnx", "policy.py"), "code belongs in the archive"),
            (model.replace("m.onnx", "a/nt.cpython-311-x86_64-linux-gnu.SO"), "code belongs in the archive"),
        ] {
            let error = read(&toml).unwrap_err().to_string();
            assert!(error.contains(part), "{toml}: {error}");
        }
        assert_eq!(read(&model.repeat(MAX_MODELS + 1)), Err(DeclarationError::TooManyModels(MAX_MODELS + 1)));
    }

    #[test]
    fn what_cannot_be_checked_is_refused() {
        for (toml, part) in [
            ("dependencies = [\"x @ file:///etc/passwd\"]", "is an address"),
            ("dependencies = [\"https://example.org/x.whl\"]", "is an address"),
            ("dependencies = [\"${HOME}\"]", "is not a dependency specifier"),
            ("dependencies = [\"numpy >\"]", "is not a dependency specifier"),
            ("dependencies = [1]", "line 1, dependencies must be a string, not 1"),
            ("\u{feff}dependencies = \"numpy\"", "line 1, dependencies must be a list, not the string \"numpy\""),
            ("requires-python = \"new\"", "is not a version specifier"),
            ("[tool.assay]\nruntime = \"../base\"", "is not the name of a runtime"),
            (
                "[tool.assay]\nruntimes = \"base\"",
                "line 2, tool.assay.runtimes: runtimes is not known; use one of runtime",
            ),
            ("[tool.assay]\nreplan_steps = 0", "tool.assay.replan_steps: \"0\" is not in 1 to 1000"),
            ("[tool.assay]\nreplan_steps = -1", "line 2, tool.assay.replan_steps must be a whole number"),
            ("a = ", "string values must be quoted"),
        ] {
            let error = read(toml).unwrap_err().to_string();
            assert!(error.contains(part), "{toml}: {error}");
        }
        let long = format!("dependencies = [\"{}\"]", "x".repeat(300));
        assert!(read(&long).unwrap_err().to_string().contains("longer than 256 bytes"));
        let many = format!("dependencies = [{}]", "\"numpy\",".repeat(65));
        assert_eq!(read(&many), Err(DeclarationError::TooMany(65)));
        assert_eq!(read(&"#".repeat(MAX_DECLARATION_BYTES + 1)), Err(DeclarationError::TooLarge));
        assert_eq!(PolicyDeclaration::read(Some(b""), Some(b"\xff")), Err(("policy.toml", DeclarationError::NotText)));
    }
}
