//! Suggests a known name that is similar to an unknown one.

/// Minimum similarity of a suggestion (Jaro-Winkler similarity, in [0, 1]).
const ALIKE: f64 = 0.85;

/// Returns the name in `known` that is most similar to `wrong`, if any is similar enough.
pub fn closest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|name| (strsim::jaro_winkler(wrong, name), name));
    scored.filter(|(score, _)| *score >= ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        let known = ["cartpole_keepin", "tabletop_reach"];
        assert_eq!(closest("cartpole", known), Some("cartpole_keepin"));
        assert_eq!(closest("tabeltop_reach", known), Some("tabletop_reach"));
        assert_eq!(closest("nothing", known), None);
    }
}
