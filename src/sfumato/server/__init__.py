"""The gateway: an OpenAI-compatible endpoint whose embeddings are protected before they leave."""

from sfumato.server.app import create_app, from_environment
from sfumato.server.settings import GatewaySettings

__all__ = ["GatewaySettings", "create_app", "from_environment"]
