//! Predicates as flat programs that compute a margin from the signals of one sample without recursion or allocation.

/// Samples processed at a time when a whole column is evaluated.
const CHUNK: usize = 512;

/// Stack height up to which evaluating one sample allocates nothing.
const FEW: usize = 8;

/// One instruction of a stack program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Instruction {
    Constant(f64),
    Load(usize),
    Minus,
    Abs,
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
}

/// The computation of the margin; the first two variants are the common limit on one signal.
#[derive(Debug, Clone)]
enum PredicateShape {
    /// `signal - constant`
    Above {
        column: usize,
        limit: f64,
    },
    /// `constant - signal`
    Below {
        column: usize,
        limit: f64,
    },
    Program {
        code: Box<[Instruction]>,
        stack: usize,
    },
}

/// The interpretation of a margin as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Semantics {
    /// The margin itself.
    Quantitative,
    /// `+inf` where the predicate is true, else `-inf`: margin > 0, or >= 0 unless `strict`.
    Boolean { strict: bool },
}

/// A predicate.
#[derive(Debug, Clone)]
pub(crate) struct Predicate {
    shape: PredicateShape,
    semantics: Semantics,
}

impl Predicate {
    /// Compiles postfix code that leaves the margin on the stack.
    pub(crate) fn new(code: Vec<Instruction>, semantics: Semantics) -> Self {
        use Instruction::{Constant, Load, Sub};
        let shape = match code[..] {
            [Load(column), Constant(limit), Sub] => PredicateShape::Above { column, limit },
            [Constant(limit), Load(column), Sub] => PredicateShape::Below { column, limit },
            _ => PredicateShape::Program { stack: stack_needed(&code), code: code.into() },
        };
        Self { shape, semantics }
    }

    /// Returns the value on one sample. A signal missing from the sample counts as NaN.
    #[inline]
    pub(crate) fn at(&self, sample: &[f64]) -> f64 {
        self.semantics.read(self.margin(sample))
    }

    /// Returns the margin on one sample; NaN stays NaN.
    #[inline(always)]
    pub(crate) fn margin(&self, sample: &[f64]) -> f64 {
        let load = |column: usize| sample.get(column).copied().unwrap_or(f64::NAN);
        match &self.shape {
            PredicateShape::Above { column, limit } => load(*column) - limit,
            PredicateShape::Below { column, limit } => limit - load(*column),
            PredicateShape::Program { code, stack } if *stack <= FEW => run(code, sample, &mut [f64::NAN; FEW]),
            PredicateShape::Program { code, stack } => run(code, sample, &mut vec![f64::NAN; *stack]),
        }
    }

    /// Computes the values on the first `out.len()` samples of `columns`.
    pub(crate) fn fill(&self, columns: &[&[f64]], out: &mut [f64]) {
        let n = out.len();
        match &self.shape {
            PredicateShape::Above { column, limit } => {
                out.iter_mut().zip(&columns[*column][..n]).for_each(|(o, x)| *o = self.semantics.read(x - limit));
            }
            PredicateShape::Below { column, limit } => {
                out.iter_mut().zip(&columns[*column][..n]).for_each(|(o, x)| *o = self.semantics.read(limit - x));
            }
            PredicateShape::Program { code, stack } => {
                let mut scratch = vec![0.0; CHUNK * stack];
                for (k, chunk) in out.chunks_mut(CHUNK).enumerate() {
                    run_chunk(code, columns, k * CHUNK, chunk.len(), &mut scratch);
                    chunk.iter_mut().zip(&scratch).for_each(|(o, m)| *o = self.semantics.read(*m));
                }
            }
        }
    }
}

impl Semantics {
    /// Maps NaN to `-inf` (never satisfied), and a zero to a positive zero (see `fold`).
    #[inline(always)]
    fn read(self, margin: f64) -> f64 {
        let truth = match self {
            Semantics::Quantitative => return if margin.is_nan() { f64::NEG_INFINITY } else { margin + 0.0 },
            Semantics::Boolean { strict: true } => margin > 0.0,
            Semantics::Boolean { strict: false } => margin >= 0.0,
        };
        if truth { f64::INFINITY } else { f64::NEG_INFINITY }
    }
}

impl Instruction {
    /// Returns the result of a binary instruction; a NaN operand gives NaN, in `min` and `max` too.
    #[inline(always)]
    pub(crate) fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Instruction::Add => a + b,
            Instruction::Sub => a - b,
            Instruction::Mul => a * b,
            Instruction::Div => a / b,
            Instruction::Min if a < b || a.is_nan() => a,
            Instruction::Max if a > b || a.is_nan() => a,
            _ => b,
        }
    }

    fn pushes(self) -> bool {
        matches!(self, Instruction::Constant(_) | Instruction::Load(_))
    }

    fn unary(self) -> bool {
        matches!(self, Instruction::Minus | Instruction::Abs)
    }
}

