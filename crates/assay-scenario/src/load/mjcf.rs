//! Checks of a scenario's MJCF without MuJoCo: that it is XML, has no plugins, and names no file outside of its folder.
//! MuJoCo follows `..` and absolute paths. A jail contains few files that could be reached this way, but a digest must
//! cover everything that a scenario reads.

use std::fs;
use std::io::Read;
use std::path::{Component, Path};

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

use super::grammar;
use crate::ScenarioError;

/// Maximum size of an MJCF file in bytes.
const MAX_MJCF_BYTES: u64 = 16 * 1024 * 1024;
/// Extension of MJCF files.
const EXTENSION: &str = "xml";
/// Elements that load code, or request that it be loaded.
const CODE: [&str; 2] = ["plugin", "extension"];
/// Elements that refer to another MJCF file.
const NESTED: [&str; 2] = ["include", "model"];
/// Attributes from which the names of bodies, geoms and joints are made, which reports and logs show.
const NAMES: [&str; 3] = ["name", "prefix", "suffix"];
/// Attributes that name a folder.
const FOLDERS: [&str; 3] = ["meshdir", "texturedir", "assetdir"];

/// Checks every MJCF file of the scenario in `folder`.
pub(super) fn check(folder: &Path, scene: &str) -> Result<(), ScenarioError> {
    let read = |source| ScenarioError::Read { path: folder.to_owned(), source };
    for file in crate::files(folder).map_err(read)? {
        if is_mjcf(&file) || file == Path::new(scene) {
            let name = file.to_string_lossy();
            check_file(&folder.join(&file)).map_err(|problem| ScenarioError::Mjcf { file: name.into(), problem })?;
        }
    }
    Ok(())
}

fn is_mjcf(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(EXTENSION))
}

fn check_file(path: &Path) -> Result<(), String> {
    let mut text = String::new();
    let file = fs::File::open(path).map_err(|e| format!("can't be read: {e}"))?;
    file.take(MAX_MJCF_BYTES + 1).read_to_string(&mut text).map_err(|e| format!("is not text in UTF-8: {e}"))?;
    if text.len() as u64 > MAX_MJCF_BYTES {
        return Err(format!("is larger than {MAX_MJCF_BYTES} bytes; put its data into meshes"));
    }
    check_text(&text)
}

pub(crate) fn check_text(text: &str) -> Result<(), String> {
    let mut reader = Reader::from_str(text);
    loop {
        let event = reader.read_event();
        let line = || text[..position(&reader, text)].matches('\n').count() + 1;
        match event {
            Ok(Event::Start(element) | Event::Empty(element)) => {
                check_element(&element).map_err(|problem| format!("line {}: {problem}", line()))?;
            }
            Ok(Event::DocType(_)) => return Err(format!("line {}: a DOCTYPE is not allowed; remove it", line())),
            Ok(Event::Eof) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(format!("line {}: is not well-formed XML: {error}", line())),
        }
    }
}

/// Returns the position of the reader, at a character boundary.
fn position(reader: &Reader<&[u8]>, text: &str) -> usize {
    let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
    text.floor_char_boundary(at)
}

fn check_element(element: &BytesStart<'_>) -> Result<(), String> {
    let name = element.name();
    let name = name.as_ref();
    if CODE.contains(&name) {
        return Err(format!("<{name}> is not allowed: plugins are programs, but a scenario is data; remove it"));
    }
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|error| format!("<{name}>: {error}"))?;
        let key = attribute.key.as_ref();
        if NAMES.contains(&key) {
            let value =
                attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|error| format!("<{name}>: {error}"))?;
            grammar::check_name(&value).map_err(|problem| format!("<{name} {key}={value:?}> {problem}"))?;
        }
        if !(key.starts_with("file") || FOLDERS.contains(&key)) {
            continue;
        }
        let value =
            attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|error| format!("<{name}>: {error}"))?;
        if !is_inside(&value) {
            return Err(format!("<{name} {key}={value:?}> points outside the scenario's folder; put a copy inside it"));
        }
        if NESTED.contains(&name) && !is_mjcf(Path::new(value.as_ref())) {
            return Err(format!("<{name} {key}={value:?}> must name an MJCF file, which ends in .{EXTENSION}"));
        }
    }
    Ok(())
}

/// Returns whether the path is relative and stays inside the folder, on any operating system.
fn is_inside(value: &str) -> bool {
    let down = Path::new(value).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    down && !value.contains(['\\', ':'])
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::check_text;

    #[test]
    fn check_text_rejects_outside_files_and_code() {
        for good in [
            "<mujoco><include file='robot.xml'/></mujoco>",
            "<mujoco><compiler meshdir='meshes' texturedir='./art/'/><asset><mesh file='a/b.stl'/></asset></mujoco>",
            "<?xml version='1.0'?><!-- <plugin/> --><mujoco><option gravity='0 0 -9.81'/></mujoco>",
            "<mujoco><asset><model name='m' file='other.XML'/></asset></mujoco>",
        ] {
            check_text(good).unwrap();
        }
        for (bad, words) in [
            ("<mujoco>\n<include file='../x.xml'/></mujoco>", "line 2: <include file=\"../x.xml\"> points outside"),
            ("<mujoco><include file='a/../../x.xml'/></mujoco>", "points outside"),
            ("<mujoco><asset><mesh file='/etc/passwd'/></asset></mujoco>", "points outside"),
            ("<mujoco><asset><mesh file='&#46;&#46;/x.stl'/></asset></mujoco>", "points outside"),
            ("<mujoco><asset><mesh file='..\\x.stl'/></asset></mujoco>", "points outside"),
            ("<mujoco><asset><mesh file='C:x.stl'/></asset></mujoco>", "points outside"),
            ("<mujoco><asset><texture fileright='/x.png'/></asset></mujoco>", "points outside"),
            ("<mujoco><compiler meshdir='..'/></mujoco>", "points outside"),
            ("<mujoco><include file='hidden.txt'/></mujoco>", "ends in .xml"),
            ("<mujoco><asset><model file='x' content_type='text/xml'/></asset></mujoco>", "ends in .xml"),
            ("<mujoco><extension><plugin plugin='mujoco.pid'/></extension></mujoco>", "<extension> is not allowed"),
            ("<mujoco><actuator><plugin instance='x'/></actuator></mujoco>", "<plugin> is not allowed"),
            ("<!DOCTYPE mujoco [<!ENTITY up '..'>]><mujoco/>", "DOCTYPE"),
            ("<mujoco><asset><mesh file='&up;/x.stl'/></asset></mujoco>", "up"),
            ("<mujoco><asset><mesh file='a.stl' file='/b.stl'/></asset></mujoco>", "duplicate"),
            ("<mujoco><worldbody><body name='a&#10;b'/></worldbody></mujoco>", "must not contain the character U+000A"),
            ("<mujoco><worldbody><geom name='a&quot;b'/></worldbody></mujoco>", "must not contain '\"'"),
            ("<mujoco><worldbody><attach prefix='&#x202e;'/></worldbody></mujoco>", "must not contain"),
            ("<mujoco><worldbody></mujoco>", "line 1: is not well-formed XML"),
            ("<mujoco><worldbody", "is not well-formed XML"),
        ] {
            let problem = check_text(bad).unwrap_err();
            assert!(problem.contains(words), "{bad}: {problem}");
        }
    }
}
