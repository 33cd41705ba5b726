"""What a release promises, what has been spent on each text, and the keys of sticky noise."""

from sfumato.accounting.guarantee import Guarantee, Substitutions
from sfumato.accounting.identity import of_vectors
from sfumato.accounting.keys import Secret
from sfumato.accounting.ledger import Ledger, Receipt, Spend
from sfumato.accounting.sticky import Sticky

__all__ = ["Guarantee", "Ledger", "Receipt", "Secret", "Spend", "Sticky", "Substitutions", "of_vectors"]
