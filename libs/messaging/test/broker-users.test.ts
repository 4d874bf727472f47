import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect } from 'amqplib';
import { EVENTS_EXCHANGE } from '@opentill/contracts/topology';
import { brokerUser, writeBrokerUsers } from '../src/write-broker-users.ts';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';

const SERVICES = ['api', 'webhook-sender'] as const;

let server: TestBroker;
beforeAll(async () => {
  server = await createTestBroker();
});
afterAll(async () => {
  for (const service of SERVICES) await api('DELETE', `/users/${brokerUser(service)}`);
  await server.drop();
});

const managementUrl = (): string => process.env['OPENTILL_TEST_AMQP_MANAGEMENT_URL'] ?? '';
const virtualHost = (): string => new URL(server.url).pathname.slice(1);

async function api(method: string, path: string): Promise<void> {
  const url = new URL(managementUrl());
  const authorization = `Basic ${btoa(`${url.username}:${url.password}`)}`;
  await fetch(`${url.origin}/api${path}`, { method, headers: { authorization } });
}

async function publish(service: (typeof SERVICES)[number], password: string, routingKey: string) {
  const url = new URL(server.url);
  url.username = brokerUser(service);
  url.password = password;
  const connection = await connect(url.href);
  connection.on('error', () => undefined); // the broker closes the channel of a user without permission
  try {
    const channel = await connection.createConfirmChannel();
    const refused = new Promise<never>((_, reject) => channel.on('error', reject));
    channel.publish(EVENTS_EXCHANGE, routingKey, Buffer.from('{}'));
    await Promise.race([channel.waitForConfirms(), refused]);
  } finally {
    await connection.close().catch(() => undefined);
  }
}

describe('writeBrokerUsers', () => {
  test('limits each service to its own events and replaces its password', async () => {
    await writeBrokerUsers(managementUrl(), { api: 'first', 'webhook-sender': 'other' }, virtualHost());
    await publish('api', 'first', 'order.created._');
    await expect(publish('api', 'first', 'order.changed._')).rejects.toThrow(/ACCESS_REFUSED|403/);
    await expect(publish('webhook-sender', 'other', 'order.created._')).rejects.toThrow(/ACCESS_REFUSED|403/);
    await expect(publish('api', 'other', 'order.created._')).rejects.toThrow(/ACCESS_REFUSED|403/);
    await writeBrokerUsers(managementUrl(), { api: 'second' }, virtualHost());
    await publish('api', 'second', 'order.created._');
    await expect(publish('api', 'first', 'order.created._')).rejects.toThrow(/ACCESS_REFUSED|403/);
    expect(await server.depth('webhook-sender.order-created')).toBe(2);
  });

  test('fails permanently when the broker rejects a user, retryably when it is silent', async () => {
    const wrong = new URL(managementUrl());
    wrong.password = 'wrong';
    const refused = writeBrokerUsers(wrong.href, { api: 'x' }, virtualHost());
    await expect(refused).rejects.toMatchObject({ code: 'BROKER_USERS_REFUSED', retryable: false });
    const absent = writeBrokerUsers('http://a:b@127.0.0.1:1', { api: 'x' });
    await expect(absent).rejects.toMatchObject({ code: 'BROKER_API_UNREACHABLE', retryable: true });
  });
});
