"""Strings that would run code wherever they are not escaped."""


def text(marker: str) -> str:
    """Returns such a string, with a word to find it by."""
    return f"{marker}<script>pwned=1</script>\"'><img src=x onerror=pwned=1>"
