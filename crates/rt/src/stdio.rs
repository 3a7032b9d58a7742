//! The process's own standard input and output as a connection; and its signals. Not the loop: see [`driver`](crate::driver).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{FileType, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;
use tokio::task::JoinSet;

use crate::driver::{Ended, drive};
use crate::service::Service;
use crate::stop::{Stop, Stopper, stop};

type Reader = Box<dyn AsyncRead + Unpin + Send>;
type Writer = Box<dyn AsyncWrite + Unpin + Send>;

/// Serves on standard input and output until the input ends or SIGTERM or SIGINT comes.
///
/// Afterwards file descriptor 1 is standard error, so that a stray print of a handler cannot break the stream (D-14).
///
/// # Errors
/// The descriptors cannot be used.
pub async fn serve(service: &Service) -> io::Result<Ended> {
    serve_until(service, signals()?).await
}

/// The same until a stop of the caller's.
///
/// # Errors
/// The descriptors cannot be used; or the handler does not start, which is a [`StartError`](crate::StartError) inside.
pub async fn serve_until(service: &Service, mut stop: Stop) -> io::Result<Ended> {
    crate::heap::keep_warm();
    let (mut reader, mut writer) = (input()?, output()?);
    let service = service.clone();
    let started = tokio::select! {
        biased;
        () = stop.wait() => return Ok(Ended { cut: 0, broken: false }),
        started = service.start() => started.map_err(io::Error::other)?,
    };
    // As a task it runs on the thread that waits for the descriptors. What the caller blocks on runs on another, and each
    // message would cost wake-ups between the two. The set ends the task when this future is dropped.
    let mut driving = JoinSet::new();
    driving.spawn(async move { drive(&service, &mut *reader, &mut *writer, stop).await });
    let driven = driving.join_next().await;
    started.shutdown().await;
    match driven {
        Some(Ok(ended)) => Ok(ended),
        Some(Err(failed)) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
        _ => Err(io::Error::other("the runtime ended first")),
    }
}

/// A stop that SIGTERM and SIGINT say.
///
/// # Errors
/// The signals cannot be listened to.
pub fn signals() -> io::Result<Stop> {
    use tokio::signal::unix::{SignalKind, signal};
    let (stopper, stop): (Stopper, Stop) = stop();
    let (mut term, mut int) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        stopper.stop();
        // Kept alive: whoever asks later must still hear it.
        std::future::pending::<()>().await;
    });
    Ok(stop)
}

fn input() -> io::Result<Reader> {
    let fd = rustix::io::dup(rustix::stdio::stdin())?;
    Ok(match kind(&fd)? {
        FileType::Fifo => Box::new(pipe_in(fd)?),
        FileType::Socket => Box::new(socket(fd)?),
        // A terminal or a file cannot be waited for.
        _ => Box::new(read_on_thread(fd)?),
    })
}

/// Reads on a thread of its own, into a pipe. A thread of the runtime would hold up its end until the next line comes.
fn read_on_thread(fd: OwnedFd) -> io::Result<pipe::Receiver> {
    let (ours, mut theirs) = io::pipe()?;
    std::thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || {
            // The end of either side ends it; there is nobody to tell.
            let _ = io::copy(&mut std::fs::File::from(fd), &mut theirs);
        })?;
    pipe::Receiver::from_owned_fd(ours.into())
}

fn output() -> io::Result<Writer> {
    let fd = rustix::io::dup(rustix::stdio::stdout())?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(match kind(&fd)? {
        FileType::Fifo => Box::new(pipe_out(fd)?),
        FileType::Socket => Box::new(socket(fd)?),
        _ => Box::new(tokio::fs::File::from_std(fd.into())),
    })
}

fn kind(fd: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode))
}

/// Opens the pipe anew where that is possible: what is shared with other processes then stays blocking for them.
fn pipe_in(fd: OwnedFd) -> io::Result<pipe::Receiver> {
    match pipe::OpenOptions::new().open_receiver(format!("/proc/self/fd/{}", fd.as_raw_fd())) {
        Ok(receiver) => Ok(receiver),
        Err(_) => pipe::Receiver::from_owned_fd(fd),
    }
}

fn pipe_out(fd: OwnedFd) -> io::Result<pipe::Sender> {
    match pipe::OpenOptions::new().open_sender(format!("/proc/self/fd/{}", fd.as_raw_fd())) {
        Ok(sender) => Ok(sender),
        Err(_) => pipe::Sender::from_owned_fd(fd),
    }
}

fn socket(fd: OwnedFd) -> io::Result<tokio::net::UnixStream> {
    let socket = std::os::unix::net::UnixStream::from(fd);
    socket.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(socket)
}
