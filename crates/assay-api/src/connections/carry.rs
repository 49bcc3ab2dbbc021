//! Carries bytes between the socket of a policy and the worker, until either side ends, or the connection's key or job
//! does.

use std::io;
use std::time::Duration;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, duplex, split};
use tokio::time::timeout;

use crate::PolicyReservation;
use crate::events::JobWatch;

/// Bytes on their way in each direction.
const PIPE_BYTES: usize = 64 * 1024;
/// Maximum time until the response to the handshake is sent.
const UPGRADE_LIMIT: Duration = Duration::from_secs(10);
/// Maximum time for the last bytes to be sent, and for those of the policy to stop arriving.
const CLOSE_LIMIT: Duration = Duration::from_secs(12);

/// Hands the connection to the worker and carries its bytes, until its end.
pub(crate) async fn carry(upgrade: OnUpgrade, reservation: Box<dyn PolicyReservation>, mut watch: JobWatch) {
    let Ok(Ok(socket)) = timeout(UPGRADE_LIMIT, upgrade).await else { return };
    let (near, far) = duplex(PIPE_BYTES);
    reservation.attach(far);
    let (mut from_socket, mut to_socket) = split(TokioIo::new(socket));
    let (mut from_worker, mut to_worker) = split(near);
    tokio::select! {
        // The worker closed its end: everything that it wrote is sent.
        _ = forward(&mut from_worker, &mut to_socket) => {}
        // Dropping the pipe notifies the worker.
        _ = forward(&mut from_socket, &mut to_worker) => {}
        () = watch.ended() => {}
    }
    drop((from_worker, to_worker));
    // The account may open another stream meanwhile.
    drop(watch);
    drop(timeout(CLOSE_LIMIT, to_socket.shutdown()).await);
}

async fn forward(from: &mut (impl AsyncRead + Unpin), to: &mut (impl AsyncWrite + Unpin)) -> io::Result<u64> {
    copy(from, to).await
}
