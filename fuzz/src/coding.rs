//! The check of compressed answers.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use polyport_http::fuzzing::unpack;

/// Reads `data` as the body of an answer that is compressed in the way its first byte says, and as one that is to be compressed.
///
/// - It is taken apart or refused; the pace does not matter.
/// - One step makes no more of so many bytes than the format allows.
/// - What was compressed comes back, and is known to be whole only at its end.
pub fn check(data: &[u8]) {
    let (&choice, body) = data.split_first().unwrap_or((&0, data));
    let name = ["gzip", "x-gzip", "deflate", "identity"][usize::from(choice) % 4];
    let pace = usize::from(choice) / 4 + 1;
    let most = |made: usize| assert!(made <= MOST, "{made} bytes of one step");
    let whole = unpack(name, body.chunks(body.len().max(1)), most);
    let pieces = unpack(name, body.chunks(pace), most);
    assert!(whole == pieces, "{name}: the pace of {pace} matters");
    for (name, packed) in [
        ("gzip", gzip(body)),
        ("deflate", zlib(body)),
        ("deflate", bare(body)),
    ] {
        let done = unpack(name, packed.chunks(pace), most).expect("it was compressed");
        assert_eq!((&*done.text, done.is_whole), (body, true), "{name}");
        let cut = unpack(name, packed[..packed.len() - 1].chunks(pace), most);
        assert!(cut.is_none_or(|cut| !cut.is_whole), "{name} is cut");
    }
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("into memory");
    encoder.finish().expect("into memory")
}

fn zlib(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("into memory");
    encoder.finish().expect("into memory")
}

/// Without the frame of zlib, as some servers send it.
fn bare(body: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("into memory");
    encoder.finish().expect("into memory")
}

/// Bytes that a step may make: the compressed bytes of one at most, and the window.
const MOST: usize = 264 << 10;
