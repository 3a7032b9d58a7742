//! The listening sockets of a process, read from `/proc`: what it really opened, whatever it says.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustix::process::Pid;

/// How the system writes the state of a socket that listens.
const LISTENS: &str = "0A";

/// Where a process listens over TCP.
pub(crate) fn listening(pid: Pid) -> Vec<SocketAddr> {
    let folder = format!("/proc/{}", pid.as_raw_nonzero());
    let files = fs::read_dir(format!("{folder}/fd")).expect("the process runs");
    let own: HashSet<String> = files
        .filter_map(|file| fs::read_link(file.ok()?.path()).ok())
        .filter_map(|target| {
            let target = target.to_str()?.strip_prefix("socket:[")?;
            Some(target.strip_suffix(']')?.to_owned())
        })
        .collect();
    let mut found = Vec::new();
    for table in ["tcp", "tcp6"] {
        // A system without IPv6 has no such table.
        let text = fs::read_to_string(format!("{folder}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if fields[3] == LISTENS && own.contains(fields[9]) {
                found.push(address(fields[1]).expect("the system writes addresses"));
            }
        }
    }
    found
}

/// `0100007F:1F90` is 127.0.0.1:8080: words of four bytes, each with its last byte first.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let mut bytes = Vec::new();
    for word in ip.as_bytes().chunks(8) {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        bytes.extend(word.to_le_bytes());
    }
    let ip = match <[u8; 4]>::try_from(&*bytes) {
        Ok(four) => IpAddr::V4(Ipv4Addr::from(four)),
        Err(_) => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(&*bytes).ok()?)),
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_the_system_writes_them() {
        for (text, want) in [
            ("0100007F:1F90", "127.0.0.1:8080"),
            ("00000000:0050", "0.0.0.0:80"),
            ("00000000000000000000000001000000:0001", "[::1]:1"),
            ("00000000000000000000000000000000:0001", "[::]:1"),
        ] {
            assert_eq!(address(text).map(|a| a.to_string()).as_deref(), Some(want));
        }
    }
}
