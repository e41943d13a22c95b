"""Bounds on the optimum and their proofs, in float64 and, from files, in exact arithmetic."""

from typing import TYPE_CHECKING

from convexmetric.certificates.certificate import Certificate, certify, relative_gap
from convexmetric.imports import late

if TYPE_CHECKING:
    from convexmetric.certificates.checker import Ball, CertificateError, Verdict, verify
    from convexmetric.certificates.instances import verify_instance
    from convexmetric.certificates.programs import ProgramCertificate, certify_program
    from convexmetric.certificates.statement import as_rational, describe
    from convexmetric.certificates.writer import write_certificate

__all__ = [
    "Ball",
    "Certificate",
    "CertificateError",
    "ProgramCertificate",
    "Verdict",
    "as_rational",
    "certify",
    "certify_program",
    "describe",
    "relative_gap",
    "verify",
    "verify_instance",
    "write_certificate",
]

# Imported on demand, as a solve needs no proof in exact arithmetic.
if not TYPE_CHECKING:
    __getattr__ = late(
        __name__,
        {
            "Ball": "checker",
            "CertificateError": "checker",
            "ProgramCertificate": "programs",
            "Verdict": "checker",
            "as_rational": "statement",
            "certify_program": "programs",
            "describe": "statement",
            "verify": "checker",
            "verify_instance": "instances",
            "write_certificate": "writer",
        },
    )
