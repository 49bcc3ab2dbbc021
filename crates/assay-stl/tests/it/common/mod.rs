//! A literal implementation of the definition: quadratic, on `Option`s. It shares only the formula's text with the
//! crate.
use proptest::prelude::*;

pub(crate) type Kid = Box<F>;

/// A formula over the signals `a` and `b`; windows are in samples of 1 s.
#[derive(Debug, Clone)]
pub(crate) enum F {
    Atom(u8, &'static str, i8),
    Not(Kid),
    Logic(&'static str, Kid, Kid),
    Temporal(&'static str, Window, Kid),
    Pair(&'static str, Window, Kid, Kid),
}

pub(crate) type Window = Option<(usize, Option<usize>)>;

pub(crate) fn text(f: &F) -> String {
    match f {
        F::Atom(0, op, c) => format!("(a {op} {c})"),
        F::Atom(1, op, c) => format!("(b {op} {c})"),
        F::Atom(2, op, c) => format!("(a - 2 * b {op} {c})"),
        F::Atom(3, op, c) => format!("(2 * mean[0:2](a - b) {op} {c})"),
        F::Atom(4, op, c) => format!("(duration[0:3](a > b or b >= 2) - 1 {op} {c})"),
        F::Atom(5, op, c) => format!("(count(b >= 1) {op} {c})"),
        F::Atom(_, op, c) => format!("(count[0:4](mean[0:1](a) > 0) + b {op} {c})"),
        F::Not(k) => format!("not {}", text(k)),
        F::Logic(op, l, r) => format!("({} {op} {})", text(l), text(r)),
        F::Temporal(op, w, k) => format!("({op}{} {})", window(*w), text(k)),
        F::Pair(op, w, l, r) => format!("({} {op}{} {})", text(l), window(*w), text(r)),
    }
}

fn window(w: Window) -> String {
    match w {
        None => String::new(),
        Some((a, Some(b))) => format!("[{a}:{b}]"),
        Some((a, None)) => format!("[{a}:inf]"),
    }
}

fn windows() -> impl Strategy<Value = Window> {
    prop_oneof![
        2 => Just(None),
        4 => (0..3_usize, 0..4_usize).prop_map(|(a, d)| Some((a, Some(a + d)))),
        1 => (1..3_usize).prop_map(|a| Some((a, None))),
    ]
}

pub(crate) fn formulas() -> impl Strategy<Value = F> {
    let op = prop_oneof![Just(">="), Just("<="), Just(">"), Just("<"), Just("=="), Just("!=")];
    let atom = (0..7_u8, op, -3..4_i8).prop_map(|(s, op, c)| F::Atom(s, op, c));
    atom.prop_recursive(4, 12, 2, |inner| {
        let logic = prop_oneof![Just("and"), Just("or"), Just("implies"), Just("iff"), Just("xor")];
        let temporal = prop_oneof![
            3 => Just("always"), 3 => Just("eventually"), 1 => Just("historically"), 1 => Just("once"), 1 => Just("next")
        ];
        let pair = prop_oneof![2 => Just("until"), 1 => Just("since")];
        prop_oneof![
            1 => inner.clone().prop_map(|k| F::Not(Box::new(k))),
            3 => (logic, inner.clone(), inner.clone()).prop_map(|(op, l, r)| F::Logic(op, Box::new(l), Box::new(r))),
            5 => (temporal, windows(), inner.clone()).prop_map(|(op, w, k)| {
                F::Temporal(op, if op == "next" { None } else { w }, Box::new(k))
            }),
            2 => (pair, windows(), inner.clone(), inner)
                .prop_map(|(op, w, l, r)| F::Pair(op, w, Box::new(l), Box::new(r))),
        ]
    })
}

/// Samples of `a` and `b`: small integers, so that ties and zeros abound.
pub(crate) fn traces(most: usize) -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    prop::collection::vec((-4..5_i8, -4..5_i8), 1..most)
        .prop_map(|samples| samples.into_iter().map(|(a, b)| (f64::from(a), f64::from(b))).unzip())
}

/// Returns the maximum sum of finite windows along a path.
pub(crate) fn reach(f: &F) -> usize {
    let of = |w: &Window| w.map_or(0, |(a, b)| b.unwrap_or(a));
    match f {
        F::Atom(..) => 0,
        F::Not(k) => reach(k),
        F::Logic(_, l, r) => reach(l).max(reach(r)),
        F::Temporal("next", _, k) => 1 + reach(k),
        F::Temporal(_, w, k) => of(w) + reach(k),
        F::Pair(_, w, l, r) => of(w) + reach(l).max(reach(r)),
    }
}

/// The assumption about predicates after the recorded samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    Nothing,
    Worst,
    Best,
}

pub(crate) struct Trace<'a> {
    pub(crate) a: &'a [f64],
    pub(crate) b: &'a [f64],
    /// Number of samples; with assumed ones, up to the sample from which all values repeat.
    pub(crate) length: usize,
    pub(crate) rest: Rest,
    /// True if unbounded windows stop at the last recorded sample.
    pub(crate) stops: bool,
}

type Value = Option<f64>;

fn least(x: Value, y: Value) -> Value {
    x.map_or(y, |x| Some(y.map_or(x, |y| x.min(y))))
}

fn most(x: Value, y: Value) -> Value {
    x.map_or(y, |x| Some(y.map_or(x, |y| x.max(y))))
}

fn minus(x: Value) -> Value {
    x.map(|x| -x)
}

impl Trace<'_> {
    pub(crate) fn complete<'a>(a: &'a [f64], b: &'a [f64]) -> Trace<'a> {
        Trace { a, b, length: a.len(), rest: Rest::Nothing, stops: true }
    }

