"""Checks a pattern alone cannot make: check digits, addresses and how many digits there are."""

from __future__ import annotations

import ipaddress
import re


def luhn(found: str) -> bool:
    """Whether the last digit of a card number fits the others (ISO/IEC 7812)."""
    digits = [int(mark) for mark in found if mark.isdecimal()]
    if not 13 <= len(digits) <= 19 or len(set(digits)) == 1:
        return False
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def iban(found: str) -> bool:
    """Whether the check digits of a bank account number fit the rest (ISO 13616)."""
    packed = "".join(found.split()).upper()
    if not 15 <= len(packed) <= 34 or not packed.isascii() or not packed.isalnum():
        return False
    return int("".join(str(int(mark, 36)) for mark in packed[4:] + packed[:4])) % 97 == 1


def ip(found: str) -> bool:
    """Whether this is an address of a machine, version 4 or 6."""
    try:
        ipaddress.ip_address(found)
    except ValueError:
        return False
    return True


def phone(found: str) -> bool:
    """Whether there are as many digits as a telephone number has (ITU E.164, extension aside)."""
    number: str = re.split(r"(?i)x|ext", found)[0]
    return 7 <= sum(mark.isdecimal() for mark in number) <= 15


def day(found: str) -> bool:
    """Whether the three numbers of a written date can be a day, a month and a year in some order."""
    parts = [int(part) for part in re.findall(r"\d+", found)[:3]]
    if len(parts) < 3:
        return False
    year_first = parts[0] > 99
    small = sorted(parts[1:] if year_first else parts[:2])
    return small[0] in range(1, 13) and small[1] in range(1, 32)


def code(found: str) -> bool:
    """Whether this is an identifier rather than a word: it holds digits."""
    return sum(mark.isdecimal() for mark in found) >= 3