fn stack_needed(code: &[Instruction]) -> usize {
    let (mut height, mut most) = (0_usize, 0);
    for step in code {
        if step.pushes() {
            height += 1;
        } else if !step.unary() {
            height -= 1;
        }
        most = most.max(height);
    }
    most
}

/// Runs postfix code on one sample; `stack` has the height that it needs.
#[inline(always)]
fn run(code: &[Instruction], sample: &[f64], stack: &mut [f64]) -> f64 {
    let (mut top, mut height) = (f64::NAN, 0);
    for step in code {
        // The top of the stack is kept in a local variable; a push saves it to the slice.
        match step {
            Instruction::Constant(value) => {
                stack[height] = top;
                height += 1;
                top = *value;
            }
            Instruction::Load(column) => {
                stack[height] = top;
                height += 1;
                top = sample.get(*column).copied().unwrap_or(f64::NAN);
            }
            Instruction::Minus => top = -top,
            Instruction::Abs => top = top.abs(),
            binary => {
                height -= 1;
                top = binary.apply(stack[height], top);
            }
        }
    }
    top
}

/// Runs postfix code on `count` samples from `start`; the margins end up in the first `count` elements of `scratch`.
fn run_chunk(code: &[Instruction], columns: &[&[f64]], start: usize, count: usize, scratch: &mut [f64]) {
    let mut height = 0;
    for step in code {
        if step.pushes() {
            let target = &mut scratch[height * CHUNK..][..count];
            match step {
                Instruction::Load(column) => target.copy_from_slice(&columns[*column][start..start + count]),
                Instruction::Constant(value) => target.fill(*value),
                _ => {}
            }
            height += 1;
        } else if step.unary() {
            let target = &mut scratch[(height - 1) * CHUNK..][..count];
            match step {
                Instruction::Minus => target.iter_mut().for_each(|x| *x = -*x),
                _ => target.iter_mut().for_each(|x| *x = x.abs()),
            }
        } else {
            height -= 1;
            let (below, above) = scratch.split_at_mut(height * CHUNK);
            let target = &mut below[(height - 1) * CHUNK..][..count];
            target.iter_mut().zip(&above[..count]).for_each(|(a, b)| *a = step.apply(*a, *b));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Instruction::{Abs, Add, Constant, Div, Load, Max, Min, Minus, Mul, Sub};

    #[test]
    fn columns_and_samples_agree_to_the_bit() {
        let code =
            vec![Load(0), Minus, Load(1), Abs, Add, Load(0), Load(1), Min, Mul, Load(1), Constant(3.0), Div, Max];
        let predicate = Predicate::new(code, Semantics::Quantitative);
        let a: Vec<f64> = (0..1500).map(|i| (f64::from(i) * 0.37).sin()).collect();
        let b: Vec<f64> = (0..1500).map(|i| (f64::from(i) * 0.11).cos()).collect();
        let mut out = vec![0.0; 1500];
        predicate.fill(&[&a, &b], &mut out);
        for (i, value) in out.iter().enumerate() {
            assert_eq!(value.to_bits(), predicate.at(&[a[i], b[i]]).to_bits());
        }
    }

    #[test]
    fn nan_is_never_satisfied() {
        for code in [vec![Load(0), Constant(1.0), Sub], vec![Constant(1.0), Load(0), Sub], vec![Load(0), Load(1), Min]]
        {
            for semantics in [Semantics::Quantitative, Semantics::Boolean { strict: false }] {
                let predicate = Predicate::new(code.clone(), semantics);
                assert_eq!(predicate.at(&[f64::NAN, 5.0]), f64::NEG_INFINITY);
            }
        }
        assert!(Min.apply(1.0, f64::NAN).is_nan() && Max.apply(f64::NAN, 1.0).is_nan());
        let missing = Predicate::new(vec![Load(7), Constant(1.0), Sub], Semantics::Quantitative);
        assert_eq!(missing.at(&[1.0]), f64::NEG_INFINITY);
    }

    #[test]
    fn boolean_semantics_respect_strictness() {
        let at = |strict, x| Predicate::new(vec![Load(0), Constant(1.0), Sub], Semantics::Boolean { strict }).at(&[x]);
        assert_eq!(at(true, 1.0), f64::NEG_INFINITY);
        assert_eq!(at(false, 1.0), f64::INFINITY);
        assert_eq!(at(true, 1.5), f64::INFINITY);
    }
}
