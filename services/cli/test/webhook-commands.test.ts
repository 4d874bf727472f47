import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { Database } from '@opentill/db/database';
import { aCollection, aMerchant } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { startTestOps, type TestOps } from '../../ops/test/support/test-ops.ts';
import { runCli } from '../src/run-cli.ts';

let database: TestDatabase;
let admin: Database;
let ops: TestOps;
let directory: string;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = database.open('admin');
  ops = await startTestOps(database);
  directory = mkdtempSync(join(tmpdir(), 'opentill-webhooks-'));
  writeFileSync(join(directory, 'token'), ops.tokens.ADMIN, { mode: 0o600 });
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await ops.stop();
  await admin.close();
  await database.drop();
});

async function opentill(...args: readonly string[]) {
  const out: string[] = [];
  const errors: string[] = [];
  const code = await runCli(args, {
    env: { OPS_URL: ops.url, OPS_TOKEN_FILE: join(directory, 'token') },
    clock: { now: () => new Date() },
    print: (line) => out.push(line),
    printError: (line) => errors.push(line),
    askSecret: async () => '',
  });
  return { code, out, errors };
}

const createShop = async (callbackUrl: string | null = 'https://shop.example/callbacks') =>
  (await aMerchant(admin.kysely, { callbackUrl })).merchantId;

async function createOrder(merchantId: string, states: readonly string[], hoursAgo = 0) {
  const order = await aCollection(admin.kysely, { merchant_id: merchantId });
  const events: string[] = [];
  for (const [index, state] of states.entries()) {
    const eventId = randomUUID();
    events.push(eventId);
    await sql`
      with new_notification as (
        insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at)
        values (${eventId}, ${merchantId}, ${order.order_pk}, ${index + 1}, 'ORDER_PENDING', '{}',
          now() - ${hoursAgo} * interval '1 hour' + ${index} * interval '1 ms')
      )
      insert into delivery (event_id, merchant_id, subject_id, sequence, state, attempts, next_attempt_at, finished_at)
      values (${eventId}, ${merchantId}, ${order.order_pk}, ${index + 1}, ${state}, 2, now(),
        case when ${state} <> 'PENDING' then now() end)`.execute(admin.kysely);
  }
  return { order, events };
}

async function states(events: readonly string[]): Promise<(string | undefined)[]> {
  const rows = await admin.kysely
    .selectFrom('delivery')
    .select(['event_id', 'state'])
    .where('event_id', 'in', events)
    .execute();
  return events.map((id) => rows.find((row) => row.event_id === id)?.state);
}

