import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runProcess } from './run-process.ts';

it('prints its commands to standard output with exit code 0', async () => {
  const help = await runProcess(['--help']);
  expect(help).toMatchObject({ code: 0, err: '' });
  for (const command of ['setup', 'keys', 'merchant', 'rescan', 'webhook', 'explain', 'wallet'])
    expect(help.out).toContain(command);
});

it('prints an error as one line to standard error with exit code 1', async () => {
  const none = join(tmpdir(), 'opentill-no-such-directory');
  const keys = ['keys', 'init', '--keystore', join(none, 'k'), '--public-keys', join(none, 'p')];
  const [unset, noTerminal, unknown] = await Promise.all([
    runProcess(['explain', 'x']),
    runProcess(keys),
    runProcess(['sell']),
  ]);
  expect(unset).toEqual({
    code: 1,
    out: '',
    err: 'opentill: configuration: OPS_URL is missing\n',
  });
  expect(noTerminal).toMatchObject({ code: 1, out: '' });
  expect(noTerminal.err).toMatch(/^opentill: There is no terminal to read a secret from.*\n$/);
  expect(unknown).toEqual({ code: 1, out: '', err: "error: unknown command 'sell'\n" });
});
