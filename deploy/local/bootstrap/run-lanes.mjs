import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runForwarding, say } from './run-command.mjs';

/**
 * Runs lanes of steps ({ name, command, args }) concurrently; the steps of a lane run in order, also after a failure. The
 * first lane has the terminal; output of other lanes is printed per step. A stop signal ends all lanes and this
 * process. @returns exit codes by step name
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
      say(`${name}: ${code === 0 ? 'done' : `exit code ${code}`}`);
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
