import { expect, test } from 'vitest';
import { createMembers, type Member } from './gateway-parts.ts';

interface FakeMember extends Member {
  die(): void;
}

function member(name: string, log: string[], failure?: Error): FakeMember {
  let die: () => void = () => undefined;
  const exited = new Promise<unknown>((resolve) => (die = () => resolve({ code: 7, signal: null })));
  return {
    name,
    logFile: `/logs/${name}.log`,
    exited,
    lastLogLines: () => `last words of ${name}`,
    stop: async () => {
      log.push(name);
      die();
      if (failure !== undefined) throw failure;
    },
    die: () => die(),
  };
}

test('stops the layers in order, once', async () => {
  const log: string[] = [];
  const members = createMembers();
  members.add('database', member('postgres', log));
  members.add('services', member('api', log));
  members.add('chains and broker', member('anvil', log));
  await Promise.all([members.stop(), members.stop()]);
  expect(log).toEqual(['api', 'anvil', 'postgres']);
  expect(members.firstDeath()).toBeUndefined();
});

test('stops all other members after one failed to stop', async () => {
  const log: string[] = [];
  const members = createMembers();
  members.add('services', member('api', log, new Error('stuck')));
  members.add('database', member('postgres', log));
  await expect(members.stop()).rejects.toThrow('stuck');
  expect(log).toEqual(['api', 'postgres']);
});

test('reports the first unexpected end with exit code and last log lines', async () => {
  const members = createMembers();
  const [tracker, api] = [member('tracker', []), member('api', [])];
  members.add('services', tracker);
  members.add('services', api);
  tracker.die();
  await expect(members.died).rejects.toMatchObject({
    code: 'MEMBER_DIED',
    message: `tracker ended unexpectedly with exit code 7. Last lines of /logs/tracker.log:\nlast words of tracker`,
  });
  api.die();
  await api.exited;
  expect(members.firstDeath()).toMatchObject({ context: { name: 'tracker' } });
});

test('ignores the end of a released member', async () => {
  const members = createMembers();
  const api = member('api', []);
  members.add('services', api);
  members.release(api);
  api.die();
  await api.exited;
  await Promise.resolve();
  expect(members.firstDeath()).toBeUndefined();
});
