//! Entries in the files of every host: what stands in both modules, of which one writes them and one takes them out again.

mod undoing;
mod writing;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use polyport_config::{
    Entry, Fault, Format, HOSTS, Host, HostFile, Os, Place, Places, Servers, Settings, Start, Way,
};
use serde_json::Value;
use tempfile::TempDir;

struct Machine {
    root: TempDir,
    places: Places,
}

impl Machine {
    fn new() -> Self {
        let root = TempDir::with_prefix("polyport-install").unwrap();
        let project = root.path().join("shop");
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(root.path().join("home")).unwrap();
        let home = root.path().join("home").into_os_string();
        let places = Places::of(Os::Linux, project, |name| {
            (name == "HOME").then(|| home.clone())
        });
        Self { root, places }
    }

    fn place(&self, host: &Host, about: &HostFile) -> Place {
        Place::new(host, about, "shop", &self.places)
            .unwrap()
            .unwrap()
    }

    fn shown(&self, text: &str) -> String {
        text.replace(self.root.path().to_str().unwrap(), "<here>")
    }

    /// All files and folders, with what they hold.
    fn all(&self) -> Vec<(PathBuf, Option<String>)> {
        fn walk(at: &Path, found: &mut Vec<(PathBuf, Option<String>)>) {
            for entry in fs::read_dir(at).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with(".local") {
                    continue;
                }
                if path.is_dir() {
                    found.push((path.clone(), None));
                    walk(&path, found);
                } else {
                    found.push((path.clone(), fs::read_to_string(&path).ok()));
                }
            }
        }
        let mut found = Vec::new();
        walk(self.root.path(), &mut found);
        found.sort();
        found
    }
}

fn ours() -> Entry<String> {
    Entry {
        name: "shop".to_owned(),
        line: 0,
        enabled: true,
        bare: false,
        way: Way::Command(Start {
            program: "/opt/polyport".to_owned(),
            args: vec!["serve".to_owned(), "/work/my \"notes\"".to_owned()],
            env: vec![("LEVEL".to_owned(), "debug".to_owned())],
            cwd: None,
            env_file: None,
        }),
        settings: Settings::default(),
        doubts: Vec::new(),
    }
}

/// A file with comments, other members and another entry.
fn furnished(format: Format, keys: &[String], entry: Option<&str>) -> String {
    if format == Format::Toml {
        let entry = entry.map(|it| format!("# mine\n[{}.shop]\n{it}\n\n", keys.join(".")));
        return format!(
            "# a comment\nmodel = \"x\"   # kept\n\n{}[{}.other]\ncommand = 'npx' # single quotes\n\n[tui]\ntheme = \"dark\"\n# the end\n",
            entry.unwrap_or_default(),
            keys.join(".")
        );
    }
    let mut text = String::from("// a comment\n{\n\t\"theme\": \"dark\", // kept\n");
    let mut tabs = String::from("\t");
    for key in keys {
        let key = Value::from(key.as_str());
        writeln!(text, "{tabs}{key}: {{").unwrap();
        tabs.push('\t');
    }
    if let Some(entry) = entry {
        writeln!(text, "{tabs}/* mine */ \"shop\": {entry},").unwrap();
    }
    writeln!(
        text,
        "{tabs}\"other\": {{\"command\": \"npx\", \"args\": [\"-y\"]}} // one line"
    )
    .unwrap();
    while tabs.len() > 1 {
        tabs.pop();
        writeln!(text, "{tabs}}},").unwrap();
    }
    text + "\t\"last\": [1.0, 2e3]\n}\n"
}

fn files() -> impl Iterator<Item = (&'static Host, &'static HostFile)> {
    let on_linux = |file: &&HostFile| file.on.is_empty() || file.on.contains(&Os::Linux);
    HOSTS
        .iter()
        .flat_map(move |host| host.files.iter().filter(on_linux).map(move |it| (host, it)))
}

fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    let want = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == want,
        "{} is not what was made (UPDATE_GOLDEN=1 writes it anew):\n{text}",
        path.display()
    );
}

/// What the file becomes, and back to the byte.
fn there_and_back(
    machine: &Machine,
    host: &Host,
    about: &HostFile,
    text: Option<&str>,
    entry: &Value,
) -> Result<Option<String>, Fault> {
    let place = machine.place(host, about);
    if let Some(text) = text {
        fs::create_dir_all(place.file.parent().unwrap()).unwrap();
        fs::write(&place.file, text).unwrap();
    }
    let before = machine.all();
    let plan = machine.place(host, about).install(entry)?;
    assert_eq!(machine.all(), before, "a plan writes nothing");
    if !plan.is_change() {
        return Ok(None);
    }
    plan.make()?;
    let after = fs::read_to_string(&place.file).unwrap();
    assert_eq!(Some(&after), plan.after.as_ref());
    assert_eq!(place.get().unwrap().as_ref(), Some(entry));
    let servers = Servers::of_host(about, &place.file, &machine.places).unwrap();
    assert!(servers.get("shop").is_ok());
    let again = machine.place(host, about).install(entry)?;
    assert!(!again.is_change(), "a second time changes nothing");
    machine.place(host, about).uninstall()?.make()?;
    assert_eq!(machine.all(), before, "{} {}", host.id, about.scope);
    Ok(Some(after))
}
