import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { keepConnections, type Connections } from '../src/keep-connections.ts';
import { sendCallback } from '../src/send-callback.ts';

const trusted = getCACertificates('default');
let folder: string;
let server: Server;
let port: number;
let handshakes: (string | false | null)[];
let received: string[];
let connections: Connections;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'opentill-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync(
    'openssl',
    `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=shop.example
    -addext subjectAltName=DNS:shop.example -keyout ${key} -out ${cert}`.split(/\s+/),
    { stdio: 'ignore' },
  );
  server = createServer({ key: await readFile(key), cert: await readFile(cert) }, (request, response) => {
    received.push(request.headers.host ?? '');
    request.resume().on('end', () => response.end('ok'));
  }).listen(0, '127.0.0.1');
  server.on('secureConnection', (socket) => handshakes.push(socket.servername));
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  handshakes = [];
  received = [];
  connections = keepConnections();
  setDefaultCACertificates([await readFile(join(folder, 'cert.pem'), 'utf8')]);
});
afterEach(() => {
  connections.close();
  setDefaultCACertificates(trusted);
});

const send = (hostname: string, maySend?: () => boolean) =>
  sendCallback({
    endpoint: { url: new URL(`https://${hostname}:${port}/callbacks`), address: '127.0.0.1' },
    body: '{}',
    headers: {},
    deadlineMs: 60_000,
    keep: { connections, owner: 'merchant' },
    ...(maySend === undefined ? {} : { maySend }),
  });

it('verifies the name, sends it, and reuses the connection', async () => {
  for (let i = 0; i < 3; i += 1) expect(await send('shop.example')).toMatchObject({ statusCode: 200 });
  expect(handshakes).toEqual(['shop.example']);
  expect(received).toEqual(Array.from({ length: 3 }, () => `shop.example:${port}`));
});

it('does not send to another server, or over a connection for another name', async () => {
  await send('shop.example');
  expect(await send('other.example')).toMatchObject({
    kind: 'FAILED',
    error: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID'),
  });
  expect(await send('127.0.0.1')).toMatchObject({ kind: 'FAILED' });
  expect(received).toHaveLength(1);
});

it('rejects a server with an untrusted certificate before sending', async () => {
  setDefaultCACertificates(trusted);
  expect(await send('shop.example')).toMatchObject({
    kind: 'FAILED',
    error: expect.stringMatching(/SELF_SIGNED/),
  });
  expect(received).toEqual([]);
});

it('calls maySend after the handshake', async () => {
  let handshakesWhenAsked: number | undefined;
  const maySend = () => {
    handshakesWhenAsked = handshakes.length;
    return false;
  };
  expect(await send('shop.example', maySend)).toEqual({ kind: 'ABANDONED' });
  expect(handshakesWhenAsked).toBeDefined();
  expect(received).toEqual([]);
});
