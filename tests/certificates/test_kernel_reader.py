"""Every line of the kernel's reader: archives at its limits, and archives of which one field is a lie."""

import io
import json
import struct
import tracemalloc
import zlib
from dataclasses import replace

import numpy as np
import pytest
from forgery import DEFLATED, Member, archive, deflated, packed

from convexmetric.certificates import kernel
from convexmetric.certificates.kernel import CertificateError, reader

DOCUMENT = {"format": kernel.FORMAT, "version": kernel.VERSION, "title": "", "problem": {}, "dual": {}, "claimed": {}}
ARRAYS = {"points": np.arange(6.0).reshape(2, 3), "near": np.arange(4)}
#: What the messages say of a lie in a directory, before a member, in its data, at the end, and of what none speaks of.
DAMAGED, PLACE, DATA = "damaged, there twice", "is not where and what", "has not the size or the sum"
END, BETWEEN = "does not end like", "between or after"


def read(tmp_path, whole, **limits):
    path = tmp_path / "c.npz"
    path.write_bytes(whole)
    return kernel.contents(path, **limits)


def refuses(tmp_path, whole, why, **limits):
    with pytest.raises(CertificateError, match=why):
        read(tmp_path, whole, **limits)


def made(arrays=ARRAYS, text=None, **changes):
    """The members of a file with some arrays: its description, and they."""
    return packed((DOCUMENT | changes, arrays), text=text)


def one(**fields):
    """A file of which one array is told of in another way."""
    first, member, *others = made()
    return archive([first, replace(member, **fields), *others])


def both(**lies):
    """The same lies in the directory and before the data."""
    return one(central=lies, local=lies)


def with_gap(before):
    """Bytes before the directory, which the end knows of, or behind it."""
    whole = archive(made())
    at, end = whole.index(b"PK\1\2"), len(whole) - 22
    if not before:
        return whole[:end] + b"gap" + whole[end:]
    start = struct.pack("<L", at + 3)
    return whole[:at] + b"gap" + whole[at : end + 16] + start + whole[end + 20 :]


def wide(change=None, **lies):
    """An archive with the sizes of an array in 64 bits, in an extra field before it of which a byte may be changed."""
    data = made()[1].data
    extra = bytearray(struct.pack("<HHQQ", 1, 16, len(data), len(data)))
    if change is not None:
        extra[change] ^= 1
    local = {"packed": 2**32 - 1, "size": 2**32 - 1, "extra": 20} | lies
    return one(packed=bytes(extra) + data, local=local, central={"packed": len(data)})


def headless():
    """An array of which only the directory tells."""
    whole = archive(made({"points": ARRAYS["points"]}))
    head, end = whole.rindex(b"PK\3\4"), len(whole) - 22
    data, start = whole[head + 30 + len("points.npy") : end + 16], struct.unpack("<L", whole[end + 16 : end + 20])[0]
    return whole[:head] + data + struct.pack("<L", start - 40) + whole[end + 20 :]


def unlisted():
    """An array that the directory leaves out."""
    whole = archive(made())
    start, names = whole.index(b"PK\1\2"), [member.name for member in made()]
    first, last = (start + sum(46 + len(name) for name in names[:number]) for number in (1, 2))
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 2, 2, len(whole) - 22 - start - (last - first), start, 0)
    return whole[:first] + whole[last:-22] + end


def overlapping():
    """A member in the data of another: both in the directory."""
    first, points, _ = made()
    inner = archive([Member("zz.npy", points.data)])
    outer = Member("points.npy", inner[: inner.index(b"PK\1\2")])
    at = archive([first, outer]).index(b"zz.npy") - 30
    return archive([first, outer, Member("zz.npy", points.data, central={"offset": at})])


def test_files_are_read(tmp_path):
    for whole in (
        archive(made()), archive([replace(member, method=DEFLATED) for member in made()]), wide(),
        one(central={"internal": 1, "external": 2**31}), both(time=7, date=99, version=45),
    ):  # fmt: skip
        document, arrays = read(tmp_path, whole)
        assert document["format"] == kernel.FORMAT
        assert set(arrays) == set(ARRAYS)
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(arrays[name], array, strict=True)
            assert not arrays[name].flags.writeable


