//! The stylesheet. Its name changes with its content, so that browsers may keep it for good.

use std::sync::LazyLock;

use assay_model::Sha256Digest;

/// The content of the stylesheet.
pub(super) const STYLE: &str = include_str!("../../templates/ui/style.css");

/// The name of the stylesheet: `style-HASH.css`.
pub(super) static STYLE_NAME: LazyLock<String> = LazyLock::new(|| format!("style-{:.16}.css", Sha256Digest::of(STYLE)));
