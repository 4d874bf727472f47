import { spawn } from 'node:child_process';
import { describe, expect, test } from 'vitest';

const { NODE_COMPILE_CACHE } = process.env;

/** Sends each of `signals` after the process printed `ready`; 'unread' closes the reader of its output. */
async function runScript(
  body: string,
  signals: readonly (NodeJS.Signals | 'unread')[] = [],
  stopTimeoutMs = 10_000,
) {
  const script = `
    const { runService } = await import(${JSON.stringify(new URL('service.ts', import.meta.url).href)});
    const { createLogger } = await import(${JSON.stringify(new URL('logger.ts', import.meta.url).href)});
    const { GatewayError } = await import('@opentill/domain/gateway-error');
    setInterval(() => {}, 1000); // keeps the process alive
    await runService({ name: 'test', logger: createLogger({ service: 'test', level: 'info' }), stopTimeoutMs: ${stopTimeoutMs},
      start: async (signal, fail) => { ${body} } });`;
  const child = spawn(
    process.execPath,
    ['--conditions=source', '--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script],
    { cwd: new URL('.', import.meta.url), stdio: ['ignore', 'pipe', 'pipe'], env: { NODE_COMPILE_CACHE } },
  );
  let [output, errors] = ['', ''];
  const send = [...signals];
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (!text.includes('ready')) return;
    const signal = send.shift();
    if (signal === 'unread') child.stdout.destroy();
    else if (signal !== undefined) child.kill(signal);
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  const messages = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => (JSON.parse(line) as { message: string }).message);
  return { code, output, errors, messages };
}
const say = (word: string) => `process.stdout.write('${word}\\n');`;
const ready = `setImmediate(() => { ${say('ready')} });`;

describe('runService', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('stops in order with exit code 0 on %s', async (signal) => {
    const { code, messages, output } = await runScript(
      `${ready} return { stop: async () => { ${say('closed')} } };`,
      [signal],
    );
    expect(code).toBe(0);
    expect(output).toContain('closed');
    expect(messages).toEqual(['service started', 'service stopping', 'service stopped']);
  });

  test('aborts the start on a signal and stops what it opened', async () => {
    const { code, output } = await runScript(
      `${ready} await new Promise((resolve) => signal.addEventListener('abort', resolve));
       return { stop: async () => { ${say('closed')} } };`,
      ['SIGTERM'],
    );
    expect(code).toBe(0);
    expect(output).toContain('closed');
  });

  test('exits with 1 on an error that the operator must correct', async () => {
    const { code } = await runScript(`throw new GatewayError('CONFIG_INVALID', 'x', { retryable: false });`);
    expect(code).toBe(1);
  });

  test('exits with 75 on a retryable or an unknown error', async () => {
    const retryable = await runScript(
      `throw new GatewayError('BROKER_UNAVAILABLE', 'x', { retryable: true });`,
    );
    expect(retryable.code).toBe(75);
    expect((await runScript(`throw new Error('bug');`)).code).toBe(75);
  });

  test.each([
    ['unhandled rejection', `Promise.reject(new Error('lost'))`],
    ['uncaught exception', `setImmediate(() => { throw new Error('lost'); })`],
  ])('logs an %s, stops the service and exits with 75', async (_name, bug) => {
    const { code, messages, output } = await runScript(
      `${bug}; return { stop: async () => { ${say('closed')} } };`,
    );
    expect(code).toBe(75);
    expect(messages).toContain('uncaught');
    expect(output).toContain('closed');
  });

  test('stops in order and exits with 75 when its output has no reader', async () => {
    const { code, errors } = await runScript(
      `${ready} process.on('uncaughtException', () => process.stderr.write('uncaught '));
       setInterval(() => { ${say('more')} }, 5);
       return { stop: async () => { process.stderr.write('closed'); } };`,
      ['unread'],
    );
    expect({ code, errors }).toEqual({ code: 75, errors: 'closed' });
  });

  test('stops in order on fail() and exits with the code of its error', async () => {
    const { code, output } = await runScript(
      `setImmediate(() => fail(new GatewayError('FORK', 'x', { retryable: false })));
       return { stop: async () => { ${say('closed')} } };`,
    );
    expect(code).toBe(1);
    expect(output).toContain('closed');
  });

  test('exits with 75 when the stop hangs until the deadline or fails', async () => {
    const hangs = await runScript(`${ready} return { stop: () => new Promise(() => {}) };`, ['SIGTERM'], 100);
    expect(hangs.code).toBe(75);
    expect(hangs.messages).toContain('service did not stop in time');
    const fails = await runScript(`${ready} return { stop: async () => { throw new Error('no'); } };`, [
      'SIGTERM',
    ]);
    expect(fails.code).toBe(75);
  });

  test('turns debug lines on by SIGUSR2 and off by the next one', async () => {
    const { code, messages } = await runScript(
      `const own = createLogger({ service: 'own', level: 'warn' });
       process.on('SIGUSR2', () => { own.debug('debug line'); own.info('info line'); ${say('ready')} });
       ${ready} return { stop: async () => {} };`,
      ['SIGUSR2', 'SIGUSR2', 'SIGTERM'],
    );
    expect(code).toBe(0);
    expect(messages).toEqual([
      'service started',
      'debug logging on',
      'debug line',
      'info line',
      'debug logging off',
      'service stopping',
      'service stopped',
    ]);
  });

  test('ends at once on a second signal', async () => {
    const { code } = await runScript(
      `${ready} return { stop: () => { ${say('ready')} return new Promise(() => {}); } };`,
      ['SIGTERM', 'SIGINT'],
    );
    expect(code).toBe(75);
  });
});
