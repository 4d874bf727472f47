import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, closeSync, constants, mkdirSync, openSync } from 'node:fs';
import type { Socket } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import type { Writable } from 'node:stream';
import { GatewayError } from '@opentill/domain/gateway-error';
import { findGroupMembers } from './group-members.ts';
import { readLastLines } from './last-lines.ts';
import { waitUntil } from './poll-until.ts';
import { settleWithin } from './settle-within.ts';

/*
 * A child server in its own session and process group, which leaves no process behind.
 *
 *   state     | event                          | next      | result
 *   ----------|--------------------------------|-----------|---------------------------------------------------
 *   starting  | binary cannot be executed      | –         | PROCESS_NOT_STARTED
 *   starting  | leader exits before ready      | exited    | PROCESS_EXITED_EARLY with the last log lines
 *   starting  | ready deadline passes          | stopping  | group stopped, then PROCESS_NOT_READY
 *   starting  | the caller's signal aborts     | stopping  | group stopped, then the signal's reason is thrown
 *   running   | stop(signal)                   | stopping  | signal to the group
 *   running   | leader exits by itself         | exited    | `exited` resolves; stop() ends remaining members
 *   running   | this process dies in any way   | stopping  | the guard stops the group as stop() would
 *   stopping  | all members gone               | stopped   | –
 *   stopping  | stop deadline passes           | killing   | SIGKILL to the group and to marked processes
 *   killing   | all members gone               | stopped   | –
 *   killing   | still there after 30 s         | –         | PROCESS_NOT_STOPPED (uninterruptible sleep in the kernel)
 *   stopped   | stop()                         | stopped   | none: stop is idempotent, and concurrent calls share one
 *
 * Ctrl-C reaches only the terminal's foreground group, so it never signals a child directly.
 * The guard is a shell that waits on a pipe that only this process holds. Any death of this process, including SIGKILL,
 * closes the pipe. The guard starts first. The leader waits in its own shell, on a second pipe, until the guard has the
 * group's id; if this process dies earlier, that pipe closes and the shell exits. A death at any moment therefore
 * leaves no leader behind. Processes that leave the group (Erlang's port programs, daemons) carry a mark in their
 * environment.
 */

/**
 * - `PROCESS_NOT_STARTED`: the binary could not be executed.
 * - `PROCESS_EXITED_EARLY`: the process ended before it was ready. The message contains its last log lines.
 * - `PROCESS_NOT_READY`: the process was not ready in time and was stopped.
 * - `PROCESS_NOT_STOPPED`: members of the group survived SIGKILL for 30 seconds.
 */
export type ProcessGroupErrorCode =
  'PROCESS_NOT_STARTED' | 'PROCESS_EXITED_EARLY' | 'PROCESS_NOT_READY' | 'PROCESS_NOT_STOPPED';

export interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ProcessGroupOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Complete environment of the child, which inherits none. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Receives stdout and stderr from the child directly (append mode), so it outlives this process. */
  readonly logFile: string;
  readonly uid?: number;
  readonly gid?: number;
  /** First signal of stop() and of the guard. @default SIGTERM */
  readonly stopSignal?: NodeJS.Signals;
  /** Time between `stopSignal` and SIGKILL. @default 8,000 ms */
  readonly stopDeadlineMs?: number;
}

export interface ReadyCondition {
  /** Polled. False and errors mean "not yet". */
  readonly isReady: (leaderPid: number) => boolean | Promise<boolean>;
  readonly deadlineMs: number;
  readonly pollIntervalMs?: number;
  /** Aborts the wait: stops the group and throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface ProcessGroup {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** Resolves when the leader has ended. Never rejects. */
  readonly exited: Promise<ExitStatus>;
  isRunning(): boolean;
  signal(signal: NodeJS.Signals): boolean;
  /** Ends the group and waits until no member is left. Idempotent. */
  stop(options?: { readonly signal?: NodeJS.Signals; readonly deadlineMs?: number }): Promise<void>;
  lastLogLines(count: number): string;
}

/** Arguments: stop signal, tenths of a second until SIGKILL. Reads the group id, then a line that ends the guard. */
const GUARD_SCRIPT = `
read -r group || exit 0
if read -r _; then exit 0; fi
kill -s "$1" -- "-$group" 2>/dev/null || exit 0
tenths=$2
while [ "$tenths" -gt 0 ]; do
  kill -s 0 -- "-$group" 2>/dev/null || exit 0
  sleep 0.1
  tenths=$((tenths - 1))
done
kill -s KILL -- "-$group" 2>/dev/null`;

