//! Servers behind https: whose certificates are taken, what is spoken over such a connection, and what a refusal says.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use polyport_http::{Config, Endpoint};
use polyport_proto::http::Guard;
use polyport_rt::{Service, Stopper};
use polyport_testkit::handlers::Puppet;
use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::elsewhere;
use super::faults::is_in_words;
use crate::sockets::serve_endpoint;

/// Whoever makes certificates, and a file that says to trust them.
pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: PathBuf,
}

impl Authority {
    pub(super) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        let name_of = &mut params.distinguished_name;
        name_of.push(rcgen::DnType::CommonName, name);
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let file = format!("polyport-{}-{made}.pem", std::process::id());
        let file = std::env::temp_dir().join(file);
        std::fs::write(&file, issuer.pem()).unwrap();
        Self { issuer, file }
    }

    pub(super) fn file(&self) -> &str {
        self.file.to_str().unwrap()
    }

    /// What a server of these names shows; `years`: from when to when it holds.
    fn certificate(&self, names: &[&str], years: [i32; 2], alpn: &[&str]) -> ServerConfig {
        let mut params = params(names);
        let [from, to] = years.map(|year| date_time_ymd(year, 1, 1));
        (params.not_before, params.not_after) = (from, to);
        self.shows(&params, alpn)
    }

    /// What a server shows of which all this is said.
    fn shows(&self, params: &CertificateParams, alpn: &[&str]) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider);
        let config = config.with_safe_default_protocol_versions().unwrap();
        let chain = vec![certificate.der().clone()];
        let mut config = config
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        config
    }
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).unwrap()
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// A server behind TLS. Dropping it ends it.
pub(super) struct Secure {
    pub(super) address: SocketAddr,
    /// What each connection was agreed to speak.
    spoken: Arc<Mutex<Vec<String>>>,
    _behind: Stopper,
    _serving: JoinSet<()>,
}

const NAMES: &[&str] = &["localhost", "server.test"];
const GOOD: [i32; 2] = [2020, 2090];
const BOTH: &[&str] = &["h2", "http/1.1"];

impl Secure {
    /// One that shows a good certificate of an authority.
    pub(super) async fn of(authority: &Authority) -> Self {
        Self::new(authority.certificate(NAMES, GOOD, BOTH)).await
    }

    async fn new(config: ServerConfig) -> Self {
        let config = Arc::new(config);
        let guard = Guard::loopback().allow_host("server.test");
        let endpoint = Endpoint::new(
            Service::new(Puppet::default()),
            Config {
                guard,
                ..Config::default()
            },
        );
        let (behind, stopper, _) = serve_endpoint(endpoint).await;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let spoken: Arc<Mutex<Vec<String>>> = Arc::default();
        let (acceptor, noted) = (TlsAcceptor::from(config), spoken.clone());
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, noted) = (acceptor.clone(), noted.clone());
                open.spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let spoken = stream.get_ref().1.alpn_protocol().unwrap_or(b"nothing");
                    let spoken = String::from_utf8_lossy(spoken).into_owned();
                    noted.lock().unwrap().push(spoken);
                    let mut behind = TcpStream::connect(behind).await.unwrap();
                    let _ = copy_bidirectional(&mut stream, &mut behind).await;
                });
            }
        });
        Self {
            address,
            spoken,
            _behind: stopper,
            _serving: serving,
        }
    }

    fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/mcp", self.address.port())
    }

    pub(super) fn spoken(&self) -> Vec<String> {
        self.spoken.lock().unwrap().clone()
    }
}

// req: S-TLS
#[tokio::test]
async fn what_is_trusted_is_spoken_to_in_the_newest_http_that_both_have() {
    if elsewhere::is_here().await {
        return;
    }
    let test = "client::secure::what_is_trusted_is_spoken_to_in_the_newest_http_that_both_have";
    let ours = Authority::new("ours");
    let trusts = [("SSL_CERT_FILE", ours.file())];
    for (alpn, scheme, want) in [
        (BOTH, "https", "h2"),
        (&["http/1.1"], "https", "http/1.1"),
        (&[], "https", "nothing"),
        // A WebSocket begins with HTTP/1.1, whatever else there is.
        (BOTH, "wss", "nothing"),
    ] {
        if scheme == "wss" && cfg!(not(feature = "ws")) {
            continue;
        }
        let server = Secure::new(ours.certificate(NAMES, GOOD, alpn)).await;
        let url = server.url("localhost").replace("https", scheme);
        let told = elsewhere::run(test, &url, &trusts).await;
        assert_eq!(told, "all is well", "{alpn:?} {scheme}");
        let spoken = server.spoken();
        assert!(!spoken.is_empty(), "{alpn:?} {scheme}");
        assert!(spoken.iter().all(|one| one == want), "{scheme}: {spoken:?}");
    }
}

