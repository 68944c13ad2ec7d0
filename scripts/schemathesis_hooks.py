"""What is left out of the requests that schemathesis makes up for scripts/fuzz."""

import schemathesis


def fits(value):
    """Whether the server takes all numbers in a value as a schema does.

    Integers beyond 64 bits are refused wherever they stand, and 2.0 is an integer to a schema but not to the server.
    """
    if isinstance(value, dict):
        return all(fits(item) for item in value.values())
    if isinstance(value, list):
        return all(fits(item) for item in value)
    if isinstance(value, float):
        return not value.is_integer()
    return not isinstance(value, int) or -(2**63) <= value < 2**64


@schemathesis.hook
def filter_body(context, body):
    return fits(body)
