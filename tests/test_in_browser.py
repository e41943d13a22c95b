"""What the site's Python for browsers is fetched from: the hash decides, and no server is waited for."""

import hashlib
import re
import socket
import tarfile
import time
import zipfile
from threading import Thread

import in_browser
import pytest
from in_browser import LOCK, Servers, WrongHashError

MUCH = b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 5000
MEANT = hashlib.sha256(b"meant").hexdigest()


@pytest.fixture
def archives(tmp_path):
    """A wheel and a tarball with the file that is meant, and with another one."""
    for name in ("meant", "other"):
        (tmp_path / name).write_text(name)
    with zipfile.ZipFile(tmp_path / "carrier.whl", "w") as wheel, tarfile.open(tmp_path / "npm.tgz", "w:gz") as tarball:
        for name in ("meant", "other"):
            wheel.writestr(f"web/{name}", name)
            tarball.add(tmp_path / name, f"package/{name}")
    return {path.as_uri(): hashlib.sha256(path.read_bytes()).hexdigest() for path in tmp_path.glob("*.*")}


def test_every_file_of_the_lock_has_a_hash_and_an_address():
    wanted = {*in_browser.FILES, *(name for name in LOCK["files"] if name.endswith(".whl"))}
    assert set(LOCK["files"]) == wanted
    for name in in_browser.PACKAGES:
        assert any(file.startswith(f"{name.replace('-', '_')}-") for file in wanted)
    for sha256, addresses in [(file["sha256"], file["from"]) for file in LOCK["files"].values()]:
        assert re.fullmatch("[0-9a-f]{64}", sha256)
        assert all(address.startswith("https://") for address in addresses)
        assert {address.partition("#")[0] for address in addresses if "#" in address} <= set(LOCK["archives"])
    if in_browser.RUNTIME.is_dir():
        found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in in_browser.RUNTIME.iterdir()}
        assert found == {name: file["sha256"] for name, file in LOCK["files"].items()}


def test_only_the_file_with_the_hash_is_taken(archives):
    tarball, wheel = sorted(archives, reverse=True, key=lambda url: url.endswith(".tgz"))
    for address in (f"{tarball}#package/meant", f"{wheel}#web/meant"):
        assert Servers(archives).file("a", MEANT, [address]) == b"meant"
        other = address.replace("meant", "other")
        assert Servers(archives).file("a", MEANT, [other, "file:///nowhere", address]) == b"meant"
        with pytest.raises(WrongHashError):
            Servers(archives).file("a", MEANT, [other, "file:///nowhere"])
        with pytest.raises(WrongHashError):
            Servers(dict.fromkeys(archives, MEANT)).file("a", MEANT, [address])
    with pytest.raises(OSError, match="nowhere"):
        Servers(archives).file("a", MEANT, ["file:///nowhere"])


@pytest.mark.parametrize("said", [b"", b"HTTP/1.0 200 OK\r\n\r\n", MUCH, b"nonsense\r\n"])
def test_a_server_that_fails_is_given_up_and_not_asked_again(said, archives, monkeypatch):
    for name, least in (("SILENT", 0.3), ("SLOW", 0.5), ("MAX_BYTES", 4096)):
        monkeypatch.setattr(in_browser, name, least)
    asked = []

    def answer():
        while True:
            try:
                talk = server.accept()[0]
                asked.append(talk)
                talk.sendall(said)
                # One letter now and then, for ever.
                while said.endswith(b"\r\n\r\n"):
                    time.sleep(0.1)
                    talk.sendall(b"x")
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=answer, daemon=True).start()
        url, servers, start = f"http://127.0.0.1:{server.getsockname()[1]}/", Servers(archives), time.monotonic()
        (wheel,) = (url for url in archives if url.endswith(".whl"))
        for name in ("a", "b", "c"):
            assert servers.file(name, MEANT, [url + name, f"{wheel}#web/meant"]) == b"meant"
        with pytest.raises(OSError, match=url):
            servers.file("d", MEANT, [url + "d"])
        assert time.monotonic() - start < 5.0
        assert len(asked) == 1
