//! The presentation of a world in videos and stills: what its pictures look like ([`look`], [`room`],
//! [`people`], [`hands`], [`bowls`], [`shapes`], [`samples`], [`smooth`]) and where the camera stands
//! ([`shot`], [`framing`], [`subjects`]). It is applied only in processes that draw ([`crate::Renderer`]). It changes
//! visual settings alone, never a scenario's digest, its physics, or what a policy's camera sees.

pub(crate) mod bowls;
pub(crate) mod framing;
mod hands;
pub(crate) mod look;
pub(crate) mod people;
mod room;
pub(crate) mod samples;
pub(crate) mod shapes;
pub(crate) mod shot;
pub(crate) mod smooth;
pub(crate) mod subjects;
