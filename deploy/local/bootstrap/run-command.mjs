import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
/** What the commands remember from one run to the next. */
export const CACHE = join(ROOT, 'node_modules', '.cache', 'opentill');
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const startedAt = Date.now();

/** A failure that is told in one sentence (and, where it helps, the end of a command's output). */
export class BootstrapError extends Error {}

/** A line of progress, with the seconds since the start. */
export function say(line) {
  process.stderr.write(`${((Date.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
}

/** Undefined when the file is not there or no JSON. */
export function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Runs a command to its end and answers with its output; throws with `sentence` when it fails. */
export function capture(command, args, sentence, options) {
  const result = spawnSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
    ...options,
  });
  if (result.status === 0) return result.stdout;
  if (STOP_SIGNALS.includes(result.signal)) process.exit(128 + constants.signals[result.signal]);
  const output = `${result.stdout ?? ''}${result.stderr ?? ''}`.trimEnd().split('\n').slice(-40).join('\n');
  throw new BootstrapError(
    `${sentence}${result.error ? ` (${result.error.message})` : ''}\n${output}`.trimEnd(),
  );
}

/**
 * Runs a command in a group of its own, and hands it the first stop signal, once: a terminal's Ctrl-C and npm's copy of
 * it both reach us, and none of them reaches the group by itself. Answers its exit code.
 *
 * @param logFile a file descriptor for all that it writes; without it the command has our terminal
 */
export function runForwarding(command, args, env, logFile) {
  return new Promise((resolve, reject) => {
    const stdio = logFile === undefined ? 'inherit' : ['ignore', logFile, logFile];
    const child = spawn(command, args, { cwd: ROOT, env, stdio, detached: true });
    let forwarded = false;
    const forward = (signal) => {
      if (forwarded || child.pid === undefined) return;
      forwarded = true;
      try {
        process.kill(-child.pid, signal);
      } catch {
        // it has just ended
      }
    };
    for (const signal of STOP_SIGNALS) process.on(signal, forward);
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      for (const name of STOP_SIGNALS) process.off(name, forward);
      resolve({ code: code ?? 128 + constants.signals[signal], stopped: forwarded });
    });
  });
}
