"""Step 7: the file that readers open."""

from pathlib import Path

from tracemortem import __version__, folders
from tracemortem.progress import stage
from tracemortem.settings import Settings
from tracemortem.steps import opened
from tracemortem.warehouse.publish import publish as put


def publish(settings: Settings) -> tuple[str, ...]:
    """Replace the published file in one step; returns warnings."""
    return _put(settings, settings.published(), is_self_contained=False)


def export(settings: Settings) -> tuple[str, ...]:
    """The same as one file that needs no other, in settings.export, where that is asked for."""
    if settings.export is None:
        return ()
    return _put(settings, Path(settings.export), is_self_contained=True)


def _put(settings: Settings, file: Path, *, is_self_contained: bool) -> tuple[str, ...]:
    with stage("publishing"):
        return put(
            _work(settings.published()),
            file,
            sql=folders.folder("sql"),
            published_at=opened.now(),
            product_version=__version__,
            is_self_contained=is_self_contained,
        )


def discard(settings: Settings) -> None:
    """Remove the work file of a one-shot run: what it published is complete, and the next starts anew."""
    if settings.db is None:
        work = _work(settings.published())
        work.unlink(missing_ok=True)
        work.with_name(work.name + ".wal").unlink(missing_ok=True)


def _work(published: Path) -> Path:
    return published.with_name(published.name + ".work").resolve()
