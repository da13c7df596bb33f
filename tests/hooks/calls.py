"""Hooks: tool calls as the hosts tell of them, and what is to become of each (spec 6, hooks).

Each has a name, the tool, its input, and the verdict: ALLOW, or the code of the denial.  `{w}` is the
workspace, in which these stand (see `scene` in test_pre_tool_use.py):

    .muniment/                         archives/s1/PLAN.md            sub/
    archives/s1/T/report.md            archives/s1/T/run.log          资料/
    archives/s1/T/data/rows.csv        notes.md                       skills/backup/SKILL.md (installed)
    keep -> archives                   inside.md -> archives/s1/T/report.md
    out -> ../elsewhere                elsewhere (beside) has a link `back` -> w
    plain/archives/x.md                a folder of somebody else, where nothing is recorded

`archive.mutable` is `*.log`.
"""

from __future__ import annotations

from typing import Any

ALLOW = ""
ARCHIVE, SKILL, OUTSIDE = "ARCHIVE_PROTECTED", "SKILL_PROTECTED", "OUTSIDE_WORKSPACE"

Call = tuple[str, str, dict[str, Any], str]


def bash(name: str, command: str, verdict: str) -> Call:
    return name, "Bash", {"command": command, "description": "as the agent puts it"}, verdict


def patch(name: str, verdict: str, *lines: str) -> Call:
    return name, "apply_patch", {"command": "\n".join(("*** Begin Patch", *lines, "*** End Patch"))}, verdict


def write(name: str, path: str, verdict: str) -> Call:
    return name, "Write", {"file_path": path, "content": "x"}, verdict


def edit(name: str, path: str, verdict: str) -> Call:
    return name, "Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, verdict


FILES: list[Call] = [
    write("write a new file", "{w}/report.md", ALLOW),
    write("write into the archive", "{w}/archives/s1/T/new.md", ARCHIVE),
    write("write over a deliverable", "{w}/archives/s1/T/report.md", ARCHIVE),
    write("write with a relative path", "archives/s1/T/report.md", ARCHIVE),
    write("write by ..", "{w}/sub/../archives/s1/T/report.md", ARCHIVE),
    write("write out of the archive by ..", "{w}/archives/../new.md", ALLOW),
    write("write through a folder's link", "{w}/keep/s1/T/report.md", ARCHIVE),
    write("write through a file's link", "{w}/inside.md", ARCHIVE),
    write("write through two links", "{w}/out/back/archives/s1/a", ARCHIVE),
    write("write into somebody's own archives", "{w}/plain/archives/x.md", ALLOW),
    write("write a name that begins alike", "{w}/archives.md", ALLOW),
    write("write a folder that begins alike", "{w}/archives2/a.md", ALLOW),
    write("write a Chinese name", "{w}/资料/报告.md", ALLOW),
    write("write a Chinese name into the archive", "{w}/archives/s1/报告.md", ARCHIVE),
    write("write a name that is not UTF-8", "{w}/archives/s1/T/\udcff.md", ARCHIVE),
    edit("edit the archived plan", "{w}/archives/s1/PLAN.md", ALLOW),
    write("write over the archived plan", "{w}/archives/s1/PLAN.md", ALLOW),
    write("make a plan where none was archived", "{w}/archives/s2/PLAN.md", ARCHIVE),
    edit("edit a PLAN.md that is no plan", "{w}/archives/s1/T/PLAN.md", ARCHIVE),
    edit("edit what may be edited", "{w}/archives/s1/T/run.log", ALLOW),
    write("make what may be edited", "{w}/archives/s1/T/other.log", ARCHIVE),
    edit("edit a deliverable", "{w}/archives/s1/T/report.md", ARCHIVE),
    ("edit it many times", "MultiEdit", {"file_path": "{w}/archives/s1/T/report.md", "edits": []}, ARCHIVE),
    (
        "edit a notebook",
        "NotebookEdit",
        {"notebook_path": "{w}/archives/s1/T/a.ipynb", "new_source": ""},
        ARCHIVE,
    ),
    ("edit a notebook of the workspace", "NotebookEdit", {"notebook_path": "{w}/a.ipynb"}, ALLOW),
    ("read the archive", "Read", {"file_path": "{w}/archives/s1/T/report.md"}, ALLOW),
    edit("write an installed skill", "{w}/skills/backup/SKILL.md", SKILL),
    write("write beside its page", "{w}/skills/backup/scripts/pack.py", SKILL),
    write("write a skill of one's own", "{w}/skills/mine/SKILL.md", ALLOW),
    ("archive by the tool", "mcp__muniment__archive", {"kind": "file", "sourcePath": "report.md"}, ALLOW),
]

