//! Media types: guessed from a name, or told by the first bytes. A short table of what people keep in folders.

use std::path::Path;

/// By extension, in order of it, so that a wrong place is seen by the test below.
const BY_EXTENSION: &[(&str, &str)] = &[
    ("7z", "application/x-7z-compressed"),
    ("aac", "audio/aac"),
    ("aif", "audio/aiff"),
    ("aiff", "audio/aiff"),
    ("avi", "video/x-msvideo"),
    ("avif", "image/avif"),
    ("bash", "text/x-shellscript"),
    ("bmp", "image/bmp"),
    ("bz2", "application/x-bzip2"),
    ("c", "text/x-c"),
    ("cc", "text/x-c++"),
    ("cfg", "text/plain"),
    ("conf", "text/plain"),
    ("cpp", "text/x-c++"),
    ("cs", "text/x-csharp"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("diff", "text/x-diff"),
    ("doc", "application/msword"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    ("env", "text/plain"),
    ("epub", "application/epub+zip"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("go", "text/x-go"),
    ("gz", "application/gzip"),
    ("h", "text/x-c"),
    ("heic", "image/heic"),
    ("hpp", "text/x-c++"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/x-icon"),
    ("ics", "text/calendar"),
    ("ini", "text/plain"),
    ("ipynb", "application/x-ipynb+json"),
    ("java", "text/x-java"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("jsx", "text/javascript"),
    ("kt", "text/x-kotlin"),
    ("less", "text/x-less"),
    ("lock", "text/plain"),
    ("log", "text/plain"),
    ("lua", "text/x-lua"),
    ("m4a", "audio/mp4"),
    ("markdown", "text/markdown"),
    ("md", "text/markdown"),
    ("mid", "audio/midi"),
    ("mjs", "text/javascript"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("ndjson", "application/x-ndjson"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("oga", "audio/ogg"),
    ("ogg", "audio/ogg"),
    ("opus", "audio/ogg"),
    ("patch", "text/x-diff"),
    ("pdf", "application/pdf"),
    ("php", "text/x-php"),
    ("pl", "text/x-perl"),
    ("png", "image/png"),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    ("proto", "text/plain"),
    ("py", "text/x-python"),
    ("r", "text/x-r"),
    ("rb", "text/x-ruby"),
    ("rs", "text/x-rust"),
    ("rst", "text/x-rst"),
    ("rtf", "application/rtf"),
    ("scala", "text/x-scala"),
    ("scss", "text/x-scss"),
    ("sh", "text/x-shellscript"),
    ("sql", "application/sql"),
    ("sqlite", "application/vnd.sqlite3"),
    ("svg", "image/svg+xml"),
    ("swift", "text/x-swift"),
    ("tar", "application/x-tar"),
    ("tex", "text/x-tex"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("toml", "application/toml"),
    ("ts", "text/x-typescript"),
    ("tsv", "text/tab-separated-values"),
    ("tsx", "text/x-typescript"),
    ("txt", "text/plain"),
    ("vue", "text/x-vue"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("weba", "audio/webm"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("xhtml", "application/xhtml+xml"),
    ("xls", "application/vnd.ms-excel"),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
    ("zst", "application/zstd"),
];

/// Of several extensions of one type, those that people use.
const USUAL: &[&str] = &["html", "jpg", "md", "ogg", "sh", "txt", "yaml"];

/// Well-known files of text without an extension, in small letters.
const TEXT_NAMES: &[&str] = &[
    ".editorconfig",
    ".env",
    ".gitattributes",
    ".gitignore",
    "authors",
    "changelog",
    "codeowners",
    "copying",
    "dockerfile",
    "license",
    "makefile",
    "notice",
    "readme",
];

/// The extension of files of this media type, whatever its capitals and parameters; nothing for unknown types.
pub fn extension(media_type: &str) -> Option<&'static str> {
    let essence = media_type.split(';').next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    let (kind, name) = essence.split_once('/')?;
    let of = |essence: &str| {
        let all = BY_EXTENSION.iter().filter(|(_, known)| *known == essence);
        let usual = all.clone().find(|(name, _)| USUAL.contains(name));
        usual.or_else(|| all.clone().next()).map(|(name, _)| *name)
    };
    // `image/jpg`, `audio/mp3`.
    let said = |(known, of): &&(&str, &str)| *known == name && of.split('/').next() == Some(kind);
    of(&essence)
        .or_else(|| of(&format!("{kind}/{}", name.strip_prefix("x-")?)))
        .or_else(|| BY_EXTENSION.iter().find(said).map(|(name, _)| *name))
}

/// The media type that the name suggests, whatever its capitals; nothing for unknown names.
pub fn guess(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    if TEXT_NAMES.contains(&name.as_str()) {
        return Some("text/plain");
    }
    let extension = Path::new(&name).extension()?.to_str()?;
    let found = BY_EXTENSION
        .binary_search_by_key(&extension, |(known, _)| known)
        .ok()?;
    Some(BY_EXTENSION[found].1)
}

/// The media type that the first bytes prove; nothing for text and for unknown formats.
pub fn sniff(first: &[u8]) -> Option<&'static str> {
    Some(match first {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => "image/webp",
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'A',
            b'V',
            b'E',
            ..,
        ] => "audio/wav",
        [
            b'F',
            b'O',
            b'R',
            b'M',
            _,
            _,
            _,
            _,
            b'A',
            b'I',
            b'F',
            b'F' | b'C',
            ..,
        ] => "audio/aiff",
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => "image/bmp",
        [b'I', b'I', b'*', 0, ..] | [b'M', b'M', 0, b'*', ..] => "image/tiff",
        [0, 0, 1, 0, 1..=64, 0, ..] => "image/x-icon",
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => sniff_brand(brand)?,
        [b'I', b'D', b'3', 2..=4, ..] => "audio/mpeg",
        // MPEG audio and AAC share the sync bits; layer bits 00 are AAC's.
        [0xff, 0xf0 | 0xf1 | 0xf8 | 0xf9, ..] => "audio/aac",
        [0xff, 0xe2..=0xe7 | 0xf2..=0xf7 | 0xfa..=0xfd, third, ..] if third >> 4 != 0xf => {
            "audio/mpeg"
        }
        [b'O', b'g', b'g', b'S', 0, ..] => "audio/ogg",
        [b'f', b'L', b'a', b'C', 0 | 0x80, 0, ..] => "audio/flac",
        [b'M', b'T', b'h', b'd', 0, 0, 0, 6, ..] => "audio/midi",
        [0x1a, 0x45, 0xdf, 0xa3, ..] => "video/webm",
        [b'%', b'P', b'D', b'F', b'-', b'0'..=b'9', ..] => "application/pdf",
        [b'P', b'K', 3, 4, ..] => "application/zip",
        [0x1f, 0x8b, 8, ..] => "application/gzip",
        _ => return None,
    })
}

/// ISO media files by the brand they name first.
fn sniff_brand(brand: &[u8]) -> Option<&'static str> {
    Some(match brand.get(..4)? {
        b"avif" | b"avis" => "image/avif",
        b"heic" | b"heix" | b"mif1" | b"msf1" => "image/heic",
        b"M4A " | b"M4B " => "audio/mp4",
        b"qt  " => "video/quicktime",
        _ => "video/mp4",
    })
}

/// The type of bytes that are not text: what they prove first, then what the name says. A name alone never makes an image
/// or a sound, so that nothing else is handed to a decoder under that label.
pub fn of_binary(path: &Path, first: &[u8]) -> &'static str {
    let is_picture_or_sound = |mime: &str| mime.starts_with("image/") || mime.starts_with("audio/");
    match (sniff(first), guess(path)) {
        // A container whose kind only the name tells.
        (Some("application/zip"), Some(named))
            if !named.starts_with("text/") && !is_picture_or_sound(named) =>
        {
            named
        }
        (Some("video/webm"), Some("audio/webm")) => "audio/webm",
        (Some(proven), _) => proven,
        (None, Some(named)) if !named.starts_with("text/") && !is_picture_or_sound(named) => named,
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_in_order() {
        assert!(BY_EXTENSION.is_sorted_by(|a, b| a.0 < b.0));
        assert!(TEXT_NAMES.is_sorted());
    }

    #[test]
    fn names_suggest_types() {
        for (name, want) in [
            ("a/b.MD", Some("text/markdown")),
            ("x.tar.gz", Some("application/gzip")),
            ("Makefile", Some("text/plain")),
            (".gitignore", Some("text/plain")),
            ("photo.JPeG", Some("image/jpeg")),
            ("noext", None),
            ("odd.qqq", None),
            ("dot.", None),
            ("..", None),
            ("", None),
        ] {
            assert_eq!(guess(Path::new(name)), want, "{name}");
        }
    }

    #[test]
    fn types_have_extensions() {
        for (media_type, want) in [
            ("image/png", Some("png")),
            ("IMAGE/JPEG; q=1", Some("jpg")),
            ("image/jpg", Some("jpg")),
            ("audio/wav", Some("wav")),
            ("audio/x-wav", Some("wav")),
            ("audio/mp3", Some("mp3")),
            ("audio/mpeg", Some("mp3")),
            ("audio/ogg", Some("ogg")),
            ("text/plain;charset=utf-8", Some("txt")),
            ("application/pdf", Some("pdf")),
            ("audio/png", None),
            ("x/../../etc", None),
            ("bytes", None),
            ("", None),
        ] {
            assert_eq!(extension(media_type), want, "{media_type}");
        }
        for (name, media_type) in BY_EXTENSION {
            let named =
                extension(media_type).and_then(|name| guess(Path::new(&format!("a.{name}"))));
            assert_eq!(named, Some(*media_type), "{name}");
        }
        for name in USUAL {
            assert!(
                BY_EXTENSION.iter().any(|(known, _)| known == name),
                "{name}"
            );
        }
    }

    #[test]
    fn v_1007_bytes_win_over_names() {
        let of = |name: &str, first: &[u8]| of_binary(Path::new(name), first);
        assert_eq!(of("a.png", b"\xff\xd8\xff\xe0"), "image/jpeg");
        assert_eq!(of("a.png", b"\x00\x01\x02"), "application/octet-stream");
        assert_eq!(of("a.mp3", b"\xff\xfb\x90\x00"), "audio/mpeg");
        assert_eq!(of("a.aac", b"\xff\xf1\x50"), "audio/aac");
        assert_eq!(
            of("a.docx", b"PK\x03\x04"),
            guess(Path::new("a.docx")).unwrap_or_default()
        );
        assert_eq!(of("a.txt", b"\x00"), "application/octet-stream");
        assert_eq!(of("a.weba", b"\x1a\x45\xdf\xa3"), "audio/webm");
        assert_eq!(of("a.avif", b"\x00\x00\x00\x20ftypavif"), "image/avif");
        assert_eq!(of("a", b"\x00\x00\x00\x20ftypM4A "), "audio/mp4");
        for text in [
            &b"BM is not a picture"[..],
            b"ID3 tags",
            b"II*x",
            b"RIFF",
            b"",
            b"fLaC notes",
            b"%PDF is",
        ] {
            assert_eq!(sniff(text), None, "{text:?}");
        }
    }
}
