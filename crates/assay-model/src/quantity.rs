//! Quantities as text, identical in every output.

/// Formats a number with four significant digits, without trailing zeros: `83.1`, `0.02`, `1.2e-7`.
#[must_use]
pub fn number(x: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if !x.is_finite() {
        return x.to_string();
    }
    let magnitude = x.abs();
    if !(1e-4..1e7).contains(&magnitude) {
        return trim_zeros(&format!("{x:.3e}"));
    }
    let decimals = [1e3, 1e2, 1e1, 1.0, 1e-1, 1e-2, 1e-3].iter().position(|&bound| magnitude >= bound).unwrap_or(7);
    trim_zeros(&format!("{x:.decimals$}"))
}

/// Removes trailing zeros after the decimal point (before the exponent, if there is one).
#[must_use]
pub fn trim_zeros(text: &str) -> String {
    let (digits, exponent) = text.find('e').map_or((text, ""), |at| text.split_at(at));
    if !digits.contains('.') {
        return text.to_owned();
    }
    format!("{}{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Formats a number with its unit; a ratio (unit 1) is shown without one.
#[must_use]
pub fn with_unit(x: f64, unit: &str) -> String {
    if unit.is_empty() || unit == "1" { number(x) } else { format!("{} {unit}", number(x)) }
}

/// Formats simulated seconds with two decimals.
#[must_use]
pub fn seconds(x: f64) -> String {
    format!("{x:.2} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        for (x, text) in [
            (83.125, "83.12"),
            (50.0, "50"),
            (0.02, "0.02"),
            (-1234.56, "-1235"),
            (1e-9, "1e-9"),
            (0.000_123_456, "0.0001235"),
            (100.0, "100"),
            (2e8, "2e8"),
        ] {
            assert_eq!(number(x), text);
        }
    }

    #[test]
    fn a_ratio_has_no_unit() {
        assert_eq!((with_unit(0.5, "1"), with_unit(0.5, "N")), ("0.5".to_owned(), "0.5 N".to_owned()));
        assert_eq!(seconds(0.779), "0.78 s");
    }
}
