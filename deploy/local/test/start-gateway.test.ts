import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { afterAll, expect, test } from 'vitest';
import { startGateway } from '../src/start-gateway.ts';
import { makeGatewayRoom } from './gateway-room.ts';

const room = makeGatewayRoom();
afterAll(() => room.leave());

test('reports a taken port with number, purpose and owner before anything starts', async () => {
  const options = await room.optionsOf();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(options.ports.health.api, '127.0.0.1', resolve));
  try {
    await expect(startGateway(options)).rejects.toMatchObject({
      code: 'PORT_TAKEN',
      message: expect.stringMatching(
        new RegExp(
          `Port ${options.ports.health.api}, needed for the health of api, .*process ${process.pid} `,
        ),
      ),
    });
    expect(readdirSync(room.stateDir)).toEqual([]);
  } finally {
    server.close();
  }
});
