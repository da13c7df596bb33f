"""A newcomer's first hour: a bare Debian, the README word by word, then the tutorial.

    python tests/newcomer/walk.py trixie [FOLDER] [--without-tests]

As root on a Debian machine with debootstrap.  Packages come from where this machine has them from:
its first source of Debian's packages, and its set-up of pip, which is copied into the new system.
What happens inside happens as an ordinary user with an environment of its own.  Commands and
what they print are those of the pages; a command that prints something else ends the walk.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))

from tests.docs.examples import BLOCK, HOME, REPORT, Example, examples, settled  # noqa: E402

NEEDED = ("python3", "python3-venv", "make", "git")
"""What the README says one needs, by the names that Debian gives it."""

USER = "newcomer"
OWN = f"/home/{USER}"
"""Who walks; on the pages it is somebody else."""

MARK = "@@ the command has ended @@"


def bare(suite: str, root: Path) -> None:
    """A Debian of this suite with nothing but what every Debian has, and an ordinary user."""
    told = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    source = subprocess.run(told, capture_output=True, text=True, check=True).stdout.split()[0]
    subprocess.run(["debootstrap", "--variant=minbase", suite, root, source], check=True)
    for name in ("/etc/ssl/certs", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates"):
        if Path(name).is_dir():
            shutil.copytree(name, root / name[1:], symlinks=True, dirs_exist_ok=True)
    for name in ("/etc/pip.conf", "/etc/apt/apt.conf.d", "/etc/resolv.conf", "/etc/hosts"):
        if Path(name).is_file():
            shutil.copyfile(name, root / name[1:])
    inside(root, f"useradd --create-home {USER}", user="root")


def inside(root: Path, script: str, *, user: str = USER) -> str:
    """What a shell in the new system prints on both streams; it has processes and mounts of its own."""
    home = OWN if user == USER else "/"
    kept = {
        name: value for name, value in os.environ.items() if name.startswith("PIP_") and "FIND" not in name
    }
    variables = kept | {
        "HOME": home,
        "USER": user,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "NO_COLOR": "1",
        "PATH": "/usr/bin:/bin",
    }
    if user == "root":
        variables |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
    within = ["/usr/sbin/chroot", f"--userspec={user}", str(root), "bash", "-s"]
    mounts = (
        f"mount --bind {root} {root}; mount -t proc proc {root}/proc; mount --rbind /dev {root}/dev;"
        f" cd {root}; exec {shlex.join(within)}"
    )
    done = subprocess.run(
        ["/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", mounts],
        input=f"cd {home}\n{script}\n",
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-20000:]}\nin the new system, exit code {done.returncode}: {script[-300:]}")
    return done.stdout


def source_tree(root: Path) -> None:
    """The project as a clone of its last commit."""
    target = root / OWN[1:] / "muniment"
    subprocess.run(["git", "clone", "--quiet", PROJECT, target], check=True)
    inside(root, f"chown -R {USER}: {OWN}/muniment", user="root")


def prepared(page: str, *, tests: bool) -> list[str]:
    """The commands of a page that prepare a machine: those of the blocks with `make`, word by word."""
    lines = [line for block in BLOCK.findall(page) if "make " in block for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if tests or "make test" not in line]


def elsewhere(page: str) -> list[str]:
    """The commands inside a sentence of the page that install the program into another environment."""
    prose = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    return [word for word in re.findall(r"`([^`\n]+)`", prose) if "muniment-venv" in word]


def demonstrated(printed: str) -> None:
    """The demonstration showed all of it; a bare Debian has no podman, and that alone may lack."""
    wanting = [line for line in printed.splitlines() if "left out" in line and "podman" not in line]
    if "All of this went as told." not in printed or wanting[1:] or "pip install" in printed:
        sys.exit(f"{printed}\nmake demo does not show what the README tells")


def differences(found: list[Example], printed: list[str]) -> list[str]:
    """Each command that printed something else than the page shows."""
    pairs = zip(found, settled([one.shown for one in found]), settled(printed), strict=True)
    return [
        f"$ {one.command}\nthe page:\n{wanted}here:\n{told}" for one, wanted, told in pairs if wanted != told
    ]


def walk(root: Path, name: str) -> None:
    """All commands of a page in one shell of the new system, compared with the page."""
    found = examples((PROJECT / name).read_text("utf-8"))
    script = [". ~/muniment/.venv/bin/activate", "mkdir -p papers/quarterly", "status=0"]
    script += [
        f"printf %s {shlex.quote(REPORT)} > papers/quarterly/report.md",
        ": > papers/quarterly/empty.md",
    ]
    for one in found:
        script += ["(exit $status)", f"{{ {one.command}", "} 2>&1", "status=$?", f"echo '{MARK}'"]
    printed = inside(root, "\n".join([*script, "exit 0"])).replace(OWN, HOME).split(MARK + "\n")[:-1]
    wrong = differences(found, printed)
    if wrong:
        sys.exit("\n".join([f"{name} is not what happens:", *wrong]))
    print(f"{name}: {len(found)} commands, as the page shows them")


def main() -> None:
    """Walk in one suite, in a folder that is removed at the end."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    with tempfile.TemporaryDirectory(dir=words[1] if words[1:] else None) as folder:
        root = Path(folder) / words[0]
        bare(words[0], root)
        inside(
            root,
            f"apt-get update -qq; apt-get install -y -qq --no-install-recommends {' '.join(NEEDED)}",
            user="root",
        )
        source_tree(root)
        readme = (PROJECT / "README.md").read_text("utf-8")
        for command in prepared(readme, tests="--without-tests" not in sys.argv):
            printed = inside(root, f"cd muniment\n{command}")
            print(printed)
            if command == "make demo":
                demonstrated(printed)
        installing = elsewhere(readme)
        if len(installing) != 2:
            sys.exit(f"README.md: two commands install the program elsewhere, not {installing}")
        print(
            inside(
                root,
                "\n".join(["set -e; cd muniment", *installing, "~/muniment-venv/bin/muniment --version"]),
            )
        )
        for name in ("README.md", "docs/tutorial.md"):
            walk(root, name)
    print(f"walked: {words[0]}")


if __name__ == "__main__":
    main()
