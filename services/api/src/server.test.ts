import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { createApiServer } from './server.ts';

/** Never reached: the last connection ends before. */
const DRAIN_MS = 60_000;

it('answers on an idle connection while it stops, and then closes it', async () => {
  const server = createApiServer((_request, response) => response.end('answered'), {
    connectionRefused: () => undefined,
  });
  const port = await server.listen(0, '127.0.0.1');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = async () => {
    const sent = request({ port, agent, host: '127.0.0.1' }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return { body: await text(response), connection: response.headers.connection, reused: sent.reusedSocket };
  };
  expect(await ask()).toMatchObject({ body: 'answered', connection: 'keep-alive' });
  const closed = server.close(1_000, DRAIN_MS);
  expect(await ask()).toEqual({ body: 'answered', connection: 'close', reused: true });
  await closed;
  await expect(ask()).rejects.toThrow('ECONNREFUSED');
  agent.destroy();
});

it('closes idle connections when the time for draining is over', async () => {
  const server = createApiServer((_request, response) => response.end(), {
    connectionRefused: () => undefined,
  });
  const port = await server.listen(0, '127.0.0.1');
  const agent = new Agent({ keepAlive: true });
  const sent = request({ port, agent, host: '127.0.0.1' }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  await server.close(1_000, 1);
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow('fetch failed');
  agent.destroy();
});
