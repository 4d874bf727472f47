import { once } from 'node:events';
import { expect, test } from 'vitest';
import { sql } from 'kysely';
import { waitUntil } from '@opentill/testkit/wait-until';
import { queueDeliveries } from '../src/store/queue-deliveries.ts';
import { useDeliveryScenario } from './delivery-scenario.ts';
import { useSenderProcesses } from './sender-process.ts';

const s = useDeliveryScenario();
const { aPort, freePort, start, settings } = useSenderProcesses(s);

test('ignores the attempt of a process that froze before recording it', async () => {
  const port = await freePort();
  const { child } = start({ ...(await settings(port)), RETRY_SCHEDULE_SECONDS: '1' });
  const ready = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200;
  await waitUntil('ready', ready);
  // Its claims return while it is frozen, as after an expired lease, and another process sends all callbacks.
  const order = await s.anOrderWithCallbacks(2);
  s.receiver.answer = (_callback, response) => {
    child.kill('SIGSTOP');
    response.statusCode = 500;
    response.end();
  };
  await waitUntil('frozen', () => s.receiver.received.length === 1);
  s.receiver.answer = (_callback, response) => void response.end();
  await s.expireLeases();
  const other = s.deliverer();
  await waitUntil('delivered', async () => (await s.stateOf(order.events[1]!)) === 'DELIVERED');
  await other.stop();
  child.kill('SIGCONT');
  const next = await s.anOrderWithCallbacks(1);
  await waitUntil('awake', async () => (await s.stateOf(next.events[0]!)) === 'DELIVERED');
  const sequences = s.receiver.received
    .filter(({ body }) => order.events.includes(body.nonce))
    .map(({ body }) => body.data['sequence']);
  expect(sequences).toEqual([1, 1, 2]);
});

test('repeats only the nonce after a process was killed between 200 and commit', async () => {
  const port = await freePort();
  const environment = await settings(port);
  const { child } = start(environment);
  const ready = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200;
  await waitUntil('ready', ready);
  const others = [await s.anOrderWithCallbacks(3), await s.anOrderWithCallbacks(3)];
  for (const { events } of others) {
    await waitUntil('delivered', async () => (await s.stateOf(events[2]!)) === 'DELIVERED');
  }

  // Another session locks the delivery's row, so that the process has its 200 and cannot commit.
  const holder = s.database.open('admin');
  const { order, events } = await s.anOrderWithCallbacks(0);
  events.push(await s.notify(order, 1), await s.notify(order, 2));
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  let holding: Promise<void> = Promise.resolve();
  s.receiver.answer = (_callback, response) => {
    holding = holder.kysely.transaction().execute(async (tx) => {
      await sql`select from delivery where event_id = ${events[0]!} for update`.execute(tx);
      response.end('ok');
      await held;
    });
  };
  await queueDeliveries(s.webhook.kysely, [order.order_pk]);
  const ofProcess = sql`datname = current_database() and application_name like 'webhook-sender%'`;
  const waiting = async () =>
    (
      await sql`
        select from pg_stat_activity where ${ofProcess} and wait_event_type = 'Lock'
          and query like '%json_to_recordset%'`.execute(s.db)
    ).rows;
  await waitUntil('the 200 arrived, the commit did not', async () => (await waiting()).length === 1);
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  expect(await ended).toEqual([null, 'SIGKILL']);
  // Postgres finishes the last statements of the dead process, possibly a claim, when the database is slow.
  await waitUntil('no statement of it is running', async () => {
    const { rows } =
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where ${ofProcess}`.execute(s.db);
    return rows.length === 0;
  });
  release();
  await holding;
  await holder.close();
  expect(await s.attemptsOf(events[0]!)).toEqual([]);
  expect(await s.deliveryOf(events[0]!)).toMatchObject({ state: 'PENDING', attempts: 1 });

  s.receiver.answer = (_callback, response) => void response.end('ok');
  await s.expireLeases();
  start(environment);
  await waitUntil('delivered', async () => (await s.stateOf(events[1]!)) === 'DELIVERED');
  expect(s.receiver.received.map(({ body }) => body.nonce)).toEqual([
    ...s.receiver.received.slice(0, 6).map(({ body }) => body.nonce),
    events[0],
    events[0],
    events[1],
  ]);
  expect(new Set(s.receiver.received.map(({ body }) => body.nonce)).size).toBe(8);
  const repeats = s.receiver.received.filter(({ body }) => body.nonce === events[0]);
  expect(repeats[0]!.body.data).toEqual(repeats[1]!.body.data);
  expect((await s.attemptsOf(events[0]!)).map(({ attempt, status_code }) => [attempt, status_code])).toEqual([
    [2, 200],
  ]);
});

test('closes what it opened and exits when its start fails late', async () => {
  const { server, port } = await aPort();
  const { child, lines } = start(await settings(port));
  expect(await once(child, 'exit')).toEqual([75, null]);
  expect(lines().some((line) => line.includes('EADDRINUSE'))).toBe(true);
  server.close();
  await once(server, 'close');
});
