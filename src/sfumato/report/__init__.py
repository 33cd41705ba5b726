"""Reports: an audit as one self-contained HTML page."""

from sfumato.report.audit_page import audit_page

__all__ = ["audit_page"]
