import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { keepConnections } from '../src/keep-connections.ts';
import { sendCallback } from '../src/send-callback.ts';

const BURST = 24;

let server: Server;
let opened: number;

/** Answers once a whole burst has arrived, so that each of its requests needs a connection. */
beforeEach(async () => {
  opened = 0;
  const waiting: ServerResponse[] = [];
  server = createServer((request, response) => {
    request.resume().on('end', () => {
      waiting.push(response);
      if (waiting.length === BURST) for (const one of waiting.splice(0)) one.end('ok');
    });
  });
  server.on('connection', () => (opened += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

async function openedByTwoBursts(
  idlePerEndpoint: number,
  owners: readonly [string, string],
): Promise<number> {
  const connections = keepConnections(idlePerEndpoint);
  const { port } = server.address() as AddressInfo;
  const endpoint = { url: new URL(`http://shop.example:${port}/`), address: '127.0.0.1' };
  try {
    for (const owner of owners) {
      const sent = Array.from({ length: BURST }, () =>
        sendCallback({ endpoint, body: '{}', headers: {}, deadlineMs: 60_000, keep: { connections, owner } }),
      );
      for (const result of await Promise.all(sent)) expect(result).toMatchObject({ statusCode: 200 });
    }
  } finally {
    connections.close();
  }
  return opened;
}

it('reuses the connections of one burst for the next', async () => {
  expect(await openedByTwoBursts(BURST, ['shop', 'shop'])).toBe(BURST);
});

it('keeps no more idle connections than allowed', async () => {
  expect(await openedByTwoBursts(8, ['shop', 'shop'])).toBe(BURST + BURST - 8);
});

it('does not share connections between merchants at the same address', async () => {
  expect(await openedByTwoBursts(BURST, ['shop', 'other'])).toBe(2 * BURST);
});
