import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import {
  buildCallbackBody,
  callbackHeaders,
  serializeCallbackData,
} from '@opentill/contracts/signing/callback';
import { envelope, startScriptedServer } from './scripted-server.ts';

// Runs each block of README.md unchanged. Environment variables set its ports and addresses.
// tools/e2e/test/guides.full.test.ts runs all of them against a gateway.
const FOLDER = fileURLToPath(new URL('..', import.meta.url));
const README = readFileSync(`${FOLDER}README.md`, 'utf8');
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null) continue;
    const closed = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await closed;
  }
});

function block(mark: string): string {
  const found = new RegExp(`<!-- test:${mark} -->\\s*\\n\`\`\`js\\n([^]*?)\\n\`\`\``).exec(README)?.[1];
  if (found === undefined) throw new Error(`README.md has no block ${mark}`);
  return found;
}

/** `until` resolves when a line of its output matches, and rejects when the process ends first. */
function start(code: string, env: Readonly<Record<string, string>>) {
  const args = [
    '--conditions=source',
    '--disable-warning=ExperimentalWarning',
    '--input-type=module',
    '-e',
    code,
  ];
  const child = spawn(process.execPath, args, { cwd: FOLDER, env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const until = (line: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = (): void => void (line.test(output) && resolve(output));
      child.stdout.on('data', look);
      child.once('close', () => (line.test(output) ? resolve(output) : reject(new Error(output))));
      look();
    });
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return { until };
}

it('runs the README block that takes a payment', async () => {
  const server = await startScriptedServer();
  const order = { orderId: 'book-1', paymentUrl: 'http://localhost:3010/checkout?orderId=book-1&sign=0' };
  server.replies = [envelope(200, 'success', order), envelope(200, 'success', { status: 'INIT' })];
  const output = await start(block('order'), { OPENTILL_URL: server.url, MERCHANT_TOKEN: 't' }).until(
    /now it is/,
  );
  await server.close();
  expect(output).toBe(`send the customer to ${order.paymentUrl}\nnow it is INIT\n`);
  expect(server.asked.map(({ method }) => method)).toEqual(['POST', 'GET']);
});

it('runs the README block that receives callbacks, once per event', async () => {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  const { until } = start(`${block('callbacks')}\nconsole.log('listening');`, {
    PORT: String(port),
    WEBHOOK_SECRET: 'shop-secret',
  });
  await until(/listening/);
  const send = async (secret: string): Promise<number> => {
    const dataText = serializeCallbackData({ orderId: 'book-1', status: 'SUCCESS', actualAmount: '12.50' });
    const timestampSeconds = Math.floor(Date.now() / 1000);
    const eventId = 'event-1';
    const of = { dataText, nonce: eventId, notifyType: 'ORDER_SUCCESS', timestampSeconds, secret };
    const body = buildCallbackBody(of);
    const headers = callbackHeaders({ body, dataText, eventId, timestampSeconds, secret });
    const request = { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json' } };
    return (await fetch(`http://127.0.0.1:${port}/callbacks`, request as RequestInit)).status;
  };
  expect([await send('shop-secret'), await send('shop-secret'), await send('stranger')]).toEqual([
    200, 200, 401,
  ]);
  const output = await until(/no signature matches the webhook secret/);
  expect(output.match(/book-1 is paid: 12.50/g)).toHaveLength(1);
});
