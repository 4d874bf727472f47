import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { CannedCounters, CannedDescription } from './serve-canned.ts';

/** A canned node in a process of its own. */
export interface CannedNode {
  /** Of each network by its name, a URL for each source. */
  readonly urls: Readonly<Record<string, readonly string[]>>;
  /** What was counted of each source since the last call. */
  takeCounters(): Promise<Readonly<Record<string, readonly CannedCounters[]>>>;
  stop(): Promise<void>;
}

/** The programs of canned nodes, each with networks of its own kind: files beside this one. */
export type CannedProgram = 'canned-node' | 'canned-tron-node' | 'canned-sui-node';

/** Starts it and waits until the first blocks of all networks are made. */
export async function startCannedNode<D extends CannedDescription>(
  networks: readonly D[],
  program: CannedProgram = 'canned-node',
): Promise<CannedNode> {
  const extension = import.meta.filename.endsWith('.ts') ? 'ts' : 'js';
  const child = fork(join(import.meta.dirname, `${program}.${extension}`), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // What bounds the memory of the process that is measured does not bound this one.
    execArgv: process.execArgv.filter((flag) => !flag.startsWith('--max-')),
  });
  const exited = once(child, 'exit');
  const answer = async <T>(message: unknown): Promise<T> => {
    const answered = Promise.race([
      once(child, 'message'),
      exited.then(([code]) => Promise.reject(new Error(`the canned node ended with code ${String(code)}`))),
    ]);
    child.send(message as object);
    return ((await answered) as [T])[0];
  };
  const ports = await answer<Readonly<Record<string, readonly number[]>>>(networks);
  return {
    urls: Object.fromEntries(
      Object.entries(ports).map(([name, own]) => [name, own.map((port) => `http://127.0.0.1:${port}`)]),
    ),
    takeCounters: () => answer({}),
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