POINTS = made()[1].data
BROKEN = zlib.compressobj(9, zlib.DEFLATED, -15)
LIES = [
    # The end
    (archive(made()) + b"more", END), (archive(made(), suffix=b"more"), END), (archive(made(), comment=1), END),
    (archive(made(), prefix=b"more"), PLACE), (archive(made(), disk=1), END), (archive(made(), here=1), END),
    (archive(made(), entries=4), END), (archive(made())[:-1], END), (with_gap(before=False), END),
    (archive(made()).replace(b"PK\5\6", b"PK\6\6"), END), (b"", "ends too early"), (b"PK\5\6" + bytes(17), "too early"),
    # The directory
    (archive(made()).replace(b"PK\1\2", b"PK\1\3", 1), DAMAGED), (both(extra=4), DAMAGED),
    *[(both(method=method), DAMAGED) for method in (1, 9, 12, 14)],
    (one(central={"comment": 4}), DAMAGED), (one(central={"disk": 1}), DAMAGED), (one(comment=b"note"), DAMAGED),
    (one(extra=b"UT\0\0"), DAMAGED), (archive([*made(), made()[1]]), DAMAGED), (with_gap(before=True), BETWEEN),
    (archive([*made()[:2], replace(made()[2], central={"name": 12}, local={"name": 12})]), DAMAGED),
    # Before the data
    *[(one(local={key: 7}), PLACE) for key in ("version", "time", "date", "crc", "packed", "size", "name", "extra")],
    *[(one(local={"flags": flag}), PLACE) for flag in (1, 2, 8)],
    (one(local={"method": DEFLATED}), PLACE), (one(central={"offset": 7}), PLACE),
    (archive(made()).replace(b"PK\3\4", b"PK\3\5", 1), PLACE), (overlapping(), PLACE),
    (headless(), PLACE), (unlisted(), PLACE),
    (archive(made()).replace(b"points.npy", b"pointz.npy", 1), PLACE),
    *[(wide(change), PLACE) for change in range(20)], (wide(crc=7), PLACE), (wide(packed=7), PLACE),
    (wide(size=7), PLACE), (wide(extra=21), PLACE), (wide(name=11), PLACE),
    # The data
    (both(crc=7), DATA), (both(size=len(POINTS) + 1), DATA), (both(size=len(POINTS) - 1), DATA),
    (one(method=DEFLATED, packed=deflated(POINTS) + b"x"), DATA), (one(method=DEFLATED, packed=b""), DATA),
    (one(method=DEFLATED, packed=BROKEN.compress(POINTS) + BROKEN.flush(zlib.Z_SYNC_FLUSH)), DATA),
    (one(method=DEFLATED, packed=b"\xff" * 9), "cannot be evaluated"),
    # What is in it
    (archive(made()[1:]), r"has no certificate\.json"), (archive([*made(), Member("A.npy", b"")]), "that is no array"),
    (archive(made(text="[]")), "must be a table"), (archive(made(text='{"a": 1, "a": 1}')), "a key twice"),
    (archive([Member("certificate.json", b"\xff")]), "cannot be evaluated: UnicodeDecodeError"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(LIES)))
def test_what_one_field_says_wrongly_is_refused(number, tmp_path):
    refuses(tmp_path, *LIES[number])


def test_flags_of_members(tmp_path):
    """Levels of compression and names in UTF-8; no encryption, sizes behind the data, patches and so on."""
    for bit in range(16):
        whole = both(flags=2**bit)
        if bit in (1, 2, 11):
            assert "points" in read(tmp_path, whole)[1]
        else:
            refuses(tmp_path, whole, DAMAGED)


@pytest.mark.parametrize("said", [0, 1, 400])
def test_no_more_is_unpacked_than_the_archive_says(said, tmp_path):
    lies = {"size": said, "crc": zlib.crc32(bytes(said))}
    whole = one(data=bytes(2**25), method=DEFLATED, local=lies, central=lies)
    tracemalloc.start()
    try:
        refuses(tmp_path, whole, DATA)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_limits_on_bytes(tmp_path):
    whole = archive(made())
    members = [replace(member, method=DEFLATED) for member in made({"points": np.zeros(1000)})]
    small = archive([replace(member, method=DEFLATED) for member in made({"near": np.zeros(1000, dtype=np.uint8)})])
    unpacked = sum(len(member.data) for member in members)
    for file, most, why in (
        (whole, len(whole), "is larger than"), (archive(members), unpacked, "unpacks to more"),
        (small, 8000, "8 a number"),
    ):  # fmt: skip
        assert read(tmp_path, file, max_bytes=most)[1]
        refuses(tmp_path, file, why, max_bytes=most - 1)


def test_limits_of_files_that_nothing_else_is_said_of(tmp_path):
    path = tmp_path / "c.npz"
    for size, why in ((2**30, END), (2**30 + 1, "larger than 1073741824 bytes")):
        with path.open("wb") as file:
            file.truncate(size)
        with pytest.raises(CertificateError, match=why):
            kernel.contents(path)
    with pytest.raises(CertificateError, match="is not a file"):
        kernel.contents(tmp_path)
    with pytest.raises(CertificateError, match="cannot read"):
        kernel.contents(tmp_path / "nowhere.npz")


def test_limits_on_the_description(tmp_path):
    text = made({})[0].data.decode()
    for length, fits in ((2**20, True), (2**20 + 1, False)):
        whole = archive([Member("certificate.json", text.ljust(length).encode(), DEFLATED)])
        if fits:
            assert read(tmp_path, whole)[0]["sha256"] == {}
        else:
            refuses(tmp_path, whole, "a member has more than 1048576 bytes")


