//! Requirements of a policy: packages that its runtime must have.

use std::fmt;

use pep440_rs::{Version, VersionSpecifiers};

use super::manifest::RuntimeManifest;

/// Maximum length of a requirement in bytes.
const MAX_REQUIREMENT_BYTES: usize = 256;
/// Characters at which a package's name ends.
const AFTER_NAME: [char; 9] = ['<', '>', '=', '!', '~', '[', '(', ' ', '\t'];

/// A dependency specifier (PEP 508) without address and marker, such as `onnxruntime>=1.20`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageRequirement {
    /// The package's normalised name (PEP 503).
    name: String,
    versions: VersionSpecifiers,
}

impl PackageRequirement {
    /// Parses a specifier. Extras are ignored: the packages that they add can be required by name.
    ///
    /// # Errors
    /// The reason for the policy's author, as the end of a sentence.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_REQUIREMENT_BYTES {
            return Err(format!("is longer than {MAX_REQUIREMENT_BYTES} bytes"));
        }
        if text.contains(['@', '/']) {
            return Err("is an address; name a package and its versions, since nothing is installed".to_owned());
        }
        if text.contains(';') {
            return Err("has a condition after the semicolon; state what the policy needs here".to_owned());
        }
        let malformed = || "is not a dependency specifier such as \"onnxruntime>=1.20\" (PEP 508)".to_owned();
        let text = text.trim();
        let (name, rest) = text.split_at(text.find(AFTER_NAME).unwrap_or(text.len()));
        let rest = rest.trim_start();
        let versions = match rest.strip_prefix('[') {
            Some(extras) => extras.split_once(']').ok_or_else(malformed)?.1.trim_start(),
            None => rest,
        };
        let versions = versions.strip_prefix('(').map_or(Some(versions), |inner| inner.strip_suffix(')'));
        let versions = versions.and_then(|versions| versions.trim().parse().ok()).ok_or_else(malformed)?;
        Ok(Self { name: normalised(name).ok_or_else(malformed)?, versions })
    }

    /// Returns the requirement in words if the runtime does not satisfy it.
    pub(super) fn unmet_in(&self, runtime: &RuntimeManifest) -> Option<String> {
        let installed = runtime.packages.get(&self.name).and_then(|version| version.parse::<Version>().ok());
        (!installed.is_some_and(|version| self.versions.contains(&version))).then(|| self.to_string())
    }
}

impl fmt::Display for PackageRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, self.versions)
    }
}

/// Returns a package's name as indexes compare it (PEP 503); `None` if it is not a name.
fn normalised(name: &str) -> Option<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let ends_well = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    if !bytes.iter().copied().all(is_part) || !ends_well(bytes.first()) || !ends_well(bytes.last()) {
        return None;
    }
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    Some(parts.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn runtime(packages: &[(&str, &str)]) -> RuntimeManifest {
        let packages: Vec<_> = packages.iter().map(|(name, version)| format!("\"{name}\": \"{version}\"")).collect();
        serde_json::from_str(&format!(
            "{{\"name\": \"base\", \"python\": \"3.11.7\", \"packages\": {{{}}}, \"imports\": [], \"env\": {{}}, \
             \"address_space_bytes\": 0, \"sha256\": \"{}\", \"size_bytes\": 1}}",
            packages.join(", "),
            "ab".repeat(32)
        ))
        .unwrap()
    }

    #[test]
    fn forms_of_the_standard_are_compared_with_what_is_installed() {
        let runtime = runtime(&[("ruamel-yaml", "1.20.1"), ("numpy", "2.4.6"), ("torch", "2.15.0+cpu")]);
        for (text, unmet) in [
            ("numpy", None),
            ("NumPy >= 2, < 3", None),
            ("numpy[extra] (>=2)", None),
            ("numpy~=2.4.0", None),
            ("numpy==2.4.*", None),
            ("numpy>=3", Some("numpy>=3")),
            ("ruamel.yaml>=1.2", None),
            ("torch>=2.15", None),
            ("torch==2.15", None),
            ("scipy", Some("scipy")),
        ] {
            let found = PackageRequirement::parse(text).unwrap().unmet_in(&runtime);
            assert_eq!(found.as_deref(), unmet, "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", " ", ">=1", "-numpy", "numpy[", "numpy (>=2", "numpy 2", "numpy >", "n\u{e4}me", "a b", "a,b"]
        {
            assert!(PackageRequirement::parse(text).is_err(), "{text:?}");
        }
        assert!(PackageRequirement::parse("numpy; python_version < '3.12'").unwrap_err().contains("condition"));
        assert!(PackageRequirement::parse("x @ file:///etc/passwd").unwrap_err().contains("address"));
    }
}
