//! The logic: its rules, its two engines, and other implementations of it.

mod against_reference;
mod common;
mod engines;
mod parsing;
mod rtamt;
mod rules;
