"""Blocks about the files of tables."""

from typing import Final

from page_blocks.docstrings import attribute_docstrings, markdown
from page_blocks.markdown import table
from tbgen.store import schema
from tbgen.store.schema import DatasetSchema, ModelSchema

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
    """Return a table of the attributes of one of the files above, of packed tables those that plain tables
    lack or give another meaning."""
    rows = [
        (f"`{name}`", attribute.type.value, markdown(attribute.meaning))
        for name, attribute in _SCHEMAS[file].attributes.items()
        if file != "packed" or attribute != schema.TABLE.attributes.get(name)
    ]
    return table(("attribute", "type", "meaning"), rows)


def _meanings() -> dict[DatasetSchema, str]:
    """Return the docstring of each dataset."""
    texts = attribute_docstrings(schema)
    found = {each: texts[name] for name, each in vars(schema).items() if isinstance(each, DatasetSchema)}
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
