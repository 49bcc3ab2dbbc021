//! Certificates of TLS for tests, and the authority that signs them.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::PathBuf;

use assay_testkit::Assay;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};

/// An authority, and the file that makes a machine trust it.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) file: PathBuf,
}

impl Authority {
    pub(crate) fn new(assay: &Assay, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let file = assay.write(&format!("{name}.pem"), params.self_signed(&key).unwrap().pem());
        Self { issuer: Issuer::new(params, key), file }
    }

    /// Creates a certificate for `host` and its key, in a file.
    pub(crate) fn certificate(&self, assay: &Assay, host: &str, last_year: i32) -> PathBuf {
        let mut params = CertificateParams::new([host.to_owned()]).unwrap();
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(last_year, 1, 1));
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        assay.write(&format!("{host}-{last_year}.pem"), certificate.pem() + &key.serialize_pem())
    }
}
