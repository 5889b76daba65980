"""Packed files expand within bounds, and public files hold nothing beside what the manifest describes: measured in processes of their own."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reticent as rt
from reticent.base.arrow_layout import ArrowLayout
from reticent.base.expansion import check_arrow, check_parquet, check_zip, gunzipped, most_expanded
from reticent.errors import DataError
from reticent.io import Source, read_frame
from reticent.io.sheet_extent import check_workbook
from reticent.release.canonical_json import readable
from tests.io.old_workbooks import old_workbook

MEGABYTES = 900
"""What verifying a forgery or inspecting a bomb may take, with everything that Python and its libraries load."""
_MEASURED = """
import re
import reticent as rt
try:
    {call}
except rt.ReticentError as error:
    print("refused:", error)
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) // 1024)
"""


def measured(call: str) -> tuple[str, int]:
    """What a call prints, and how many megabytes its process took."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED.format(call=call)], capture_output=True, text=True, timeout=120, check=False
    )
    assert not done.returncode, done.stderr[-2000:]
    *lines, memory = done.stdout.strip().splitlines()
    return "\n".join(lines), int(memory)


@pytest.fixture(scope="module", params=["parquet", "xlsx"])
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame = pl.DataFrame({"age": [i % 8 for i in range(80)], "s": ["abcd"[i // 8 % 4] for i in range(80)]})
    table = rt.Table(frame, quasi={"age": rt.Hierarchy.intervals(widths=[2, 4], domain=(0, 7))}, sensitive="s")
    release = rt.publish(table, rt.KAnonymity(2), rt.Lattice(), files=request.param)
    return release.save(tmp_path_factory.mktemp("saved") / "release")


def forged(saved: Path, target: Path, content: bytes) -> Path:
    """The release with another table file, and fingerprints that fit."""
    shutil.copytree(saved / "public", target / "public")
    file = table_of(target)
    file.write_bytes(content)
    certificate = json.loads((target / "public" / "certificate.json").read_bytes())
    certificate["files"][file.name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    (target / "public" / "certificate.json").write_bytes(readable(certificate))
    return target


def table_of(saved: Path) -> Path:
    return next((saved / "public").glob("data.*"))


def parquet(frame: pa.Table, **options) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(frame, buffer, compression="zstd", **options)
    return buffer.getvalue()


def repeated(value: str, rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int8), [value])


def repacked(content: bytes, change) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        parts = change({part: old.read(part) for part in old.namelist()})
        for name, text in parts.items():
            new.writestr(name, text)
    return buffer.getvalue()


@pytest.mark.parametrize("saved", ["parquet"], indirect=True)
@pytest.mark.parametrize(
    "bomb",
    [
        pytest.param(
            lambda: pa.table({"age": repeated("[0,1]", 60_000_000), "s": repeated("a", 60_000_000)}),
            id="rows",
            marks=pytest.mark.slow,
        ),
        pytest.param(lambda: pa.table({"age": ["[0,1]"], "s": ["a" * 100_000_000]}), id="one text"),
        pytest.param(
            lambda: pa.table({"age": ["[0,1]"] * 200, "s": ["a" * 3_000_000] * 200}),
            id="long texts",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_verifying_a_parquet_file_that_expands_takes_little_memory(saved: Path, tmp_path: Path, bomb) -> None:
    content = parquet(bomb(), use_dictionary=True)
    assert len(content) < 1_000_000
    told, memory = measured(f"print(rt.verify({str(forged(saved, tmp_path / 'r', content))!r}).holds)")
    assert told.splitlines()[0] == "False"
    assert memory < MEGABYTES


@pytest.mark.parametrize("saved", ["xlsx"], indirect=True)
def test_verifying_a_workbook_that_expands_takes_little_memory_and_time(saved: Path, tmp_path: Path) -> None:
    rows = b"".join(b'<row r="%d"><c r="A%d" t="s"><v>0</v></c></row>' % (2, 2) for _ in range(3_000_000))
    name = "xl/worksheets/sheet1.xml"
    bomb = repacked(
        table_of(saved).read_bytes(),
        lambda parts: {**parts, name: parts[name].replace(b"</sheetData>", rows + b"</sheetData>")},
    )
    assert len(bomb) < 2_000_000
    told, memory = measured(f"print(rt.verify({str(forged(saved, tmp_path / 'r', bomb))!r}).holds)")
    assert told.splitlines()[0] == "False"
    assert memory < MEGABYTES


@pytest.mark.slow
def test_inspecting_a_gzip_file_that_expands_takes_little_memory(tmp_path: Path) -> None:
    row = b"34,12345,flu,nothing to report and nothing to be seen here at all\n"
    with gzip.open(tmp_path / "bomb.csv.gz", "wb", compresslevel=9) as file:
        file.write(b"age,zip,disease,text\n")
        for _ in range(300):
            file.write(row * 15_000)
    assert (tmp_path / "bomb.csv.gz").stat().st_size < 2_000_000
    _, memory = measured(f"rt.inspect({str(tmp_path / 'bomb.csv.gz')!r})")
    assert memory < MEGABYTES


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "arrow", "xlsx"])
def test_inspecting_other_files_that_expand_takes_little_memory(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"bomb.{kind}"
    if kind == "parquet":
        path.write_bytes(parquet(pa.table({"a": ["a" * 300_000_000]})))
    elif kind == "arrow":
        path.write_bytes(arrow(pa.table({"a": ["a" * 300_000_000]})))
    else:
        pl.DataFrame({"a": [1]}).write_excel(path)
        path.write_bytes(repacked(path.read_bytes(), lambda parts: {**parts, "xl/media/x": b"\0" * 300_000_000}))
    told, memory = measured(f"rt.inspect({str(path)!r})")
    assert "would unpack from" in told
    assert memory < MEGABYTES


def test_declared_sizes_that_lie_are_counted(tmp_path: Path) -> None:
    """A part whose directory says 10 bytes and that unpacks to 200 MB."""
    packed = zlib.compressobj(9, wbits=-15)
    body = packed.compress(b"\0" * 200_000_000) + packed.flush()
    head = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0, 0, len(body), 10, 1, 0)
    local = b"PK\x03\x04" + head + b"x"
    entry = b"PK\x01\x02" + struct.pack("<H", 20) + head + struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"x"
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(local) + len(body), 0)
    with pytest.raises(DataError, match="would unpack from"):
        check_zip(local + body + entry + end, "forged.xlsx")
    with pytest.raises(DataError, match="would unpack from"):
        gunzipped(gzip.compress(b"\0" * 200_000_000), "hierarchy.csv.gz")
    with pytest.raises(DataError, match="not a complete gzip file"):
        gunzipped(gzip.compress(b"abc")[:-3], "hierarchy.csv.gz")


def test_a_parquet_file_cut_or_changed_anywhere_is_read_within_bounds_or_refused() -> None:
    content = parquet(pa.table({"age": list(range(50)), "s": ["a", "b"] * 25}))
    assert check_parquet(content, "t.parquet").rows == 50
    for place in range(0, len(content), 7):
        for changed in (content[:place], content[:place] + bytes([content[place] ^ 0x5A]) + content[place + 1 :]):
            with suppress(DataError):
                assert check_parquet(changed, "t.parquet").expanded <= most_expanded(len(changed))


def arrow(table: pa.Table, compression: str | None = "zstd") -> bytes:
    kept = io.BytesIO()
    with pa.ipc.new_file(kept, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as file:
        file.write_table(table)
    return kept.getvalue()


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_what_an_arrow_file_declares_is_what_it_takes(tmp_path: Path, compression: str | None) -> None:
    texts = pa.array(["a" * 50, None] * 5_000)
    table = pa.table({"n": np.arange(10_000), "s": texts, "d": texts.dictionary_encode(), "l": [[1, 2]] * 10_000})
    (tmp_path / "t.arrow").write_bytes(arrow(table, compression))
    found = ArrowLayout.of(tmp_path / "t.arrow", "t.arrow")
    assert found.packed == (tmp_path / "t.arrow").stat().st_size
    # Four columns, the dictionary, and the numbers within lists.
    assert found.values == 4 * 10_000 + 1 + 20_000
    assert table.nbytes <= found.expanded < table.nbytes + 64 * 8


BOMBS_OF_ARROW = {
    "one long text": lambda: pa.table({"a": ["a" * 200_000_000]}),
    "many numbers": lambda: pa.table({"a": np.zeros(20_000_000, dtype=np.int64)}),
    "a dictionary": lambda: pa.table({"a": pa.array(["a" * 200_000_000]).dictionary_encode()}),
}


@pytest.mark.parametrize("bomb", BOMBS_OF_ARROW)
def test_an_arrow_file_that_expands_is_refused_before_anything_is_unpacked(tmp_path: Path, bomb: str) -> None:
    path = tmp_path / "bomb.feather"
    path.write_bytes(arrow(BOMBS_OF_ARROW[bomb]()))
    assert path.stat().st_size < 200_000
    with pytest.raises(DataError, match=r"bomb.feather would unpack from [0-9,]+ to [0-9,]+ bytes"):
        read_frame(path)


def test_an_arrow_file_of_more_values_than_people_have_is_refused(tmp_path: Path) -> None:
    """A column of nulls takes no byte at all, however long it is."""
    path = tmp_path / "bomb.arrow"
    path.write_bytes(arrow(pa.table({"a": pa.nulls(2 * 10**9)})))
    with pytest.raises(DataError, match="declares 2,000,000,000 values in"):
        read_frame(path)


def test_an_arrow_file_cut_or_changed_anywhere_is_read_within_bounds_or_refused(tmp_path: Path) -> None:
    content, path = arrow(pa.table({"age": list(range(50)), "s": ["a", "b"] * 25})), tmp_path / "t.arrow"
    for place in range(0, len(content), 11):
        for changed in (content[:place], content[:place] + bytes([content[place] ^ 0x5A]) + content[place + 1 :]):
            path.write_bytes(changed)
            with suppress(DataError):
                check_arrow(path, "t.arrow")
                assert ArrowLayout.of(path, "t.arrow").expanded <= most_expanded(len(changed))


HIDDEN_PARQUET = {
    "metadata": lambda table: table.replace_schema_metadata({"people": "Ann has HIV"}),
    "metadata of a column": lambda table: table.cast(
        pa.schema([field.with_metadata({"people": "Ann has HIV"}) for field in table.schema])
    ),
}


@pytest.mark.parametrize("saved", ["parquet"], indirect=True)
@pytest.mark.parametrize("hidden", HIDDEN_PARQUET)
def test_metadata_of_a_public_parquet_file_is_a_failure(saved: Path, tmp_path: Path, hidden: str) -> None:
    table = pq.read_table(table_of(saved))
    plain = rt.verify(forged(saved, tmp_path / "plain", parquet(table)))
    assert plain.holds, plain.failures
    found = rt.verify(forged(saved, tmp_path / "hidden", parquet(HIDDEN_PARQUET[hidden](table))))
    assert "which the manifest does not describe" in found.failures[0].detail


@pytest.mark.parametrize("saved", ["parquet"], indirect=True)
def test_bytes_of_a_public_parquet_file_that_belong_to_no_page_are_a_failure(saved: Path, tmp_path: Path) -> None:
    assert rt.verify(saved).holds
    content = table_of(saved).read_bytes()
    footer = len(content) - 8 - int(struct.unpack("<I", content[-8:-4])[0])
    changed = content[:footer] + b"Ann has HIV" + content[footer:]
    found = rt.verify(forged(saved, tmp_path / "r", changed))
    assert "bytes before its footer that belong to no page" in found.failures[0].detail


def _hidden_sheet(parts: dict[str, bytes]) -> dict[str, bytes]:
    sheet = parts["xl/worksheets/sheet1.xml"]
    book = parts["xl/workbook.xml"].replace(
        b"</sheets>", b'<sheet name="who" sheetId="2" state="veryHidden" r:id="rId99"/></sheets>'
    )
    relation = b'<Relationship Id="rId99" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet2.xml"/></Relationships>'
    relations = parts["xl/_rels/workbook.xml.rels"].replace(b"</Relationships>", relation)
    return {
        **parts,
        "xl/workbook.xml": book,
        "xl/_rels/workbook.xml.rels": relations,
        "xl/worksheets/sheet2.xml": sheet,
    }


HIDDEN_XLSX = {
    "a very hidden sheet": _hidden_sheet,
    "a part that nothing names": lambda parts: {**parts, "xl/people.txt": b"Ann has HIV"},
    "a comment in XML": lambda parts: {**parts, "xl/styles.xml": parts["xl/styles.xml"] + b"<!-- Ann has HIV -->"},
    "a text that no cell shows": lambda parts: {
        **parts,
        "xl/sharedStrings.xml": parts["xl/sharedStrings.xml"].replace(b"</sst>", b"<si><t>Ann has HIV</t></si></sst>"),
    },
    "properties": lambda parts: {
        **parts,
        "docProps/core.xml": parts["docProps/core.xml"].replace(
            b"</cp:coreProperties>", b"<dc:title>Ann</dc:title></cp:coreProperties>"
        ),
    },
}


@pytest.mark.parametrize("saved", ["xlsx"], indirect=True)
@pytest.mark.parametrize("hidden", HIDDEN_XLSX)
def test_whatever_a_public_workbook_holds_beside_its_table_is_a_failure(
    saved: Path, tmp_path: Path, hidden: str
) -> None:
    content = table_of(saved).read_bytes()
    assert rt.verify(saved).holds
    found = rt.verify(forged(saved, tmp_path / "hidden", repacked(content, HIDDEN_XLSX[hidden])))
    assert "which the manifest does not describe" in found.failures[0].detail


def workbook(path: Path, change) -> Path:
    pl.DataFrame({"a": [1], "b": ["x"]}).write_excel(path)
    path.write_bytes(repacked(path.read_bytes(), change))
    return path


SHEET, TEXTS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"


def with_rows(rows: bytes, texts: bytes = b""):
    return lambda parts: {
        **parts,
        SHEET: parts[SHEET].replace(b"</sheetData>", rows + b"</sheetData>"),
        TEXTS: parts[TEXTS].replace(b"</sst>", texts + b"</sst>"),
    }


FAR_WORKBOOKS = {
    "a cell in the far corner": with_rows(b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
    "the same in other words": with_rows(b"<x:row r='1048576'><x:c  t=\"n\" r='XFD1048576' ><v>1</v></x:c></x:row>"),
    "a long row without places": with_rows(
        b"<row>" + b"<c><v>1</v></c>" * 9_000 + b"</row>" + b"<row><c><v>1</v></c></row>" * 9_000
    ),
    "a long text in every cell": with_rows(
        b"".join(b'<row r="%d"><c r="A%d" t="s"><v>3</v></c></row>' % (row, row) for row in range(3, 8_003)),
        b"<si><t>" + b"a" * 1_000_000 + b"</t></si>",
    ),
}


@pytest.mark.parametrize("far", FAR_WORKBOOKS)
def test_a_workbook_whose_cells_would_take_gigabytes_is_refused(tmp_path: Path, far: str) -> None:
    with pytest.raises(DataError, match=r"far.xlsx would unpack from [0-9,]+ to more than 268,435,456 bytes"):
        read_frame(workbook(tmp_path / "far.xlsx", FAR_WORKBOOKS[far]))


def test_cells_without_content_and_texts_that_few_cells_name_are_no_bomb(tmp_path: Path) -> None:
    styled = with_rows(b'<row r="1048576"><c r="XFD1048576" s="0"/></row>')
    assert read_frame(workbook(tmp_path / "styled.xlsx", styled)).rows() == [(1, "x")]
    rows = b"".join(b'<row r="%d"><c r="A%d" t="s"><v>2</v></c></row>' % (row, row) for row in range(3, 30_003))
    named = with_rows(rows, b"<si><t>" + b"a" * 30_000 + b"</t></si>")
    assert read_frame(workbook(tmp_path / "named.xlsx", named)).height == 30_001


ODS = """<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.2"><office:body><office:spreadsheet><table:table table:name="s">
<table:table-row><table:table-cell office:value-type="string"><text:p>a</text:p></table:table-cell></table:table-row>
<table:table-row table:number-rows-repeated="{rows}"><table:table-cell table:number-columns-repeated="{columns}" office:value-type="float" office:value="1"><text:p>1</text:p></table:table-cell></table:table-row>
<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>
</table:table></office:spreadsheet></office:body></office:document-content>"""


ODS_MANIFEST = """<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/></manifest:manifest>"""


@pytest.mark.parametrize(("rows", "columns"), [(1_000_000, 100), (10, 10_000_000), (3, 1)])
def test_repeated_cells_of_an_open_document_count_as_often_as_they_are_repeated(
    tmp_path: Path, rows: int, columns: int
) -> None:
    path = tmp_path / "t.ods"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        packed.writestr("content.xml", ODS.format(rows=rows, columns=columns))
        packed.writestr("META-INF/manifest.xml", ODS_MANIFEST)
    if rows == 3:
        assert read_frame(path)["a"].to_list() == [1, 1, 1]
    else:
        with pytest.raises(DataError, match=r"t.ods would unpack from [0-9,]+ to more than 268,435,456 bytes"):
            read_frame(path)


def test_an_xlsb_file_is_measured_by_its_records() -> None:
    """A row header (record 0, row 1,048,575) and a cell in column 16,383 (record 2), and a text that 300 cells name (record 19, cells 7)."""
    corner = b"\x00\x04" + struct.pack("<I", 1_048_575) + b"\x02\x10" + struct.pack("<I", 16_383) + bytes(12)
    texts = b"\x13\x80\x80\x40" + bytes(1 << 20)
    named = b"\x00\x04" + bytes(4) + (b"\x07\x0c" + struct.pack("<III", 5, 0, 0)) * 300
    for parts in ({"xl/worksheets/sheet1.bin": corner}, {"xl/s.bin": named, "xl/t.bin": texts}):
        kept = io.BytesIO()
        with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, part in parts.items():
                packed.writestr(name, part)
        with pytest.raises(DataError, match="would unpack from"):
            check_workbook(kept.getvalue(), "t.xlsb")


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_long_text_that_stands_in_a_file_once_and_in_every_row_is_refused(
    tmp_path: Path, kind: str, stored: bool
) -> None:
    path, table = tmp_path / f"t.{kind}", pa.table({"a": repeated("y" * 1_000_000, 1_000)})
    path.write_bytes(parquet(table, store_schema=stored) if kind == "parquet" else arrow(table))
    assert path.stat().st_size < 3_000
    for read in (lambda: read_frame(path), lambda: list(Source(path).stream(["a"]).chunks())):
        with pytest.raises(
            DataError, match="the texts of its rows take 1,000,000,000 bytes, most of them in column 'a'"
        ):
            read()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
def test_a_gzipped_text_that_unpacks_to_more_than_it_may_is_refused(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(("a,b\né,2\n" + "1,2\n" * 18_000_000).encode(encoding), 6))
    with pytest.raises(DataError, match=r"t.csv.gz would unpack from [0-9,]+ to more than 67,108,864 bytes"):
        read_frame(path)


def test_an_open_quotation_mark_in_any_encoding_is_told_and_not_looked_for_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n\xe9,"' + b"a\n" * 40_000_000)
    with pytest.raises(DataError, match="line 2: a value of more than 131,072 characters"):
        read_frame(path)


STATISTICS = ["sav", "dta", "xpt"]


def longer(content: bytes) -> bytes:
    """Further rows behind those that the file declares."""
    return content + content[-160:]


def commented(content: bytes) -> bytes:
    """A word of an SPSS header or of the padding behind names in Stata and SAS files, which no program shows."""
    place = content.rindex(b"age\0") + 5 if b"age\0" in content else content.rindex(b"    ")
    return content[:place] + b"HIV" + content[place + 3 :]


HIDDEN_STATISTICS = {
    "bytes after the table": lambda content: content + b"Ann has HIV",
    "further rows": longer,
    "zeros": lambda content: content + bytes(512),
    "a word in the padding": commented,
}


@pytest.mark.parametrize("saved", STATISTICS, indirect=True)
@pytest.mark.parametrize("hidden", HIDDEN_STATISTICS)
def test_whatever_a_public_file_of_a_statistics_program_holds_beside_its_table_is_a_failure(
    saved: Path, tmp_path: Path, hidden: str
) -> None:
    assert rt.verify(saved).holds
    content = table_of(saved).read_bytes()
    found = rt.verify(forged(saved, tmp_path / "r", HIDDEN_STATISTICS[hidden](content)))
    assert not found.holds
    assert found.failures[0].detail


@pytest.mark.parametrize("saved", ["dta"], indirect=True)
def test_verifying_a_file_that_declares_two_thousand_million_rows_reads_none(saved: Path, tmp_path: Path) -> None:
    content = table_of(saved).read_bytes()
    place, end = content.index(b"<N>") + 3, content.index(b"</N>")
    content = content[:place] + (2 * 10**9).to_bytes(end - place, "little") + content[end:]
    found = rt.verify(forged(saved, tmp_path / "r", content))
    assert "declares 2,000,000,000 rows of 2 columns" in found.failures[0].detail


@pytest.mark.parametrize("saved", ["xlsx"], indirect=True)
def test_verifying_an_old_workbook_in_front_of_a_new_one_opens_neither(saved: Path, tmp_path: Path) -> None:
    """Readers that go by the first bytes would open the first, whatever the second declares."""
    far = old_workbook([(0, 0, "age"), (0, 1, "s"), (65_535, 255, 1.0)])
    found = rt.verify(forged(saved, tmp_path / "r", far + table_of(saved).read_bytes()))
    assert "it begins with something else" in found.failures[0].detail
