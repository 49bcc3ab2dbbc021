//! The list of all settings with path, kind, default and description, derived from the types of the sections.

use assay_model::sanitise;
use schemars::generate::SchemaSettings;
use serde_json::Value as Json;
use toml::Value;

use super::Settings;

/// One setting.
#[derive(Debug, Clone)]
pub(super) struct SettingKey {
    /// The path, such as `limits.rate.get_per_minute`.
    pub(super) path: String,
    pub(super) kind: SettingKind,
    /// The default value; `None` if being unset has a meaning of its own.
    pub(super) default: Option<Value>,
    /// An example value, if there is no default.
    pub(super) example: Option<Value>,
    /// The doc comment of the field.
    pub(super) about: String,
    /// True if its value is never printed.
    pub(super) secret: bool,
}

/// The type of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SettingKind {
    Flag,
    Whole,
    Number,
    Text,
    Texts,
    OneOf(Vec<String>),
}

/// A section: its path, its description, and its settings.
#[derive(Debug, Clone)]
pub(super) struct Heading {
    pub(super) path: String,
    pub(super) about: String,
    pub(super) keys: Vec<SettingKey>,
}

/// Settings whose flag has the name of their section.
const SECTION_FLAGS: [&str; 2] = ["blobs.url", "store.url"];
/// Maximum length of a shown value, in bytes.
const MAX_SHOWN: usize = 200;

impl SettingKey {
    /// Returns the name of its environment variable: `ASSAY_` and the path, without `server`.
    pub(super) fn variable(&self) -> String {
        format!("ASSAY_{}", self.name().to_ascii_uppercase())
    }

    /// Returns the clap id of its flag, if it has one: the path, without `server`, or the section for which the setting
    /// stands.
    pub(super) fn flag(&self) -> String {
        match self.path.split_once('.') {
            Some((section, _)) if SECTION_FLAGS.contains(&self.path.as_str()) => section.to_owned(),
            _ => self.name(),
        }
    }

    fn name(&self) -> String {
        self.path.strip_prefix("server.").unwrap_or(&self.path).replace('.', "_")
    }

    /// Returns a printable form of a value of this setting.
    pub(super) fn shown(&self, value: &Value) -> String {
        if self.secret { "[secret]".to_owned() } else { sanitise(&without_credentials(&value.to_string()), MAX_SHOWN) }
    }
}

/// Replaces user name and password in an address for browsers.
fn without_credentials(text: &str) -> String {
    let shortened = text.split_once("://").and_then(|(scheme, rest)| {
        let authority = rest.split(['/', '?', '#']).next()?;
        let (_, host) = authority.rsplit_once('@')?;
        let is_http = scheme.ends_with("http") || scheme.ends_with("https");
        is_http.then(|| format!("{scheme}://[secret]@{host}{}", &rest[authority.len()..]))
    });
    shortened.unwrap_or_else(|| text.to_owned())
}

impl SettingKind {
    pub(super) fn fits(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Flag, Value::Boolean(_))
            | (Self::Whole | Self::Number, Value::Integer(_))
            | (Self::Number, Value::Float(_))
            | (Self::Text, Value::String(_)) => true,
            (Self::Texts, Value::Array(items)) => items.iter().all(Value::is_str),
            (Self::OneOf(words), Value::String(text)) => words.contains(text),
            _ => false,
        }
    }

    /// Parses the text of a variable or a flag. Text that does not match the kind is returned as a string.
    pub(super) fn parse(&self, text: &str) -> Value {
        let trimmed = text.trim();
        let found = match self {
            Self::Flag => match trimmed.to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Some(Value::Boolean(true)),
                "false" | "0" | "no" | "off" | "" => Some(Value::Boolean(false)),
                _ => None,
            },
            Self::Whole => trimmed.parse().ok().map(Value::Integer),
            Self::Number => {
                let whole = trimmed.parse().ok().map(Value::Integer);
                whole.or_else(|| trimmed.parse().ok().map(Value::Float))
            }
            Self::Texts if trimmed.starts_with('[') => bracketed(trimmed),
            Self::Texts => {
                let items = trimmed.split(',').map(str::trim).filter(|item| !item.is_empty());
                Some(Value::Array(items.map(|item| Value::String(item.to_owned())).collect()))
            }
            Self::Text | Self::OneOf(_) => None,
        };
        found.unwrap_or_else(|| Value::String(text.to_owned()))
    }

    pub(super) fn allowed(&self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Whole => "a whole number".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Text => "a string in quotes".to_owned(),
            Self::Texts => "a list of strings, as a,b or [\"a\", \"b\"]".to_owned(),
            Self::OneOf(words) => words.join(" or "),
        }
    }
}

