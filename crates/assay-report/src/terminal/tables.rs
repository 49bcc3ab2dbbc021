//! The two tables of the report: clauses over all episodes, and the episodes. If the terminal is too narrow for a
//! table, the same facts are shown as a list.

use assay_model::{ClauseStatus, EpisodeResult, EpisodeStatus, Level, sanitise};
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width};

use unicode_width::UnicodeWidthStr;

use super::paint::{Paint, Tone};
use super::wrap::{NO_BREAK, wrap};
use crate::{ClauseSummary, outcome, words};

/// Maximum number of episodes listed; the others are counted.
const MAX_ROWS: usize = 40;
/// Maximum length of a cell's text, in bytes.
const MAX_CELL_BYTES: usize = 200;
/// Number of digits shown of a trace hash.
const HASH_HEAD: usize = 12;
/// Placeholder of an empty cell.
const NOTHING: &str = "-";
/// Indentation of the lines of a list that belong to the line above.
const INDENT: &str = "  ";
/// Space between two columns of a table, in characters.
const GAP: u16 = 2;
/// Indentation of a continuation line of a list.
const CONTINUED: &str = "   ";
/// Number of columns of the clause table that must not wrap: all but the status.
const CLAUSE_FACTS: usize = 6;
/// Minimum width of the status, in characters; more if one of its words is longer.
const LEAST_STATUS: usize = 20;

const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Row of the clause table, as text.
struct ClauseRow {
    facts: [String; CLAUSE_FACTS],
    /// Title, and the id after it.
    name: String,
    status: String,
    tone: Tone,
}

impl ClauseRow {
    fn of(summary: &ClauseSummary<'_>) -> Self {
        let clause = summary.clause;
        let unit = clean(&clause.unit);
        let worst = summary.worst;
        let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
        Self {
            facts: [
                clean(&clause.id),
                summary.clause.level.as_str().to_owned(),
                words::with_unit(clause.limit, &unit),
                or_nothing(worst.and_then(|w| w.value).map(|v| words::with_unit(v, &unit))),
                or_nothing(worst.map(|w| words::signed(w.robustness))),
                or_nothing(worst.map(|w| {
                    let time = w.time_s.map(|t| format!(" {}", words::seconds(t))).unwrap_or_default();
                    format!("ep. {}{time}", w.episode)
                })),
            ],
            name: clean(&clause.name()),
            status: summary.status_words(),
            tone: Tone::of_clause(clause.level, summary.status()),
        }
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells: Vec<_> = self.facts.iter().map(Cell::new).collect();
        for number in &mut cells[2..5] {
            *number = number.clone().set_alignment(CellAlignment::Right);
        }
        cells.push(toned(&self.status, self.tone));
        cells
    }

    fn listed(&self, width: usize, paint: Paint) -> Vec<String> {
        let [_, level, limit, value, margin, when] = &self.facts;
        let worst = if value == NOTHING { String::new() } else { format!("worst {value}, ") };
        let facts = format!("{level}, limit {limit}, {worst}margin {margin} ({when})");
        let mut lines = wrap(&format!("{}: {}", self.name, self.status), width);
        if let Some(end) = lines.last_mut() {
            *end = end.replacen(&self.status, &paint.text(self.tone, &self.status), 1);
        }
        let facts = wrap(&facts, width.saturating_sub(INDENT.len()));
        lines.extend(facts.into_iter().map(|line| format!("{INDENT}{line}")));
        lines
    }
}

/// Returns the clause table, a row per clause, as lines of at most `width` columns (longer only if a name is). The
/// sources of the limits, which are long, are in the other forms of the report.
pub(super) fn clauses(summaries: &[ClauseSummary<'_>], width: usize, paint: Paint) -> Vec<String> {
    let rows: Vec<_> = summaries.iter().map(ClauseRow::of).collect();
    let mut table = table(width, paint);
    table.set_header(["clause", "level", "limit", "worst", "margin", "when", "status"]);
    table.add_rows(rows.iter().map(ClauseRow::cells));
    for column in table.column_iter_mut().take(CLAUSE_FACTS) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    let words = rows.iter().flat_map(|row| row.status.split(' ')).map(UnicodeWidthStr::width);
    let word = u16::try_from(words.max().unwrap_or_default()).unwrap_or(u16::MAX / 4) + GAP;
    // The lower boundary prevents broken words.
    for column in table.column_iter_mut().skip(CLAUSE_FACTS) {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(word)));
    }
    set_gaps(&mut table);
    if needed(&table, CLAUSE_FACTS) + usize::from(word).max(LEAST_STATUS) > width {
        return rows.iter().flat_map(|row| row.listed(width, paint)).collect();
    }
    table.lines().collect()
}

/// Row of the episode table, as text.
struct EpisodeRow {
    cells: [String; 11],
    ending: Tone,
    safety: Tone,
}

