//! Messages for which Foxglove has no schema: `package assay`, proto3, each in a file named after it.

use foxglove::{Encode, Schema};
use prost::Message;
use prost::bytes::BufMut;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet};

/// A message's name, and its fields in the order of their numbers, from 1.
struct MessageShape {
    name: &'static str,
    fields: &'static [(&'static str, FieldKind)],
    /// Messages that its fields refer to.
    parts: &'static [MessageShape],
}

#[derive(Clone, Copy)]
enum FieldKind {
    Double,
    Doubles,
    Text,
    Messages(&'static str),
}

/// Implements [`Encode`] for a prost message by its [`MessageShape`].
macro_rules! encode {
    ($message:ty, $shape:expr) => {
        impl Encode for $message {
            type Error = prost::EncodeError;

            fn get_schema() -> Option<Schema> {
                let shape: MessageShape = $shape;
                Some(Schema::new(format!("assay.{}", shape.name), "protobuf", shape.descriptor()))
            }

            fn get_message_encoding() -> String {
                "protobuf".to_owned()
            }

            fn encode(&self, buffer: &mut impl BufMut) -> Result<(), prost::EncodeError> {
                Message::encode(self, buffer)
            }
        }
    };
}

/// The action in force from here on, in the scenario's order and units.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Action {
    #[prost(double, repeated, tag = "1")]
    pub(crate) values: Vec<f64>,
}
encode!(Action, MessageShape { name: "Action", fields: &[("values", FieldKind::Doubles)], parts: &[] });

/// The policy's wall-clock latency for the action.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Latency {
    #[prost(double, tag = "1")]
    pub(crate) latency_ms: f64,
}
encode!(Latency, MessageShape { name: "Latency", fields: &[("latency_ms", FieldKind::Double)], parts: &[] });

/// A signal over the physics steps of a control step.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SignalMessage {
    /// Value at the last of these steps.
    #[prost(double, tag = "1")]
    pub(crate) value: f64,
    #[prost(double, tag = "2")]
    pub(crate) least: f64,
    #[prost(double, tag = "3")]
    pub(crate) greatest: f64,
}
encode!(
    SignalMessage,
    MessageShape {
        name: "Signal",
        fields: &[("value", FieldKind::Double), ("least", FieldKind::Double), ("greatest", FieldKind::Double)],
        parts: &[],
    }
);

/// A clause over the physics steps of a control step; everything in the clause's unit.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ClauseMessage {
    /// Minimum margin of the clause's condition in these steps, negative where it is violated.
    #[prost(double, tag = "1")]
    pub(crate) margin: f64,
    /// Lower bound of the episode's final robustness.
    #[prost(double, tag = "2")]
    pub(crate) robustness_lower: f64,
    /// Upper bound of the episode's final robustness. If negative, the clause is violated regardless of what follows.
    #[prost(double, tag = "3")]
    pub(crate) robustness_upper: f64,
}
encode!(
    ClauseMessage,
    MessageShape {
        name: "Clause",
        fields: &[
            ("margin", FieldKind::Double),
            ("robustness_lower", FieldKind::Double),
            ("robustness_upper", FieldKind::Double)
        ],
        parts: &[],
    }
);

/// Contacts during a control step: for each pair of geoms at the time of its greatest force.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Contacts {
    #[prost(message, repeated, tag = "1")]
    pub(crate) contacts: Vec<ContactMessage>,
}
encode!(
    Contacts,
    MessageShape {
        name: "Contacts",
        fields: &[("contacts", FieldKind::Messages(".assay.Contact"))],
        parts: &[CONTACT]
    }
);

/// A contact of two geoms: position (m, world axes), unit normal from the first to the second, and force.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ContactMessage {
    #[prost(string, tag = "1")]
    pub(crate) first: String,
    #[prost(string, tag = "2")]
    pub(crate) second: String,
    #[prost(double, tag = "3")]
    pub(crate) time_s: f64,
    #[prost(double, tag = "4")]
    pub(crate) force_n: f64,
    #[prost(double, tag = "5")]
    pub(crate) distance_m: f64,
    #[prost(double, repeated, tag = "6")]
    pub(crate) position: Vec<f64>,
    #[prost(double, repeated, tag = "7")]
    pub(crate) normal: Vec<f64>,
}

const CONTACT: MessageShape = MessageShape {
    name: "Contact",
    fields: &[
        ("first", FieldKind::Text),
        ("second", FieldKind::Text),
        ("time_s", FieldKind::Double),
        ("force_n", FieldKind::Double),
        ("distance_m", FieldKind::Double),
        ("position", FieldKind::Doubles),
        ("normal", FieldKind::Doubles),
    ],
    parts: &[],
};

impl MessageShape {
    /// Returns a serialized `FileDescriptorSet`, as MCAP requires for a protobuf schema.
    fn descriptor(&self) -> Vec<u8> {
        let file = FileDescriptorProto {
            name: Some(format!("assay/{}.proto", self.name)),
            package: Some("assay".to_owned()),
            syntax: Some("proto3".to_owned()),
            message_type: std::iter::once(self).chain(self.parts).map(Self::message).collect(),
            ..FileDescriptorProto::default()
        };
        FileDescriptorSet { file: vec![file] }.encode_to_vec()
    }

    fn message(&self) -> DescriptorProto {
        let field = |(number, (name, kind)): (i32, &(&str, FieldKind))| {
            let (label, of, type_name) = match kind {
                FieldKind::Double => (Label::Optional, Type::Double, None),
                FieldKind::Doubles => (Label::Repeated, Type::Double, None),
                FieldKind::Text => (Label::Optional, Type::String, None),
                FieldKind::Messages(name) => (Label::Repeated, Type::Message, Some((*name).to_owned())),
            };
            FieldDescriptorProto {
                name: Some((*name).to_owned()),
                number: Some(number),
                label: Some(label.into()),
                r#type: Some(of.into()),
                type_name,
                ..FieldDescriptorProto::default()
            }
        };
        let field = (1..).zip(self.fields).map(field).collect();
        DescriptorProto { name: Some(self.name.to_owned()), field, ..DescriptorProto::default() }
    }
}
