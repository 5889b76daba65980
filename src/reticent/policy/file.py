"""A parsed and validated TOML file with positions for errors."""

from __future__ import annotations

import tomllib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ValidationError

from reticent.base.documents import LARGEST_SETTINGS, parse_toml, read_document
from reticent.errors import DataError, PolicyError, ReticentError, did_you_mean
from reticent.policy.diagnostics import schema_error, syntax_error
from reticent.policy.toml_positions import TomlPositions

Model = TypeVar("Model", bound=BaseModel)
Placed = TypeVar("Placed", bound=ReticentError)
Setting = tuple[str | int, ...]


def checked(text: str, file: str, model: type[Model]) -> tuple[Model, TomlPositions]:
    """Return the sections of a file and their positions; invalid TOML, or what is not in ``model``, is an error with its position."""
    try:
        content = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise syntax_error(file, text, error) from None
    positions = TomlPositions(text)
    try:
        return model.model_validate(content), positions
    except ValidationError as error:
        raise schema_error(file, positions, content, error, model) from None


@dataclass(frozen=True)
class PolicyFile:
    """The contents of a file. Paths in it are relative to its folder."""

    called: ClassVar[str] = "policy"

    file: str
    folder: Path
    sections: BaseModel
    places: TomlPositions = field(repr=False, compare=False)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read and validate a policy file."""
        file = Path(path)
        try:
            text = read_document(file, LARGEST_SETTINGS).decode("utf-8-sig")
        except FileNotFoundError:
            near = [other.name for other in file.parent.glob("*.toml")] if file.parent.is_dir() else []
            raise PolicyError(f"There is no {cls.called} file {str(file)!r}.{did_you_mean(file.name, near)}") from None
        except IsADirectoryError:
            raise PolicyError(f"{file} is a folder, not a {cls.called} file.") from None
        except UnicodeDecodeError as error:
            raise PolicyError(
                f"{file}: a {cls.called} file is UTF-8 text, but byte {error.start + 1} is not ({error.reason}). Save it as UTF-8."
            ) from None
        return cls.parse(text, str(file), file.parent)

    @classmethod
    @abstractmethod
    def parse(cls, text: str, file: str = "policy", folder: str | Path = ".") -> Self:
        """Validate the text of a policy; ``file`` is its name in messages."""

    def path(self, setting: str | None) -> Path | None:
        """Return a path of the policy, resolved against its folder."""
        return None if setting is None else self.folder / setting

    def error(self, path: Sequence[str | int], message: str) -> PolicyError:
        """Return a :class:`PolicyError` that points at a setting."""
        return self._placed(PolicyError(message), path)

    def _placed(self, error: Placed, path: Sequence[str | int]) -> Placed:
        position = self.places.find(path)
        return error.at(position.name(self.file), position.excerpt)

    @contextmanager
    def pointing(self, *path: str | int) -> Iterator[None]:
        """Make errors from the block point at the setting below ``path`` that they concern."""
        try:
            yield
        except ReticentError as error:
            raise (error if error.placed else self._placed(error, self._concerned(path, error) or path)) from None

    @contextmanager
    def hinting(self, *sections: str) -> Iterator[None]:
        """Make errors from the block point at a setting of these sections if they concern one; leave others unchanged."""
        try:
            yield
        except (PolicyError, DataError) as error:
            settings_named = (self._concerned(path, error) for path in (*((section,) for section in sections), ()))
            path = next((path for path in settings_named if path is not None and path[0] in sections), None)
            if error.placed or path is None:
                raise
            raise self._placed(error, path) from None

    def _concerned(self, path: Setting, error: ReticentError) -> Setting | None:
        """Return the setting below ``path`` that an error's fields name; None if it is not in the file."""
        all_settings: Any = self.sections.model_dump(exclude_unset=True, by_alias=True)
        existing, section = _followed(all_settings, path)
        if existing != path:
            return None
        column = () if error.column is None else (error.column,)
        longest = max((_followed(section, parts)[0] for parts in (error.setting, (*column, *error.setting))), key=len)
        return (*path, *longest) if longest else None


def _followed(content: Any, path: Setting) -> tuple[Setting, Any]:
    """Return the parts of a path that exist in ``content``, and their value. Missing parts are skipped."""
    existing: Setting = ()
    for part in path:
        items: Mapping[Any, Any] = dict(enumerate(content)) if isinstance(content, list) else content
        if isinstance(items, Mapping) and part in items:
            existing, content = (*existing, part), items[part]
    return existing, content
