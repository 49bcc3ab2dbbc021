"""THIRD_PARTY_LICENSES: every licence text once, under the names of all components that it covers."""

from .components import Component, components

LINE = "=" * 100


def text() -> str:
    by_text: dict[str, list[Component]] = {}
    for component in components():
        for licence in component.texts or (f"No text is published with it. Licence: {component.licence}",):
            by_text.setdefault(licence, []).append(component)
    blocks = [f"{LINE}\n{names(of)}\n{LINE}\n\n{licence}\n" for licence, of in by_text.items()]
    head = (
        "assay is distributed under the licence in LICENSE. It contains the software named below. The shared libraries of\n"
        "Debian (glibc among them, under the LGPL) are unmodified; their sources are Debian's packages of the same version.\n"
    )
    return head + "\n" + "\n".join(blocks)


def names(of: list[Component]) -> str:
    return "\n".join(f"{component.name} {component.version} ({component.licence or 'see below'})" for component in of)