describe('opentill webhook replay', () => {
  it('replays dead callbacks but not waiting, delivered or superseded ones', async () => {
    const shop = await createShop();
    const other = await createOrder(await createShop(), ['DEAD']);
    const dead = await createOrder(shop, ['DEAD', 'DEAD']);
    const followed = await createOrder(shop, ['DEAD', 'DELIVERED']);
    const waiting = await createOrder(shop, ['DEAD', 'PENDING']);
    expect(await opentill('webhook', 'replay', '--merchant', shop, '--dry-run')).toMatchObject({
      out: ['4 callbacks match: 4 dead. Nothing was done.'],
    });
    expect(await states(dead.events)).toEqual(['DEAD', 'DEAD']);
    const run = await opentill('webhook', 'replay', '--merchant', shop);
    expect(run.out[0]).toBe('3 of 4 callbacks are due again.');
    expect(run.out[1]).toMatch(/^1 skipped: a newer callback/);
    expect(await states(dead.events)).toEqual(['PENDING', 'PENDING']);
    expect(await states(followed.events)).toEqual(['DEAD', 'DELIVERED']);
    expect(await states(waiting.events)).toEqual(['PENDING', 'PENDING']);
    expect(await states(other.events)).toEqual(['DEAD']);
    expect((await opentill('webhook', 'replay', '--merchant', shop)).out[0]).toBe(
      '0 of 1 callbacks are due again.',
    );
    expect((await opentill('webhook', 'replay', '--event', followed.events[0]!)).out).toEqual([
      '1 of 1 callbacks are due again.',
    ]);
    expect(await states(followed.events)).toEqual(['PENDING', 'DELIVERED']);
  });

  it('replays callbacks of a period and state, page by page', async () => {
    const shop = await createShop();
    const orders = [];
    for (let hoursAgo = 5; hoursAgo >= 1; hoursAgo -= 1)
      orders.push(await createOrder(shop, ['DELIVERED', 'DEAD'], hoursAgo));
    const args = ['webhook', 'replay', '--merchant', shop, '--since', '270m', '--until', '90m'];
    const run = await opentill(...args, '--state', 'any', '--rate', '5');
    expect(run.out).toEqual(['6 of 6 callbacks are due again.']);
    const all = await Promise.all(orders.map(({ events }) => states(events)));
    const [untouched, replayed] = [
      ['DELIVERED', 'DEAD'],
      ['PENDING', 'PENDING'],
    ];
    expect(all).toEqual([untouched, replayed, replayed, replayed, untouched]);
  });

  it('explains why it skips a disabled endpoint, and sends once it is enabled', async () => {
    const shop = await createShop();
    const { events } = await createOrder(shop, ['DEAD']);
    await sql`insert into callback_endpoint (merchant_id, state, disabled_at, disabled_reason) values (${shop}, 'DISABLED', now(), 'status 410')`.execute(
      admin.kysely,
    );
    expect((await opentill('webhook', 'replay', '--merchant', shop)).out).toEqual([
      '0 of 1 callbacks are due again.',
      expect.stringMatching(/disabled endpoint \(opentill webhook enable\)/),
    ]);
    expect((await opentill('merchant', 'list')).out.find((line) => line.startsWith(shop))).toMatch(
      /callbacks disabled since \d{4}.*: status 410$/,
    );
    expect((await opentill('webhook', 'status', shop)).out[0]).toMatch(/disabled since .*: status 410/);
    expect(await opentill('webhook', 'enable', shop)).toMatchObject({
      code: 0,
      out: [`Callbacks of ${shop} are sent again.`, expect.stringContaining('1 are dead')],
    });
    expect((await opentill('webhook', 'status', shop)).out[0]).toMatch(/\tok\t/);
    expect((await opentill('webhook', 'replay', '--merchant', shop)).out).toEqual([
      '1 of 1 callbacks are due again.',
    ]);
    expect(await states(events)).toEqual(['PENDING']);
  });

  it.each([
    [['--since', 'yesterday'], /--since must be a time/],
    [['--until', '2026-13-01'], /--until must be a time/],
    [['--merchant', 'default', '--state', 'pending'], /--state must be dead, delivered or any/],
    [['--merchant', 'default', '--rate', '0'], /--rate must be a number/],
    [['--event', randomUUID(), '--since', '1h'], /--event allows no other filter/],
    [['--merchant', 'nobody'], /No such callback/],
  ])('rejects %j', async (options, words) => {
    const run = await opentill('webhook', 'replay', ...options);
    expect(run).toMatchObject({ code: 1, out: [], errors: [expect.stringMatching(words)] });
  });
});

