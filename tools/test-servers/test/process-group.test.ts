import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { killProcessGroups, startProcessGroup, type ProcessGroupOptions } from '../src/process-group.ts';
import { waitUntil } from '../src/poll-until.ts';
import { processesOf } from '../src/running-processes.ts';
import { withScratchDirectory } from '../src/scratch-directory.ts';

function shell(
  directory: string,
  script: string,
  options: Partial<ProcessGroupOptions> = {},
): ProcessGroupOptions {
  return {
    name: 'a shell',
    command: '/bin/sh',
    args: ['-c', script],
    env: { PATH: '/usr/bin:/bin', SCRATCH: directory },
    cwd: directory,
    logFile: join(directory, 'log'),
    ...options,
  };
}

const fileAppears = (file: string) => ({ isReady: () => existsSync(file), deadlineMs: 60_000 });

test('kills a group that ignores its signal, with its children', async () => {
  await withScratchDirectory(async (directory) => {
    const script = `trap '' TERM; sleep 600 & (trap '' TERM; sleep 600) & touch ready; while true; do sleep 600; done`;
    const group = await startProcessGroup(
      shell(directory, script, { stopDeadlineMs: 200 }),
      fileAppears(join(directory, 'ready')),
    );
    expect(processesOf(directory).length).toBeGreaterThan(1);
    await Promise.all([group.stop(), group.stop()]);
    expect(await group.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(processesOf(directory)).toEqual([]);
  });
});

test('kills a group at once while its stop still waits', async () => {
  await withScratchDirectory(async (directory) => {
    const script = `trap '' TERM; touch ready; while true; do sleep 600; done`;
    const group = await startProcessGroup(
      shell(directory, script, { stopDeadlineMs: 3_600_000 }),
      fileAppears(join(directory, 'ready')),
    );
    const stopped = group.stop();
    await killProcessGroups(3_600_000);
    await stopped;
    expect(processesOf(directory)).toEqual([]);
  });
});

test('finds a child in another session by its mark', async () => {
  await withScratchDirectory(async (directory) => {
    const group = await startProcessGroup(
      shell(directory, 'setsid sleep 600 & touch ready; wait', { stopDeadlineMs: 200 }),
      fileAppears(join(directory, 'ready')),
    );
    await group.stop();
    expect(processesOf(directory)).toEqual([]);
  });
});

test('reports the last lines of a process that ends early, and leaves no process', async () => {
  await withScratchDirectory(async (directory) => {
    const start = startProcessGroup(shell(directory, 'sleep 600 & echo no such luck; exit 3'), {
      isReady: () => false,
      deadlineMs: 60_000,
    });
    await expect(start).rejects.toMatchObject({
      code: 'PROCESS_EXITED_EARLY',
      message: expect.stringContaining('no such luck'),
      context: { code: 3 },
    });
    expect(processesOf(directory)).toEqual([]);
  });
});

test('stops a process that never becomes ready', async () => {
  await withScratchDirectory(async (directory) => {
    const start = startProcessGroup(shell(directory, 'sleep 600'), { isReady: () => false, deadlineMs: 200 });
    await expect(start).rejects.toMatchObject({ code: 'PROCESS_NOT_READY' });
    expect(processesOf(directory)).toEqual([]);
  });
});

test('aborts a wait at once and leaves no process', async () => {
  await withScratchDirectory(async (directory) => {
    const giveUp = new AbortController();
    const start = startProcessGroup(shell(directory, 'touch ready; sleep 600'), {
      isReady: () => {
        if (existsSync(join(directory, 'ready'))) giveUp.abort(new Error('never mind'));
        return false;
      },
      deadlineMs: 60_000,
      signal: giveUp.signal,
    });
    await expect(start).rejects.toThrow('never mind');
    expect(processesOf(directory)).toEqual([]);
    const late = startProcessGroup(shell(directory, 'sleep 600'), {
      isReady: () => true,
      deadlineMs: 60_000,
      signal: giveUp.signal,
    });
    await expect(late).rejects.toThrow('never mind');
    expect(processesOf(directory)).toEqual([]);
  });
});

test('reports a missing binary at once', async () => {
  await withScratchDirectory(async (directory) => {
    const start = startProcessGroup(shell(directory, '', { command: '/no/such/program' }));
    await expect(start).rejects.toMatchObject({ code: 'PROCESS_NOT_STARTED' });
  });
});

test('the guard signals and then kills the group when the parent is killed', async () => {
  await withScratchDirectory(async (directory) => {
    const parent = join(import.meta.dirname, 'start-and-stay.ts');
    const child = spawn(process.execPath, ['--conditions=source', parent, directory], { stdio: 'inherit' });
    expect(
      await waitUntil(() => existsSync(join(directory, 'ready')), { deadlineMs: 60_000, pollIntervalMs: 20 }),
    ).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const haveEnded = () => processesOf(directory).length === 0; // reads all of /proc; the guard waits for seconds
    expect(await waitUntil(haveEnded, { deadlineMs: 60_000, pollIntervalMs: 250 })).toBe(true);
    expect(readFileSync(join(directory, 'log'), 'utf8')).toContain('asked to stop');
  });
});

test.each([1, 2])('leaves no process when its parent dies once child %i has started', async (child) => {
  await withScratchDirectory(async (directory) => {
    const script = join(import.meta.dirname, 'start-and-stay.ts');
    const args = ['--conditions=source', script, directory, `${child}`];
    const parent = spawn(process.execPath, args, { stdio: 'inherit' });
    expect(await once(parent, 'exit')).toEqual([null, 'SIGKILL']);
    expect(
      await waitUntil(() => processesOf(directory).length === 0, { deadlineMs: 60_000, pollIntervalMs: 20 }),
    ).toBe(true);
  });
});