SHELL: list[Call] = [
    bash("list", "ls -la archives/", ALLOW),
    bash("read", "cat archives/s1/T/report.md | head > /tmp/x", ALLOW),
    bash("redirect", "echo x > archives/s1/T/report.md", ARCHIVE),
    bash("append", "echo x >> archives/s1/T/report.md", ARCHIVE),
    bash("append to the plan", "echo '- [x] done' >> archives/s1/PLAN.md", ALLOW),
    bash("redirect without spaces", "echo x>archives/s1/T/report.md", ARCHIVE),
    bash("redirect over all doubts", "echo x >| archives/s1/T/report.md", ARCHIVE),
    bash("redirect both streams", "make &> archives/s1/log", ARCHIVE),
    bash("redirect errors", "make 2>archives/s1/log", ARCHIVE),
    bash("errors into the output", "make 2>&1 | cat", ALLOW),
    bash("a sign in quotes", "echo 'a > archives/s1/x'", ALLOW),
    bash("a sign behind a backslash", r"echo a \> archives/s1/x", ALLOW),
    bash("quotes around the path", 'echo x > "archives/s1/T/report.md"', ARCHIVE),
    bash("quotes inside the path", "echo x > arch'ives'/s1/T/report.md", ARCHIVE),
    bash("tee", "date | tee archives/s1/T/report.md", ARCHIVE),
    bash("tee, appending, as root", "date | sudo tee -a archives/s1/T/report.md >/dev/null", ARCHIVE),
    bash("tee elsewhere", "date | tee sub/now", ALLOW),
    bash("sed -i", "sed -i 's/a/b/' archives/s1/T/report.md", ARCHIVE),
    bash("sed -i with a copy", "sed -i.bak -e s/a/b/ -- archives/s1/T/report.md", ARCHIVE),
    bash("sed -i on the plan", "sed -i 's/\\[ \\]/[x]/' archives/s1/PLAN.md", ALLOW),
    bash("sed that only prints", "sed -n 1,5p archives/s1/T/report.md", ALLOW),
    bash("perl -pi", "perl -pi -e 's/a/b/' archives/s1/T/report.md", ARCHIVE),
    bash("cp into", "cp report.md archives/s1/T/", ARCHIVE),
    bash("cp out of", "cp archives/s1/T/report.md sub/again.md", ALLOW),
    bash("cp into, target first", "cp -t archives/s1/T report.md", ARCHIVE),
    bash("cp a folder of that name", "cp -r /tmp/archives .", ARCHIVE),
    bash("mv into", "mv report.md archives/s1/T/report.md", ARCHIVE),
    bash("mv out of", "mv archives/s1/T/report.md .", ARCHIVE),
    bash("mv the plan away", "mv archives/s1/PLAN.md .", ARCHIVE),
    bash("cp over the plan", "cp draft.md archives/s1/PLAN.md", ALLOW),
    bash("mv a draft over the plan", "mv notes.md archives/s1/PLAN.md", ALLOW),
    bash("a link in the place of the plan", "ln -sf /tmp/x archives/s1/PLAN.md", ARCHIVE),
    bash("rm by ..", "rm -rf archives/s1/..", ARCHIVE),
    bash("rm the workspace from above", "cd .. && rm -rf w", ARCHIVE),
    bash(
        "one among many", "rm " + " ".join(f"f{n}" for n in range(500)) + " archives/s1/T/report.md", ARCHIVE
    ),
    bash("mv elsewhere", "mv notes.md sub/", ALLOW),
    bash("ln into", "ln -s /tmp/x archives/s1/T/x", ARCHIVE),
    bash("a second name of a deliverable", "ln archives/s1/T/report.md mine.md", ARCHIVE),
    bash("a link to a deliverable", "ln -s archives/s1/T/report.md latest.md", ALLOW),
    bash("rm", "rm archives/s1/T/report.md", ARCHIVE),
    bash("rm all", "rm -rf archives", ARCHIVE),
    bash("rm by a pattern", "rm -rf arch*", ARCHIVE),
    bash("rm below a pattern", "rm archives/*/T/*.md", ARCHIVE),
    bash("rm the plan", "rm archives/s1/PLAN.md", ARCHIVE),
    bash("rm the workspace", "rm -rf {w}", ARCHIVE),
    bash("rm the link only", "rm keep", ALLOW),
    bash("rm elsewhere", "rm -f notes.md sub/*.tmp", ALLOW),
    bash("cd, then write", "cd archives/s1 && echo x > T/report.md", ARCHIVE),
    bash("cd out again", "cd archives/s1; cd ../..; echo x > new.md", ALLOW),
    bash("cd in a subshell", "(cd archives/s1 && ls); echo x > T.md", ALLOW),
    bash("write in a subshell", "(cd archives/s1; touch T/new.md)", ARCHIVE),
    bash("cd through a link", "cd keep/s1 && touch new", ARCHIVE),
    bash("a variable", 'D=archives/s1; echo x > "$D/new.md"', ARCHIVE),
    bash("an exported variable in braces", "export D=archives && rm -r ${D}/s1", ARCHIVE),
    bash("a variable nobody knows", 'echo x > "$SOMEWHERE/archives/s1/new.md"', ALLOW),
    bash("the current folder as a command", 'echo x > "$(pwd)/archives/s1/new.md"', ARCHIVE),
    bash("a command in a command", "echo $(rm -rf archives)", ARCHIVE),
    bash("a command in backquotes", "echo `touch archives/s1/x`", ARCHIVE),
    bash("a shell in the shell", "bash -c 'echo x > archives/s1/new.md'", ARCHIVE),
    bash("a here-document into the archive", "cat > archives/s1/T/r.md <<'EOF'\n# hi\nEOF", ARCHIVE),
    bash("a here-document that only speaks of it", "cat > notes.md <<'EOF'\nrm -rf archives\nEOF", ALLOW),
    bash("a command behind a here-document", "cat > a.md <<EOF\nx\nEOF\nrm -rf archives", ARCHIVE),
    bash("a comment", "ls # rm -rf archives", ALLOW),
    bash("a loop's body", "for f in a b; do touch archives/s1/x; done", ARCHIVE),
    bash("behind an if", "if true; then rm archives/s1/T/report.md; fi", ARCHIVE),
    bash("env in front", "env A=1 nice -n 5 rm archives/s1/T/report.md", ARCHIVE),
    bash("dd", "dd if=/dev/zero of=archives/s1/T/report.md count=1", ARCHIVE),
    bash("truncate", "truncate -s 0 archives/s1/T/report.md", ARCHIVE),
    bash("find -delete", "find archives -name '*.md' -delete", ARCHIVE),
    bash("find", "find archives -name '*.md'", ALLOW),
    bash("rsync", "rsync -a out/ archives/s1/", ARCHIVE),
    bash("unpack into it", "tar -xzf a.tgz -C archives/s1", ARCHIVE),
    bash("git mv", "git mv archives/s1/T/report.md report.md", ARCHIVE),
    bash("an installed skill", "sed -i s/a/b/ skills/backup/SKILL.md", SKILL),
    bash("a Chinese path", "echo 好 > 资料/报告.md && cp 资料/报告.md archives/s1/", ARCHIVE),
    bash("quotes that never close", "echo 'x > archives/s1/new.md", ALLOW),
    bash("the program itself", "muniment archive report.md --format card", ALLOW),
]

