//! Facts about a scenario that take the place of placeholders in a template.
//!
//! `{{name}}` is replaced anywhere; a line with nothing but `# {{name}}` becomes a comment of as many lines as the fact
//! has. Both are valid Python, so that templates are checked like any other source.

use std::fmt::Write;

use assay_scenario::{ObservationKind, Scenario, Spec};

/// The values of all placeholders.
#[derive(Debug)]
pub(super) struct Placeholders {
    words: Vec<(&'static str, String)>,
    comments: Vec<(&'static str, Vec<String>)>,
}

impl Placeholders {
    /// Returns those of `scenario`, which commands name as `named`.
    pub(super) fn of(scenario: &Scenario, named: &str) -> Self {
        let spec = scenario.spec();
        let (state, state_dim) = state(scenario, &spec);
        let dim = spec.action_dim;
        let words = vec![
            ("{{id}}", one_line(&spec.id)),
            ("{{scenario}}", one_line(named)),
            ("{{name}}", one_line(&scenario.name)),
            ("{{description}}", one_line(&scenario.description)),
            ("{{hz}}", spec.control_hz.to_string()),
            ("{{numbers}}", if dim == 1 { "1 number".to_owned() } else { format!("{dim} numbers") }),
            ("{{dim}}", dim.to_string()),
            ("{{state_dim}}", state_dim.to_string()),
            ("{{state}}", list(&state)),
            ("{{images}}", images(&spec)),
        ];
        Self { words, comments: vec![("# {{observations}}", observations(&spec)), ("# {{actions}}", actions(&spec))] }
    }

    /// Returns `text` with all facts.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(2 * text.len());
        for line in text.lines() {
            let comment = self.comments.iter().find(|(name, _)| *name == line.trim_start());
            let indent = &line[..line.len() - line.trim_start().len()];
            match comment {
                Some((_, facts)) => facts.iter().for_each(|fact| {
                    let _ = writeln!(filled, "{indent}#   {fact}");
                }),
                None => {
                    let _ = writeln!(filled, "{}", self.fill_words(line));
                }
            }
        }
        filled
    }

    fn fill_words(&self, line: &str) -> String {
        // A fact is not searched for placeholders: the scenario's texts are its author's.
        let (mut filled, mut rest) = (String::new(), line);
        while let Some(start) = rest.find("{{") {
            let (before, after) = rest.split_at(start);
            filled.push_str(before);
            let (taken, value) = match self.words.iter().find(|(name, _)| after.starts_with(name)) {
                Some((name, value)) => (name.len(), value.as_str()),
                None => (2, "{{"),
            };
            filled.push_str(value);
            rest = &after[taken..];
        }
        filled + rest
    }
}

fn observations(spec: &Spec) -> Vec<String> {
    let length = |shape: &[u32]| shape.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let fact = |array: &assay_scenario::Array| {
        format!("observation[{:?}]  [{}]  {}", array.name, length(&array.shape), one_line(&array.description))
    };
    spec.observation.iter().map(fact).collect()
}

fn actions(spec: &Spec) -> Vec<String> {
    let numbers = spec.action.iter().enumerate();
    let fact = |(i, a): (usize, &assay_scenario::ActionNumber)| {
        format!("action[{i}]  {} in [{}, {}]{}", a.name, a.low, a.high, crate::commands::stdout::unit(&a.unit))
    };
    numbers.map(fact).collect()
}

/// Returns the names of the arrays that a network usually sees, and the total length of these arrays: everything but
/// images and the last action.
fn state(scenario: &Scenario, spec: &Spec) -> (Vec<String>, u32) {
    let is_last_action = |name: &str| {
        let mut found = scenario.observations.iter().filter(|observation| observation.name == name);
        found.any(|observation| matches!(observation.kind, ObservationKind::LastAction {}))
    };
    let chosen = spec.observation.iter().filter(|array| array.dtype == "float64" && !is_last_action(&array.name));
    let (names, lengths): (Vec<_>, Vec<u32>) =
        chosen.map(|array| (array.name.clone(), array.shape.iter().product::<u32>())).unzip();
    (names, lengths.iter().sum())
}

/// Returns the Python dict from the scenario's cameras to LeRobot's keys of the same names.
fn images(spec: &Spec) -> String {
    let cameras = spec.observation.iter().filter(|array| array.dtype == "uint8");
    let entry = |array: &assay_scenario::Array| {
        let camera = array.name.rsplit('/').next().unwrap_or(&array.name);
        format!("{:?}: {:?}", array.name, format!("observation.images.{camera}"))
    };
    format!("{{{}}}", cameras.map(entry).collect::<Vec<_>>().join(", "))
}

/// Returns a Python list of strings, with a line for each if it is long.
fn list(names: &[String]) -> String {
    const MAX_COLUMNS: usize = 100;
    let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    let short = names.join(", ");
    if short.len() <= MAX_COLUMNS {
        return format!("[{short}]");
    }
    let lines: String = names.iter().map(|name| format!("    {name},\n")).collect();
    format!("[\n{lines}]")
}

/// Returns text that can't end a Python comment or docstring.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('\\', "/").replace("\"\"\"", "'''")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholders() -> Placeholders {
        Placeholders {
            words: vec![("{{dim}}", "7".to_owned()), ("{{name}}", "a {{dim}} in {{".to_owned())],
            comments: vec![("# {{actions}}", vec!["action[0]".to_owned(), "action[1]".to_owned()])],
        }
    }

    #[test]
    fn facts_are_filled_in_once() {
        let filled = placeholders().fill("np.zeros({{dim}})  # {{name}} {{other}} {{\n    # {{actions}}\nend");
        assert_eq!(filled, "np.zeros(7)  # a {{dim}} in {{ {{other}} {{\n    #   action[0]\n    #   action[1]\nend\n");
    }

    #[test]
    fn long_lists_have_a_line_for_each_name() {
        assert_eq!(list(&["a".to_owned(), "b".to_owned()]), "[\"a\", \"b\"]");
        let names: Vec<_> = (0..30).map(|number| format!("name{number}")).collect();
        let lines = list(&names);
        assert!(lines.starts_with("[\n    \"name0\",\n") && lines.ends_with("\"name29\",\n]"), "{lines}");
    }
}
