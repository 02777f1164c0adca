//! The server: on loopback, until it is stopped.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;

use crate::pages::Pages;
use crate::routes::router;

/// Pages that are made at a time: each may use a processor and some of an archive.
const THREADS: usize = 4;
/// Connections at a time. A process may have 256 descriptors on some systems.
const CONNECTIONS_MAX: usize = 200;
/// Time that a client has to ask for something.
const HEAD: Duration = Duration::from_secs(10);
/// Time until a stop is noticed.
const NOTICE: Duration = Duration::from_millis(50);

/// Takes a port of loopback; 0 is any that is free.
///
/// # Errors
/// The port is taken, or not this user's to take.
pub fn bind(port: u16) -> io::Result<TcpListener> {
    // Never another address: pages ask for no password.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    debug_assert!(listener.local_addr().is_ok_and(|at| at.ip().is_loopback()));
    // `from_std` needs a socket that does not block.
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Answers requests until `stop` is set; requests under way are then abandoned.
///
/// # Errors
/// The system refuses to listen.
pub fn serve(listener: TcpListener, pages: Arc<dyn Pages>, stop: &AtomicBool) -> io::Result<()> {
    serve_within(listener, pages, stop, HEAD)
}

fn serve_within(
    listener: TcpListener,
    pages: Arc<dyn Pages>,
    stop: &AtomicBool,
    head: Duration,
) -> io::Result<()> {
    debug_assert!(!head.is_zero(), "a client needs some time");
    // One thread answers; pages are made on others, which may take their time.
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_io().enable_time().max_blocking_threads(THREADS).build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mut served = std::pin::pin!(accept(listener, router(pages), head));
        while tokio::time::timeout(NOTICE, &mut served).await.is_err() {
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok::<_, io::Error>(())
    })?;
    // Pages that are being made are abandoned: they only read.
    runtime.shutdown_background();
    Ok(())
}

/// Answers connections, a limited number at a time, and does not end.
async fn accept(listener: tokio::net::TcpListener, router: Router, head: Duration) {
    let free = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let one = Arc::clone(&free).acquire_owned().await.expect("it is never closed");
        let Ok((stream, _)) = listener.accept().await else {
            // A client that is gone already, or no descriptor is free: some are soon.
            tokio::time::sleep(NOTICE).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let mut server = hyper::server::conn::http1::Builder::new();
            // A client that sends nothing would hold one of the connections.
            server.timer(TokioTimer::new()).header_read_timeout(head);
            // What a client does wrong concerns no other.
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
            drop(one);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpStream;

    use super::*;
    use crate::routes::tests::Echo;

    #[test]
    fn a_client_that_asks_for_nothing_is_disconnected() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let listener = bind(0).unwrap();
        let address = listener.local_addr().unwrap();
        let pages = Arc::new(Echo::default());
        let head = Duration::from_millis(10);
        let server = std::thread::spawn(move || serve_within(listener, pages, &STOP, head));
        for begun in ["", "GET / HTTP/1.1\r\nHost: 127"] {
            let mut client = TcpStream::connect(address).unwrap();
            std::io::Write::write_all(&mut client, begun.as_bytes()).unwrap();
            // Returns only because the server closes the connection.
            let mut rest = Vec::new();
            let _ = client.read_to_end(&mut rest);
        }
        STOP.store(true, Ordering::Relaxed);
        server.join().unwrap().unwrap();
    }
}
