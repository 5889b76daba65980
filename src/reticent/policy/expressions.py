"""Definitions in command-line syntax: ``KAnonymity(5) & EntropyLDiversity(l=3)``."""

from __future__ import annotations

import ast
from typing import Any

from reticent.definitions import Definition, definition_from, entry_of, names
from reticent.errors import PolicyError


def definition_from_text(text: str) -> Definition:
    """Parse a definition. Only names, plain parameters and ``&`` are allowed; nothing is evaluated."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise PolicyError(_unreadable(text, f"{error.msg} at character {error.offset}")) from None
    return _build(tree, text)


def _build(node: ast.expr, text: str) -> Definition:
    """Return the definition that an expression writes, parts joined by ``&``"""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
        return _build(node.left, text) & _build(node.right, text)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _call(node.func.id, node, text)
    raise PolicyError(_unreadable(text, f"{ast.unparse(node)!r} is not a definition"))


def _call(name: str, node: ast.Call, text: str) -> Definition:
    """Return the definition that a call writes, such as ``KAnonymity(5)``; ``text`` is the whole expression, for errors."""
    if any(keyword.arg is None for keyword in node.keywords):
        raise PolicyError(_unreadable(text, "'**' cannot be used here"))
    by_keyword = {str(keyword.arg): _constant(keyword.value, text) for keyword in node.keywords}
    order = entry_of(name).parameters if name in names() else ()
    if order and len(node.args) > len(order):
        raise PolicyError(f"{name} takes at most {len(order)} parameters ({', '.join(order)}), not {len(node.args)}.")
    by_position = {parameter: _constant(argument, text) for parameter, argument in zip(order, node.args, strict=False)}
    for parameter in by_position:
        if parameter in by_keyword:
            raise PolicyError(f"{name}: {parameter} is passed twice.")
    return definition_from(name, {**by_position, **by_keyword})


def _constant(node: ast.expr, text: str) -> Any:
    """Return a number (also ``2/3``), a text, a list of them, a mapping from texts such as weights, or a nested definition."""
    if isinstance(node, ast.Call) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd)):
        return _build(node, text)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return f"{_constant(node.left, text)}/{_constant(node.right, text)}"
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [_constant(item, text) for item in node.elts]
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        keys = [_constant(key, text) for key in node.keys if key is not None]
        return dict(zip(keys, (_constant(value, text) for value in node.values), strict=True))
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str):
        return node.value
    raise PolicyError(_unreadable(text, f"{ast.unparse(node)!r} is not a plain value"))


def _unreadable(text: str, reason: str) -> str:
    return f"The definition {text!r} cannot be read: {reason}. Write it as KAnonymity(k=5) & EntropyLDiversity(l=3)."
