import { join } from 'node:path';
import { startProcessGroup } from '../src/process-group.ts';

/* A parent to be killed: starts a group that hears its stop signal but doesn't obey it. */
const directory = process.argv[2] ?? '';
await startProcessGroup({
  name: 'a stubborn shell',
  command: '/bin/sh',
  args: ['-c', `trap 'echo asked to stop' TERM; touch ready; while true; do sleep 0.1; done`],
  env: { PATH: '/usr/bin:/bin' },
  cwd: directory,
  logFile: join(directory, 'log'),
  stopDeadlineMs: 4_000, // it is to say that it heard the signal before it is killed
});
