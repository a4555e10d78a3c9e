"""The studio answers its own page on this machine, and nobody else: by raw sockets, as a stranger would try."""

import json
import socket
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import handloom as hl
from handloom.studio import Studio, guard, serve

WAIT = 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A start folder with a model file, and beside it a folder that is not the studio's."""
    folder = tmp_path_factory.mktemp("studio") / "start"
    folder.mkdir()
    hl.save(hl.program("hello"), folder / "hello.safetensors")
    hl.save(hl.program("sum"), folder.parent / "secret.safetensors")
    (folder / "out").symlink_to(folder.parent)
    return folder


@pytest.fixture(scope="module")
def server(folder):
    server = serve(Studio(folder))
    yield server
    server.close()


def ask(server, first="GET / HTTP/1.1", headers=None, body=b"", **changed):
    """Send a request as bytes; the status, the headers and the body of the answer. A header that is None is left
    out."""
    own = {"Host": f"127.0.0.1:{server.server_port}", guard.KEY: server.studio.key, "Connection": "close"}
    if body:
        own |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    own |= headers or {}
    lines = [first, *(f"{name}: {value}" for name, value in own.items() if value is not None)]
    data = answer_to(server, "\r\n".join([*lines, "", ""]).encode("latin-1") + body)
    head, _, rest = data.partition(b"\r\n\r\n")
    status, *fields = head.decode("latin-1").split("\r\n")
    return int(status.split()[1]), dict(field.split(": ", 1) for field in fields), rest


def answer_to(server, data):
    with closing(socket.create_connection(("127.0.0.1", server.server_port), timeout=WAIT)) as connection:
        connection.sendall(data)
        found = b""
        while piece := connection.recv(65536):
            found += piece
    return found


def post(server, path, values, **changed):
    body = json.dumps(values).encode()
    return ask(server, f"POST {path} HTTP/1.1", body=body, **changed)


def test_its_own_page_is_answered_under_a_strict_policy(server):
    for path in ("/", "/studio.js", "/studio.css", "/icon.svg"):
        status, headers, body = ask(server, f"GET {path} HTTP/1.1", {guard.KEY: None})
        assert (status, headers["X-Content-Type-Options"], headers["Cache-Control"]) == (200, "nosniff", "no-store")
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe-inline" not in policy
        assert "'unsafe-eval'" not in policy
        assert body


def test_the_page_has_no_script_or_style_of_its_own_and_names_no_other_host(server):
    page = ask(server)[2].decode()
    assert page.count("<script") == 1
    assert '<script src="/studio.js"></script>' in page
    assert "<style" not in page
    assert "://" not in page
    style = ask(server, "GET /studio.css HTTP/1.1")[2].decode()
    assert "url(" not in style


def test_it_listens_on_this_machine_only(server):
    assert server.socket.getsockname()[0] == "127.0.0.1"
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in others - {one for one in others if one.startswith("127.")}:
        with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
            socket.create_connection((address, server.server_port), timeout=2)


HOSTS = ["evil.example", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", None, ""]


@pytest.mark.parametrize("host", HOSTS)
def test_a_name_that_was_made_to_point_here_is_refused(server, host):
    wanted = host and host.format(port=server.server_port)
    for path in ("/", "/api/home"):
        status, _, body = ask(server, f"GET {path} HTTP/1.1", {"Host": wanted})
        assert status == 403
        assert b"programs" not in body


def test_two_names_at_once_are_refused(server):
    own = f"127.0.0.1:{server.server_port}"
    data = f"GET /api/home HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\n{guard.KEY}: {server.studio.key}\r\n\r\n"
    assert answer_to(server, data.encode()).startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1"])
def test_another_page_is_refused(server, origin):
    headers = {"Origin": origin.format(port=server.server_port)}
    assert ask(server, "GET /api/home HTTP/1.1", headers)[0] == 403
    assert post(server, "/api/model", {"model": "hello"}, headers=headers)[0] == 403
    assert ask(server, "GET /api/home HTTP/1.1", {"Sec-Fetch-Site": "cross-site"})[0] == 403


def test_its_own_origin_is_answered_by_both_its_names(server):
    for name in ("127.0.0.1", "localhost"):
        own = f"{name}:{server.server_port}"
        assert ask(server, "GET /api/home HTTP/1.1", {"Host": own, "Origin": f"http://{own}"})[0] == 200


@pytest.mark.parametrize("key", [None, "", "wrong", "ä", "KEY "])
def test_without_the_key_nothing_but_the_page_is_answered(server, key):
    for path in ("/api/home", "/api/events", "/api/nothing"):
        assert ask(server, f"GET {path} HTTP/1.1", {guard.KEY: key})[0] == 401
    assert post(server, "/api/model", {"model": "hello"}, headers={guard.KEY: key})[0] == 401


def test_a_part_of_the_key_or_a_cookie_is_not_the_key(server):
    key = server.studio.key
    for header in ({guard.KEY: key[:-1]}, {guard.KEY: key + "x"}, {guard.KEY: None, "Cookie": f"key={key}"}):
        assert ask(server, "GET /api/home HTTP/1.1", header)[0] == 401
    assert ask(server, f"GET /api/home?key={key} HTTP/1.1", {guard.KEY: None})[0] == 401


def test_each_studio_has_a_long_key_of_its_own(tmp_path):
    keys = {Studio(tmp_path).key for _ in range(20)}
    assert len(keys) == 20
    assert min(map(len, keys)) >= 32


def test_the_key_is_compared_in_constant_time():
    assert "compare_digest(" in Path(guard.__file__).read_text()


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", None])
def test_a_body_that_a_form_could_send_is_refused(server, kind):
    assert post(server, "/api/model", {"model": "hello"}, headers={"Content-Type": kind})[0] == 415


def test_a_body_too_long_or_of_no_length_is_refused_before_it_is_read(server):
    long = {"Content-Length": str(guard.MOST + 1)}
    assert ask(server, "POST /api/model HTTP/1.1", {"Content-Type": "application/json", **long})[0] == 413
    for headers in ({"Content-Length": "-1"}, {"Content-Length": "ten"}, {"Content-Length": "9" * 40}, {}):
        status = ask(server, "POST /api/model HTTP/1.1", {"Content-Type": "application/json", **headers})[0]
        assert status in (411, 413)
    chunked = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    assert ask(server, "POST /api/model HTTP/1.1", chunked)[0] == 411


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"model": 3}', b"{}"])
def test_a_body_that_is_not_what_is_asked_for_is_one_line(server, body):
    status, _, answer = ask(server, "POST /api/model HTTP/1.1", body=body)
    assert status == 400
    assert "\n" not in json.loads(answer)["error"]


