//! Quantities in the units that people read.

const KIB: f64 = 1024.0;
const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
const MINUTE_S: u64 = 60;
const HOUR_S: u64 = 3600;
const DAY_S: u64 = 86_400;

/// Returns a size with at most three digits, as in `1.5 MiB`.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(super) fn bytes_in_words(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64 / KIB;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    while size >= 999.5 {
        let Some(larger) = units.next() else { break };
        (size, unit) = (size / KIB, Some(larger));
    }
    let digits = usize::from(size < 9.95);
    let number = format!("{size:.digits$}");
    format!("{} {}", number.trim_end_matches(".0"), unit.copied().unwrap_or_default())
}

/// Returns a duration in its largest unit that leaves a whole number of at least two, as in `90 s` or `3 h`.
pub(super) fn seconds_in_words(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / MINUTE_S),
        7200..172_800 => format!("{} h", seconds / HOUR_S),
        _ => format!("{} days", seconds / DAY_S),
    }
}

/// Returns the number with its noun, which gets an `s` unless there is one.
pub(super) fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::{bytes_in_words, seconds_in_words};

    #[test]
    fn sizes_have_three_digits_at_most() {
        for (bytes, words) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1_572_864, "1.5 MiB"),
            (10 << 20, "10 MiB"),
            (999 << 20, "999 MiB"),
            (1023 << 20, "1 GiB"),
            (50 << 30, "50 GiB"),
            (u64::MAX, "16384 PiB"),
        ] {
            assert_eq!(bytes_in_words(bytes), words);
        }
    }

    #[test]
    fn durations_have_one_unit() {
        for (seconds, words) in [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (172_800, "2 days")] {
            assert_eq!(seconds_in_words(seconds), words);
        }
    }
}
