import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import {
  buildCallbackBody,
  callbackHeaders,
  serializeCallbackData,
} from '@opentill/contracts/signing/callback';
import { waitUntil } from '@opentill/testkit/wait-until';
import { RECEIVERS, type Receiver } from '../../src/docs/receivers.ts';

const SECRETS = [
  'dev-webhook-secret',
  'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwVr+/ec8sHow=',
  'whsec_not-in_base64', // the key itself
];
const PATIENCE_MS = 240_000; // Go compiles its standard library the first time
const run = promisify(execFile);

interface Running {
  readonly url: string;
  output(): string;
  stop(): Promise<void>;
}

/** Runs the receivers of /docs unchanged. A language that is not installed is skipped with a message. */
export function describeReceivers(languages: readonly string[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'opentill-receivers-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(languages)(
    '%s: accepts only recent callbacks that the secret signed',
    async (language) => {
      const receiver = RECEIVERS.find((one) => one.language === language)!;
      writeFileSync(join(folder, receiver.file), receiver.code);
      for (const secret of SECRETS) {
        const running = await start(folder, receiver, secret);
        if (running === undefined)
          return console.info(`${language} is not installed; its receiver is not run.`);
        try {
          await expectVerified(running, secret);
        } finally {
          await running.stop();
        }
      }
      await expectSecretRequired(folder, receiver);
    },
    2 * PATIENCE_MS,
  );
}

/** PHP's server starts without the program. */
async function expectSecretRequired(folder: string, receiver: Receiver): Promise<void> {
  const started = start(folder, receiver, '');
  if (receiver.language !== 'PHP') return expect(started).rejects.toThrow('WEBHOOK_SECRET is not set');
  const running = await started;
  const answer = await fetch(running!.url, { method: 'POST', body: '{}' });
  expect([answer.status, await answer.text()]).toEqual([500, 'WEBHOOK_SECRET is not set']);
  await running!.stop();
}

async function expectVerified(running: Running, secret: string): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  const send = async ({ body, headers }: ReturnType<typeof makeCallback>) => {
    const all = { ...headers, 'content-type': 'application/json' };
    return (await fetch(running.url, { method: 'POST', headers: all, body })).status;
  };
  const sent = makeCallback(now, secret);
  expect(await send(sent)).toBe(200);
  expect(await send(makeCallback(now, 'next', secret))).toBe(200);
  expect(await send({ ...sent, body: sent.body.replace('12.50', '99.50') })).toBe(401);
  expect(await send(makeCallback(now, 'stranger'))).toBe(401);
  expect(await send(makeCallback(now - 400, secret))).toBe(401);
  expect((await fetch(running.url, { method: 'POST', body: sent.body })).status).toBe(401);
  await waitUntil(
    'it has printed all',
    async () => running.output().split('refused').length === 5,
    PATIENCE_MS,
  );
  expect(running.output().match(/ORDER_SUCCESS/g)).toHaveLength(2);
  expect(running.output()).toContain('example-1');
}

/** Undefined when the program of the language is not installed. */
async function start(folder: string, receiver: Receiver, secret: string): Promise<Running | undefined> {
  const port = await findFreePort();
  const command = await commandOf(folder, receiver, port);
  if (command === undefined) return undefined;
  const [program, ...args] = command;
  const env = { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) };
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const closed = new Promise((resolve) => child.once('close', resolve));
  const failed = new Promise<Error | undefined>((resolve) => {
    child.once('error', resolve);
    child.once('spawn', () => resolve(undefined));
  });
  const error = await failed;
  if (error !== undefined) {
    if ('code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  const url = `http://127.0.0.1:${port}/`;
  const listens = async () => child.exitCode !== null || (await isOpen(port));
  await waitUntil(`${receiver.language} listens`, listens, PATIENCE_MS);
  if (child.exitCode !== null) {
    await closed;
    throw new Error(`${command.join(' ')} ended: ${output}`);
  }
  return { url, output: () => output, stop: () => end(child) };
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
  return true;
}

/** The command of the page, with the test's port. Go is compiled first: `go run` leaves its child when it is killed. */
async function commandOf(
  folder: string,
  { file, command, language }: Receiver,
  port: number,
): Promise<readonly [string, ...string[]] | undefined> {
  if (language === 'Go') {
    const built = await run('go', ['build', '-o', 'receiver', file], { cwd: folder }).catch(
      (error: unknown) => {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      },
    );
    return built === undefined ? undefined : [join(folder, 'receiver')];
  }
  const [program = '', ...args] = command.replace('4000', String(port)).split(' ');
  return [program === 'node' ? process.execPath : program, ...args];
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await closed;
}

/** @param nextSecret signs too, as while a secret is being changed */
function makeCallback(timestampSeconds: number, secret: string, nextSecret?: string) {
  const dataText = serializeCallbackData({ orderId: 'example-1', status: 'SUCCESS', amount: '12.50' });
  const eventId = '01a1ff1d-9388-7120-8b00-38f63ebe8b78';
  const notifyType = 'ORDER_SUCCESS';
  const body = buildCallbackBody({ dataText, nonce: eventId, notifyType, timestampSeconds, secret });
  const rotating = nextSecret === undefined ? {} : { nextSecret };
  return {
    body,
    headers: callbackHeaders({ body, dataText, eventId, timestampSeconds, secret, ...rotating }),
  };
}
