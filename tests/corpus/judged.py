"""What becomes of every file of the corpus of real telemetry: read, with its rows and rejects, or refused.

python tests/corpus/judged.py CORPUS [PAGE]    a line a file on stdout; the table by format into PAGE

The table names formats and counts; of what stands in the files it repeats nothing.
"""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tracemortem.errors import InputError
from tracemortem.sources.find import survey
from tracemortem.sources.registry import read
from tracemortem.steps.refuse import no_row

FAMILIES = (
    "otlp",
    "jaeger",
    "zipkin",
    "dcgm",
    "nvidia_smi",
    "prometheus",
    "llm_metrics",
    "llm_traces",
    "access_logs",
)
# format -> what README.md calls it; every other one is of access logs
_GROUPS = {
    **dict.fromkeys(("otlp_json_lines", "otlp_json_documents", "otlp_protobuf_bare"), "OTLP"),
    **dict.fromkeys(("jaeger_json", "zipkin_json"), "Jaeger and Zipkin"),
    **dict.fromkeys(("prometheus_text", "tsdb_dump"), "Prometheus text and dumps"),
    **dict.fromkeys(("nvidia_smi_csv", "nvidia_smi_xml"), "`nvidia-smi`"),
    **dict.fromkeys(
        ("azure_llm_trace", "vllm_bench", "llmservingsim_workload", "mooncake_trace", "splitwise_trace"),
        "request traces",
    ),
}
HEAD = """# Real files, and what becomes of them

`make corpus` runs every file of a collection of public telemetry files through recognition and reading, and
writes this page. The collection lies beside the checkout and is not part of it: {files:,} files, of which
{read:,} are read and {refused:,} are refused with a sentence. None is read as nothing. Documents, settings
and expected results that lie among the telemetry are refused as well, and are counted here.
"""


@dataclass(frozen=True)
class Judged:
    """One file. A refused one has a sentence and no rows; one that is read has rows and no sentence.

    records   what was seen in it: rows and rejects, together
    sentence  why it is refused, as the user is told
    """

    family: str
    path: str
    format: str
    rows: int = 0
    rejects: int = 0
    records: int = 0
    sentence: str = ""

    def line(self) -> str:
        """Tab-separated: family, path, format, rows, rejects, sentence."""
        columns = (self.family, self.path, self.format, self.rows, self.rejects, self.sentence)
        return "\t".join(" ".join(str(column).split()) for column in columns)


def files(folder: Path) -> list[Path]:
    """Every file under a folder, in order of its path."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def judge(path: Path, folder: Path) -> Judged:
    """What becomes of one file, given by itself; folder is that of its family."""
    family, shown = folder.name, path.relative_to(folder).as_posix()
    try:
        (found,) = survey([str(path)])
    except InputError as error:
        return Judged(family, shown, "", sentence=error.why)
    rows = rejects = records = 0
    first = ""
    try:
        for batch in read(found):
            rows, rejects = rows + batch.stored, rejects + batch.rejects.height
            records += batch.records
            first = first or next(iter(batch.rejects["reason"]), "")
    except InputError as error:
        return Judged(family, shown, found.format, sentence=error.why)
    sentence = "" if rows else no_row(found, first).why
    return Judged(family, shown, found.format, rows, rejects, records, sentence)


def page(seen: Iterable[Judged]) -> str:
    """The table by format, as Markdown."""
    seen = list(seen)
    read_by: dict[tuple[str, str], list[Judged]] = defaultdict(list)
    refused: Counter[tuple[str, str]] = Counter()
    for file in seen:
        if file.rows:
            read_by[file.family, file.format].append(file)
        else:
            refused[file.family, _kind(file)] += 1
    lines = [HEAD.format(files=len(seen), read=len(seen) - refused.total(), refused=refused.total())]
    lines += ["## Read\n", "| of | format | files | rows | rejects |", "|---|---|--:|--:|--:|"]
    lines += [
        f"| {family} | {form} | {len(of):,} | {sum(f.rows for f in of):,} | {sum(f.rejects for f in of):,} |"
        for (family, form), of in read_by.items()
    ]
    lines += ["\n## Refused\n", "| of | what is said | files |", "|---|---|--:|"]
    lines += [f"| {family} | {sentence} | {count:,} |" for (family, sentence), count in refused.items()]
    return "\n".join(lines) + "\n"


def summary(page: str) -> str:
    """The sentence that README.md has of the page."""
    files, read, refused = re.findall(r"[\d,]+(?= files, of which| are read| are refused)", page)
    of: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for form, *numbers in re.findall(
        r"^\| \w+ \| (\w+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", page, re.MULTILINE
    ):
        for place, number in enumerate(numbers):
            of[_GROUPS.get(form, "access logs")][place] += int(number.replace(",", ""))
    groups = "; ".join(
        f"{name}: {count:,} files, {rows:,} rows, {rejects:,} rejects"
        for name, (count, rows, rejects) in sorted(of.items(), key=lambda one: -one[1][0])
    )
    refusing = f"{read} are read and {refused} are refused with a sentence"
    return f"Of {files} real files, {refusing}. Read were {groups}."


def _kind(file: Judged) -> str:
    """What is said of a refused file, without what the sentence quotes of it."""
    if file.rejects:
        return f"taken for {file.format}, but none of its records can be read"
    sentence = file.sentence
    for quote in ("; it begins: ", " (keys ", "; the nearest, "):
        sentence = sentence.partition(quote)[0]
    return sentence.replace("|", "\\|")


def main(corpus: str, to: str | None = None) -> None:
    """Judge, and write what was asked for."""
    seen = []
    for folder in (Path(corpus) / family for family in FAMILIES):
        for path in files(folder):
            seen.append(judge(path, folder))
            sys.stdout.write(seen[-1].line() + "\n")
    if to is not None:
        Path(to).write_text(page(seen), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
