//! TLS: whose certificates are trusted, and what is wrong with one that is not, in words that say what to do.

use std::error::Error;
use std::{fmt, io};

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use polyport_rt::CallError;
use rustls::{AlertDescription, CertificateError};

/// Connects with TLS over connections of another kind. Trusted is what this machine trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` name
/// others in its place. `is_http1`: nothing newer is offered.
///
/// # Errors
/// This machine trusts nobody.
pub(super) fn over<C>(connector: C, is_http1: bool) -> Result<HttpsConnector<C>, CallError> {
    let roots = HttpsConnectorBuilder::new().with_native_roots();
    let roots = roots.map_err(|_| CallError::Unreachable(untrusting()))?;
    let https = roots.https_only().enable_http1();
    Ok(if is_http1 {
        https.wrap_connector(connector)
    } else {
        https.enable_http2().wrap_connector(connector)
    })
}

/// That nobody is trusted, and by whose word.
fn untrusting() -> String {
    for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
        if let Some(path) = std::env::var_os(name) {
            let path = path.display();
            return format!(
                "{name} names {path}, in which no certificate of an authority can be read: name another, or take the variable out to trust whom this machine trusts"
            );
        }
    }
    "this machine has no certificates of authorities that it trusts: install them (ca-certificates), or name a file of them in SSL_CERT_FILE".to_owned()
}

/// What to do about a connection that TLS has refused. None: it failed in another way.
pub(super) fn told(error: &(dyn Error + 'static), server: &Uri) -> Option<String> {
    let host = server.host().unwrap_or_default();
    Some(match found(error)? {
        rustls::Error::InvalidCertificate(error) => match error {
            // Of one that has the name of one that is trusted, the signature does not fit.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "its certificate comes from nobody whom this machine trusts: if you know who made it, name the authority's certificate in SSL_CERT_FILE".to_owned()
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate has expired: whoever runs it must renew it, unless the clock of this machine is wrong".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate does not hold yet: is the clock of this machine right?".to_owned()
            }
            CertificateError::NotValidForName => not_for(host, &[]),
            CertificateError::NotValidForNameContext { presented, .. } => not_for(host, presented),
            CertificateError::Revoked => {
                "its certificate has been revoked by whoever made it: do not trust this server".to_owned()
            }
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                "its certificate is made for something else than a server: whoever runs it needs one for server authentication".to_owned()
            }
            other => match &*name(other) {
                "CaUsedAsEndEntity" => AUTHORITY.to_owned(),
                "UnsupportedCertVersion" => {
                    "its certificate is of an old version without extensions: make one of version 3, with the server's name as subjectAltName".to_owned()
                }
                other => format!("its certificate is not a good one ({})", plain(other)),
            },
        },
        rustls::Error::InvalidMessage(_) => {
            "it does not speak TLS there: is it http:// or another port?".to_owned()
        }
        rustls::Error::AlertReceived(alert) => {
            refused(*alert, host)
        }
        rustls::Error::PeerIncompatible(why) => format!(
            "it speaks no TLS that is spoken here, which is 1.2 and 1.3 ({})",
            plain(&name(why))
        ),
        other => format!("no connection with TLS ({})", plain(&name(other))),
    })
}

/// What a server means that breaks TLS off.
fn refused(alert: AlertDescription, host: &str) -> String {
    let said = plain(&name(alert));
    match alert {
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => format!(
            "it has no way to encrypt in common with us, or wants a certificate of ours, which it cannot get ({said}): does it speak TLS 1.2 or 1.3 with today's ciphers?"
        ),
        AlertDescription::ProtocolVersion => {
            format!("it speaks no TLS that is spoken here, which is 1.2 and 1.3 ({said})")
        }
        AlertDescription::UnrecognisedName => {
            format!("it knows nothing of the name {host} ({said}): is the address right?")
        }
        AlertDescription::CertificateRequired
        | AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied => format!(
            "it wants a certificate of ours, which it cannot get ({said}): another way to show who asks is a header"
        ),
        _ => format!("it ends the connection before TLS is spoken ({said}): its log may say why"),
    }
}

/// Who makes a certificate for himself gets one like that from most tools.
const AUTHORITY: &str = "its certificate is that of an authority (CA:TRUE), which no server may show as its own, whoever trusts it: make one with CA:FALSE (openssl req -x509 -addext basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:its.name …), and name that in SSL_CERT_FILE";

/// What a variant is called, the innermost.
fn name(error: impl fmt::Debug) -> String {
    let said = format!("{error:?}");
    let said = said.split(" {").next().unwrap_or_default();
    let inner = said.trim_end_matches(')').rsplit('(').next();
    inner.unwrap_or_default().to_owned()
}

/// The same in words: `HandshakeFailure` is a handshake failure.
fn plain(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !words.is_empty() && !words.ends_with(' ') {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}

fn not_for(host: &str, names: &[String]) -> String {
    // Who has a certificate for a thousand names is not listed.
    let names: Vec<_> = names.iter().take(3).map(|it| presented(it)).collect();
    let shown = if names.is_empty() {
        String::new()
    } else {
        format!(" but for {}", names.join(", "))
    };
    format!("its certificate is not for {host}{shown}: is the address right?")
}

/// `DnsName("other.example")`: what is in it.
fn presented(name: &str) -> &str {
    let inner = name.split_once('(').map_or(name, |(_, inner)| inner);
    inner.trim_end_matches(')').trim_matches('"')
}

/// The error of TLS, however deep.
fn found<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref() {
            return Some(error);
        }
        next = match error.downcast_ref::<io::Error>() {
            // Its own `source` skips what it holds.
            Some(error) => error.get_ref().map(|inner| inner as _),
            None => error.source(),
        };
    }
    None
}
