import { once } from 'node:events';
import { expect, test } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import { useDeliveryScenario } from './delivery-scenario.ts';
import { useSenderProcesses } from './sender-process.ts';

const s = useDeliveryScenario();
const { freePort, start, settings } = useSenderProcesses(s);

test('becomes ready, sends, and stops in time although an endpoint hangs', async () => {
  const port = await freePort();
  const { child } = start(await settings(port));
  const ready = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200;
  await waitUntil('ready', ready);
  const url = s.receiver.url.replace('127.0.0.1', 'localhost');
  const { events } = await s.anOrderWithCallbacks(2, url);
  await waitUntil('delivered', async () => (await s.stateOf(events[1]!)) === 'DELIVERED');

  s.receiver.answer = () => undefined;
  const hanging = await s.anOrderWithCallbacks(1, url);
  const isUnderWay = () => s.receiver.received.some(({ body }) => body.nonce === hanging.events[0]);
  await waitUntil('under way', isUnderWay);
  const ended = once(child, 'exit');
  const signalledAt = Date.now();
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  // It stopped by itself, as its exit code shows: not by the runtime's limit or the attempt's timeout.
  expect(Date.now() - signalledAt).toBeLessThan(60_000);
  expect(await s.deliveryOf(hanging.events[0]!)).toMatchObject({ attempts: 0, lease_until: null });
});

test("reports missing settings in one line with the operator's exit code", async () => {
  const { child, lines } = start({ DATABASE_URL: 'nowhere' });
  expect(await once(child, 'exit')).toEqual([1, null]);
  const errors = lines().filter((line) => (JSON.parse(line) as { level: string }).level === 'error');
  expect(errors).toHaveLength(1);
  for (const name of ['DATABASE_URL', 'AMQP_URL', 'SECRETS_KEY']) expect(errors[0]).toContain(name);
});
