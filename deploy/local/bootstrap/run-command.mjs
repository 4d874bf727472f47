import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
/** State kept between runs. */
export const CACHE = join(ROOT, 'node_modules', '.cache', 'opentill');
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** Unix time in ms, from which lines count their seconds. */
export const STARTED_AT = Date.now();

/** Failure described in one sentence, if useful with the end of a command's output. */
export class BootstrapError extends Error {}

export function say(line) {
  process.stderr.write(`${((Date.now() - STARTED_AT) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
}

/** Prints what begins and, when it is done, the time that it took. */
export function runStep(name, work) {
  say(name);
  const beganAt = Date.now();
  const result = work();
  say(`${name}: ${((Date.now() - beganAt) / 1000).toFixed(1)} s`);
  return result;
}

/** Undefined for a missing or invalid file. */
export function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

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
 * Runs a command in its own process group and forwards the first stop signal once: Ctrl-C and npm's copy of it both
 * arrive here. Returns the exit code.
 * @param logFile file descriptor for its output. Without it the command uses this terminal.
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
      } catch {}
    };
    for (const signal of STOP_SIGNALS) process.on(signal, forward);
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      for (const name of STOP_SIGNALS) process.off(name, forward);
      resolve({ code: code ?? 128 + constants.signals[signal], stopped: forwarded });
    });
  });
}
