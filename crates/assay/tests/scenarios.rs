//! The rules of the built-in scenarios: policies with known results, and whether the physics step matters.

mod half_step;
mod policies;
