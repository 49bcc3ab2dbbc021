//! Layout of terminal output (tables, labelled facts, paragraphs, Markdown) in lines of a given width. Words are never
//! broken; a word longer than a line (a path, an address, a hash) is kept whole.

use anstyle::Style;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, Width};
use unicode_width::UnicodeWidthStr;

use super::paint::{Paint, Tone};
use super::tables;
use super::wrap::{NO_BREAK, longest_word, wrap};

/// Minimum width of the layout, in columns.
pub(super) const MIN_WIDTH: usize = 40;
/// Space between two columns of a table, in characters.
const GAP: usize = 2;
/// Part of the gap that belongs to the left column; the table itself draws the rest.
const PADDING: u16 = 1;
/// Minimum width to which a column is reduced to fit a table; if that does not suffice, the table becomes a list.
const LEAST_COLUMN: usize = 20;
/// Width beyond which a cell has its own line in a list.
const SHORT_CELL: usize = 24;
/// Indentation of continuation lines.
const INDENT: usize = 2;

/// Options of the layout.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    width: usize,
    paint: Paint,
}

impl Layout {
    /// Creates a layout with lines of `width` columns, at least 40, with or without colours.
    #[must_use]
    pub fn new(width: usize, colour: bool) -> Self {
        Self { width: width.max(MIN_WIDTH), paint: Paint::new(colour) }
    }

    /// Returns the number of columns of a line.
    #[must_use]
    pub fn width(self) -> usize {
        self.width
    }

    pub(super) fn styled(self, style: Style, text: &str) -> String {
        if self.paint.colours() && style != Style::new() {
            format!("{}{text}{}", style.render(), style.render_reset())
        } else {
            text.to_owned()
        }
    }

    /// Returns a heading, terminated by a newline.
    #[must_use]
    pub fn heading(self, text: &str) -> String {
        format!("{}\n", self.paint.text(Tone::Heading, text))
    }

    /// Returns text indented by `indent` spaces, each line terminated by a newline.
    #[must_use]
    pub fn paragraph(self, text: &str, indent: usize) -> String {
        hanging(&" ".repeat(indent), indent, text, self.width)
    }

    /// Returns labels with a fact next to each, indented by `indent` spaces.
    #[must_use]
    pub fn facts(self, rows: &[(String, String)], indent: usize) -> String {
        let widest = rows.iter().map(|(label, _)| label.width()).max().unwrap_or_default();
        let beside = indent + widest + GAP;
        let mut text = String::new();
        for (label, fact) in rows {
            let padding = " ".repeat(widest - label.width() + GAP);
            let start = " ".repeat(indent);
            // Place the facts below the labels if the labels would take more than half of the line.
            if beside > self.width / 2 {
                text.push_str(&hanging(&start, indent + INDENT, label.trim_end(), self.width));
                text.push_str(&self.paragraph(fact, indent + 2 * INDENT));
            } else {
                text.push_str(&hanging(&format!("{start}{label}{padding}"), beside, fact, self.width));
            }
        }
        text
    }

    /// Returns rows under a header, indented by `indent` spaces, with columns of numbers aligned to the right. If the
    /// columns do not fit, each row becomes a list of its cells.
    #[must_use]
    pub fn table(self, header: &[&str], rows: &[Vec<String>], indent: usize) -> String {
        let text = Self { width: self.width.saturating_sub(indent), ..self }.columns(header, rows);
        let spaces = " ".repeat(indent);
        text.lines().map(|line| format!("{spaces}{}\n", line.trim_end())).collect()
    }

