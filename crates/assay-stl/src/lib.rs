//! Signal temporal logic (STL): formulas over named signals, and their robustness on recorded and running traces.
//!
//! No IO and no domain knowledge. Time is discrete: one sample per period (the physics step). The concrete syntax is
//! that of the Python package rtamt; the semantics are the quantitative ones of Fainekos and Pappas (2009) and Donzé
//! and Maler (2010), over finite traces.
//!
//! ```
//! use assay_stl::{Formula, Status, TraceEnd};
//! let formula = Formula::parse("always (speed <= limit)", &[("limit", 0.25)])?;
//! let bound = formula.bind(&["speed"], 0.002)?;
//! let outcome = bound.evaluate(&[&[0.10, 0.20, 0.15]], TraceEnd::Complete);
//! assert_eq!(outcome.status, Status::Satisfied);
//!
//! let mut monitor = bound.monitor();
//! for speed in [0.10, 0.20, 0.15] {
//!     monitor.push(&[speed]);
//! }
//! assert_eq!(monitor.finish(TraceEnd::Complete), outcome);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rules
//! - **Precedence**, tightest first, as in rtamt: `* /`, `+ -`, comparison, `not` and one-sided temporal operators,
//!   `until`, `since`, `and`, `or`, `implies`, `iff`, `xor`. So `always a > 0 and b > 0` is `(always a > 0) and b > 0`.
//!   Chains of `implies`, `until` or `since` need parentheses (rtamt groups them to the left, most texts to the right).
//! - **Clipping.** Samples outside the trace do not exist: they are dropped from every minimum and maximum. A
//!   window left empty inside another temporal operator is dropped there too, so `eventually always[1:2] p` cannot be
//!   satisfied by a window beyond the end. Left empty at the outermost level, `always` and `next` are `+inf`,
//!   `eventually`, `until`, `once` and `since` are `-inf`; both are reported as vacuous.
//! - **`until` / `since`**: the left side holds strictly before (after) the witness.
//! - **`iff`** is `(a -> b) and (b -> a)`, **`xor`** its negation (rtamt: `-|a - b|`, which is negative for two true
//!   operands).
//! - **Aggregates** (`mean`, `duration`, `count`) are numbers computed over past samples; their windows are clipped to
//!   the trace like all others. Their operands contain no temporal operators.
//! - **NaN** in a predicate makes that predicate `-inf` *and* its negation `-inf`: it never counts as satisfied.
//!
//! Where to begin reading: `syntax` (the formula), `lower` (negation normal form as a table of operations), `offline`
//! (columns), `monitor` (streaming).
mod aggregate;
mod bound_formula;
mod display;
mod error;
mod evaluation;
mod fold;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod lex;
mod limits;
mod lower;
mod margin_range;
mod measured_value;
mod monitor;
mod offline;
mod parse;
mod plan;
mod predicate;
mod syntax;
mod violations;
mod windows;

pub use bound_formula::BoundFormula;
pub use error::{BindError, ParseError};
pub use evaluation::{Status, TraceEnd, TraceEvaluation};
pub use limits::{MAX_DEPTH, MAX_HORIZON_STEPS, MAX_NODES, MAX_TEMPORAL, MAX_TEXT_BYTES};
pub use monitor::{Monitor, RunningBounds};
pub use syntax::Formula;
pub use violations::ViolationSpan;
