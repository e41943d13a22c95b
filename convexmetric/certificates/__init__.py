"""Bounds on the optimum and their proofs, in float64 and, from files, in exact arithmetic."""

from convexmetric.certificates.certificate import Certificate, certify, relative_gap
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
