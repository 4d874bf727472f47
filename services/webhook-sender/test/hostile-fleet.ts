// A separate thread, so that the receivers do not use the deliverer's time. Posts their ports by name.
import { parentPort, workerData } from 'node:worker_threads';
import { BODIES, gzipBomb, MISBEHAVIOURS, startHostile } from './hostile-receivers.ts';

const { redirectTo } = workerData as { redirectTo: string };
const bomb = gzipBomb();
let requests = 0;

const ports: Record<string, number> = {};
for (const [name, misbehave] of Object.entries({ ...MISBEHAVIOURS, ...BODIES })) {
  ports[name] = (await startHostile(misbehave)).port;
}
const more = {
  'sends 200 MB of gzip': (head: string) => [head, bomb] as const,
  redirects: () => [`HTTP/1.1 302 Found\r\nlocation: ${redirectTo}\r\ncontent-length: 0\r\n\r\n`] as const,
  flaps: () =>
    [`HTTP/1.1 ${++requests % 3 === 0 ? '200 OK' : '503 No'}\r\ncontent-length: 0\r\n\r\n`] as const,
};
for (const [name, parts] of Object.entries(more)) {
  const receiver = await startHostile((socket) => {
    const head = `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`;
    for (const part of parts(head)) socket.write(part);
  });
  ports[name] = receiver.port;
}
parentPort?.postMessage(ports);