    fn columns(self, header: &[&str], rows: &[Vec<String>]) -> String {
        let columns = rows.iter().map(Vec::len).chain([header.len()]).max().unwrap_or_default();
        let cells = |column: usize| {
            let below = rows.iter().filter_map(move |row| row.get(column)).map(String::as_str);
            header.get(column).copied().into_iter().chain(below)
        };
        let least: Vec<usize> = (0..columns).map(|c| cells(c).map(longest_word).max().unwrap_or_default()).collect();
        let whole = (0..columns).map(|c| cells(c).map(UnicodeWidthStr::width).max().unwrap_or_default());
        let needed: usize = whole.zip(&least).map(|(whole, least)| whole.min(LEAST_COLUMN.max(*least)) + GAP).sum();
        if needed > self.width {
            return rows.iter().map(|row| self.listed(header, row)).collect();
        }
        let mut table = tables::table(self.width, self.paint);
        table.set_header(header.iter().copied());
        let numbers: Vec<bool> = (0..columns).map(|c| rows.iter().all(|row| is_number(row.get(c)))).collect();
        table.add_rows(rows.iter().map(|row| {
            let aligned = |(cell, number): (&String, &bool)| {
                let side = if *number { CellAlignment::Right } else { CellAlignment::Left };
                Cell::new(cell).set_alignment(side)
            };
            row.iter().zip(&numbers).map(aligned).collect::<Vec<_>>()
        }));
        for (column, least) in table.column_iter_mut().zip(least) {
            let least = u16::try_from(least).unwrap_or(u16::MAX / 4);
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least + PADDING)));
            column.set_padding((0, PADDING));
        }
        table.lines().map(|line| format!("{}\n", line.trim_end().replace(NO_BREAK, " "))).collect()
    }

    /// Returns a row as a list: its first cell, and below it the others with their column names.
    fn listed(self, header: &[&str], row: &[String]) -> String {
        let Some((first, others)) = row.split_first() else { return String::new() };
        let mut text = self.heading(first);
        let mut short: Vec<String> = Vec::new();
        let end = |short: &mut Vec<String>, text: &mut String| {
            if !short.is_empty() {
                text.push_str(&self.paragraph(&std::mem::take(short).join("; "), INDENT));
            }
        };
        for (index, cell) in others.iter().enumerate().filter(|(_, cell)| !cell.trim().is_empty()) {
            let name = header.get(index + 1).copied().unwrap_or_default();
            let named = if name.is_empty() { cell.clone() } else { format!("{name}: {cell}") };
            // The last cell usually describes the row, so it has its own line.
            if cell.width() <= SHORT_CELL && index + 1 < others.len() {
                short.push(named.replace(' ', NO_BREAK));
            } else {
                end(&mut short, &mut text);
                text.push_str(&self.paragraph(&named, INDENT));
            }
        }
        end(&mut short, &mut text);
        text
    }
}

/// Returns `first` followed by `text`, in lines of `width` columns, all but the first indented by `indent` spaces.
fn hanging(first: &str, indent: usize, text: &str, width: usize) -> String {
    let lines: Vec<String> = text.lines().flat_map(|line| wrap(line, width.saturating_sub(indent))).collect();
    if lines.is_empty() {
        return format!("{}\n", first.trim_end());
    }
    let spaces = " ".repeat(indent);
    let before = std::iter::once(first).chain(std::iter::repeat(spaces.as_str()));
    lines.iter().zip(before).map(|(line, before)| format!("{}\n", format!("{before}{line}").trim_end())).collect()
}

fn is_number(cell: Option<&String>) -> bool {
    cell.is_none_or(|cell| cell.is_empty() || cell == "-" || cell.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<String>> {
        let row = |id: &str, n: &str, what: &str| vec![id.to_owned(), n.to_owned(), what.to_owned()];
        vec![
            row("tabletop_reach", "7", "Touch a mark on a table and stop there"),
            row("cart", "12", "Keep the pole upright"),
        ]
    }

    #[test]
    fn a_table_wraps_between_words_and_becomes_a_list() {
        let header = ["id", "level", "what"];
        let wide = Layout::new(80, false).table(&header, &rows(), 0);
        let lines: Vec<_> = wide.lines().collect();
        assert_eq!(lines[0], "id              level  what");
        assert_eq!(lines[2], "tabletop_reach      7  Touch a mark on a table and stop there");
        let narrow = Layout::new(48, false).table(&header, &rows(), 2);
        assert!(narrow.lines().all(|line| line.width() <= 48 && line.starts_with("  ")), "{narrow}");
        assert!(narrow.contains("tabletop_reach      7  Touch a mark on a\n"), "{narrow}");
        let list = Layout::new(40, false).table(&header, &rows(), 0);
        let expected = "tabletop_reach\n  level: 7\n  what: Touch a mark on a table and stop\n  there\ncart\n  level: \
                        12\n  what: Keep the pole upright\n";
        assert_eq!(list, expected);
    }

    #[test]
    fn facts_are_placed_beside_or_below_their_labels() {
        let facts =
            [("signature".to_owned(), "by key 1".to_owned()), ("numbers".to_owned(), "as they were".to_owned())];
        let layout = Layout::new(40, false);
        assert_eq!(layout.facts(&facts, 0), "signature  by key 1\nnumbers    as they were\n");
        let long = [("a label that takes most of it".to_owned(), "a fact".to_owned())];
        assert_eq!(layout.facts(&long, 0), "a label that takes most of it\n    a fact\n");
    }
}
