//! The checked actions of an answer, executed one per control step.

use super::array::NumberArray;
use super::fault::ServerFault;
use super::limits::MAX_HORIZON;

/// Actions of `width` finite numbers each, at least one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chunk {
    width: usize,
    values: Vec<f64>,
    next: usize,
}

impl Chunk {
    /// Accepts `(H, D)` and `(1, H, D)`, for one action `(D,)`, and a number without dimensions where an action is one.
    pub(crate) fn new(array: NumberArray, width: usize) -> Result<Self, ServerFault> {
        let NumberArray { shape, values } = array;
        let (horizon, got) = match shape.as_slice() {
            [d] => (1, *d),
            [h, d] | [1, h, d] => (*h, *d),
            [] if width == 1 => (1, 1),
            _ => {
                let message = format!("actions of shape {shape:?}; expected (horizon, {width}) or ({width},)");
                return Err(ServerFault::bad_action(message));
            }
        };
        if got != width {
            let message = format!("actions of {got} numbers (shape {shape:?}); this scenario expects {width}");
            return Err(ServerFault::bad_action(message));
        }
        if horizon == 0 || horizon > MAX_HORIZON {
            return Err(ServerFault::bad_action(format!(
                "{horizon} actions in one answer; 1 to {MAX_HORIZON} are allowed"
            )));
        }
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            let (row, column, value) = (at / width, at % width, values[at]);
            let message = format!("actions[{row}][{column}] is {value}: every number of an action must be finite");
            return Err(ServerFault::bad_action(message));
        }
        Ok(Self { width, values, next: 0 })
    }

    /// Keeps only the first `steps` actions.
    pub(crate) fn cut(mut self, steps: Option<u32>) -> Self {
        if let Some(steps) = steps {
            self.values.truncate(self.width * steps.max(1) as usize);
        }
        self
    }

    /// Returns the numbers of all its actions.
    pub(crate) fn all(&self) -> &[f64] {
        &self.values
    }

    /// Returns the number of its actions.
    pub(crate) fn horizon(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    /// Returns the next action.
    pub(crate) fn pop(&mut self) -> Option<&[f64]> {
        let from = self.next * self.width;
        let action = self.values.get(from..from + self.width)?;
        self.next += 1;
        Some(action)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::{Chunk, NumberArray};

    fn chunk(shape: &[usize], values: &[f64]) -> Result<Chunk, String> {
        let array = NumberArray { shape: shape.to_vec(), values: values.to_vec() };
        Chunk::new(array, 2).map_err(|fault| format!("{}: {}", fault.kind.code(), fault.message))
    }

    #[test]
    fn actions_come_in_order_until_the_plan_is_renewed() {
        let mut all = chunk(&[3, 2], &[1., 2., 3., 4., 5., 6.]).unwrap().cut(Some(2));
        assert_eq!(all.pop(), Some([1., 2.].as_slice()));
        assert_eq!(all.pop(), Some([3., 4.].as_slice()));
        assert_eq!(all.pop(), None);
        for shape in [vec![2], vec![1, 2], vec![1, 1, 2]] {
            let mut one = chunk(&shape, &[7., 8.]).unwrap();
            assert_eq!((one.horizon(), one.pop()), (1, Some([7., 8.].as_slice())), "{shape:?}");
        }
        assert_eq!(chunk(&[1, 3, 2], &[0.; 6]).unwrap().horizon(), 3);
        let number = NumberArray { shape: vec![], values: vec![0.5] };
        assert_eq!(Chunk::new(number, 1).unwrap().pop(), Some([0.5].as_slice()));
    }

    #[test]
    fn errors_name_the_problem() {
        let cases: [(&[usize], &[f64], &str); 6] = [
            (&[1, 3], &[0.; 3], "bad_action: actions of 3 numbers (shape [1, 3]); this scenario expects 2"),
            (&[0, 2], &[], "bad_action: 0 actions in one answer; 1 to 1000 are allowed"),
            (&[], &[1.], "bad_action: actions of shape []; expected (horizon, 2) or (2,)"),
            (&[2, 1, 2], &[1.; 4], "bad_action: actions of shape [2, 1, 2]; expected (horizon, 2) or (2,)"),
            (&[1, 1, 1, 2], &[1.; 2], "bad_action: actions of shape [1, 1, 1, 2]; expected (horizon, 2) or (2,)"),
            (
                &[2, 2],
                &[0., 0., 0., f64::NAN],
                "bad_action: actions[1][1] is NaN: every number of an action must be finite",
            ),
        ];
        for (shape, values, expected) in cases {
            assert_eq!(chunk(shape, values).unwrap_err(), expected);
        }
    }
}
