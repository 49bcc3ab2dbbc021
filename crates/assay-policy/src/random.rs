//! Unpredictable numbers.

use std::io;

/// Returns a random number, known only to the host and the connection it is drawn for, so that no other process can
/// impersonate it.
pub fn random_number() -> io::Result<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_le_bytes(bytes))
}