def test_limits_on_members(tmp_path):
    arrays = {f"a{number}": np.zeros(1) for number in range(63)}
    assert len(read(tmp_path, archive(made(arrays)))[1]) == 63
    refuses(tmp_path, archive(made(arrays | {"more": np.zeros(1)})), "more than 64 members")
    # A directory of 2^16 bytes, of which 46 of each member are not its name.
    names = [f"{number:0978}" for number in range(64)]
    refuses(tmp_path, archive([Member(name, b"") for name in names]), r"no certificate\.json")
    refuses(tmp_path, archive([Member(name, b"") for name in ["0" + names[0], *names[1:]]]), "names that are too long")


@pytest.mark.parametrize("text", ["1.5", "1e3", "NaN", "-Infinity", "123456789012345678901"])
def test_numbers_of_the_description_are_short_integers(text, tmp_path):
    refuses(tmp_path, archive(described(text)), f"has the number {text}")


def described(text):
    return made({}, text=json.dumps(DOCUMENT | {"problem": "here", "sha256": {}}).replace('"here"', text))


def test_integers_of_twenty_characters_are_read(tmp_path):
    for text in ("-1234567890123456789", "12345678901234567890"):
        assert read(tmp_path, archive(described(text)))[0]["problem"] == int(text)


# Arrays


def header(shape, descr="'<f8'", length=None, version=1, order=False, says=None):
    """The header of an array, of a length or as long as need be, that says of its length what it may."""
    size = 8 + 2 * version
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    text = text.ljust(0 if length is None else length - size - 1) + "\n"
    return b"\x93NUMPY" + bytes([version, 0]) + (says or len(text)).to_bytes(2 * version, "little") + text.encode()


@pytest.mark.parametrize("dtype", ["<f8", "<i8", "<i4", "|u1"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (2, 3, 4)])
def test_arrays_are_read_as_numpy_reads_them(dtype, shape):
    array = np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
    for version in (1, 2):
        written = io.BytesIO()
        np.lib.format.write_array(written, array, version=(version, 0))
        np.testing.assert_array_equal(reader.numbers(written.getvalue(), "it"), array, strict=True)
        for order in (False, True):
            data = header(shape, repr(dtype), version=version, order=order) + array.tobytes("F" if order else "C")
            np.testing.assert_array_equal(reader.numbers(data, "it"), array, strict=True)


@pytest.mark.parametrize("version", [1, 2])
def test_headers_have_at_most_2048_bytes(version):
    assert reader.numbers(header((2,), length=2048, version=version) + bytes(16), "it").shape == (2,)
    with pytest.raises(CertificateError, match="no header"):
        reader.numbers(header((2,), length=2049, version=version) + bytes(16), "it")


FALSE = [
    (b"", "no header"), (header((2,))[:-1], "no header"), (header((1, 1, 1, 1)) + bytes(8), "no header"),
    (header("(-1, -1)") + bytes(8), "no header"), (header("(1,)").replace(b"NUMPY", b"NUMPX") + bytes(8), "no header"),
    (header("(1,)").replace(b"\1\0", b"\3\0", 1) + bytes(8), "no header"),
    (header((2**40, 2**40)), "no header"), (header("(1,), 'x': '''\n'") + bytes(8), "no header"),
    (header((1,), "[('a', '<f8')]") + bytes(8), "no header"), (header((1,), "'|O'") + bytes(8), r"has the type \|O"),
    (header((2,), "'<f4'") + bytes(8), "has the type <f4"), (header((1,), "'>f8'") + bytes(8), "has the type >f8"),
    # At a limit the size is wrong, or right as there is nothing; above it nothing else is said.
    (header((2**24 + 1, 0)), "a side above"), (header((0, 2**24 + 1)), "a side above"),
    (header((2**13, 2**13)), "has not the size"), (header((2**13, 2**13 + 1)), "more than 67108864 numbers"),
    (header((2**24, 2**24)), "more than"), (header((2**24 + 1,)), "a side above 16777216"),
    (header((2,)) + bytes(15), "has not the size"), (header((2,)) + bytes(17), "has not the size"),
    (header((2,), says=7) + bytes(16), "has not the size"),
    (header((2,), version=2, says=7) + bytes(16), "has not the size"),
    (header((2,), version=2, says=2**24) + bytes(16), "has not the size"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(FALSE)))
def test_headers_that_lie_are_refused(number):
    data, why = FALSE[number]
    with pytest.raises(CertificateError, match=why):
        reader.numbers(data, "it")


def test_the_longest_side():
    assert reader.numbers(header((2**24, 0)), "it").shape == (2**24, 0)
    with pytest.raises(CertificateError, match="has not the size"):
        reader.numbers(header((2**24,)), "it")
