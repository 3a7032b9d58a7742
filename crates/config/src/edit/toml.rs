//! The same in TOML. A table of its own is added at the end and taken out line by line; one inside another value is changed there.

use std::ops::Range;

use serde_json::Value as Json;
use toml_edit::{Document, DocumentMut, InlineTable, Item, Key, Table, TableLike, Value};

use super::{Refused, Spot, refused};

pub(super) fn put(text: &str, spot: &Spot, entry: &Json) -> Result<String, Refused> {
    let path: Vec<&str> = path(spot);
    let document = parse(text)?;
    if !entry.is_object() {
        let mut edited = document.into_mut();
        set_inside(&mut edited, &path, entry)?;
        return Ok(edited.to_string());
    }
    if own_lines(&document, text, &path).is_some() {
        // Where the old one stood, the new one stands.
        let mut after = text.to_owned();
        let lines = own_lines(&document, text, &path).unwrap_or_default();
        for range in lines.iter().skip(1).rev() {
            after.replace_range(range.clone(), "");
        }
        if let Some(first) = lines.first() {
            after.replace_range(first.clone(), &table(&path, entry));
        }
        return Ok(after);
    }
    let mut edited = document.into_mut();
    if is_inside(edited.as_table(), &path) {
        set_inside(&mut edited, &path, entry)?;
        return Ok(edited.to_string());
    }
    let mut after = text.to_owned();
    if !after.is_empty() {
        if !after.ends_with('\n') {
            after.push('\n');
        }
        after.push('\n');
    }
    after.push_str(&table(&path, entry));
    Ok(after)
}

pub(super) fn take(text: &str, spot: &Spot) -> Result<String, Refused> {
    let path: Vec<&str> = path(spot);
    let document = parse(text)?;
    if let Some(lines) = own_lines(&document, text, &path) {
        let mut after = text.to_owned();
        for range in lines.iter().rev() {
            // The empty line above goes with it.
            let above = &after[..range.start];
            let gap = usize::from(above.ends_with("\n\n") || above == "\n");
            after.replace_range(range.start - gap..range.end, "");
        }
        return Ok(after);
    }
    let mut edited = document.into_mut();
    let mut holder: Option<&mut dyn TableLike> = Some(edited.as_table_mut());
    for key in &spot.keys {
        holder = holder.and_then(|table| table.get_mut(key)?.as_table_like_mut());
    }
    if let Some(table) = holder {
        table.remove(&spot.name);
    }
    Ok(edited.to_string())
}

fn path(spot: &Spot) -> Vec<&str> {
    let keys = spot.keys.iter().map(String::as_str);
    keys.chain([spot.name.as_str()]).collect()
}

fn parse(text: &str) -> Result<Document<String>, Refused> {
    Document::parse(text.to_owned()).map_err(|error| refused(error.message()))
}

/// Is the entry, or what would hold it, a value or dotted, and no table with a header?
fn is_inside(root: &Table, path: &[&str]) -> bool {
    let mut table: &dyn TableLike = root;
    for key in path {
        match table.get(key) {
            Some(Item::Table(inner)) if !inner.is_dotted() => table = inner,
            Some(_) => return true,
            None => return false,
        }
    }
    true
}

fn set_inside(document: &mut DocumentMut, path: &[&str], entry: &Json) -> Result<(), Refused> {
    let [keys @ .., name] = path else {
        return Err(refused("has no name"));
    };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in keys {
        table = table
            .entry(key)
            .or_insert_with(|| Item::Value(Value::InlineTable(InlineTable::new())))
            .as_table_like_mut()
            .ok_or_else(|| refused(format!("{key} is no table")))?;
    }
    let mut new = value(entry);
    match table.get_mut(name) {
        Some(old) => {
            // A comment behind it stays.
            if let Some(decor) = old.as_value().map(Value::decor) {
                *new.decor_mut() = decor.clone();
            }
            *old = Item::Value(new);
        }
        None => _ = table.insert(name, Item::Value(new)),
    }
    Ok(())
}

/// The lines of the tables of an entry, with their headers, in order; nothing, if it has none.
fn own_lines(document: &Document<String>, text: &str, path: &[&str]) -> Option<Vec<Range<usize>>> {
    let mut item = document.as_item();
    for key in path {
        item = item.get(*key)?;
    }
    let Item::Table(table) = item else {
        return None;
    };
    let mut found = Vec::new();
    collect(table, &mut found)?;
    found.sort_by_key(|range: &Range<usize>| range.start);
    let whole = |range: Range<usize>| {
        let end = text[range.end..].find('\n');
        range.start..end.map_or(text.len(), |at| range.end + at + 1)
    };
    (!found.is_empty()).then(|| found.into_iter().map(whole).collect())
}

/// From the header of each table to the end of its last value.
fn collect(table: &Table, found: &mut Vec<Range<usize>>) -> Option<()> {
    if table.is_dotted() {
        return None;
    }
    let mut own = table.span().filter(|_| !table.is_implicit());
    for (_, item) in table.iter() {
        match item {
            Item::None => {}
            Item::Value(value) => {
                let end = value.span()?.end;
                let own = own.as_mut()?;
                own.end = own.end.max(end);
            }
            Item::Table(inner) if inner.is_dotted() => {
                let own = own.as_mut()?;
                own.end = own.end.max(last(inner)?);
            }
            Item::Table(inner) => collect(inner, found)?,
            Item::ArrayOfTables(_) => return None,
        }
    }
    found.extend(own);
    Some(())
}

/// The end of the last value of a dotted table.
fn last(table: &Table) -> Option<usize> {
    let ends = table.iter().map(|(_, item)| match item {
        Item::Value(value) => value.span().map(|span| span.end),
        Item::Table(inner) => last(inner),
        Item::None | Item::ArrayOfTables(_) => None,
    });
    ends.collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// An entry as a table with its header.
fn table(path: &[&str], entry: &Json) -> String {
    let header: Vec<String> = path.iter().map(|key| Key::new(*key).to_string()).collect();
    let mut text = format!("[{}]\n", header.join("."));
    for (name, member) in entry.as_object().into_iter().flatten() {
        let key = Key::new(name.as_str());
        text += &format!("{key} = {}\n", value(member).to_string().trim());
    }
    text
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(""),
        Json::Bool(truth) => Value::from(*truth),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(list) => Value::Array(list.iter().map(value).collect()),
        Json::Object(members) => {
            let mut table = InlineTable::new();
            for (name, member) in members {
                table.insert(name, value(member));
            }
            Value::InlineTable(table)
        }
    }
}