CODEX: list[Call] = [
    patch("add a file", ALLOW, "*** Add File: new.md", "+x"),
    patch("add into the archive", ARCHIVE, "*** Add File: archives/s1/T/new.md", "+x"),
    patch("update a deliverable", ARCHIVE, "*** Update File: archives/s1/T/report.md", "@@", "-a", "+b"),
    patch("update the plan", ALLOW, "*** Update File: archives/s1/PLAN.md", "@@", "-a", "+b"),
    patch("delete the plan", ARCHIVE, "*** Delete File: archives/s1/PLAN.md"),
    patch("move out of it", ARCHIVE, "*** Update File: archives/s1/T/report.md", "*** Move to: report.md"),
    patch("move into it", ARCHIVE, "*** Update File: notes.md", "*** Move to: archives/s1/notes.md"),
    patch("the second of two", ARCHIVE, "*** Add File: a.md", "+x", "*** Add File: archives/s1/b.md", "+x"),
    patch("lines that only look alike", ALLOW, "*** Add File: a.md", "+*** Add File: archives/s1/b.md"),
    patch("an absolute path", ARCHIVE, "*** Add File: {w}/archives/s1/b.md", "+x"),
    patch("through a link", ARCHIVE, "*** Update File: inside.md", "@@", "-a", "+b"),
    bash(
        "a patch by the shell",
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: archives/s1/b.md\n+x\n*** End Patch\nEOF",
        ARCHIVE,
    ),
    ("a command as words", "shell", {"command": ["rm", "-rf", "archives"]}, ARCHIVE),
    ("a shell as words", "shell", {"command": ["bash", "-lc", "echo x > archives/s1/new"]}, ARCHIVE),
    ("words that are no operators", "shell", {"command": ["echo", ">", "archives/s1/new"]}, ALLOW),
    ("a folder of its own", "shell", {"command": ["touch", "x"], "workdir": "{w}/archives/s1"}, ARCHIVE),
]

