//! Arithmetic over an episode's parameters.

use assay_stl::{BoundFormula, Formula};

use crate::{DrawError, Scalar};

pub(crate) fn evaluate(value: &Scalar, parameters: &[(String, f64)]) -> Result<f64, DrawError> {
    let expression = match value {
        Scalar::Number(number) => return Ok(*number),
        Scalar::Expression(expression) => expression,
    };
    let fail = |problem: String| DrawError::Expression { expression: expression.clone(), problem };
    let names: Vec<&str> = parameters.iter().map(|(name, _)| name.as_str()).collect();
    let values: Vec<f64> = parameters.iter().map(|(_, value)| *value).collect();
    let number = arithmetic(expression, &names).map_err(&fail)?.at(&values).unwrap_or(f64::NAN);
    if number.is_finite() { Ok(number) } else { Err(fail(format!("gives {number}"))) }
}

/// Parses an arithmetic expression over the parameters `names`: the robustness of `expression >= 0` is the expression's
/// value.
///
/// # Errors
/// A message with the problem of the expression.
pub(crate) fn arithmetic(expression: &str, names: &[&str]) -> Result<BoundFormula, String> {
    // Parsed without parentheses first, so that columns in errors count from the author's first character, and then in
    // parentheses, so that only arithmetic is accepted.
    Formula::parse(&format!("{expression} >= 0"), &[]).map_err(|e| e.to_string())?;
    let formula = Formula::parse(&format!("({expression}) >= 0"), &[])
        .map_err(|_| "must be arithmetic over parameters".to_owned())?;
    if let Some(unknown) = formula.signals().iter().find(|signal| !names.contains(&signal.as_str())) {
        return Err(format!("there is no parameter {unknown:?}; add it to [parameters] or correct the name"));
    }
    let bound = formula.bind(names, 1.0).map_err(|e| e.to_string())?;
    if bound.is_instant() { Ok(bound) } else { Err("must be arithmetic over parameters".to_owned()) }
}
