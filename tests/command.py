"""The `handloom` command for tests: in this process, which is quick, or in one of its own, where that matters (signals,
environment, what a shell does with it)."""

import io
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from subprocess import CompletedProcess
from unittest.mock import patch

from handloom.cli import main


def handloom(*words, cwd):
    """What the command gives in a folder, as `subprocess.run` would."""
    out, err, command = io.StringIO(), io.StringIO(), ["handloom", *map(str, words)]
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", command):
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
    return CompletedProcess(command, code, out.getvalue(), err.getvalue())


def output(*words, cwd, code=0):
    """What the command prints in a folder: on standard output, or if it must fail on standard error."""
    done = handloom(*words, cwd=cwd)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


PROCESS = [sys.executable, "-m", "handloom"]  # the command in a process of its own, for Popen and signals


def handloom_process(*words, cwd, **more):
    return subprocess.run([*PROCESS, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=300, **more)


def modules_after(code):
    """The modules that are loaded once the code has run, in a new process."""
    listing = f"{code}\nimport sys; print('\\n' + '\\n'.join(sys.modules))"
    return set(
        subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True).stdout.split()
    )


COMMAND = (
    "import sys; sys.argv = ['handloom', {words}]\nfrom handloom.cli import main\ntry: main()\nexcept SystemExit: pass"
)
