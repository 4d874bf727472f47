import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import { subscribeHeads } from '../src/subscribe-heads.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Text frame of at most 125 bytes (RFC 6455 section 5.2). */
function frame(text: string): Buffer {
  const payload = Buffer.from(text);
  return Buffer.concat([Buffer.from([0x81, payload.length]), payload]);
}

/** A scripted reaction to each subscription. */
async function socketServer(
  onSubscribe: (socket: Socket, nth: number) => void,
): Promise<{ url: string; opened: number[] }> {
  const server = createServer();
  const sockets = new Set<Socket>();
  const opened: number[] = [];
  server.on('upgrade', (request, socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    opened.push(performance.now());
    const nth = opened.length;
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    socket.once('data', () => onSubscribe(socket, nth));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, opened };
}

const HEAD = frame('{"method":"eth_subscription","params":{}}');
const ACCEPTED = frame('{"id":1,"result":"0x1"}');

describe('subscribeHeads', () => {
  it('wakes the caller at the acknowledgement and at each head', async () => {
    const { url } = await socketServer((socket) => {
      socket.write(Buffer.concat([ACCEPTED, HEAD, HEAD]));
    });
    const controller = new AbortController();
    let woken = 0;
    const done = subscribeHeads({ url, blockTimeMs: 1_000 }, () => (woken += 1), controller.signal);
    await waitUntil('woken three times', () => woken >= 3);
    controller.abort();
    await done;
  });

  it('reconnects after silence and after a lost connection', async () => {
    const { url, opened } = await socketServer((socket, nth) => {
      socket.write(Buffer.concat([ACCEPTED, HEAD]));
      if (nth === 2) socket.destroy();
    });
    const controller = new AbortController();
    let woken = 0;
    const done = subscribeHeads(
      { url, blockTimeMs: 1_000, silenceMs: 500, reconnectMs: 10 },
      () => (woken += 1),
      controller.signal,
    );
    await waitUntil('three connections, each with a wake-up', () => opened.length >= 3 && woken >= 5);
    controller.abort();
    await done;
  });

  it('backs off where there are no subscriptions, and never rejects', async () => {
    const refusal = frame('{"id":1,"error":{"code":-32601,"message":"notifications not supported"}}');
    const { url, opened } = await socketServer((socket) => socket.write(refusal));
    const controller = new AbortController();
    const done = subscribeHeads(
      { url, blockTimeMs: 1_000, reconnectMs: 10, random: () => 1 },
      () => undefined,
      controller.signal,
    );
    await waitUntil('five attempts', () => opened.length >= 5);
    controller.abort();
    await done;
    const gaps = opened.slice(1).map((at, place) => at - opened[place]!);
    // Timers may fire slightly early.
    gaps.slice(0, 4).forEach((gap, place) => expect(gap).toBeGreaterThan(20 * 2 ** place - 2));
  });

  it('retries with an invalid URL', async () => {
    const controller = new AbortController();
    const done = subscribeHeads(
      { url: 'no url', blockTimeMs: 1_000, reconnectMs: 1 },
      () => undefined,
      controller.signal,
    );
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    await done;
  });
});
