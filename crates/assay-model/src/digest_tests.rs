//! Tests that a digest has a single text form, in Rust and in JSON.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::Write;

use proptest::prelude::*;

use super::{InvalidDigest, Sha256Digest, Sha256Writer, digest_or_none};
use crate::{Artifact, to_hex};

proptest! {
    #[test]
    fn text_and_json_round_trip(bytes in any::<[u8; 32]>()) {
        let digest = Sha256Digest::new(bytes);
        let text = to_hex(&bytes);
        prop_assert_eq!(digest.to_string(), text.clone());
        prop_assert_eq!(format!("{digest:?} {digest:.12}"), format!("{text} {}", &text[..12]));
        prop_assert_eq!(text.parse(), Ok(digest));
        let json = serde_json::to_string(&digest).unwrap();
        prop_assert_eq!(&json, &format!("{text:?}"));
        prop_assert_eq!(serde_json::from_str::<Sha256Digest>(&json).unwrap(), digest);
        prop_assert_eq!(serde_json::from_value::<Sha256Digest>(text.into()).unwrap(), digest);
    }

    #[test]
    fn digests_are_ordered_as_their_texts(a in any::<[u8; 32]>(), b in any::<[u8; 32]>()) {
        let (a, b) = (Sha256Digest::new(a), Sha256Digest::new(b));
        prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
    }

    #[test]
    fn other_text_is_not_a_digest(text in "[0-9a-f]{0,63}|[0-9a-f]{65,70}|[0-9A-F]{63}[A-F]|[0-9a-f]{63}[^0-9a-f]|.{64}") {
        let is_digest = text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        prop_assert_eq!(text.parse::<Sha256Digest>().is_ok(), is_digest);
        let json = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(serde_json::from_str::<Sha256Digest>(&json).is_ok(), is_digest);
    }

    #[test]
    fn incremental_digests_equal_the_digest_of_the_whole(content in any::<Vec<u8>>(), cut in any::<prop::sample::Index>()) {
        let (head, tail) = content.split_at(cut.index(content.len() + 1));
        let mut writer = Sha256Writer::default();
        writer.update(head);
        writer.write_all(tail).unwrap();
        prop_assert_eq!(writer.finish(), Sha256Digest::of(&content));
    }
}

#[test]
fn the_digest_matches_sha256sum() {
    // printf evidence | sha256sum
    let known = "ee8250fb76e094b34b471f13a73dbbe51d1ae142e9df59d7c0d31ec20f0a0a8e";
    assert_eq!(Sha256Digest::of("evidence").to_string(), known);
    for text in ["", " ", &known.to_uppercase(), &format!(" {known}"), &known[1..]] {
        assert_eq!(text.parse::<Sha256Digest>(), Err(InvalidDigest), "{text:?}");
    }
}

#[test]
fn evidence_of_earlier_versions_round_trips() {
    let json = format!(r#"{{"name":"log.mcap","sha256":"{}","size_bytes":5,"url":null}}"#, "ab".repeat(32));
    let artifact: Artifact = serde_json::from_str(&json).unwrap();
    assert_eq!(artifact.sha256, Sha256Digest::new([0xab; 32]));
    assert_eq!(serde_json::to_string(&artifact).unwrap(), json);
}

#[test]
fn invalid_text_in_untrusted_files_is_not_a_digest() {
    #[derive(serde::Deserialize)]
    struct Listed(#[serde(deserialize_with = "digest_or_none")] Option<Sha256Digest>);

    let read = |text: &str| serde_json::from_value::<Listed>(text.into()).unwrap().0;
    assert_eq!(read(&"ab".repeat(32)), Some(Sha256Digest::new([0xab; 32])));
    for text in ["", "ab", &"AB".repeat(32)] {
        assert_eq!(read(text), None, "{text:?}");
    }
    assert!(serde_json::from_str::<Listed>("7").is_err());
}
