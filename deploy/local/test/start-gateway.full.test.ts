import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startGateway } from '../src/start-gateway.ts';
import { makeGatewayRoom, processesOf, type GatewayRoom } from './gateway-room.ts';

let room: GatewayRoom;

describe('running gateway', () => {
  beforeAll(async () => {
    room = makeGatewayRoom();
    room.gateway = await startGateway(await room.optionsOf({ durable: false }));
  }, 600_000);
  afterAll(() => room.leave(), 300_000);

  test('restarts a service that was stopped on purpose', async () => {
    const before = room.gateway!.services.get('demo-shop')!;
    await room.gateway!.stopService('demo-shop', 'SIGKILL');
    const after = await room.gateway!.startService('demo-shop');
    expect(after.pid).not.toBe(before.pid);
    expect((await fetch(`${room.gateway!.shopUrl}/devnet`)).status).toBe(200);
    let hasDied = false;
    room.gateway!.died.catch(() => (hasDied = true));
    await new Promise(setImmediate);
    expect(hasDied).toBe(false);
  });

  test('reports the last lines of a service that dies, and stops the others', async () => {
    const shop = room.gateway!.services.get('demo-shop')!;
    process.kill(shop.pid, 'SIGKILL');
    await expect(room.gateway!.died).rejects.toMatchObject({
      code: 'MEMBER_DIED',
      message: expect.stringContaining('demo-shop ended unexpectedly'),
    });
  });
});

describe('failed start', () => {
  beforeEach(() => {
    room = makeGatewayRoom();
  });
  afterEach(() => room.leave(), 300_000);

  test('stops everything that was started when the start is aborted', async () => {
    const abort = new AbortController();
    const say = (line: string): void => {
      if (line.startsWith('setup')) abort.abort(new Error('changed my mind'));
    };
    await expect(
      startGateway(await room.optionsOf({ durable: false, signal: abort.signal, say })),
    ).rejects.toThrow('changed my mind');
    expect(processesOf(room.stateDir)).toEqual([]);
  }, 600_000);
});