/** Waits for a line, then becomes the command with the same process id. */
const LEADER_SCRIPT = `read -r _ || exit 0; exec "$0" "$@" </dev/null`;

const DEFAULT_STOP_DEADLINE_MS = 8_000;
const KILL_DEADLINE_MS = 30_000;

/** Waits until the child is ready. Throws GatewayError<ProcessGroupErrorCode> or the signal's reason. */
export async function startProcessGroup(
  options: ProcessGroupOptions,
  ready?: ReadyCondition,
): Promise<ProcessGroup> {
  ready?.signal?.throwIfAborted();
  const mark = `opentill-${process.pid}-${randomBytes(8).toString('hex')}`;
  const guard = spawnGuard(options);
  let group: ProcessGroup;
  try {
    const leader = await spawnLeader(options, mark);
    group = createGroup(options, leader, mark, guard);
    await writeLine(guard.stdin, `${leader.pid}`);
    await writeLine(leader.stdin, 'go');
    leader.stdin.destroy();
  } catch (error) {
    await guard.release();
    throw error;
  }
  if (ready === undefined) return group;
  try {
    await waitUntilReady(group, ready);
  } catch (error) {
    await group.stop();
    throw error;
  }
  return group;
}

type Leader = ChildProcess & { readonly pid: number; readonly stdin: Writable };

async function spawnLeader(options: ProcessGroupOptions, mark: string): Promise<Leader> {
  mkdirSync(dirname(options.logFile), { recursive: true });
  const log = openSync(options.logFile, 'a');
  try {
    mustBeExecutable(options);
    const child = spawn('/bin/sh', ['-c', LEADER_SCRIPT, options.command, ...options.args], {
      cwd: options.cwd,
      env: { ...options.env, OPENTILL_PROCESS_GROUP: mark },
      detached: true,
      stdio: ['pipe', log, log],
      ...(options.uid === undefined ? {} : { uid: options.uid }),
      ...(options.gid === undefined ? {} : { gid: options.gid }),
    });
    await once(child, 'spawn');
    const leader = child as unknown as Leader;
    leader.stdin.on('error', () => {}); // it may end before it reads; `exited` reports that
    return leader;
  } catch (cause) {
    throw new GatewayError<ProcessGroupErrorCode>(
      'PROCESS_NOT_STARTED',
      `${options.name} could not be started: ${cause instanceof Error ? cause.message : String(cause)}`,
      { retryable: false, context: { command: options.command }, cause },
    );
  } finally {
    closeSync(log);
  }
}

