import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createHostResolver } from '../src/resolve-host.ts';

let server: Socket;
let servers: string[];
/** With their type: 1 is A, 28 is AAAA. */
let asked: string[];
let answersForRoot: boolean;

beforeEach(async () => {
  asked = [];
  answersForRoot = true;
  server = createSocket('udp4').bind(0, '127.0.0.1');
  server.on('message', (query, from) => {
    const reply = answer(query);
    if (reply !== undefined) server.send(reply, from.port, from.address);
  });
  await new Promise((resolve) => server.once('listening', resolve));
  servers = [`127.0.0.1:${(server.address() as AddressInfo).port}`];
});
afterEach(() => new Promise<void>((resolve) => server.close(() => resolve())));

/** RFC 1035: repeats the question, with one address for `*.example`. Names that start with `hangs` get no answer. */
function answer(query: Buffer): Buffer | undefined {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1);
  asked.push(`${labels.join('.')} ${type}`);
  if (labels[0]?.startsWith('hangs') ?? !answersForRoot) return undefined;
  if (labels[0] === 'halfhangs' && type === 28) return undefined;
  const known = labels.at(-1) === 'example' && (type === 1 || labels[0] === 'both');
  const data =
    type === 1 ? Buffer.from([8, 8, 4, 4]) : Buffer.from('20014860486000000000000000008844', 'hex');
  const header = Buffer.from(query.subarray(0, 12));
  header.writeUInt16BE(labels.at(-1) === 'example' ? 0x8180 : 0x8183, 2); // NOERROR or NXDOMAIN
  header.writeUInt16BE(known ? 1 : 0, 6);
  header.writeUInt32BE(0, 8);
  const record = Buffer.alloc(12);
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(type, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt16BE(data.length, 10);
  const question = query.subarray(12, at + 5);
  return Buffer.concat([header, question, ...(known ? [record, data] : [])]);
}

it('returns every address, IPv4 first', async () => {
  const resolveHost = createHostResolver({ localNames: false, servers });
  expect(await resolveHost('both.example')).toEqual(['8.8.4.4', '2001:4860:4860::8844']);
  expect(await resolveHost('shop.example')).toEqual(['8.8.4.4']);
});

it('rejects a name that does not exist', async () => {
  const resolveHost = createHostResolver({ localNames: false, servers });
  await expect(resolveHost('nowhere.test')).rejects.toMatchObject({
    code: 'LOOKUP_FAILED',
    message: expect.stringContaining('ENOTFOUND'),
  });
});

it("lets hanging names delay neither other names nor the system's lookups", async () => {
  const resolveHost = createHostResolver({ localNames: true, servers, timeoutMs: 3_000 });
  const hanging = Promise.allSettled(Array.from({ length: 40 }, (_, i) => resolveHost(`hangs${i}.example`)));
  const startedAt = performance.now();
  expect(await resolveHost('shop.example')).toEqual(['8.8.4.4']);
  expect(await resolveHost('localhost')).toContain('127.0.0.1');
  expect((await lookup('localhost')).address).toMatch(/^(127\.0\.0\.1|::1)$/);
  // Behind them in the system's four lookup threads it would take more than a minute.
  expect(performance.now() - startedAt).toBeLessThan(30_000);
  for (const result of await hanging) {
    expect(result).toMatchObject({ status: 'rejected', reason: { code: 'LOOKUP_TIMEOUT', retryable: true } });
  }
  expect(performance.now() - startedAt).toBeLessThan(60_000); // in parallel
});

it('distinguishes silent name servers from a name without an answer', async () => {
  answersForRoot = false;
  const resolveHost = createHostResolver({ localNames: false, servers, timeoutMs: 300 });
  await expect(resolveHost('hangs.example')).rejects.toMatchObject({ code: 'RESOLVER_DOWN' });
  answersForRoot = true;
  // Under load the answer for the root may come too late once or twice.
  await waitUntil('distinguished', async () => {
    await expect(resolveHost('hangs.example')).rejects.toMatchObject({ code: 'LOOKUP_TIMEOUT' });
    return true;
  });
  const unreachable = createHostResolver({ localNames: false, servers: ['127.0.0.1:1'], timeoutMs: 300 });
  await expect(unreachable('shop.example')).rejects.toMatchObject({ code: 'RESOLVER_DOWN' });
});

it('waits only briefly for the other family when one has answered', async () => {
  const resolveHost = createHostResolver({ localNames: false, servers });
  // Under load one try may be slow. Waiting for the other family's timeout takes three seconds every time.
  await waitUntil('a brief wait', async () => {
    const startedAt = performance.now();
    expect(await resolveHost('halfhangs.example')).toEqual(['8.8.4.4']);
    return performance.now() - startedAt < 2_500;
  });
});

it('shares one query between concurrent lookups, and repeats it later', async () => {
  const resolveHost = createHostResolver({ localNames: false, servers });
  const found = await Promise.all(Array.from({ length: 10 }, () => resolveHost('shop.example')));
  expect(new Set(found.map(String))).toEqual(new Set(['8.8.4.4']));
  expect(asked.toSorted()).toEqual(['shop.example 1', 'shop.example 28']);
  await resolveHost('shop.example');
  expect(asked).toHaveLength(4);
});

it('queries the name servers for local names unless they are allowed', async () => {
  const resolveHost = createHostResolver({ localNames: false, servers });
  await expect(resolveHost('demo-shop')).rejects.toMatchObject({ code: 'LOOKUP_FAILED' });
  expect(asked).toContain('demo-shop 1');
});
