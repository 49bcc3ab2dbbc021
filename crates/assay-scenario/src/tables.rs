//! The observation and the action as Markdown tables, for the scenario's README and for terminals.

use std::fmt::Write;

use crate::Scenario;

/// Names of the markers around a table in `README.md`: `<!-- observation -->` before it, `<!-- /observation -->` after
/// it.
const TABLES: [&str; 2] = ["observation", "action"];

impl Scenario {
    /// Returns a table of the observation's arrays, one per row.
    #[must_use]
    pub fn observation_table(&self) -> String {
        let mut text = String::from("| observation | shape | unit | meaning |\n|---|---|---|---|\n");
        for array in self.spec().observation {
            let shape: Vec<String> = array.shape.iter().map(u32::to_string).collect();
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} |",
                array.name,
                shape.join(" x "),
                array.unit,
                cell(&array.description)
            );
        }
        text
    }

    /// Returns a table of the action's numbers, one per row.
    #[must_use]
    pub fn action_table(&self) -> String {
        let mut text = String::from("| action | name | least | greatest | unit |\n|---|---|---|---|---|\n");
        for (index, number) in self.spec().action.iter().enumerate() {
            let _ = writeln!(
                text,
                "| {index} | `{}` | {} | {} | {} |",
                number.name,
                number.low,
                number.high,
                cell(&number.unit)
            );
        }
        text
    }

    /// Returns the README with both tables regenerated between their markers, or `None` if a marker is missing.
    #[must_use]
    pub fn readme_with_tables(&self) -> Option<String> {
        let mut text = self.long_description.clone();
        for (name, table) in TABLES.into_iter().zip([self.observation_table(), self.action_table()]) {
            let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
            let from = text.find(&open)? + open.len();
            let to = from + text[from..].find(&close)?;
            text.replace_range(from..to, &format!("\n{table}\n"));
        }
        Some(text)
    }

    /// Returns the long description without the markers of its tables.
    #[must_use]
    pub fn description_for_people(&self) -> String {
        let marks: Vec<String> =
            TABLES.iter().flat_map(|name| [format!("<!-- {name} -->"), format!("<!-- /{name} -->")]).collect();
        let kept = self.long_description.lines().filter(|line| !marks.iter().any(|mark| mark == line.trim()));
        kept.collect::<Vec<_>>().join("\n")
    }
}

/// Escapes a text for use in a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
