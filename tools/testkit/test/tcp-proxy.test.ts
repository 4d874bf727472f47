import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startTcpProxy, type TcpProxy } from '../src/tcp-proxy.ts';
import { waitUntil } from '../src/wait-until.ts';

let proxy: TcpProxy;
let closeServer: () => void;
let client: Socket;
let answered: string;

/** Echo server that closes the connection on "hang up". */
beforeEach(async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) =>
      String(bytes) === 'hang up' ? socket.end('last words') : socket.write(bytes),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closeServer = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  proxy = await startTcpProxy((server.address() as AddressInfo).port);
  client = connect(proxy.port, '127.0.0.1');
  client.on('error', () => undefined);
  answered = '';
  client.setEncoding('utf8').on('data', (text: string) => (answered += text));
  await once(client, 'connect');
});
afterEach(async () => {
  client.destroy();
  closeServer();
  await proxy.close();
});

it('delays bytes and keeps their order while the delay changes', async () => {
  const sent = Array.from({ length: 200 }, (_, index) => `${index};`);
  for (const [index, text] of sent.entries()) {
    proxy.delayMs = (index * 7) % 20; // shorter delays follow longer ones
    client.write(text);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await waitUntil('everything came back', () => answered.length >= sent.join('').length);
  expect(answered).toBe(sent.join(''));

  proxy.delayMs = 60;
  answered = '';
  const startedAt = performance.now();
  client.write('late');
  await waitUntil('it came back', () => answered === 'late');
  expect(performance.now() - startedAt).toBeGreaterThan(115); // both ways
});

it('forwards bytes that were sent before the other side closed', async () => {
  proxy.delayMs = 40;
  client.write('hang up');
  await once(client, 'close');
  expect(answered).toBe('last words');
});

it('drops all bytes in blackhole mode and resets connections', async () => {
  proxy.mode = 'blackhole';
  client.write('lost');
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(answered).toBe('');
  const closed = new Promise((resolve) => client.once('close', resolve));
  proxy.reset();
  await closed;
});
