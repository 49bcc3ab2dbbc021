//! Numbers and counts as text, identical in every form of the report.

pub(crate) use assay_model::{number, seconds, with_unit};

/// Formats a margin with its sign, so that a violated clause cannot be mistaken for a satisfied one.
pub(crate) fn signed(x: f64) -> String {
    if x < 0.0 { format!("-{}", number(-x)) } else { format!("+{}", number(x)) }
}

/// Formats a share in [0, 1] as percent, rounded up to a tenth: an upper bound must not look better than it is.
pub(crate) fn percent_up(share: f64) -> String {
    // The slack keeps 0.05 from becoming 5.1 %: most decimals have no exact double.
    const SLACK: f64 = 1e-9;
    let tenths = (share * 1000.0 - SLACK).ceil().max(0.0);
    format!("{} %", assay_model::trim_zeros(&format!("{:.1}", tenths / 10.0)))
}

/// Formats a share in [0, 1] as percent, with four significant digits.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", number(share * 100.0))
}

/// Formats a score in [0, 1] with three decimals.
pub(crate) fn score(x: f64) -> String {
    // Adding zero turns -0 into 0.
    format!("{:.3}", x + 0.0)
}

/// Formats a time of RFC 3339 without fractions of a second: `2026-11-21 10:00:00 UTC`.
pub(crate) fn moment(exact: &str) -> String {
    match exact.strip_suffix('Z').and_then(|time| time.split_once('T')) {
        Some((date, time)) => format!("{date} {} UTC", time.split('.').next().unwrap_or(time)),
        None => exact.to_owned(),
    }
}

/// Formats a size of a file: `812 B`, `1.2 MB`.
pub(crate) fn bytes(size: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    for (unit, name) in UNITS {
        if size >= unit {
            let tenths = size.saturating_mul(10) / unit;
            return format!("{}.{} {name}", tenths / 10, tenths % 10);
        }
    }
    format!("{size} B")
}

/// Formats a count with its noun: `1 episode`, `3 episodes`.
pub(crate) fn counted(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// Formats indices as ranges: `0-2, 5`.
pub(crate) fn ranges(sorted: &[u32]) -> String {
    let mut out: Vec<(u32, u32)> = Vec::new();
    for &i in sorted {
        match out.last_mut() {
            Some((_, end)) if *end + 1 == i => *end = i,
            _ => out.push((i, i)),
        }
    }
    let shown = out.iter().map(|&(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") });
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_have_a_sign() {
        assert_eq!(signed(-3.0), "-3");
        assert_eq!(signed(0.5), "+0.5");
    }

    #[test]
    fn sizes_have_one_decimal() {
        for (size, text) in
            [(0, "0 B"), (999, "999 B"), (1_250, "1.2 kB"), (3_000_000, "3.0 MB"), (2_340_000_000, "2.3 GB")]
        {
            assert_eq!(bytes(size), text);
        }
    }

    #[test]
    fn moments_have_seconds() {
        assert_eq!(moment("2026-11-21T10:00:00.123456789Z"), "2026-11-21 10:00:00 UTC");
        assert_eq!(moment("2026-11-21T10:00:00Z"), "2026-11-21 10:00:00 UTC");
        assert_eq!(moment("soon"), "soon");
    }

    #[test]
    fn bounds_round_up() {
        for (share, text) in [(0.6316, "63.2 %"), (0.05, "5 %"), (0.0982, "9.9 %"), (1.0, "100 %"), (0.3, "30 %")] {
            assert_eq!(percent_up(share), text);
        }
    }

    #[test]
    fn adjacent_indices_form_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
        assert_eq!(ranges(&[]), "");
    }
}
