//! Who may reach the endpoint: every route, every method.

use crate::{PLAIN, endpoint, request};

// req: V-101
#[tokio::test(start_paused = true)]
async fn v_101_a_foreign_host_reaches_nothing() {
    let endpoint = endpoint();
    for path in [
        "/mcp",
        "/mcp/",
        "/",
        "/sse",
        "/messages",
        "/.well-known/oauth-protected-resource",
        "/health",
        "/admin",
    ] {
        for method in ["POST", "GET", "DELETE", "OPTIONS", "PUT"] {
            for (name, value) in [
                ("host", "evil.test"),
                ("origin", "http://evil.test"),
                ("origin", "null"),
            ] {
                let mut headers: Vec<_> =
                    PLAIN.iter().filter(|(n, _)| *n != name).copied().collect();
                headers.push((name, value));
                let got = endpoint
                    .handle(request(method, path, &headers, crate::INITIALIZE))
                    .await;
                assert_eq!(
                    got.status().as_u16(),
                    403,
                    "{method} {path} {name}: {value}"
                );
                assert!(!got.headers().contains_key("access-control-allow-origin"));
            }
        }
    }
    assert_eq!(endpoint.sessions(), 0);
    for host in ["localhost:7400", "127.0.0.1:7400", "[::1]:7400"] {
        let origin = format!("http://{host}");
        let headers = [("host", host), ("origin", &origin), PLAIN[1], PLAIN[2]];
        assert_eq!(
            endpoint
                .handle(request("POST", "/mcp", &headers, crate::INITIALIZE))
                .await
                .status(),
            200,
            "{host}"
        );
    }
    assert_eq!(endpoint.sessions(), 3);
}

#[tokio::test(start_paused = true)]
async fn other_paths_are_not_there() {
    let endpoint = endpoint();
    for path in ["/", "/mcp2", "/mcp/x", "//mcp"] {
        assert_eq!(
            endpoint
                .handle(request("POST", path, PLAIN, crate::INITIALIZE))
                .await
                .status(),
            404,
            "{path}"
        );
    }
    assert_eq!(
        endpoint
            .handle(request("POST", "/mcp/", PLAIN, crate::INITIALIZE))
            .await
            .status(),
        200
    );
}