/// Parses a list as a settings file has it.
fn bracketed(text: &str) -> Option<Value> {
    let mut table = format!("list = {text}").parse::<toml::Table>().ok()?;
    table.remove("list").filter(Value::is_array)
}

/// Returns all sections in the order of their declaration. In each, settings with a default come first.
pub(super) fn headings() -> Vec<Heading> {
    let generator = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).into_generator();
    let schema = generator.into_root_schema_for::<Settings>().to_value();
    let defaults = Value::try_from(Settings::default()).unwrap_or(Value::Table(toml::Table::new()));
    let mut found = Vec::new();
    collect_headings("", &schema, &defaults, &mut found);
    found
}

/// Returns all settings.
pub(super) fn all() -> Vec<SettingKey> {
    headings().into_iter().flat_map(|heading| heading.keys).collect()
}

fn collect_headings(path: &str, schema: &Json, defaults: &Value, found: &mut Vec<Heading>) {
    let Some(properties) = schema["properties"].as_object() else { return };
    // The schema sorts properties by name; the defaults are in the order of declaration.
    let declared = defaults.as_table().into_iter().flat_map(toml::Table::keys);
    let optional = properties.keys().filter(|name| defaults.get(name).is_none());
    let mut heading = Heading { path: path.to_owned(), about: description(schema), keys: Vec::new() };
    let place = found.len();
    for name in declared.chain(optional) {
        let inner = &properties[name.as_str()];
        let inner_path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if inner.get("properties").is_some() {
            collect_headings(&inner_path, inner, defaults.get(name).unwrap_or(defaults), found);
        } else {
            heading.keys.push(key(inner_path, inner, defaults.get(name).cloned()));
        }
    }
    if !heading.keys.is_empty() {
        found.insert(place, heading);
    }
}

fn key(path: String, schema: &Json, default: Option<Value>) -> SettingKey {
    let example = schema["examples"].get(0).and_then(|example| Value::try_from(example).ok());
    let schema_of_value = non_null(schema);
    let secret = schema_of_value["writeOnly"] == Json::Bool(true);
    SettingKey { path, kind: kind(schema_of_value), default, example, about: description(schema), secret }
}

/// Returns the schema of an optional setting's value.
fn non_null(schema: &Json) -> &Json {
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    choices.into_iter().find(|choice| choice["type"] != "null").unwrap_or(schema)
}

fn kind(schema: &Json) -> SettingKind {
    if let Some(words) = schema["enum"].as_array() {
        return SettingKind::OneOf(words.iter().filter_map(Json::as_str).map(str::to_owned).collect());
    }
    let types = match &schema["type"] {
        Json::Array(types) => types.iter().filter_map(Json::as_str).collect(),
        Json::String(one) => vec![one.as_str()],
        _ => vec![],
    };
    match types.into_iter().find(|name| *name != "null") {
        Some("boolean") => SettingKind::Flag,
        Some("integer") => SettingKind::Whole,
        Some("number") => SettingKind::Number,
        Some("array") => SettingKind::Texts,
        _ => SettingKind::Text,
    }
}

fn description(schema: &Json) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ")
}