CURSOR: list[Call] = [
    ("its shell", "Shell", {"command": "rm -rf archives", "cwd": "{w}"}, ARCHIVE),
    ("its write", "Write", {"file_path": "{w}/archives/s1/T/report.md", "contents": ""}, ARCHIVE),
    ("its delete", "Delete", {"path": "{w}/archives/s1/PLAN.md"}, ARCHIVE),
    ("its shell elsewhere", "Shell", {"command": "ls", "cwd": ""}, ALLOW),
]

HOSTED: list[Call] = [
    ("write inside", "Write", {"file_path": "{w}/report.md"}, ALLOW),
    ("write beside", "Write", {"file_path": "{w}/../other.md"}, OUTSIDE),
    ("write into /tmp", "Bash", {"command": "echo x > /tmp/x"}, OUTSIDE),
    ("write into nothing", "Bash", {"command": "ls > /dev/null 2>&1"}, ALLOW),
    ("write to a stream", "Bash", {"command": "echo x > /dev/stderr; echo y > /dev/fd/2"}, ALLOW),
    ("write into memory", "Bash", {"command": "echo x > /dev/shm/x"}, OUTSIDE),
    ("write through a link that leads out", "Write", {"file_path": "{w}/out/x.md"}, OUTSIDE),
    ("write into the archive", "Bash", {"command": "touch archives/s1/x"}, ARCHIVE),
    ("write as OpenClaw names it", "write", {"path": "archives/s1/x"}, ARCHIVE),
    ("run as OpenClaw names it", "exec", {"command": "touch x", "workdir": "{w}/archives"}, ARCHIVE),
]
"""On a hosted OpenClaw, whose workspace is `{w}`."""