    pub(crate) fn assumed<'a>(a: &'a [f64], b: &'a [f64], f: &F, rest: Rest) -> Trace<'a> {
        Trace { a, b, length: a.len() + reach(f) + 2, rest, stops: false }
    }

    pub(crate) fn recording<'a>(a: &'a [f64], b: &'a [f64], f: &F, rest: Rest) -> Trace<'a> {
        Trace { stops: true, ..Self::assumed(a, b, f, rest) }
    }

    /// Returns the value at the first sample; empty windows at the outermost level have a value.
    pub(crate) fn outside(&self, f: &F) -> f64 {
        self.outer(f, true).unwrap_or(f64::NAN)
    }

    fn outer(&self, f: &F, positive: bool) -> Value {
        let empty = |value: f64| move |x: Value| Some(x.unwrap_or(value));
        match f {
            F::Atom(..) => self.at(f, 0, positive),
            F::Not(k) => minus(self.outer(k, !positive)),
            F::Logic(op, l, r) => logic(op, |p| self.outer(l, p), |p| self.outer(r, p), positive),
            F::Temporal("always" | "historically" | "next", ..) => empty(f64::INFINITY)(self.at(f, 0, positive)),
            F::Temporal(..) | F::Pair(..) => empty(f64::NEG_INFINITY)(self.at(f, 0, positive)),
        }
    }

    /// Returns the value at sample `i`. `positive` is false inside an odd number of negations, which inverts the
    /// effect of the assumed samples.
    pub(crate) fn at(&self, f: &F, i: usize, positive: bool) -> Value {
        match f {
            F::Atom(signal, op, c) => Some(self.atom(*signal, op, f64::from(*c), i, positive)),
            F::Not(k) => minus(self.at(k, i, !positive)),
            F::Logic(op, l, r) => logic(op, |p| self.at(l, i, p), |p| self.at(r, i, p), positive),
            F::Temporal(op, w, k) => {
                let places = if matches!(*op, "always" | "eventually" | "next") {
                    self.ahead(if *op == "next" { Some((1, Some(1))) } else { *w }, i)
                } else {
                    behind(*w, i)
                };
                let fold = if matches!(*op, "always" | "historically" | "next") { least } else { most };
                places.into_iter().map(|j| self.at(k, j, positive)).fold(None, fold)
            }
            F::Pair(op, w, l, r) => {
                let places = if *op == "until" { self.ahead(*w, i) } else { behind(*w, i) };
                let witness = |j: usize| {
                    let between = if *op == "until" { i..j } else { j + 1..i + 1 };
                    let found = self.at(r, j, positive)?;
                    between.map(|k| self.at(l, k, positive)).fold(Some(found), least)
                };
                places.into_iter().map(witness).fold(None, most)
            }
        }
    }

    fn atom(&self, signal: u8, op: &str, c: f64, i: usize, positive: bool) -> f64 {
        let Some((a, b)) = self.a.get(i).zip(self.b.get(i)) else {
            let best = (self.rest == Rest::Best) == positive;
            return if best { f64::INFINITY } else { f64::NEG_INFINITY };
        };
        let x = match signal {
            0 => *a,
            1 => *b,
            2 => a - 2.0 * b,
            _ => self.aggregate(signal, i) + if signal == 6 { *b } else { 0.0 },
        };
        match op {
            ">=" | ">" => x - c,
            "<=" | "<" => c - x,
            "==" => -(x - c).abs(),
            _ => (x - c).abs(),
        }
    }

    fn aggregate(&self, signal: u8, i: usize) -> f64 {
        let mean = |steps: usize, j: usize, x: &dyn Fn(usize) -> f64| {
            let places = j.saturating_sub(steps)..=j;
            let count = places.clone().count();
            places.map(x).sum::<f64>() / count as f64
        };
        let begins = |p: &dyn Fn(usize) -> bool, first: usize| {
            (first..=i).filter(|j| p(*j) && (*j == 0 || !p(j - 1))).count() as f64
        };
        match signal {
            3 => 2.0 * mean(2, i, &|j| self.a[j] - self.b[j]),
            4 => {
                let holds = |j: &usize| self.a[*j] > self.b[*j] || self.b[*j] >= 2.0;
                (i.saturating_sub(3)..=i).filter(holds).count() as f64 - 1.0
            }
            5 => begins(&|j| self.b[j] >= 1.0, 0),
            _ => begins(&|j| mean(1, j, &|j| self.a[j]) > 0.0, i.saturating_sub(4)),
        }
    }

    /// Assumed samples never end: unbounded windows cover enough of them for all values to repeat, the others their
    /// whole width.
    fn ahead(&self, w: Window, i: usize) -> Vec<usize> {
        let (from, to) = w.unwrap_or((0, None));
        let end = match (to, self.rest) {
            (Some(to), Rest::Nothing) => self.length.min(i + to + 1),
            (Some(to), _) => i + to + 1,
            (None, _) if self.stops => self.a.len(),
            (None, _) => self.length.max(i + from + 1),
        };
        (i + from..end).collect()
    }
}

fn behind(w: Window, i: usize) -> Vec<usize> {
    let (from, to) = w.unwrap_or((0, None));
    let first = to.map_or(0, |to| i.saturating_sub(to));
    if i < from { Vec::new() } else { (first..=i - from).collect() }
}

fn logic(op: &str, l: impl Fn(bool) -> Value, r: impl Fn(bool) -> Value, p: bool) -> Value {
    match op {
        "and" => least(l(p), r(p)),
        "or" => most(l(p), r(p)),
        "implies" => most(minus(l(!p)), r(p)),
        "iff" => least(most(minus(l(!p)), r(p)), most(l(p), minus(r(!p)))),
        _ => most(least(l(p), minus(r(!p))), least(minus(l(!p)), r(p))),
    }
}
