//! URIs, blobs and media types: opaque texts that go through as they are.

use std::time::Instant;

use polyport::model::{Content, ResourceContents};
use polyport::{Resource, Revision, Server, Template};
use serde_json::{Value, json};

use crate::{peer, refused};

/// URIs that a parser would change or refuse.
const ODD: [&str; 9] = [
    "HTTP://Ex.com:80/a/../b c",
    "memo:insights",
    "users/1",
    "file:///C:/x",
    "urn:x:y",
    "x://h/%7eada/%C3%a9",
    "x://h//a/./?q=1#f",
    "東京://é",
    "svn+ssh://h/+p",
];

// req: BR-136
#[tokio::test]
async fn br_136_uris_are_opaque() {
    let server = || {
        ODD.iter().fold(Server::new("s", "1"), |server, uri| {
            server.resource(*uri, "odd", move |_cx| async move { Ok(*uri) })
        })
    };
    for revision in Revision::ALL {
        let peer = peer(server(), revision).await;
        let list = peer.request("resources/list", &json!({})).await.unwrap();
        let listed: Vec<_> = list["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|resource| resource["uri"].as_str().unwrap())
            .collect();
        assert_eq!(listed, ODD, "{revision}");
        for uri in ODD {
            let read = peer.request("resources/read", &json!({"uri": uri})).await;
            assert_eq!(
                read.unwrap()["contents"],
                json!([{"uri": uri, "text": uri}])
            );
        }
        // What is the same to a parser is another one here, and the error has exactly what was asked.
        for other in [
            "http://ex.com/b%20c",
            "HTTP://Ex.com:80/a/../b%20c",
            "memo:insights/",
            "MEMO:insights",
            " users/1",
            "users/1/",
            "urn:x:Y",
            "x://h/~ada/%C3%A9",
            "x://h//a/?q=1#f",
            "",
        ] {
            let error = refused(&peer, "resources/read", json!({"uri": other})).await;
            let code = if revision == Revision::LATEST {
                -32602
            } else {
                -32002
            };
            assert_eq!(
                (&error["code"], &error["data"]),
                (&json!(code), &json!({"uri": other})),
                "{revision}"
            );
        }
        for wrong in [
            json!({"uri": 1}),
            json!({"uri": null}),
            json!({}),
            json!({"uri": ["x"]}),
        ] {
            let error = refused(&peer, "resources/read", wrong).await;
            assert_eq!(error["code"], -32602);
        }
    }
}

// req: BR-138
#[tokio::test]
async fn br_138_no_uri_takes_long() {
    let templates = [
        "x://{a}/{+b}",
        "x://{a}-{b}-{c}-{d}/{+e}",
        "{+a}a{+b}a{+c}a{+d}z",
        "x://{+a}.md",
    ];
    let server = templates
        .iter()
        .fold(Server::new("s", "1"), |server, template| {
            server.add_template(Template::new(template, "t", |_cx, _values| async {
                Ok("")
            }))
        });
    let peer = peer(server, Revision::LATEST).await;
    for pattern in ["a", "-", "/", "%41", "x://", "a-", "%", "é", "{", ".md"] {
        let uri = format!("x://{}", pattern.repeat((64 << 10) / pattern.len()));
        let begun = Instant::now();
        let read = peer.request("resources/read", &json!({"uri": uri})).await;
        // Backtracking would not come to an end; what is linear takes milliseconds, in a debug build on a busy machine too.
        assert!(begun.elapsed().as_secs() < 5, "{pattern}");
        drop(read);
    }
    for hostile in ["{a}{+b}", "{/a*}", "{?a*}", "{a:99999}"] {
        let built = std::panic::catch_unwind(|| Template::of_source(hostile, "t"));
        assert!(built.is_err(), "{hostile}");
    }
}

// req: BR-139
#[tokio::test]
async fn br_139_blobs_are_standard_base64_and_an_empty_one_is_there() {
    let long: Vec<u8> = (0..3 << 20).map(|n: u32| (n % 251) as u8).collect();
    let server = || {
        let long = long.clone();
        Server::new("s", "1")
            .resource("b://0", "b", |_cx| async { Ok(Vec::<u8>::new()) })
            .resource("b://1", "b", |_cx| async { Ok(vec![0xfb_u8]) })
            .resource("b://2", "b", |_cx| async { Ok(vec![0xfb_u8, 0xff]) })
            .resource("b://3", "b", |_cx| async { Ok(vec![0xfb_u8, 0xff, 0xfe]) })
            .resource("b://long", "b", move |_cx| {
                let long = long.clone();
                async move { Ok(long) }
            })
    };
    for revision in Revision::ALL {
        let peer = peer(server(), revision).await;
        let read = async |uri: &str| {
            let read = peer.request("resources/read", &json!({"uri": uri})).await;
            read.unwrap()["contents"][0]["blob"].clone()
        };
        for (uri, blob) in [
            ("b://0", ""),
            ("b://1", "+w=="),
            ("b://2", "+/8="),
            ("b://3", "+//+"),
        ] {
            assert_eq!(read(uri).await, blob, "{revision} {uri}");
        }
        if revision == Revision::LATEST {
            let blob = read("b://long").await;
            let bytes = data_encoding::BASE64.decode(blob.as_str().unwrap().as_bytes());
            assert!(bytes.unwrap() == long);
        }
    }
}

// req: BR-140
#[tokio::test]
async fn br_140_media_types_go_through_as_they_are() {
    const KINDS: [&str; 4] = [
        "text/html;profile=mcp-app",
        "application/vnd.x+json; charset=\"a;b\"",
        "",
        "TEXT/Plain",
    ];
    let server = || {
        let server = KINDS
            .iter()
            .enumerate()
            .fold(Server::new("s", "1"), |server, (at, kind)| {
                let own = format!("own://{at}");
                let of_listed = Resource::new(format!("x://{at}"), "x", |_cx| async { Ok("") });
                server.add_resource(of_listed.mime_type(*kind)).resource(
                    own.clone(),
                    "own",
                    move |_cx| {
                        let contents = ResourceContents {
                            mime_type: Some((*kind).to_owned()),
                            ..ResourceContents::text(own.clone(), "")
                        };
                        async move { Ok(contents) }
                    },
                )
            });
        server.tool("pictures", "", |_cx, (): ()| async {
            Ok(KINDS
                .iter()
                .map(|kind| Content::image("", *kind))
                .collect::<Vec<_>>())
        })
    };
    for revision in Revision::ALL {
        let peer = peer(server(), revision).await;
        let list = peer.request("resources/list", &json!({})).await.unwrap();
        let pictures = peer.call("pictures", &json!({})).await.unwrap();
        for (at, kind) in KINDS.iter().enumerate() {
            assert_eq!(list["resources"][2 * at]["mimeType"], *kind);
            assert_eq!(
                list["resources"][2 * at + 1].get("mimeType"),
                None::<&Value>
            );
            for uri in [format!("x://{at}"), format!("own://{at}")] {
                let read = peer.request("resources/read", &json!({"uri": uri})).await;
                assert_eq!(
                    read.unwrap()["contents"][0]["mimeType"],
                    *kind,
                    "{revision}"
                );
            }
            assert_eq!(pictures["content"][at]["mimeType"], *kind);
        }
    }
}
