"""What clients can rely on, as lines: the operations of an OpenAPI document, and the fields of its objects."""

METHODS = ("get", "post", "put", "patch", "delete")


def lines(document: dict) -> list[str]:
    """Returns `GET /path` for each operation and `Schema.field` for each field, sorted.

    A schema that only others extend is not an object of its own: its fields are theirs.
    """
    schemas = document["components"]["schemas"]
    operations = [
        f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods if method in METHODS
    ]
    used = references(document) - {"#/components/schemas/" + name for name in schemas if is_extended_only(document, name)}
    fields = [
        f"{name}.{field}" for name, schema in schemas.items() if f"#/components/schemas/{name}" in used
        for field in properties(schema, schemas)
    ]
    return sorted(operations) + sorted(fields)


def properties(schema: dict, schemas: dict) -> set[str]:
    found = set(schema.get("properties", {}))
    for part in schema.get("allOf", []):
        found |= properties(schemas[part["$ref"].split("/")[-1]] if "$ref" in part else part, schemas)
    return found


def references(value, extended: bool = True) -> set[str]:
    """Returns what a document refers to; without `extended`, not what is only extended by `allOf`."""
    if isinstance(value, list):
        return set().union(*(references(inner, extended) for inner in value))
    if not isinstance(value, dict):
        return set()
    found = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
    for name, inner in value.items():
        if name == "allOf" and not extended:
            inner = [part for part in inner if "$ref" not in part]
        found |= references(inner, extended)
    return found


def is_extended_only(document: dict, name: str) -> bool:
    return f"#/components/schemas/{name}" not in references(document, extended=False)
