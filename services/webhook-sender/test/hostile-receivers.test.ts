import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keepConnections, type Connections } from '../src/keep-connections.ts';
import { createAddressGuard } from '../src/forbidden-addresses.ts';
import { failureOfResolving, resolveEndpoint } from '../src/resolve-endpoint.ts';
import { sendCallback, type AttemptResult } from '../src/send-callback.ts';
import { BODIES, gzipBomb, MISBEHAVIOURS, startHostile, type HostileReceiver } from './hostile-receivers.ts';

/** For receivers that use all of it; a connection must be possible within it. */
const DEADLINE_MS = 2_000;
const LATE_DEADLINE_MS = 60_000;
/** Under load the end of a deadline is noticed later. */
const LATENESS_MS = 30_000;
let connections: Connections;
const started: HostileReceiver[] = [];

beforeAll(() => {
  connections = keepConnections();
});
afterAll(async () => {
  await Promise.all(started.map((receiver) => receiver.close()));
  connections.close();
});

async function attempt(
  port: number,
  deadlineMs = LATE_DEADLINE_MS,
  scheme = 'http',
): Promise<{ result: AttemptResult; tookMs: number }> {
  const startedAt = performance.now();
  const result = await sendCallback({
    endpoint: { url: new URL(`${scheme}://shop.example:${port}/callbacks`), address: '127.0.0.1' },
    body: '{"sign":"x"}',
    headers: {},
    deadlineMs,
    keep: { connections, owner: 'shop' },
  });
  return { result, tookMs: performance.now() - startedAt };
}

async function hostile(misbehave: Parameters<typeof startHostile>[0]): Promise<HostileReceiver> {
  const receiver = await startHostile(misbehave);
  started.push(receiver);
  return receiver;
}

const EXPECTED: Record<keyof typeof MISBEHAVIOURS, string> = {
  'hangs before its headers': 'ANSWER_TIMEOUT',
  'drips its status line': 'ANSWER_TIMEOUT',
  'drips headers without end': 'ANSWER_TIMEOUT',
  'floods headers': 'BAD_ANSWER',
  'floods one header line': 'BAD_ANSWER',
  'floods 1xx': 'BAD_ANSWER',
  'floods 100': 'BAD_ANSWER',
  'drips 1xx': 'ANSWER_TIMEOUT',
  'switches protocols': 'BAD_ANSWER',
  'speaks another protocol': 'BAD_ANSWER',
  'sends a NUL in its status line': 'BAD_ANSWER',
  resets: 'CONNECTION_LOST',
  'closes without a word': 'CONNECTION_LOST',
  'has two lengths': 'BAD_ANSWER',
};

describe('sendCallback to a hostile receiver', () => {
  const names = Object.keys(MISBEHAVIOURS) as (keyof typeof MISBEHAVIOURS)[];
  const isSlow = (name: keyof typeof MISBEHAVIOURS) => EXPECTED[name] === 'ANSWER_TIMEOUT';

  async function expectFailure(name: keyof typeof MISBEHAVIOURS): Promise<void> {
    const receiver = await hostile(MISBEHAVIOURS[name]);
    const { result, tookMs } = await attempt(receiver.port, isSlow(name) ? DEADLINE_MS : LATE_DEADLINE_MS);
    expect(result).toMatchObject({ kind: 'FAILED', code: EXPECTED[name] });
    expect(tookMs).toBeLessThan(DEADLINE_MS + LATENESS_MS);
    expect(receiver.bytesWritten).toBeLessThan(20_000_000); // fills kernel buffers, but is not a flood
  }

  it.concurrent.each(names.filter(isSlow))(
    'fails with a known code at the deadline when the receiver %s',
    expectFailure,
  );

  it.each(names.filter((name) => !isSlow(name)))(
    'fails with a known code when the receiver %s',
    expectFailure,
  );

  it.each(Object.keys(BODIES) as (keyof typeof BODIES)[])(
    'succeeds quickly when the receiver answers 200 and %s',
    async (name) => {
      const receiver = await hostile(BODIES[name]);
      const { result, tookMs } = await attempt(receiver.port);
      expect(result).toMatchObject({ kind: 'ANSWERED', statusCode: 200 });
      expect((result as { excerpt: string }).excerpt.length).toBeLessThanOrEqual(1_024);
      expect(tookMs).toBeLessThan(LATENESS_MS);
    },
  );

  it('does not unpack 200 MB of gzip and keeps the first bytes as received', async () => {
    const bomb = gzipBomb();
    let asked = '';
    const receiver = await hostile((socket, request) => {
      asked = request;
      socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    });
    global.gc?.();
    const before = process.memoryUsage.rss();
    const { result } = await attempt(receiver.port);
    expect(asked.toLowerCase()).toContain('accept-encoding: identity\r\n');
    expect(result).toMatchObject({ kind: 'ANSWERED', statusCode: 200 });
    expect((result as { excerpt: string }).excerpt).toBe(bomb.subarray(0, 1_024).toString('latin1'));
    expect(process.memoryUsage.rss() - before).toBeLessThan(60_000_000);
  });

  it('fails at the deadline when the TLS handshake never finishes', async () => {
    const silent = createServer((socket) => void socket.on('error', () => undefined).resume());
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { result, tookMs } = await attempt((silent.address() as AddressInfo).port, DEADLINE_MS, 'https');
    expect(result).toMatchObject({ kind: 'FAILED', code: 'CONNECT_TIMEOUT' });
    expect(tookMs).toBeLessThan(DEADLINE_MS + LATENESS_MS);
    await new Promise((resolve) => silent.close(resolve));
  });

  it('fails at once when the receiver does not use TLS', async () => {
    const receiver = await hostile(() => undefined);
    const plain = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    });
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const { result } = await attempt((plain.address() as AddressInfo).port, LATE_DEADLINE_MS, 'https');
    expect(result).toMatchObject({ kind: 'FAILED', code: 'TLS_FAILED' });
    await new Promise((resolve) => plain.close(resolve));
    await receiver.close();
  });

  it('fails at once when the receiver does not listen', async () => {
    const receiver = await hostile(() => undefined);
    await receiver.close();
    expect((await attempt(receiver.port)).result).toMatchObject({ kind: 'FAILED', code: 'CONNECT_FAILED' });
  });

  it.each([301, 302, 303, 307, 308])(
    'does not follow a redirect by %d and does not contact its target',
    async (status) => {
      const canary = await hostile(() => undefined);
      const receiver = await hostile((socket) =>
        socket.end(
          `HTTP/1.1 ${status} Elsewhere\r\nlocation: http://127.0.0.1:${canary.port}/latest/meta-data\r\ncontent-length: 0\r\n\r\n`,
        ),
      );
      expect((await attempt(receiver.port)).result).toMatchObject({ kind: 'ANSWERED', statusCode: status });
      expect([receiver.connections, canary.connections]).toEqual([1, 0]);
    },
  );
});