// req: S-TLS
#[tokio::test]
#[allow(clippy::too_many_lines)] // A table.
async fn what_is_not_trusted_is_not_spoken_to_and_the_error_says_what_to_do() {
    if elsewhere::is_here().await {
        return;
    }
    let test = "client::secure::what_is_not_trusted_is_not_spoken_to_and_the_error_says_what_to_do";
    let ours = Authority::new("known");
    let stranger = Authority::new("stranger").certificate(NAMES, GOOD, BOTH);
    // An authority that was made anew under the same name.
    let anew = Authority::new("known").certificate(NAMES, GOOD, BOTH);
    let good = ours.certificate(NAMES, GOOD, BOTH);
    let expired = ours.certificate(NAMES, [2020, 2021], BOTH);
    let early = ours.certificate(NAMES, [2089, 2090], BOTH);
    let authority = {
        let mut params = params(NAMES);
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        ours.shows(&params, BOTH)
    };
    let mail = {
        let mut params = params(NAMES);
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::EmailProtection];
        ours.shows(&params, BOTH)
    };
    let nowhere = "/nowhere/at/all.pem";
    for (config, host, trusted, want) in [
        (
            &stranger,
            "localhost",
            ours.file(),
            "name the authority's certificate in SSL_CERT_FILE",
        ),
        (
            &anew,
            "localhost",
            ours.file(),
            "name the authority's certificate in SSL_CERT_FILE",
        ),
        (
            &expired,
            "localhost",
            ours.file(),
            "has expired: whoever runs it must renew it",
        ),
        (
            &early,
            "localhost",
            ours.file(),
            "is the clock of this machine right?",
        ),
        (
            &good,
            "127.0.0.1",
            ours.file(),
            "its certificate is not for 127.0.0.1 but for localhost, server.test: is",
        ),
        (
            &authority,
            "localhost",
            ours.file(),
            "(CA:TRUE), which no server may show as its own",
        ),
        (
            &mail,
            "localhost",
            ours.file(),
            "is made for something else than a server",
        ),
        (
            &good,
            "localhost",
            nowhere,
            "SSL_CERT_FILE names /nowhere/at/all.pem, in which no certificate",
        ),
    ] {
        let server = Secure::new(config.clone()).await;
        let environment = [("SSL_CERT_FILE", trusted)];
        let told = elsewhere::run(test, &server.url(host), &environment).await;
        let said = told
            .strip_prefix("Unreachable(")
            .unwrap_or_else(|| panic!("{told}"));
        // What is to be typed is in no words.
        let said = said
            .replace("basicConstraints", "")
            .replace("subjectAltName", "");
        assert!(is_in_words(&said), "{told}");
        assert!(
            told.contains("the server cannot be reached") && told.contains(want),
            "{told}"
        );
        assert_eq!(server.spoken(), [""; 0], "{want}");
    }
    // What speaks no TLS at all; and TLS where none is expected.
    let (plain, _stopper, _) = crate::sockets::serve().await;
    let environment = [("SSL_CERT_FILE", ours.file())];
    let told = elsewhere::run(test, &format!("https://{plain}/mcp"), &environment).await;
    assert!(
        told.starts_with("Unreachable") && told.contains("does not speak TLS there"),
        "{told}"
    );
    let server = Secure::new(good).await;
    let told = elsewhere::run(
        test,
        &format!("http://{}/mcp", server.address),
        &environment,
    )
    .await;
    assert!(told.starts_with("Broken"), "{told}");
}

// req: S-TLS
#[tokio::test]
async fn a_server_that_breaks_tls_off_is_understood() {
    if elsewhere::is_here().await {
        return;
    }
    let test = "client::secure::a_server_that_breaks_tls_off_is_understood";
    let ours = Authority::new("ours");
    // RFC 8446, 6: what the alert says.
    for (alert, want) in [
        (40, "no way to encrypt in common with us"),
        (
            70,
            "it speaks no TLS that is spoken here, which is 1.2 and 1.3",
        ),
        (112, "it knows nothing of the name localhost"),
        (116, "it wants a certificate of ours"),
        (80, "before TLS is spoken (internal error)"),
    ] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 1024]).await;
                // Whoever is gone needs none.
                let _ = stream.write_all(&[21, 3, 3, 0, 2, 2, alert]).await;
                let _ = stream.read_to_end(&mut Vec::new()).await;
            }
        });
        let url = format!("https://localhost:{port}/mcp");
        let told = elsewhere::run(test, &url, &[("SSL_CERT_FILE", ours.file())]).await;
        let said = told
            .strip_prefix("Unreachable(")
            .unwrap_or_else(|| panic!("{told}"));
        assert!(said.contains(want) && is_in_words(said), "{told}");
    }
}
