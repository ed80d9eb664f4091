"""Places where files are: a folder here, and whatever Hadoop's file systems reach.

Spark lists, reads and writes a URI by Hadoop, so that spark-submit needs no other package. A folder
here can be looked at where no Spark is installed.
"""

import fcntl
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import uuid4

from actonce_pipeline.errors import CannotAudit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE: Final = "file://"
"""How the path of a file begins that a process of this machine opens itself."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """Something below a root.

    Attributes:
        path: whole.
        below: from the root on.
        size: bytes.
        modified: ms.
        problem: why it cannot be read, as far as a listing can know.
        content: stands for what is in it; empty: see `hash_of`. S3's ETag, or size and `modified`.
    """

    path: str
    below: str
    size: int = 0
    modified: int = 0
    problem: str | None = None
    content: str = ""


class Place(Protocol):
    """Where files are; paths are from there on."""

    def files(self) -> list[ListedFile]:
        """All files below; raises `CannotAudit` if there is no such folder."""

    def read(self, path: str) -> str | None:
        """A text file; None: there is none."""

    def write(self, path: str, text: str) -> None:
        """Write a file in UTF-8: who reads it meanwhile sees the old one or the new one, whole."""

    def delete(self, path: str) -> None:
        """Delete a file, if it is there."""


def place(spark: "SparkSession | None", name: str) -> Place:
    """The place of that name, a path or a URI, for which there has to be a session."""
    if not is_uri(here := readable(name)):
        return _Here(here)
    assert spark is not None  # it is a URI  # noqa: S101
    return _Hadoop(spark, name)


def is_uri(name: str) -> bool:
    """Whether a URI names a place; otherwise a path here does."""
    return "://" in name


def check_is_there(root: str) -> None:
    """Check that a folder here is there; of another place only Spark can tell.

    Raises:
        CannotAudit: it is not.
    """
    here = readable(root)
    if not is_uri(here) and not Path(here).is_dir():
        raise CannotAudit(f"{root} cannot be read: there is no such folder.")


def files_below(folder: Place) -> list[ListedFile]:
    """All files below a folder; none if there is no folder."""
    try:
        return folder.files()
    except CannotAudit as error:
        if error.__cause__ and "FileNotFoundException" not in str(error):
            raise
        return []


def hash_of(path: str) -> str:
    """SHA-256 of a file here, in hex; empty: it cannot be read."""
    try:
        with Path(path.removeprefix(HERE)).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


@contextmanager
def alone_in(out: str) -> Iterator[None]:
    """Keep every other audit of this machine out of the results' folder, which is made.

    Two at once would write one summary, of the messages of both. Elsewhere, and on a file system
    without locks, whoever starts audits has to keep them apart.

    Raises:
        CannotAudit: another audit writes there.
    """
    if is_uri(out) and not out.startswith("file:"):
        yield
        return
    folder = Path(readable(out))
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotAudit(
                f"Another audit writes into {out} just now: wait for its end, or name another "
                "folder with --out."
            ) from None
        except OSError:  # the file system knows no such locks
            pass
        yield
    finally:
        os.close(descriptor)


def readable(path: str) -> str:
    """A path as a person writes it."""
    return re.sub(r"^file:/+", "/", path)


def as_argument(path: str) -> str:
    """A path as an argument of a reader, which would take it for a pattern."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


def first_line(error: Exception) -> str:
    """What an error says first."""
    by_java = getattr(error, "java_exception", None)
    return str(error if by_java is None else by_java.toString()).strip().split("\n", 1)[0]


