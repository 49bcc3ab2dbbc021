//! Suggests a known name that is similar to an unknown one.

/// Names that are less alike are no suggestion (Jaro-Winkler similarity, in [0, 1]).
const ALIKE: f64 = 0.85;

/// The name in `known` that `wrong` is most like, if any is like it.
pub fn closest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|name| (strsim::jaro_winkler(wrong, name), name));
    scored.filter(|(score, _)| *score >= ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_alike_is_suggested() {
        let known = ["cartpole_keepin", "tabletop_reach"];
        assert_eq!(closest("cartpole", known), Some("cartpole_keepin"));
        assert_eq!(closest("tabeltop_reach", known), Some("tabletop_reach"));
        assert_eq!(closest("nothing", known), None);
    }
}
