import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { NODE_ENVIRONMENT } from '@opentill/testkit/node-environment';

const MAIN = join(import.meta.dirname, '..', 'src', 'main.ts');

export async function runProcess(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
) {
  const child = spawn(process.execPath, ['--conditions=source', MAIN, ...args], {
    env: { ...NODE_ENVIRONMENT, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (texts.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (texts.err += text));
  const code = await new Promise((resolve) => void child.once('close', resolve));
  return { code, ...texts };
}
