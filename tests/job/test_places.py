"""Job: no path leads below the authoring folder: not by name, not by link, not by bind mount."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.stage import MS_BIND, mounted
from tests.job.registries import finished
from tests.job.standin import StandIn, open_service

from muniment.job.errors import RegistryRefused
from muniment.job.places import Mounted, below_authoring, inner_place, read_mounts
from muniment.job.planning import PlanRequest
from muniment.job.reader import from_json
from muniment.job.rules import Facts, findings, paths

TABLE = (
    "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "22 21 8:1 /data/authoring /mnt/same rw - ext4 /dev/sda1 rw\n"
    "23 21 8:2 / /mnt/other rw - ext4 /dev/sdb1 rw\n"
    "24 21 8:1 /data /mnt/with\\040space rw - ext4 /dev/sda1 rw\n"
    "25 23 8:3 / /mnt/other/deep rw - tmpfs tmpfs rw\n"
    "odd line\n"
)
"""The kernel's table of mounts, in its documented format."""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/data/authoring/x", ("8:1", "/data/authoring/x")),
        ("/mnt/same", ("8:1", "/data/authoring")),
        ("/mnt/same/x", ("8:1", "/data/authoring/x")),
        ("/mnt/samename/x", ("8:1", "/mnt/samename/x")),
        ("/mnt/with space/authoring/x", ("8:1", "/data/authoring/x")),
        ("/mnt/other/data/authoring", ("8:2", "/data/authoring")),
        ("/mnt/other/deep/a", ("8:3", "/a")),
        ("/", ("8:1", "/")),
    ],
)
def test_where_a_path_lies_in_its_file_system(path: str, place: tuple[str, str]) -> None:
    assert inner_place(path, read_mounts(TABLE)) == place


def test_a_later_mount_covers_an_earlier_one() -> None:
    mounts = [Mounted("8:1", "/", "/"), Mounted("8:1", "/a", "/m"), Mounted("8:2", "/b", "/m")]
    assert inner_place("/m/x", mounts) == ("8:2", "/b/x")


@pytest.fixture
def authoring(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "authoring"
    (folder / "flows").mkdir(parents=True)
    return folder


def test_by_name_and_by_link(tmp_path: Path, authoring: Path) -> None:
    (tmp_path / "link").symlink_to(authoring)
    (tmp_path / "to-link").symlink_to(tmp_path / "link")
    (tmp_path / "chain").symlink_to("to-link/flows")
    (tmp_path / "beside").mkdir()
    (tmp_path / "data" / "authoring-not").mkdir()
    inside = [
        authoring,
        authoring / "new",
        tmp_path / "link",
        tmp_path / "link" / "no" / "file",
        tmp_path / "chain",
    ]
    inside.append(tmp_path / "beside" / ".." / "link")
    outside = [
        tmp_path,
        tmp_path / "beside",
        tmp_path / "data",
        tmp_path / "data" / "authoring-not",
        Path("/nowhere"),
    ]
    found = below_authoring([str(one) for one in (*inside, *outside)], authoring=str(authoring))
    assert set(found) == {str(one) for one in inside}
    assert found[str(tmp_path / "chain")] == str(authoring / "flows")


def test_the_authoring_folder_may_be_a_link_itself(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "authoring").symlink_to(tmp_path / "real")
    path = str(tmp_path / "real" / "x")
    assert path in below_authoring([path], authoring=str(tmp_path / "authoring"))


@pytest.fixture
def bound(tmp_path: Path, authoring: Path) -> Iterator[Path]:
    """The authoring folder under another name, by a real bind mount."""
    with mounted("", tmp_path / "bound", source=str(authoring), flags=MS_BIND) as point:
        yield point


def test_by_bind_mount(tmp_path: Path, authoring: Path, bound: Path) -> None:
    assert os.path.samestat(os.stat(authoring), os.stat(bound)), "device and inode do not tell"
    (tmp_path / "link").symlink_to(bound / "flows")
    inside = [str(bound), str(bound / "flows" / "x"), str(tmp_path / "link" / "y")]
    found = below_authoring([*inside, str(tmp_path / "elsewhere")], authoring=str(authoring))
    assert found == {
        inside[0]: str(authoring),
        inside[1]: str(authoring / "flows" / "x"),
        inside[2]: str(authoring / "flows" / "y"),
    }


def test_what_is_mounted_inside_the_authoring_folder_and_again_elsewhere() -> None:
    table = (
        "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "22 21 8:2 / /no-authoring/inside rw - ext4 /dev/sdb1 rw\n"
        "23 21 8:2 / /no-twin rw - ext4 /dev/sdb1 rw\n"
    )
    found = below_authoring(["/no-twin/x", "/no-other/x"], authoring="/no-authoring", table=table)
    assert found == {"/no-twin/x": "/no-authoring/inside/x"}


def test_the_bound_folder_under_its_first_name(tmp_path: Path, bound: Path) -> None:
    """The other way round: the authoring folder is the mount, its source the way around it."""
    path = str(tmp_path / "data" / "authoring" / "x")
    assert path in below_authoring([path], authoring=str(bound))


def test_every_path_of_a_registry_is_asked_about() -> None:
    registry = from_json(finished())
    named = {place[-1] if isinstance(place[-1], str) else place[-2] for place, _ in paths(registry)}
    assert named == {"input_path", "output_dir", "filename", "path"}
    for place, path in paths(registry):
        wrong = findings(registry, Facts("j", "cwl", lies_at={path: "/data/authoring/x"}))
        assert place in [one.place for one in wrong] and all(one.rule == "authoring" for one in wrong)


def test_a_plan_with_such_a_path_is_refused(tmp_path: Path, authoring: Path) -> None:
    service = open_service(tmp_path, StandIn())
    service.store._authoring = str(authoring)
    (tmp_path / "link").symlink_to(authoring)
    service.init("j")
    for place in (tmp_path / "link" / "flows", authoring):
        with pytest.raises(RegistryRefused) as refused:
            service.plan("j", PlanRequest("rna", str(place)))
        assert refused.value.findings[0].path == "execution.bioline.input_path"
        assert refused.value.findings[0].rule == "authoring"
    with pytest.raises(RegistryRefused) as refused:
        service.plan("j", PlanRequest("rna", "/data/in", routing={"reads": (str(tmp_path / "link" / "a"),)}))
    assert refused.value.findings[0].path == "execution.bindings[0].filename"
    assert service.show("j").registry.workflow.phase == "initialize"
