import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { join } from 'node:path';
import { startProcessGroup } from '../src/process-group.ts';

// Parent for tests. Arguments: the group's directory, and optionally the number of the child at whose start it dies.
const directory = process.argv[2] ?? '';
const diesAt = Number(process.argv[3] ?? Number.NaN);
let children = 0;
subscribe('child_process', (message) => {
  children += 1;
  const { process: child } = message as { process: ChildProcess };
  if (children === diesAt) child.once('spawn', () => process.kill(process.pid, 'SIGKILL'));
});
await startProcessGroup({
  name: 'a stubborn shell',
  command: '/bin/sh',
  args: ['-c', `trap 'echo asked to stop' TERM; touch ready; while true; do sleep 0.1; done`],
  env: { PATH: '/usr/bin:/bin' },
  cwd: directory,
  logFile: join(directory, 'log'),
  stopDeadlineMs: 4_000, // time to log the signal before SIGKILL
});
