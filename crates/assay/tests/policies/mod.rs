//! Policies with a known result on each built-in scenario, in one table ([`table`]): the three example policies, those
//! that cheat, and those that break a clause. A clause that no policy can violate is useless, so each is named by a row.
//!
//! A test per scenario runs each of its rows once and checks everything that is expected of it ([`answers`]).
//! `ASSAY_KNOWN_ANSWERS=20` runs that many episodes of each reference instead of [`row::REFERENCE_EPISODES`].

#![expect(clippy::unwrap_used, reason = "tests")]

mod answers;
mod clauses;
mod clips;
mod document;
mod evaluation;
mod one_reason;
mod outcome;
mod row;
mod rows_of;
mod table;
