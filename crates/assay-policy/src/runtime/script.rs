//! Inline script metadata (PEP 723): a TOML document in comments of a Python file.

use super::error::DeclarationError;

const BEGIN: &str = "# /// script";
const END: &str = "# ///";

/// Returns the TOML text of the block `script` in a Python file, if it has one.
pub(super) fn metadata(source: &str) -> Result<Option<String>, DeclarationError> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let lines: Vec<&str> = source.lines().map(|line| line.trim_end_matches('\r')).collect();
    let mut found = None;
    let mut next = 0;
    while let Some(offset) = lines[next..].iter().position(|line| *line == BEGIN) {
        let first = next + offset + 1;
        let comments = lines[first..].iter().take_while(|line| **line == "#" || line.starts_with("# ")).count();
        // The last such line ends the block, because the document may contain others.
        let Some(length) = lines[first..first + comments].iter().rposition(|line| *line == END) else {
            return Err(DeclarationError::Unclosed);
        };
        if found.is_some() {
            return Err(DeclarationError::Twice);
        }
        let text = |line: &&str| line.strip_prefix("# ").unwrap_or_default().to_owned();
        found = Some(lines[first..first + length].iter().map(text).collect::<Vec<_>>().join("\n"));
        next = first + length + 1;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_block_is_found_as_the_reference_implementation_finds_it() {
        let source = "#!/usr/bin/env python3\n# /// script\n# a = 1\n#\n# b = \"# x\"\n# ///\n\nimport numpy\n";
        assert_eq!(metadata(source).unwrap().unwrap(), "a = 1\n\nb = \"# x\"");
        let marked = "\u{feff}# /// script\n# a = 1\n# ///\n";
        assert_eq!(metadata(marked).unwrap().unwrap(), "a = 1");
        assert_eq!(metadata(&source.replace('\n', "\r\n")).unwrap().unwrap(), "a = 1\n\nb = \"# x\"");
        for other in ["", "import numpy\n", "# /// pyproject\n# a = 1\n# ///\n", "  # /// script\n", "#/// script\n"] {
            assert_eq!(metadata(other).unwrap(), None, "{other}");
        }
        // A document may contain the line that ends it.
        let nested = "# /// script\n# a = '''\n# ///\n# '''\n# ///\n";
        assert_eq!(metadata(nested).unwrap().unwrap(), "a = '''\n///\n'''");
    }

    #[test]
    fn an_open_block_and_a_second_one_are_refused() {
        for open in ["# /// script", "# /// script\n# a = 1\nimport numpy\n# ///\n", "# /// script\n# a = 1\n"] {
            assert!(matches!(metadata(open), Err(DeclarationError::Unclosed)), "{open}");
        }
        let twice = "# /// script\n# ///\n\n# /// script\n# ///\n";
        assert!(matches!(metadata(twice), Err(DeclarationError::Twice)));
    }
}