describe('opentill webhook status and attempts', () => {
  it('prints the backlog, the state and the last failure of an endpoint', async () => {
    const shop = await createShop();
    await createOrder(shop, ['PENDING', 'PENDING']);
    await createOrder(shop, ['DEAD']);
    await sql`insert into callback_endpoint (merchant_id, state, opened_at, probe_at, failures_in_row, last_failed_at, last_error_code, last_error)
      values (${shop}, 'OPEN', now(), now(), 5, now(), 'SERVER_ERROR', 'status 502')`.execute(admin.kysely);
    const { out } = await opentill('webhook', 'status', shop);
    expect(out).toEqual([
      expect.stringMatching(/resting since .*, next attempt .*https:\/\/shop\.example/),
      expect.stringMatching(/^ {2}2 wait, the oldest for \d+ s; 1 dead$/),
      expect.stringMatching(/last failure .*: SERVER_ERROR status 502$/),
    ]);
    expect((await opentill('webhook', 'status')).out.length).toBeGreaterThan(3);
    const silent = await createShop(null);
    expect((await opentill('webhook', 'status', silent)).out[0]).toContain('no callback URL');
    expect(await opentill('webhook', 'status', 'nobody')).toMatchObject({
      code: 1,
      errors: [expect.stringMatching(/no merchant nobody/)],
    });
    expect(await opentill('webhook', 'enable', 'nobody')).toMatchObject({
      code: 1,
      errors: [expect.stringMatching(/no merchant nobody/)],
    });
  });

  it('prints every attempt with status, time, error and start of the answer', async () => {
    const shop = await createShop();
    const { order, events } = await createOrder(shop, ['DELIVERED', 'PENDING']);
    await sql`insert into delivery_attempt (event_id, attempt, started_at, duration_ms, status_code, error_code, error, response_excerpt) values
      (${events[0]!}, 1, now(), 12, 502, 'SERVER_ERROR', null, ${'<html>\n  Bad gateway'}),
      (${events[0]!}, 2, now(), 7, null, 'CONNECT_FAILED', 'ECONNREFUSED: no answer', null),
      (${events[0]!}, 3, now(), 5, 200, null, null, 'ok')`.execute(admin.kysely);
    const { out } = await opentill('webhook', 'attempts', '--order', order.order_id, '--merchant', shop);
    expect(out).toEqual([
      `callback 1 ORDER_PENDING ${events[0]}: DELIVERED`,
      expect.stringMatching(/^ {2}attempt 1 at .*, 12 ms: 502 SERVER_ERROR: <html> Bad gateway$/),
      expect.stringMatching(/^ {2}attempt 2 at .*, 7 ms: CONNECT_FAILED ECONNREFUSED: no answer$/),
      expect.stringMatching(/^ {2}attempt 3 at .*, 5 ms: 200: ok$/),
      `callback 2 ORDER_PENDING ${events[1]}: PENDING`,
    ]);
    expect(await opentill('webhook', 'attempts', '--order', 'none')).toMatchObject({
      code: 1,
      errors: [expect.stringMatching(/no order none/)],
    });
  });
});

describe('opentill merchant rotate webhook-secret', () => {
  it('starts an overlap, lists it and ends it with either secret', async () => {
    const shop = await createShop();
    const rotate = (...options: string[]) =>
      opentill('merchant', 'rotate', shop, 'webhook-secret', ...options);
    const begun = await rotate('--overlap', '24h');
    expect(begun.out).toEqual([
      expect.stringMatching(/^new webhook-secret of .*: [\w-]{43}$/),
      expect.stringMatching(/^Until \d{4}.* X-Signature-Next with the new one/),
    ]);
    expect((await opentill('merchant', 'list')).out.find((line) => line.startsWith(shop))).toMatch(
      /webhook secret changes at \d{4}/,
    );
    expect(await rotate()).toMatchObject({
      code: 1,
      errors: [expect.stringMatching(/is already pending/)],
    });
    expect((await rotate('--cancel')).out[0]).toMatch(/Only the old webhook secret .* signs/);
    expect(await rotate('--finish')).toMatchObject({
      code: 1,
      errors: [expect.stringMatching(/No change of the webhook secret .* is pending/)],
    });
    await rotate('--overlap', '90s');
    expect((await rotate('--finish')).out[0]).toMatch(/Only the new webhook secret .* signs/);
  });

  it.each([
    [['webhook-secret', '--overlap', 'soon'], /--overlap must be a duration/],
    [['webhook-secret', '--overlap', '0h'], /--overlap must be a duration/],
    [['webhook-secret', '--overlap', '91d'], /at most 90 days/],
    [['webhook-secret', '--finish', '--cancel'], /Give only one of/],
    [['token', '--overlap', '24h'], /a token changes at once/],
  ])('rejects %j', async (options, words) => {
    const run = await opentill('merchant', 'rotate', await createShop(), ...options);
    expect(run).toMatchObject({ code: 1, out: [], errors: [expect.stringMatching(words)] });
  });
});
