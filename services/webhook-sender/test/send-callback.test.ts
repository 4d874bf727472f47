import { afterEach, beforeEach, expect, it } from 'vitest';
import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { waitUntil } from '@opentill/testkit/wait-until';
import { keepConnections, type Connections } from '../src/keep-connections.ts';
import { sendCallback, type AttemptResult, type CallbackRequest } from '../src/send-callback.ts';

let connections: Connections;
let opened: Socket[];
let server: ReturnType<typeof createServer>;
let received: string[];
/** `request` counts from 1 per connection; undefined closes it. */
let answer: (request: number) => string | undefined;

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

beforeEach(async () => {
  connections = keepConnections();
  opened = [];
  received = [];
  answer = () => OK;
  server = createServer((socket) => {
    opened.push(socket);
    let requests = 0;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      requests += 1;
      received.push(chunk.toString());
      const reply = answer(requests);
      if (reply === undefined) socket.resetAndDestroy();
      else socket.write(reply);
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
});
afterEach(async () => {
  connections.close();
  for (const socket of opened) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

function send(owner: string, overrides: Partial<CallbackRequest> = {}) {
  const { port } = server.address() as AddressInfo;
  return sendCallback({
    endpoint: { url: new URL(`http://shop.example:${port}/callbacks`), address: '127.0.0.1' },
    body: '{}',
    headers: {},
    deadlineMs: 60_000,
    keep: { connections, owner },
    ...overrides,
  });
}

it('reuses a connection for the same owner only', async () => {
  for (let i = 0; i < 3; i += 1) expect(await send('a')).toMatchObject({ statusCode: 200, excerpt: 'ok' });
  expect(opened).toHaveLength(1);
  await send('b');
  expect(opened).toHaveLength(2);
});

it('replaces a kept connection that the receiver closed, once', async () => {
  await send('a');
  answer = (request) => (request === 1 ? OK : undefined);
  expect(await send('a')).toMatchObject({ kind: 'ANSWERED', statusCode: 200 });
  expect([opened.length, received.length]).toEqual([2, 3]);
  answer = () => undefined;
  expect(await send('b')).toMatchObject({ kind: 'FAILED', error: expect.stringContaining('ECONNRESET') });
  expect(received).toHaveLength(4);
});

it('does not reuse a connection whose response was not read completely', async () => {
  answer = () => `HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n${'x'.repeat(2_000)}`;
  expect(await send('a')).toMatchObject({ statusCode: 200, excerpt: 'x'.repeat(1_024) });
  await send('a');
  expect(opened).toHaveLength(2);
});

it('does not send when maySend returns false, on new and kept connections', async () => {
  const late = { maySend: () => false };
  expect(await send('a', late)).toEqual({ kind: 'ABANDONED' });
  await send('a');
  expect(await send('a', late)).toEqual({ kind: 'ABANDONED' });
  expect(received).toHaveLength(1);
});

it('ends on its signal, also before it began', async () => {
  const stopping = new AbortController();
  answer = () => {
    stopping.abort();
    return '';
  };
  expect(await send('a', { signal: stopping.signal })).toEqual({ kind: 'INTERRUPTED' });
  expect(await send('a', { signal: stopping.signal })).toEqual({ kind: 'INTERRUPTED' });
  expect(received).toHaveLength(1);
});

it('counts a timely status although the body continues', async () => {
  answer = () => 'HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n';
  expect(await send('a')).toMatchObject({ statusCode: 204 });
  answer = () => 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nslow';
  let result: AttemptResult | undefined;
  // Under load the status may come too late. That attempt fails and is not counted.
  await waitUntil('a timely status', async () => {
    result = await send('a', { deadlineMs: 300 });
    return result.kind === 'ANSWERED';
  });
  expect(result).toMatchObject({ statusCode: 200, excerpt: 'slow' });
});