PATHS = ["/api/nothing", "/../etc/passwd", "/static/studio.js", "/api/model", "//evil.example/"]


@pytest.mark.parametrize("path", PATHS)
def test_nothing_else_is_there(server, path):
    assert ask(server, f"GET {path} HTTP/1.1")[0] == 404


def test_other_methods_are_not_known(server):
    for method in ("PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "CONNECT"):
        assert ask(server, f"{method} / HTTP/1.1")[0] in (405, 501)


OUTSIDE = ["../secret.safetensors", "out/secret.safetensors", "/etc/passwd", "~/.bashrc", "a\0b", "x" * 5000]


@pytest.mark.parametrize("name", OUTSIDE)
def test_files_outside_the_start_folder_are_not_opened(server, name, folder):
    for asked in (name, str(folder / name)):
        status, _, body = post(server, "/api/model", {"model": asked})
        assert status == 400
        assert "error" in json.loads(body)
        assert "arrays" not in body.decode()


def test_a_file_below_the_start_folder_is_opened(server, folder):
    for name in ("hello.safetensors", str(folder / "hello.safetensors")):
        status, _, body = post(server, "/api/model", {"model": name})
        assert status == 200
        assert json.loads(body)["model"]["config"]["d_model"] == 3


TAKEN = ["hello.safetensors", "../new.safetensors", "out/new.safetensors", "{folder}/../new.taotp", "a/../../new.taotp"]


@pytest.mark.parametrize("name", TAKEN)
def test_nothing_is_written_outside_the_start_folder_or_over_a_file(server, folder, name):
    def all_files():
        return {path: path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()}

    before = all_files()
    status, _, body = post(server, "/api/save", {"path": name.format(folder=folder), "model": "hello", "edits": []})
    assert status == 400
    assert "\n" not in json.loads(body)["error"]
    assert all_files() == before


CODE = """
from pathlib import Path
Path(__file__).with_name("was-run").touch()
from handloom import task
task = task("sum")
"""


def test_a_task_that_is_code_is_run_only_if_the_command_line_named_it(tmp_path):
    """The notes of a model file can name a Python file that lies beside it."""
    (tmp_path / "task.py").write_text(CODE)
    (tmp_path / "mine.py").write_text(CODE)
    model = hl.program("sum")
    for name in ("task.py", "mine.py"):
        hl.save(replace(model, notes={"task": name}), tmp_path / f"{name}.safetensors")
    server = serve(Studio(tmp_path))
    for name in ("task.py", "mine.py"):
        found = json.loads(post(server, "/api/model", {"model": f"{name}.safetensors"})[2])
        assert found["page"]["exam"] == []
        assert name in found["page"]["without_exam"]
        assert json.loads(post(server, "/api/model", {"model": name})[2])["error"]
    assert not (tmp_path / "was-run").exists()
    server.close()
    named = serve(Studio(tmp_path, given=(str(tmp_path / "mine.py"),)))
    assert json.loads(post(named, "/api/model", {"model": "mine.py.safetensors"})[2])["page"]["exam"]
    assert (tmp_path / "was-run").exists()
    named.close()


def test_many_requests_of_noise_leave_it_answering(server):
    many = b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 500
    for noise in (b"", b"\0" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", many):
        with closing(socket.create_connection(("127.0.0.1", server.server_port), timeout=WAIT)) as connection:
            connection.sendall(noise)
    assert ask(server, "GET /api/home HTTP/1.1")[0] == 200


@pytest.mark.parametrize(
    ("name", "hint"),
    [("adition", "did you mean addition?"), ("mine.py:n=3", "name a model file"), ("", "such as hello")],
)
def test_a_name_that_stands_for_nothing_is_one_line_and_exit_code_2(tmp_path, name, hint):
    words = [sys.executable, "-m", "handloom", "studio", "--no-open", name]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=WAIT, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no such file, and no program of that name" in done.stderr
    assert hint in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_port_in_use_is_one_line_and_exit_code_2(server, tmp_path):
    words = [sys.executable, "-m", "handloom", "studio", "--no-open", "--port", str(server.server_port)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=WAIT, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"handloom: port {server.server_port}: ")
    assert len(done.stderr.splitlines()) == 1
