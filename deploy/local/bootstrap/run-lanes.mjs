import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runForwarding, say } from './run-command.mjs';

/**
 * Runs steps ({ name, command, args }): those of a lane one after the other, whatever comes of them, the lanes beside one
 * another. The first lane has the terminal; what a step of another one wrote is printed in one piece when it has ended.
 *
 * @returns the exit code of each step, by its name. A stop signal ends all of them, and this process.
 */
export async function runLanes(lanes, env) {
  const directory = mkdtempSync(join(tmpdir(), 'opentill-lanes-'));
  const codes = new Map();
  let stoppedWith;
  const runStep = async ({ name, command, args }, hasTerminal) => {
    const logFile = join(directory, name.replaceAll(/\W+/g, '-'));
    const log = hasTerminal ? undefined : openSync(logFile, 'w');
    const { code, stopped } = await runForwarding(command, args, env, log);
    if (log !== undefined) {
      closeSync(log);
      say(`${name}: ${code === 0 ? 'done' : `ended with ${code}`}`);
      process.stderr.write(readFileSync(logFile));
    }
    codes.set(name, code);
    if (stopped) stoppedWith ??= code;
  };
  const runLane = async (steps, lane) => {
    for (const step of steps) {
      if (stoppedWith !== undefined) return;
      say(step.name);
      await runStep(step, lane === 0);
    }
  };
  try {
    const ends = await Promise.allSettled(lanes.map(runLane));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  if (stoppedWith !== undefined) process.exit(stoppedWith);
  return codes;
}
