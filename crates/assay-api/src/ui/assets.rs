//! The stylesheet and the script. Their names change with their content, so that browsers may cache them indefinitely.

use std::sync::LazyLock;

use assay_model::Sha256Digest;
use assay_report::html::PARTS_STYLE;

/// The script of pages with a video or with live progress. Every page is complete without it.
pub(super) const SCRIPT: &str = include_str!("../../templates/ui/pages.js");
const OWN_STYLE: &str = include_str!("../../templates/ui/style.css");

/// The stylesheet: that of the parts which pages share with reports, then that of the pages.
pub(super) static STYLE: LazyLock<String> = LazyLock::new(|| format!("{PARTS_STYLE}{OWN_STYLE}"));
/// The name of the stylesheet: `style-HASH.css`.
pub(super) static STYLE_NAME: LazyLock<String> =
    LazyLock::new(|| format!("style-{:.16}.css", Sha256Digest::of(&*STYLE)));
/// The name of the script: `pages-HASH.js`.
pub(super) static SCRIPT_NAME: LazyLock<String> =
    LazyLock::new(|| format!("pages-{:.16}.js", Sha256Digest::of(SCRIPT)));