/** Throws if the command is not executable. Otherwise the shell would only exit with 127. */
function mustBeExecutable({ command, env }: ProcessGroupOptions): void {
  const folders = command.includes('/') ? [''] : (env['PATH'] ?? '/usr/bin:/bin').split(delimiter);
  const isExecutable = (folder: string): boolean => {
    try {
      accessSync(join(folder, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  };
  if (!folders.some(isExecutable)) throw new Error(`${command} is not an executable file`);
}

/** Kills each group of this process that has members. */
const killers = new Set<() => Promise<void>>();

/**
 * Last resort when a stop takes too long: sends SIGKILL to all groups of this process, and waits for their end at most
 * `deadlineMs`, also if one cannot be killed.
 */
export async function killProcessGroups(deadlineMs: number): Promise<void> {
  await settleWithin(
    deadlineMs,
    [...killers].map((kill) => kill()),
  );
}

function createGroup(options: ProcessGroupOptions, child: Leader, mark: string, guard: Guard): ProcessGroup {
  let running = true;
  let stopping: Promise<void> | undefined;
  const end = async (deadlineMs: number): Promise<void> => {
    await endGroup(options.name, child.pid, mark, deadlineMs, () => running);
    await exited;
    await guard.release();
    killers.delete(kill);
  };
  const kill = async (): Promise<void> => end(0);
  killers.add(kill);
  const exited = new Promise<ExitStatus>((resolve) => {
    child.once('exit', (code, signal) => {
      running = false;
      // A group without members must not be stopped later, because the kernel may reuse its id.
      if (findGroupMembers(child.pid, mark).length === 0) {
        killers.delete(kill);
        stopping ??= guard.release();
      }
      resolve({ code, signal });
    });
  });
  const signalGroup = (signal: NodeJS.Signals): boolean => running && sendSignal(-child.pid, signal);
  return {
    name: options.name,
    pid: child.pid,
    logFile: options.logFile,
    exited,
    isRunning: () => running,
    signal: signalGroup,
    lastLogLines: (count) => readLastLines(options.logFile, count),
    stop: (request = {}) => {
      stopping ??= (async () => {
        sendSignal(-child.pid, request.signal ?? options.stopSignal ?? 'SIGTERM');
        await end(request.deadlineMs ?? options.stopDeadlineMs ?? DEFAULT_STOP_DEADLINE_MS);
      })();
      return stopping;
    },
  };
}

interface Guard {
  readonly stdin: Writable;
  /** Ends the guard of an ended group. Idempotent. */
  release(): Promise<void>;
}

/** Starts the shell that stops the group if this process dies. It reads the group's id from stdin. */
function spawnGuard(options: ProcessGroupOptions): Guard {
  const signalName = (options.stopSignal ?? 'SIGTERM').replace('SIG', '');
  const tenths = Math.ceil((options.stopDeadlineMs ?? DEFAULT_STOP_DEADLINE_MS) / 100);
  const guard = spawn('/bin/sh', ['-c', GUARD_SCRIPT, 'guard', signalName, `${tenths}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = new Promise<void>((resolve) => {
    guard.once('exit', () => resolve());
    guard.once('error', () => resolve());
  });
  guard.stdin.on('error', () => {});
  guard.unref();
  (guard.stdin as Socket).unref();
  return {
    stdin: guard.stdin,
    release: async () => {
      guard.ref();
      if (!guard.stdin.writableEnded) guard.stdin.end('done\n');
      await ended;
    },
  };
}

/** Resolves when the kernel has accepted the line or the reader has ended. */
async function writeLine(stream: Writable, line: string): Promise<void> {
  await new Promise<void>((resolve) => stream.write(`${line}\n`, () => resolve()));
}

/** `isLed` is true while the leader runs: then no poll reads each process of the machine, which takes 5 ms. */
async function endGroup(
  name: string,
  groupId: number,
  mark: string,
  deadlineMs: number,
  isLed: () => boolean,
): Promise<void> {
  const isGone = (): boolean => !isLed() && findGroupMembers(groupId, mark).length === 0;
  if (await waitUntil(isGone, { deadlineMs, pollIntervalMs: 25 })) return;
  const killAll = (): boolean => {
    sendSignal(-groupId, 'SIGKILL');
    for (const pid of findGroupMembers(groupId, mark)) sendSignal(pid, 'SIGKILL');
    return isGone();
  };
  if (await waitUntil(killAll, { deadlineMs: KILL_DEADLINE_MS, pollIntervalMs: 50 })) return;
  throw new GatewayError<ProcessGroupErrorCode>('PROCESS_NOT_STOPPED', `${name} could not be stopped.`, {
    retryable: false,
    context: { groupId, left: findGroupMembers(groupId, mark) },
  });
}

async function waitUntilReady(group: ProcessGroup, ready: ReadyCondition): Promise<void> {
  let isReady = false;
  await waitUntil(
    async () => {
      if (!group.isRunning() || ready.signal?.aborted === true) return true;
      try {
        isReady = await ready.isReady(group.pid);
      } catch {
        isReady = false;
      }
      return isReady;
    },
    { deadlineMs: ready.deadlineMs, pollIntervalMs: ready.pollIntervalMs ?? 50 },
  );
  ready.signal?.throwIfAborted();
  if (isReady && group.isRunning()) return;
  const tail = group.lastLogLines(15);
  if (!group.isRunning()) {
    throw new GatewayError<ProcessGroupErrorCode>(
      'PROCESS_EXITED_EARLY',
      `${group.name} ended before it was ready. Its last lines:\n${tail}`,
      { retryable: true, context: { ...(await group.exited), logFile: group.logFile } },
    );
  }
  throw new GatewayError<ProcessGroupErrorCode>(
    'PROCESS_NOT_READY',
    `${group.name} was not ready within ${ready.deadlineMs / 1000} s. Its last lines:\n${tail}`,
    { retryable: true, context: { logFile: group.logFile } },
  );
}

function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false; // ESRCH: it has already ended
  }
}
