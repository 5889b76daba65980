"""A TOML file that was read and checked, and that errors can point into."""

from __future__ import annotations

import re
import tomllib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ValidationError

from reticent.errors import DataError, PolicyError, ReticentError, did_you_mean
from reticent.policy.complaints import schema_error, syntax_error
from reticent.policy.places import Places

Model = TypeVar("Model", bound=BaseModel)


def checked(text: str, file: str, model: type[Model]) -> tuple[Model, Places]:
    """The sections of a file and where they stand; what is no TOML or not in ``model`` is an error with its place."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise syntax_error(file, text, error) from None
    places = Places(text)
    try:
        return model.model_validate(content), places
    except ValidationError as error:
        raise schema_error(file, places, content, error, model) from None


@dataclass(frozen=True)
class PolicyFile:
    """What a file says. Paths in it are relative to the folder it lies in."""

    file: str
    folder: Path
    sections: BaseModel
    places: Places = field(repr=False, compare=False)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read and check a policy file."""
        file = Path(path)
        try:
            text = file.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            near = [other.name for other in file.parent.glob("*.toml")] if file.parent.is_dir() else []
            raise PolicyError(f"There is no policy file {str(file)!r}.{did_you_mean(file.name, near)}") from None
        except IsADirectoryError:
            raise PolicyError(f"{file} is a folder, not a policy file.") from None
        except UnicodeDecodeError as error:
            raise PolicyError(
                f"{file}: a policy is UTF-8 text, but byte {error.start + 1} is not ({error.reason}). Save it as UTF-8."
            ) from None
        return cls.parse(text, str(file), file.parent)

    @classmethod
    @abstractmethod
    def parse(cls, text: str, file: str = "policy", folder: str | Path = ".") -> Self:
        """Check the text of a policy; ``file`` is the name that messages use."""

    def path(self, setting: str | None) -> Path | None:
        """A path of the policy, seen from the folder it lies in."""
        return None if setting is None else self.folder / setting

    def error(self, path: Sequence[str | int], message: str) -> PolicyError:
        """A :class:`PolicyError` that points at a setting."""
        return PolicyError(self.places.find(path).point(self.file, message))

    @contextmanager
    def pointing(self, *path: str | int) -> Iterator[None]:
        """Let errors from the block point at the setting of ``path`` that they speak of."""
        try:
            yield
        except ReticentError as error:
            message = str(error)
            if message.startswith(f"{self.file}:"):
                raise
            raise type(error)(self.places.find(self._meant(path, message)).point(self.file, message)) from None

    @contextmanager
    def hinting(self, *sections: str) -> Iterator[None]:
        """Let errors from the block point at a setting of these sections if they speak of one, and leave others as they are."""
        try:
            yield
        except (PolicyError, DataError) as error:
            message = str(error)
            for section in sections:
                path = self._meant((section,), message)
                if len(path) > 1 and not message.startswith(f"{self.file}:"):
                    raise type(error)(self.places.find(path).point(self.file, message)) from None
            raise

    def _meant(self, path: tuple[str | int, ...], message: str) -> tuple[str | int, ...]:
        """The innermost setting below ``path`` that the message speaks of."""
        content: Any = self.sections.model_dump(exclude_unset=True)
        for part in path:
            known = isinstance(part, int) or (isinstance(content, Mapping) and part in content)
            content = content[part] if known else {}
        while isinstance(content, Mapping):
            mentions = [
                (*mention, name) for name, value in content.items() if (mention := _mention(name, value, message))
            ]
            if not mentions:
                break
            name = min(mentions)[-1]
            path, content = (*path, name), content[name]
        return path


def _mention(name: str, value: Any, message: str) -> tuple[int, int] | None:
    """How plainly and how early a message speaks of a setting: by its name in quotes, by its value, by something below it, or by
    its bare name in the first sentence."""
    if (place := message.find(repr(name))) >= 0:
        return 0, place
    if isinstance(value, str) and (place := message.find(repr(value))) >= 0:
        return 1, place
    if isinstance(value, Mapping):
        below = [mention for key, item in value.items() if (mention := _mention(key, item, message))]
        return min(below, default=None)
    found = re.search(rf"(?<![\w'-]){re.escape(name.removesuffix('s'))}s?(?![\w'-])", message.split(". ")[0])
    return (2, found.start()) if found else None
