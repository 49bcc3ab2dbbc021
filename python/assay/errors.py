"""Errors of the library. Each message says what to do next."""

from __future__ import annotations

from typing import Any


class AssayError(Exception):
    """The base of all errors of this library."""


class ConnectionFailed(AssayError):
    """The service cannot be reached, or stopped answering for longer than the client waits."""


class IncompatibleServer(AssayError):
    """The address answers, but not as a service of assay, or as one of another major version."""


class UnsupportedOperation(IncompatibleServer):
    """The service is one of assay, but of a version without this operation. The message names the version."""


class WaitTimeout(AssayError):
    """A job did not end within the time given to `wait`; it continues on the service."""


class DownloadError(AssayError):
    """A downloaded file is not the one that the report names: its length or SHA-256 differs."""


class ProgramError(AssayError):
    """The command line program is missing, cannot start, or reported an error (`log` is what it printed)."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class BadAction(AssayError, ValueError):
    """A policy of this process returned something other than actions."""


class InvalidArgument(ProgramError, ValueError):
    """A number is not one that the program takes."""


class ApiError(AssayError):
    """The service refused a request.

    `code` is the machine-readable code, `status` the HTTP status, `details` names the invalid part where there is one, and
    `request_id` is what the operator of the service finds in its log.
    """

    def __init__(
        self, code: str, message: str, status: int, details: dict[str, Any] | None = None, request_id: str | None = None
    ) -> None:
        where = f" (field {details['field']!r})" if details and details.get("field") else ""
        super().__init__(f"{code}: {message}{where}")
        self.code = code
        self.message = message
        self.status = status
        self.details = details
        self.request_id = request_id


class InvalidRequest(ApiError):
    """VALIDATION_ERROR, 400, and similar codes: a part of the request is invalid. `details` names it."""


class Unauthorized(ApiError):
    """401: the key is missing, unknown, expired or revoked. Create another: `assay keys create`, or `POST /keys`."""


class Forbidden(ApiError):
    """403: the key lacks a scope, which the message names."""


class NotFound(ApiError):
    """404: there is no such resource in this account."""


class Conflict(ApiError):
    """409: the request contradicts the state of the service, or an idempotency key was used for another request."""


class Gone(ApiError):
    """410: the resource was erased; its record remains."""


class TooLarge(ApiError):
    """413: the upload is larger than the service accepts."""


class RateLimited(ApiError):
    """429: too many requests, or a quota of the account is used up. The client has waited and retried before."""


class Unavailable(ApiError):
    """503: the service cannot take the request now. The client has retried before."""


class InternalError(ApiError):
    """500: an internal error of the service. Give its operator the `request_id`."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: InvalidRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 410: Gone, 413: TooLarge,
    415: InvalidRequest, 429: RateLimited, 500: InternalError, 503: Unavailable,
}  # fmt: skip


def api_error(status: int, body: dict[str, Any]) -> ApiError:
    """Creates the error for an answer with the HTTP `status` and the service's error `body`."""
    kind = _BY_STATUS.get(status, ApiError)
    code, message = str(body.get("code", "UNKNOWN")), str(body.get("message", "no message"))
    details = body.get("details")
    return kind(code, message, status, details if isinstance(details, dict) else None, body.get("request_id"))
