//! Facts about a scenario that take the place of placeholders in a template.
//!
//! `{{name}}` is replaced anywhere; a line with nothing but `# {{name}}` becomes a comment of as many lines as the fact
//! has. Both are valid Python, and comments are valid TOML, so that templates are checked like any other source.

use std::fmt::Write;

use assay_scenario::{ActionNumber, Array, ObservationKind, Scenario, Spec};

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
        let names: Vec<String> = state.iter().map(|(name, _)| name.clone()).collect();
        let numbers = |of: fn(&ActionNumber) -> f64| format!("{:?}", spec.action.iter().map(of).collect::<Vec<_>>());
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
            ("{{state}}", list(&names)),
            ("{{arrays}}", arrays(&state)),
            ("{{image_inputs}}", image_inputs(&spec)),
            ("{{mode}}", quoted(spec.control_mode)),
            ("{{units}}", format!("[{}]", spec.action.iter().map(|a| quoted(&a.unit)).collect::<Vec<_>>().join(", "))),
            ("{{low}}", numbers(|number| number.low)),
            ("{{high}}", numbers(|number| number.high)),
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
    let fact = |array: &Array| {
        let (name, shape) = (quoted(&array.name), length(&array.shape));
        format!("observation[{name}]  [{shape}]  {}", one_line(&array.description))
    };
    spec.observation.iter().map(fact).collect()
}

fn actions(spec: &Spec) -> Vec<String> {
    let numbers = spec.action.iter().enumerate();
    let fact = |(i, a): (usize, &ActionNumber)| {
        let unit = crate::commands::stdout::unit(&a.unit);
        one_line(&format!("action[{i}]  {} in [{}, {}]{unit}", a.name, a.low, a.high))
    };
    numbers.map(fact).collect()
}

/// Returns the arrays that a network usually sees, with their lengths, and the total length: everything but images and
/// the last action.
fn state(scenario: &Scenario, spec: &Spec) -> (Vec<(String, u32)>, u32) {
    let is_last_action = |name: &str| {
        let mut found = scenario.observations.iter().filter(|observation| observation.name == name);
        found.any(|observation| matches!(observation.kind, ObservationKind::LastAction {}))
    };
    let chosen = spec.observation.iter().filter(|array| array.dtype == "float64" && !is_last_action(&array.name));
    let arrays: Vec<_> = chosen.map(|array| (array.name.clone(), array.shape.iter().product::<u32>())).collect();
    let total = arrays.iter().map(|(_, size)| size).sum();
    (arrays, total)
}

/// Returns a TOML array of the arrays that a network sees, with a line for each.
fn arrays(state: &[(String, u32)]) -> String {
    let line = |(name, size): &(String, u32)| format!("    {{ name = {}, size = {size} }},\n", quoted(name));
    format!("[\n{}]", state.iter().map(line).collect::<String>())
}

/// Returns a TOML table for each of the scenario's cameras, with LeRobot's feature of the same name.
fn image_inputs(spec: &Spec) -> String {
    let cameras = spec.observation.iter().filter(|array| array.dtype == "uint8");
    let table = |array: &Array| {
        let camera = array.name.rsplit('/').next().unwrap_or(&array.name);
        let feature = quoted(&format!("observation.images.{camera}"));
        format!("[[adapter.inputs]]\nname = {feature}\nimage = {}\n", quoted(&array.name))
    };
    cameras.map(table).collect()
}

/// Returns a string of both Python and TOML, on one line.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            ' '..='~' => quoted.push(c),
            c if is_printed(c) => quoted.push(c),
            c => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(c));
            }
        }
    }
    quoted + "\""
}

/// Returns whether a character is printed as itself.
fn is_printed(c: char) -> bool {
    c.escape_debug().count() == 1
}

/// Returns a Python list of strings, with a line for each if it is long.
fn list(names: &[String]) -> String {
    const MAX_COLUMNS: usize = 100;
    let names: Vec<_> = names.iter().map(|name| quoted(name)).collect();
    let short = names.join(", ");
    if short.len() <= MAX_COLUMNS {
        return format!("[{short}]");
    }
    let lines: String = names.iter().map(|name| format!("    {name},\n")).collect();
    format!("[\n{lines}]")
}

/// Returns text that can't end a Python comment or docstring, whatever the scenario's author wrote.
fn one_line(text: &str) -> String {
    // Marks of accents are not printed by themselves, but belong to the letter before.
    let clean = assay_model::sanitise(text, usize::MAX);
    let line: String = clean.chars().map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { c }).collect();
    line.replace('\\', "/").replace('"', "'")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

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

    /// Texts of a scenario that would end a comment, a docstring or a string. The first was seen.
    const HOSTILE: [&str; 8] = [
        "force\n        pass\nimport os; os.system('id')\ndef unused():\n    if 1:\n        #",
        "a\rimport os",
        "a\u{2028}import os",
        "a\u{85}import os",
        "a\u{c}import os",
        "\"\"\"\nimport os\n\"\"\"",
        "\"; import os; \"",
        "\\",
    ];

    #[test]
    fn no_text_ends_a_comment_a_docstring_or_a_string() {
        for text in HOSTILE {
            let line = one_line(text);
            assert!(!line.contains(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '"', '\\']), "{line:?}");
            let string = quoted(text);
            let parsed: toml::Table = toml::from_str(&format!("x = {string}")).unwrap();
            assert_eq!(parsed["x"].as_str(), Some(text));
            assert_eq!(string.lines().count(), 1);
        }
        let action = ActionNumber { name: HOSTILE[0].into(), low: 0.0, high: 1.0, unit: "m\nimport os".into() };
        let mut spec = Scenario::load(
            &assay_testkit::home().join("scenarios/cartpole_keepin"),
            &assay_testkit::home().join("robots"),
        )
        .unwrap()
        .spec();
        spec.action = vec![action];
        assert!(actions(&spec).iter().all(|line| !line.contains('\n')));
    }

    #[test]
    fn long_lists_have_a_line_for_each_name() {
        assert_eq!(list(&["a".to_owned(), "b".to_owned()]), "[\"a\", \"b\"]");
        let names: Vec<_> = (0..30).map(|number| format!("name{number}")).collect();
        let lines = list(&names);
        assert!(lines.starts_with("[\n    \"name0\",\n") && lines.ends_with("\"name29\",\n]"), "{lines}");
    }
}
