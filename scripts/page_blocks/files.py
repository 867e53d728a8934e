"""Blocks about the files of tables."""

import re
from typing import Final, get_type_hints

from page_blocks.docstrings import attribute_docstrings
from page_blocks.markdown import table
from tbgen.exchange.export import Sections
from tbgen.store import schema
from tbgen.store.schema import AttributeSchema, DatasetSchema, ModelSchema

_DATASETS: Final = {
    "table": schema.TABLE.datasets,
    "packed": schema.PACKED.datasets,
    "content": schema.CONTENT,
    "layer": schema.LAYER.datasets,
}
_SCHEMAS: Final = {"table": schema.TABLE, "packed": schema.PACKED, "layer": schema.LAYER}
_MODELS: Final = {
    "Value symbols": schema.VALUE_MODEL,
    "Half depths": schema.DEPTH_MODEL,
    "Functions": schema.FUNCTION_MODEL,
}


def datasets(file: str) -> str:
    """Return a table of the datasets of one of the files above."""
    meanings = _meanings()
    rows = [
        (f"`{dataset.name}`", _type(dataset), _shape(dataset), meanings[dataset])
        for dataset in _DATASETS[file]
    ]
    return table(("dataset", "type", "shape", "meaning"), rows)


def attributes(file: str) -> str:
    """Return a table of the attributes of one of the files above. Of packed tables, it has only those that
    differ from those of plain tables."""
    kind = _SCHEMAS[file]
    meanings = attribute_docstrings(schema)
    values = {schema.FORMAT: f"`{kind.format}`", schema.FORMAT_VERSION: kind.version}
    texts = {
        attribute: meanings[name]
        for name, attribute in vars(schema).items()
        if isinstance(attribute, AttributeSchema)
    }
    texts |= {
        attribute: f"{value}: {texts[attribute][0].lower()}{texts[attribute][1:]}"
        for attribute, value in values.items()
    }
    rows = [
        (f"`{name}`", stored_type.value, texts[AttributeSchema(name, stored_type)])
        for name, stored_type in kind.attributes.items()
        if file != "packed" or name in ("format", "format_version") or name not in schema.TABLE.attributes
    ]
    return table(("attribute", "type", "meaning"), rows)


def sections() -> str:
    """Return a table of the sections of flat files."""
    meanings = attribute_docstrings(Sections)
    types = get_type_hints(Sections)
    rows = [
        (f"`{name}`", " or ".join(re.findall(r"uint\d+", str(types[name]))) or "step", meaning)
        for name, meaning in meanings.items()
    ]
    return table(("section", "type", "meaning"), rows)


def _meanings() -> dict[DatasetSchema, str]:
    """Return the docstring of each dataset."""
    texts = attribute_docstrings(schema)
    found = {
        dataset: texts[name] for name, dataset in vars(schema).items() if isinstance(dataset, DatasetSchema)
    }
    parts = attribute_docstrings(ModelSchema)
    for symbols, model in _MODELS.items():
        found |= {
            getattr(model, name): f"{symbols}: {text[0].lower()}{text[1:]}" for name, text in parts.items()
        }
    return found


def _type(dataset: DatasetSchema) -> str:
    return f"*{dataset.type_group}*" if dataset.type_group else dataset.types[0].name


def _shape(dataset: DatasetSchema) -> str:
    return f"({', '.join(map(str, dataset.shape))}{',' if len(dataset.shape) == 1 else ''})"
