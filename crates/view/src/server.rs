//! The server: on loopback, until it is stopped.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::pages::Pages;
use crate::routes::router;

/// Pages that are made at a time: each may use a processor and some of an archive.
const THREADS: usize = 4;
/// Time until a stop is noticed.
const NOTICE: Duration = Duration::from_millis(50);

/// Takes a port of loopback; 0 is any that is free.
///
/// # Errors
/// The port is taken, or not this user's to take.
pub fn bind(port: u16) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Answers requests until `stop` is set; requests under way are then abandoned.
///
/// # Errors
/// The system refuses to listen.
pub fn serve(listener: TcpListener, pages: Arc<dyn Pages>, stop: &AtomicBool) -> io::Result<()> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_io().enable_time().max_blocking_threads(THREADS).build()?;
    let ended = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let served = axum::serve(listener, router(pages)).into_future();
        let mut served = std::pin::pin!(served);
        loop {
            // Ends by itself only with an error.
            match tokio::time::timeout(NOTICE, &mut served).await {
                Ok(ended) => return ended,
                Err(_) if stop.load(Ordering::Relaxed) => return Ok(()),
                Err(_) => {}
            }
        }
    });
    // A page that is being made is nobody's any more.
    runtime.shutdown_background();
    ended
}
