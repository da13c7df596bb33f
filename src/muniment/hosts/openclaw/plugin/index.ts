// Hosts, OpenClaw: the plugin. It runs inside OpenClaw's gateway, which compiles it when it loads it.
//
// No rule lives here. Each call of the tool starts the program once, with the session and the workspace
// that OpenClaw names, and hands on what the agent sent; the program judges, acts, and finds the words.

import { spawn } from "node:child_process";
import { homedir } from "node:os";
import { isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { definePluginEntry, type OpenClawPluginApi } from "openclaw/plugin-sdk/plugin-entry";

// What clients of the MCP server see of the same tool; a test compares the two.
const ARCHIVE = {
  "name": "archive",
  "title": "Archive a deliverable",
  "description": "Move a file or folder of the workspace into its archive, read it back there, and give its card. The source is gone afterwards. On “Archive blocked” nothing was moved: stop, quote the reason and wait; do not write the file or a receipt by hand.",
  "parameters": {
    "type": "object",
    "properties": {
      "kind": {
        "enum": ["plan", "file"],
        "description": "plan: a file named PLAN.md. file: anything else, a folder too."
      },
      "sourcePath": {
        "type": "string",
        "description": "The path inside the workspace: from its top, or absolute. No empty segment, no “.” or “..”.",
        "minLength": 1,
        "maxLength": 4096
      },
      "displayName": {
        "type": "string",
        "description": "The name shown on the card.",
        "minLength": 1,
        "maxLength": 255
      }
    },
    "required": ["kind", "sourcePath"],
    "additionalProperties": false
  }
};

// Where a hosted OpenClaw keeps its workspaces; a test compares it with the program's.
const BASE = "/home/root/workspace";

// Of the gateway's environment, which may hold keys of others, the program gets only this.
const HANDED_ON = new Set(
  ("HOME USER LOGNAME PATH TMPDIR TZ LANG LANGUAGE XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME " +
    "OPENCLAW_HOME OPENCLAW_STATE_DIR OPENCLAW_CONFIG_PATH").split(" "),
);
const NOT_OURS = new Set("MUNIMENT_SESSION_KEY MUNIMENT_SESSION_ID MUNIMENT_WORKSPACE MUNIMENT_CONTEXT".split(" "));

const OUTPUT_MAX = 8 << 20;
const GUARD_WAIT_MS = 10_000; // for one call, whatever it means; OpenClaw itself waits 15 s
const GRACE_MS = 10_000;

type Session = { key?: string; id?: string; workspace: string };
type Ended = { code: number | null; output: string; complaint: string };
type Json = Record<string, unknown>;

/** A program that could not be started, or did not answer. */
class Silent extends Error {
  constructor(readonly code: string, message: string) {
    super(message);
  }
}

function hosted(workspace: string): boolean {
  return workspace.startsWith(`${BASE}/`) && /^[^/]+\/workspace\/*$/.test(workspace.slice(BASE.length + 1));
}

function environment(session: Session): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => HANDED_ON.has(name) || name.startsWith("LC_") || (name.startsWith("MUNIMENT_") && !NOT_OURS.has(name)),
  );
  return {
    ...Object.fromEntries(kept),
    OPENCLAW_WORKSPACE_DIR: session.workspace,
    ...(session.key ? { MUNIMENT_SESSION_KEY: session.key } : {}),
    ...(session.id ? { MUNIMENT_SESSION_ID: session.id } : {}),
  };
}

/** Run the program once, without a shell; never in the workspace, whose files are not ours to load. */
function run(
  program: readonly string[],
  words: readonly string[],
  input: string,
  session: Session,
  until: { signal?: AbortSignal; waitMs?: number } = {},
): Promise<Ended> {
  return new Promise((done, failed) => {
    if (until.signal?.aborted) {
      failed(new Silent("INTERRUPTED", "the call was cancelled before it began"));
      return;
    }
    const child = spawn(program[0], [...program.slice(1), ...words], {
      cwd: "/",
      env: environment(session),
      shell: false,
      stdio: ["pipe", "pipe", "pipe"],
    });
    const output: Buffer[] = [];
    const complaint: Buffer[] = [];
    let size = 0;
    let why: Silent | undefined;
    const timers: NodeJS.Timeout[] = [];
    const stop = (reason?: Silent) => {
      why ??= reason;
      child.kill("SIGINT"); // what was begun is put back, and said so
      timers.push(setTimeout(() => child.kill("SIGKILL"), GRACE_MS));
    };
    const cancel = () => stop();
    const end = () => {
      timers.forEach(clearTimeout);
      until.signal?.removeEventListener("abort", cancel);
    };
    until.signal?.addEventListener("abort", cancel, { once: true });
    if (until.waitMs !== undefined) {
      timers.push(setTimeout(() => {
        why = new Silent("PROGRAM_SILENT", `no answer within ${GUARD_WAIT_MS} ms`);
        child.kill("SIGKILL");
      }, until.waitMs));
    }
    child.stdout.on("data", (piece: Buffer) => {
      size += piece.length;
      if (size <= OUTPUT_MAX) {
        output.push(piece);
      } else if (why === undefined) {
        stop(new Silent("PROGRAM_FAILED", `an answer of more than ${OUTPUT_MAX} bytes`));
      }
    });
    child.stderr.on("data", (piece: Buffer) => {
      complaint.push(piece);
      while (complaint.length > 64) complaint.shift();
    });
    child.stdin.on("error", () => {}); // it ended without reading; its exit code tells
    child.on("error", (error) => {
      end();
      failed(new Silent("PROGRAM_MISSING", error.message));
    });
    child.on("close", (code) => {
      end();
      const text = (pieces: Buffer[]) => Buffer.concat(pieces).toString("utf8");
      why ? failed(why) : done({ code, output: text(output), complaint: text(complaint).slice(-4096) });
    });
    child.stdin.end(input);
  });
}

function object(value: unknown): Json | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

function parsed(text: string): Json | undefined {
  try {
    return object(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** What the program said about a call; `undefined` when it is no answer of a tool. */
function answer(ended: Ended): { text: string; details: Json } | undefined {
  const told = parsed(ended.output);
  if (told === undefined || typeof told.text !== "string" || typeof told.failed !== "boolean") return undefined;
  // OpenClaw tells by these words whether a call failed, and hands the rest to programs.
  const verdict = told.failed ? { ok: false, status: "blocked" } : { ok: true, status: "completed" };
  return { text: told.text, details: { ...object(told.structured), ...verdict } };
}

function blocked(reason: string, code: string): { text: string; details: Json } {
  const line = reason.split(/\s+/).filter(Boolean).join(" ");
  return { text: `Archive blocked: ${line} (code: ${code})`, details: { ok: false, status: "blocked" } };
}

function result(found: { text: string; details: Json }) {
  return { content: [{ type: "text" as const, text: found.text }], details: found.details };
}

/** The places that OpenClaw may mean by a path: it knows `~`, `@` and `file:` before a name. */
function places(path: string, from: string): string[] {
  const spellings = new Set([path]);
  if (path.startsWith("@")) spellings.add(path.slice(1));
  const found = new Set<string>();
  for (const spelling of spellings) {
    let plain = spelling;
    if (/^file:\/\//i.test(plain)) {
      try {
        plain = fileURLToPath(plain);
      } catch {
        // then it is a name like any other
      }
    } else if (plain === "~" || plain.startsWith("~/")) {
      plain = homedir() + plain.slice(1);
    }
    const whole = isAbsolute(plain) ? plain : `${from}/${plain}`;
    found.add(whole).add(resolve(whole)); // with `..` and links these are two places
  }
  return [...found];
}

/** A patch that touches all these places, and says nothing else. */
function touching(paths: readonly string[], from: string): string {
  const found = paths.flatMap((path) => places(path, from)).filter((path) => !/[\r\n]/.test(path));
  return ["*** Begin Patch", ...found.map((path) => `*** Update File: ${path}`), "*** End Patch"].join("\n");
}

/** A call of one of OpenClaw's tools in the words of the hook; a call may mean several places. */
function events(tool: string, params: Json, derived: readonly string[], workspace: string): Json[] {
  const event = (name: string, input: Json, cwd = workspace) => ({
    hook_event_name: "PreToolUse",
    tool_name: name,
    tool_input: input,
    cwd,
  });
  const text = (name: string) => (typeof params[name] === "string" ? (params[name] as string) : "");
  switch (tool) {
    case "write":
      return places(text("path"), workspace).map((path) => event("Write", { file_path: path, content: "" }));
    case "edit":
      return places(text("path"), workspace).map((path) => event("Edit", { file_path: path }));
    case "apply_patch":
      // The hook reads the patch itself; spellings that only OpenClaw knows come from OpenClaw.
      return [event("apply_patch", { command: text("input"), patch: touching(derived, workspace) })];
    case "exec":
      return [event("Bash", { command: text("command") }, resolve(workspace, text("workdir") || "."))];
    default:
      return [];
  }
}

/** Why the hook denies what it was told of; `undefined` when it does not. */
async function denial(
  program: readonly string[],
  event: Json,
  session: Session,
  waitMs: number,
): Promise<string | undefined> {
  const ended = await run(program, ["hook", "pre-tool-use"], JSON.stringify(event), session, { waitMs });
  if (ended.code !== 0) throw new Silent("PROGRAM_FAILED", `exit code ${ended.code}: ${ended.complaint.trim()}`);
  if (ended.output.trim() === "") return undefined;
  const told = object(parsed(ended.output)?.hookSpecificOutput);
  if (told === undefined) throw new Silent("PROGRAM_FAILED", "its answer was not understood");
  return told.permissionDecision === "deny" ? String(told.permissionDecisionReason ?? "denied") : undefined;
}

export default definePluginEntry({
  id: "muniment",
  name: "Muniment",
  description: "Moves what an agent made into its archive, reads it back there, and gives the card.",
  register(api: OpenClawPluginApi) {
    const set = object(api.pluginConfig) ?? {};
    const program = Array.isArray(set.program) && set.program.length ? set.program.map(String) : ["muniment"];

    api.registerTool(
      (ctx) => ({
        name: ARCHIVE.name,
        label: ARCHIVE.title,
        description: ARCHIVE.description,
        parameters: ARCHIVE.parameters as never,
        async execute(_call: string, params: unknown, signal?: AbortSignal) {
          if (!ctx.workspaceDir) return result(blocked("OpenClaw names no workspace", "WORKSPACE_MISSING"));
          const session = { key: ctx.sessionKey, id: ctx.sessionId, workspace: ctx.workspaceDir };
          try {
            const words = ["tool", ARCHIVE.name, "--json"];
            const ended = await run(program, words, JSON.stringify(params ?? {}), session, { signal });
            const found = answer(ended);
            if (found) return result(found);
            api.logger.warn(`muniment: exit code ${ended.code}: ${ended.complaint.trim()}`);
            return result(blocked(`The program ended with exit code ${ended.code} and no answer`, "PROGRAM_FAILED"));
          } catch (error) {
            if (!(error instanceof Silent)) throw error;
            return result(blocked(`The program ${program[0]} did not answer: ${error.message}`, error.code));
          }
        },
      }),
      { names: [ARCHIVE.name] },
    );

    if (set.guard === false) return;
    api.on(
      "before_tool_call",
      async (event, ctx) => {
        // What code mode calls `exec` is no shell; the tools that such code calls come here one by one.
        if (event.toolInputKind === "javascript") return undefined;
        const agent = ctx.agentId ?? /^agent:([^:]+):/.exec(ctx.sessionKey ?? "")?.[1] ?? "main";
        const workspace = api.runtime.agent.resolveAgentWorkspaceDir(api.runtime.config.current() as never, agent);
        const session = { key: ctx.sessionKey, id: ctx.sessionId, workspace };
        const until = Date.now() + GUARD_WAIT_MS;
        try {
          for (const each of events(event.toolName, event.params, event.derivedPaths ?? [], workspace)) {
            const reason = await denial(program, each, session, Math.max(1, until - Date.now()));
            if (reason !== undefined) return { block: true, blockReason: reason };
          }
        } catch (error) {
          if (!(error instanceof Silent)) throw error;
          const why = `Muniment could not be asked about this call: ${error.message} (code: ${error.code})`;
          api.logger.warn(`muniment: ${why}`);
          // On the hosted layout nothing may be written unseen; elsewhere a broken guard stops nobody.
          if (hosted(workspace)) return { block: true, blockReason: why };
        }
        return undefined;
      },
      { matcher: ["write", "edit", "apply_patch", "exec"] },
    );
  },
});
