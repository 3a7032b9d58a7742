//! Serving on standard input and output.

use std::io;

use polyport_rt::{Ended, Service, Stop};

use crate::server::Server;

/// Serves until the input ends or SIGTERM or SIGINT comes; running calls may then finish within 10 seconds.
///
/// From here on file descriptor 1 is standard error, so that a stray print cannot break the stream.
///
/// # Errors
/// The descriptors cannot be used.
pub async fn serve(server: Server) -> io::Result<Ended> {
    polyport_rt::stdio::serve(&server.into_service()).await
}

/// The same for a service with bounds or revisions of your own.
///
/// # Errors
/// The descriptors cannot be used.
pub async fn serve_service(service: &Service) -> io::Result<Ended> {
    polyport_rt::stdio::serve(service).await
}

/// A stop that SIGTERM and SIGINT say.
///
/// # Errors
/// The signals cannot be listened to.
pub fn signals() -> io::Result<Stop> {
    polyport_rt::stdio::signals()
}