impl EpisodeRow {
    fn of(episode: &EpisodeResult) -> Self {
        let warned = episode.clauses.iter().any(|c| c.level == Level::Warning && c.status == ClauseStatus::Violated);
        let latency = |pick: fn(&assay_model::LatencyMs) -> f64| {
            episode.policy_latency_ms.map_or_else(|| NOTHING.to_owned(), |l| format!("{:.2}", pick(&l)))
        };
        Self {
            cells: [
                episode.episode.to_string(),
                outcome::ending(episode).to_owned(),
                if episode.success { "yes" } else { "no" }.to_owned(),
                words::score(episode.progress_score),
                words::score(episode.safety_score),
                words::score(episode.composite_score),
                episode.steps.to_string(),
                words::seconds(episode.sim_time_s),
                latency(|l| l.p50),
                latency(|l| l.p99),
                episode.trace_hash.map_or_else(|| NOTHING.to_owned(), |hash| format!("{hash:.HASH_HEAD$}")),
            ],
            ending: Tone::of_episode(episode.status),
            safety: match (episode.has_critical_violation(), warned) {
                (true, _) => Tone::Bad,
                (false, true) => Tone::Open,
                (false, false) => Tone::Plain,
            },
        }
    }

    fn cells(&self) -> Vec<Cell> {
        let mut cells: Vec<_> =
            self.cells.iter().map(|text| Cell::new(text).set_alignment(CellAlignment::Right)).collect();
        cells[1] = toned(&self.cells[1], self.ending);
        cells[2] = Cell::new(&self.cells[2]);
        cells[4] = toned(&self.cells[4], self.safety).set_alignment(CellAlignment::Right);
        cells[10] = Cell::new(&self.cells[10]);
        cells
    }

    fn listed(&self, width: usize, paint: Paint) -> Vec<String> {
        let [index, ending, done, progress, safety, composite, steps, time, p50, p99, trace] = &self.cells;
        let done = if done == "yes" { "done" } else { "not done" };
        let pair = |name: &str, value: &str| format!("{name} {value}").replace(' ', NO_BREAK);
        let scores = [pair("progress", progress), pair("safety", safety), pair("composite", composite)].join(", ");
        let head = format!("{}, {}; {scores}", pair(&format!("{index}:"), ending), done.replace(' ', NO_BREAK));
        let more = format!(
            "{}, {}; policy {}, {}; {}",
            pair(steps, "steps"),
            time.replace(' ', NO_BREAK),
            pair("p50", &format!("{p50} ms")),
            pair("p99", &format!("{p99} ms")),
            pair("trace", trace)
        );
        let inner = width.saturating_sub(CONTINUED.len());
        let mut lines = wrap(&head, inner).into_iter();
        let mut listed: Vec<_> = lines.next().into_iter().collect();
        listed.extend(lines.chain(wrap(&more, inner)).map(|line| format!("{CONTINUED}{line}")));
        for line in &mut listed {
            // Colours are applied after wrapping, because they have no width.
            let (safe, end) = (format!("safety {safety}"), format!("{index}: {ending}"));
            *line = line.replacen(&safe, &format!("safety {}", paint.text(self.safety, safety)), 1);
            *line = line.replacen(&end, &format!("{index}: {}", paint.text(self.ending, ending)), 1);
        }
        listed
    }
}

/// Returns the episode table, a row per episode and at most [`MAX_ROWS`], and the number of episodes left out.
pub(super) fn episodes(episodes: &[EpisodeResult], width: usize, paint: Paint) -> (Vec<String>, usize) {
    let shown = selected(episodes);
    let left_out = episodes.len() - shown.len();
    let rows: Vec<_> = shown.into_iter().map(EpisodeRow::of).collect();
    let mut table = table(width, paint);
    table.set_header([
        "ep.",
        "ended by",
        "done",
        "progress",
        "safety",
        "composite",
        "steps",
        "sim time",
        "p50 ms",
        "p99 ms",
        "trace",
    ]);
    table.add_rows(rows.iter().map(EpisodeRow::cells));
    set_gaps(&mut table);
    if needed(&table, usize::MAX) > width {
        return (rows.iter().flat_map(|row| row.listed(width, paint)).collect(), left_out);
    }
    (table.lines().collect(), left_out)
}

/// Selects the episodes to list: incomplete, unsafe and unsuccessful ones before others, returned in their original
/// order.
fn selected(episodes: &[EpisodeResult]) -> Vec<&EpisodeResult> {
    let wrong = |e: &EpisodeResult| e.status != EpisodeStatus::Completed || e.has_critical_violation() || !e.success;
    let (mut shown, clean): (Vec<_>, Vec<_>) = episodes.iter().partition(|e| wrong(e));
    shown.extend(clean);
    shown.truncate(MAX_ROWS);
    shown.sort_by_key(|e| e.episode);
    shown
}

pub(super) fn table(width: usize, paint: Paint) -> Table {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX));
    if paint.colours() {
        table.enforce_styling();
        table.style_text_only();
    } else {
        table.force_no_tty();
    }
    table
}

fn set_gaps(table: &mut Table) {
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
}

/// Returns the width of the table's first `columns` columns without wrapping, in characters.
fn needed(table: &Table, columns: usize) -> usize {
    table.column_max_content_widths().iter().take(columns).map(|&w| usize::from(w + GAP)).sum()
}

fn clean(text: &str) -> String {
    sanitise(text, MAX_CELL_BYTES).replace(['\n', '\t'], " ")
}

fn toned(words: &str, tone: Tone) -> Cell {
    let cell = Cell::new(words);
    match tone.cell() {
        Some(colour) => cell.fg(colour),
        None => cell,
    }
}
