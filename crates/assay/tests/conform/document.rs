//! The OpenAPI document, read by a validator of other people's making.

use std::fs;

use crate::{assay, script, serve};

#[test]
fn a_validator_accepts_the_document() {
    let assay = assay();
    let (_server, client, _) = serve(&assay, &[]);
    for place in ["/openapi.json", "/v1/openapi.json"] {
        let document = client.get(place).body;
        assert_eq!(document["openapi"], "3.1.0");
        let path = assay.write("openapi.json", document.to_string());
        assert_eq!(script("validate.py", &[&path]).trim(), "OpenAPIV31SpecValidator");
        // It can say no.
        let wrong = fs::read_to_string(&path).unwrap().replacen("\"responses\":", "\"answers\":", 1);
        let wrong = assay.write("wrong.json", wrong);
        assert!(
            !crate::tool("python")
                .arg(crate::here().join("validate.py"))
                .arg(&wrong)
                .output()
                .unwrap()
                .status
                .success()
        );
    }
}
