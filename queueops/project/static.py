"""Static files in one piece: they are small, and the ASGI handler warns of files that it must read by blocking."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise, answering with the whole content instead of a stream."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        streamed = WhiteNoiseMiddleware.serve(static_file, request)
        try:
            return HttpResponse(streamed.getvalue(), status=streamed.status_code, headers=streamed.headers)
        finally:
            streamed.close()