@dataclass(frozen=True, slots=True)
class _Here:
    root: str

    def files(self) -> list[ListedFile]:
        check_is_there(self.root)
        base = os.path.abspath(self.root)  # noqa: PTH100 - files go by a link's own name
        return list(_walk(base))

    def read(self, path: str) -> str | None:
        file = Path(self.root, path)
        return file.read_bytes().decode("utf-8", "replace") if file.exists() else None

    def write(self, path: str, text: str) -> None:
        file = Path(self.root, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_name(f".{file.name}.{uuid4().hex}")  # another audit may write it, too
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(file)
        except BaseException:  # Ctrl-C, too
            temporary.unlink(missing_ok=True)  # of a full disk it holds the last bytes
            raise

    def delete(self, path: str) -> None:
        file = Path(self.root, path)
        file.unlink(missing_ok=True)
        if file.parent != Path(self.root):  # in a bucket, too, what is empty is no folder
            with suppress(OSError):
                file.parent.rmdir()


def _walk(root: str) -> Iterator[ListedFile]:
    """All files below a folder; links to folders, which may lead anywhere, are not followed."""
    refused: list[str] = []
    walked = os.walk(root, onerror=lambda error: refused.append(error.filename))
    for folder, folders, files in walked:
        links = (name for name in folders if os.path.islink(f"{folder}/{name}"))  # noqa: PTH114
        for name in (*files, *links):
            yield list_file(root, f"{folder}/{name}")
    for folder in refused:
        yield list_file(root, folder, "unreadable_folder")


def list_file(root: str, path: str, problem: str | None = None) -> ListedFile:
    """A file here below a root; a name that Java cannot take is a problem."""
    size = modified = 0
    try:
        status = Path(path).stat()
        size, modified = status.st_size, int(status.st_mtime * 1000)
        if not S_ISREG(status.st_mode):
            problem = problem or ("linked_folder" if S_ISDIR(status.st_mode) else "unreadable_file")
    except OSError:  # a link to nowhere, or a folder that may be listed and not entered
        problem = problem or "unreadable_file"
    name, below = (
        text.encode("utf-8", "backslashreplace").decode("utf-8")
        for text in (path, path.removeprefix(root).lstrip("/"))
    )
    if name != path:
        problem = problem or "unreadable_name"
    return ListedFile(f"{HERE}{name}", below, size, modified, problem)


@dataclass(frozen=True, slots=True)
class _Hadoop:
    """By Hadoop's file systems themselves: Spark tells neither of empty nor of hidden files."""

    spark: "SparkSession"
    root: str

    def files(self) -> list[ListedFile]:
        try:
            system, place = self._of("")
            top = system.getFileStatus(place).getPath().toString().rstrip("/") + "/"
            listed = system.listFiles(place, True)
            found = []
            while listed.hasNext():
                path, size, modified, tag = _of_status(listed.next())
                content = tag or f"{size}-{modified}"
                below = path.removeprefix(top)
                found.append(ListedFile(path, below, size, modified, content=content))
        except Exception as error:
            if "java" not in type(error).__name__.lower() and not hasattr(error, "java_exception"):
                raise
            raise CannotAudit(f"{self.root} cannot be read: {first_line(error)}") from error
        return found

    def read(self, path: str) -> str | None:
        system, place = self._of(path)
        if not system.exists(place):
            return None
        stream = system.open(place)
        try:
            return bytes(stream.readAllBytes()).decode("utf-8", "replace")
        finally:
            stream.close()

    def write(self, path: str, text: str) -> None:
        system, place = self._of(path)
        stream = system.create(place, True)
        try:
            stream.write(bytearray(text, "utf-8"))
        finally:
            stream.close()

    def delete(self, path: str) -> None:
        system, place = self._of(path)
        system.delete(place, False)

    def _of(self, path: str) -> tuple[Any, Any]:
        """The file system and the path in it; Spark has no public name for them in Python."""
        context: Any = self.spark.sparkContext
        whole = f"{self.root.rstrip('/')}/{path}" if path else self.root
        place = context._jvm.org.apache.hadoop.fs.Path(whole)  # noqa: SLF001
        return place.getFileSystem(context._jsc.hadoopConfiguration()), place  # noqa: SLF001


_STATUS: Final = re.compile(
    r"[^{]*\{path=(.*); isDirectory=false; length=(\d+);.*?; modification_time=(\d+);", re.DOTALL
)
_TAG: Final = re.compile(r"eTag='?(?!null\b)([^\s',]*)")  # S3A tells an object's


def _of_status(status: Any) -> tuple[str, int, int, str]:
    """Path, size, time of change (ms) and the ETag; empty: none is told.

    By one call, for each costs a tenth of a millisecond.
    """
    text = status.toString()
    if match := _STATUS.match(text):
        tag = _TAG.search(text, match.end())
        return match[1], int(match[2]), int(match[3]), tag[1] if tag else ""
    path = str(status.getPath().toString())
    return path, int(status.getLen()), int(status.getModificationTime()), ""