describe('forbidden targets', () => {
  let canary: Server;
  let port: number;
  let contacted: number;
  beforeAll(async () => {
    // Listens on every IPv4 and IPv6 address of this machine, so that it detects any spelling of one.
    canary = createServer((socket) => {
      contacted += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => canary.listen({ port: 0, host: '::', ipv6Only: false }, resolve));
    ({ port } = canary.address() as AddressInfo);
    contacted = 0;
  });
  afterAll(() => new Promise((resolve) => canary.close(resolve)));

  async function tryToReach(url: string, answers: readonly (readonly string[])[]): Promise<unknown> {
    const rest = [...answers];
    const rules = {
      guard: createAddressGuard([]),
      allowHttp: true,
      resolveHost: async () => rest.shift() ?? [],
    };
    const endpoint = await resolveEndpoint(url, rules).catch(failureOfResolving);
    if ('kind' in endpoint) return endpoint;
    return sendCallback({ endpoint, body: '{}', headers: {}, deadlineMs: LATE_DEADLINE_MS });
  }

  it('rejects a forbidden literal in any spelling', async () => {
    const hosts = [
      '127.0.0.1',
      '127.1',
      '127.0.1',
      '2130706433',
      '0x7f000001',
      '0x7f.0.0.1',
      '0x7f.1',
      '017700000001',
      '0177.0.0.1',
      '0',
      '0.0.0.0',
      '00000000',
      '127.0.0.1.',
      '１２７.0.0.1',
      '127。0。0。1',
      '%31%32%37.0.0.1',
      '[::1]',
      '[0:0:0:0:0:0:0:1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::ffff:0:7f00:1]',
      '[::127.0.0.1]',
      '[64:ff9b::7f00:1]',
      '[64:ff9b:1::7f00:1]',
      '[2002:7f00:1::]',
      '[fe80::1]',
    ];
    for (const host of hosts) {
      expect({ host, result: await tryToReach(`http://${host}:${port}/`, [['127.0.0.1']]) }).toMatchObject({
        host,
        result: { kind: 'FAILED', code: 'ADDRESS_FORBIDDEN' },
      });
    }
    expect(contacted).toBe(0);
  });

  it('rejects a name with forbidden addresses, mixed or changing', async () => {
    const name = `http://shop.example:${port}/`;
    for (const answer of [
      ['127.0.0.1'],
      ['93.184.215.14', '127.0.0.1'],
      ['127.0.0.1', '93.184.215.14'],
      ['2606:4700:4700::1111', '::1'],
      ['::ffff:127.0.0.1'],
      ['64:ff9b::7f00:1'],
      ['169.254.169.254'],
      ['fd00:ec2::254'],
      ['0.0.0.0'],
      ['not an address'],
    ]) {
      expect(await tryToReach(name, [answer])).toMatchObject({ kind: 'FAILED', code: 'ADDRESS_FORBIDDEN' });
    }
    expect(await tryToReach(name, [[]])).toMatchObject({ kind: 'FAILED', code: 'LOOKUP_FAILED' });
    expect(contacted).toBe(0);
  });

  it("rejects a URL with a password, another scheme or another protocol's port", async () => {
    for (const url of [
      `http://user:secret@127.0.0.1:${port}/`,
      `http://shop.example@127.0.0.1:${port}/`,
      `http://127.0.0.1:${port}@shop.example/`,
      `ftp://127.0.0.1:${port}/`,
      `ws://127.0.0.1:${port}/`,
      'http://shop.example:22/',
      'http://shop.example:6379:80/',
      `javascript:fetch('http://127.0.0.1:${port}')`,
    ]) {
      expect({ url, result: await tryToReach(url, [['93.184.215.14']]) }).toMatchObject({
        url,
        result: { kind: 'FAILED', code: 'URL_REFUSED' },
      });
    }
    expect(contacted).toBe(0);
  });

  it('control: the canary detects a connection', async () => {
    const endpoint = { url: new URL(`http://shop.example:${port}/`), address: '127.0.0.1' };
    await sendCallback({ endpoint, body: '{}', headers: {}, deadlineMs: LATE_DEADLINE_MS });
    await sendCallback({
      endpoint: { ...endpoint, address: '::1' },
      body: '{}',
      headers: {},
      deadlineMs: LATE_DEADLINE_MS,
    });
    await sendCallback({
      endpoint: { ...endpoint, address: '::ffff:127.0.0.1' },
      body: '{}',
      headers: {},
      deadlineMs: LATE_DEADLINE_MS,
    });
    expect(contacted).toBe(3);
  });
});
