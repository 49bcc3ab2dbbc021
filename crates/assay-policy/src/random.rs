//! Numbers that nobody can guess.

use std::io;

/// Nobody but the host and the one connection it is drawn for knows it, so no other can speak in its name.
pub fn random_number() -> io::Result<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_le_bytes(bytes))
}
