//! TLS: whose certificates are trusted, and what is wrong with one that is not, in words that say what to do.

use std::error::Error;
use std::io;

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use polyport_rt::CallError;
use rustls::CertificateError;

/// Connects with TLS over connections of another kind. Trusted is what this machine trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` name
/// others in its place. `is_http1`: nothing newer is offered.
///
/// # Errors
/// This machine trusts nobody.
pub(super) fn over<C>(connector: C, is_http1: bool) -> Result<HttpsConnector<C>, CallError> {
    let roots = HttpsConnectorBuilder::new().with_native_roots();
    let roots = roots.map_err(|error| {
        CallError::Unreachable(format!(
            "this machine has no certificates of authorities that it trusts: install them (ca-certificates), or name a file of them in SSL_CERT_FILE: {error}"
        ))
    })?;
    let https = roots.https_only().enable_http1();
    Ok(if is_http1 {
        https.wrap_connector(connector)
    } else {
        https.enable_http2().wrap_connector(connector)
    })
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
            other => format!("its certificate is not a good one: {other}"),
        },
        rustls::Error::InvalidMessage(_) => {
            "it does not speak TLS there: is it http:// or another port?".to_owned()
        }
        rustls::Error::AlertReceived(alert) => {
            format!("it ends the connection before TLS is spoken ({alert:?})")
        }
        other => format!("no connection with TLS: {other}"),
    })
}

fn not_for(host: &str, names: &[String]) -> String {
    // Who has a certificate for a thousand names is not listed.
    let names: Vec<_> = names.iter().take(3).map(String::as_str).collect();
    let shown = if names.is_empty() {
        String::new()
    } else {
        format!(" but for {}", names.join(", "))
    };
    format!("its certificate is not for {host:?}{shown}: is the address right?")
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
