import { expect, test } from 'vitest';
import { rotateHosts } from './rotate-hosts.ts';

const read = ({ address }: ReturnType<typeof rotateHosts>) => `${address.hostname}:${address.port}`;

test('begins at any host and then takes each in turn', () => {
  for (const [random, first] of [
    [0, 'one:5672'],
    [0.999, '::1:5673'],
  ] as const) {
    const hosts = rotateHosts('amqp://me@one,two:1,[::1]:5673/vh', 5, () => random);
    const seen = [0, 1, 2].map(() => {
      const host = read(hosts);
      hosts.next();
      return host;
    });
    expect(seen[0]).toBe(first);
    expect(seen.toSorted()).toEqual(['::1:5673', 'one:5672', 'two:1']);
    expect(read(hosts)).toBe(first);
  }
});

test('passes user, virtual host and parameters of the URL', () => {
  const { address } = rotateHosts('amqps://a%40b:p%2Fw@one,two/v%2Fh?frameMax=8192', 5);
  expect(address).toMatchObject({
    protocol: 'amqps',
    username: 'a@b',
    password: 'p/w',
    vhost: 'v%2Fh',
    heartbeat: 5,
    frameMax: '8192',
    port: 5671,
  });
  expect(rotateHosts('amqp://one/?heartbeat=60', 5).address).toMatchObject({ heartbeat: '60', port: 5672 });
});

test('leaves the user out where the URL names none', () => {
  expect(rotateHosts('amqp://one', 5).address).not.toHaveProperty('username');
});
