import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const MAIN = join(import.meta.dirname, '..', 'src', 'main.ts');

/** Runs the command, calls `work` with the first URL that it prints, then sends SIGTERM. Returns the exit code. */
export async function runUntilStopped(
  args: readonly string[],
  work: (url: string) => Promise<void>,
): Promise<number> {
  const child = spawn(process.execPath, ['--conditions=source', MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /http:\S+/.exec(line)?.[0];
      if (url === undefined) continue;
      await work(url);
      break;
    }
  } finally {
    child.kill('SIGTERM');
  }
  const [code] = await exited;
  return code as number;
}
