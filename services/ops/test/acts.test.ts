import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { OPS_OPERATIONS, OPS_ROUTES, type OpsOperation } from '@opentill/contracts/ops/catalog';
import type { OpsRoute } from '@opentill/contracts/ops/route';
import { openSecret, tokenAad, webhookSecretAad } from '@opentill/db/sealed-secret';
import { newId } from '@opentill/runtime/ids';
import { anOwnTransaction, aReservedPayout } from '@opentill/testkit/payout-scenario';
import {
  aChainCursor,
  aCollection,
  aHash,
  aHotWallet,
  aMerchant,
  anEvmAddress,
  aPayout,
  aTransfer,
  TEST_SECRETS_KEY,
  type OrderRow,
} from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { approvalText } from '@opentill/wallet/policy/approval';
import { startTestOps, type TestOps } from './support/test-ops.ts';

const { testDatabase, admin } = await openTestDatabase();
let ops: TestOps;
const done = new Set<string>();

beforeAll(async () => {
  ops = await startTestOps(testDatabase);
  await aMerchant(admin.kysely, { merchantId: 'shop', callbackUrl: 'https://shop.example/cb' });
});
afterAll(() => ops.stop());

/** Checks its single audit entry: right operator, same request id. */
async function act(
  operation: OpsOperation,
  input: Record<string, unknown>,
  as: 'SUPPORT' | 'FINANCE' | 'ADMIN' = 'ADMIN',
  // The tests state what they expect of it.
  // eslint-disable-next-line typescript/no-explicit-any
): Promise<any> {
  const answer = await ops.call(operation, input, as);
  expect({ operation, status: answer.status, text: answer.text.slice(0, 300) }).toMatchObject({
    status: 200,
  });
  const entries = await entriesOf(answer.headers.get('x-request-id'));
  const operator = { SUPPORT: 'sam', FINANCE: 'fay', ADMIN: 'ada' }[as];
  expect(entries).toMatchObject([{ action: operation, operator, outcome: 'DONE' }]);
  expect(entries[0]?.subject).toEqual(expect.any(String));
  done.add(operation);
  return answer.body.data;
}

async function entriesOf(requestId: string | null) {
  return admin.kysely.selectFrom('audit_entry').selectAll().where('request_id', '=', requestId).execute();
}

/** Only an audit entry is written. */
async function refused(
  operation: OpsOperation,
  input: Record<string, unknown>,
  code: string,
  as: 'VIEWER' | 'SUPPORT' | 'FINANCE' | 'ADMIN' = 'ADMIN',
): Promise<string> {
  const answer = await ops.call(operation, input, as);
  expect(answer.body.error).toMatchObject({ code });
  expect(await entriesOf(answer.headers.get('x-request-id'))).toMatchObject([
    { action: operation, outcome: 'REFUSED', details: { refused: code } },
  ]);
  return answer.body.error.message as string;
}

async function outboxEvents(): Promise<readonly { type: string; data: Record<string, unknown> }[]> {
  const rows = await admin.kysely.selectFrom('ops.outbox').select('payload').orderBy('id').execute();
  return rows.map(({ payload }) => JSON.parse(payload) as never);
}

async function reservedPayout(): Promise<OrderRow> {
  const order = await aPayout(admin.kysely, { order_pk: newId(), merchant_id: 'shop' });
  await aHotWallet(admin.kysely);
  await sql`select reserve(${order.order_pk}::uuid)`.execute(admin.kysely);
  return order;
}

describe('acts on merchants', () => {
  it('creates and changes merchants and rotates secrets, shown once and sealed', async () => {
    const made = await act('createMerchant', {
      merchantId: 'new-shop',
      returnOrigins: ['https://new.example'],
    });
    const row = await admin.kysely
      .selectFrom('merchant')
      .selectAll()
      .where('merchant_id', '=', 'new-shop')
      .executeTakeFirstOrThrow();
    expect(openSecret(TEST_SECRETS_KEY, row.token_sealed, tokenAad('new-shop'))).toBe(made.token);
    expect(openSecret(TEST_SECRETS_KEY, row.webhook_secret_sealed, webhookSecretAad('new-shop'))).toBe(
      made.webhookSecret,
    );
    await refused('createMerchant', { merchantId: 'new-shop' }, 'EXISTS');
    const changed = await act('setMerchant', {
      merchantId: 'new-shop',
      orderTtlSeconds: 600,
      callbackUrl: 'https://u:hunter2@new.example/cb',
      rateLimits: { pay: { requests: 3, seconds: 1 } },
    });
    expect(changed).toMatchObject({ orderTtlSeconds: 600, rateLimits: { pay: { requests: 3, seconds: 1 } } });
    const { token } = await act('rotateToken', { merchantId: 'new-shop' });
    expect(token).not.toBe(made.token);
    const overlap = await act('rotateWebhookSecret', {
      merchantId: 'new-shop',
      action: 'ROTATE',
      overlapSeconds: 60,
    });
    expect(overlap.switchAt).not.toBeNull();
    await refused('rotateWebhookSecret', { merchantId: 'new-shop', action: 'ROTATE' }, 'STATE_CONFLICT');
    await act('rotateWebhookSecret', { merchantId: 'new-shop', action: 'FINISH' });
    await refused('rotateWebhookSecret', { merchantId: 'new-shop', action: 'CANCEL' }, 'STATE_CONFLICT');
    await refused('rotateToken', { merchantId: 'default' }, 'UNPROCESSABLE');
    await refused('rotateToken', { merchantId: 'ghost' }, 'NOT_FOUND');
    expect(
      await refused(
        'setMerchant',
        { merchantId: 'shop', returnOrigins: ['https://a.example/x'] },
        'UNPROCESSABLE',
      ),
    ).toContain('https://a.example?');
    const secrets = [made.token, made.webhookSecret, token, overlap.webhookSecret];
    const audit = JSON.stringify(await admin.kysely.selectFrom('audit_entry').selectAll().execute());
    for (const secret of [...secrets, 'hunter2', ...Object.values(ops.tokens)]) {
      expect(audit).not.toContain(secret);
      expect(ops.log()).not.toContain(secret);
    }
    expect((await ops.call('listMerchants')).text).not.toContain(secrets[2]);
  });

  it('creates a merchant once for two concurrent requests', async () => {
    const both = await Promise.all([1, 2].map(() => ops.call('createMerchant', { merchantId: 'twin' })));
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  });
});

describe('the profile of a merchant', () => {
  const SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8z"/></svg>';
  const base64 = (text: string) => Buffer.from(text).toString('base64');

  it('is set, shown with the hash of the logo, and removed', async () => {
    await act('createMerchant', { merchantId: 'seen' });
    const changed = await act('setMerchant', {
      merchantId: 'seen',
      name: 'Acme Cloud',
      logo: base64(SVG),
      accentColor: '#1F6FEB',
      supportUrl: 'https://acme.example/help',
      supportEmail: 'help@acme.example',
      shopUrl: 'https://acme.example',
      notifyUnmatched: true,
    });
    const logoHash = createHash('sha256').update(SVG).digest('hex');
    const profile = {
      name: 'Acme Cloud',
      logoType: 'image/svg+xml',
      logoHash,
      accentColor: '#1f6feb',
      supportUrl: 'https://acme.example/help',
      supportEmail: 'help@acme.example',
      shopUrl: 'https://acme.example',
      notifyUnmatched: true,
    };
    expect(changed).toMatchObject(profile);
    expect((await ops.call('getMerchant', { merchantId: 'seen' }, 'VIEWER')).body.data).toMatchObject(
      profile,
    );
    const audit = await admin.kysely
      .selectFrom('audit_entry')
      .select('details')
      .where('subject', '=', 'seen')
      .where('action', '=', 'setMerchant')
      .executeTakeFirstOrThrow();
    expect(audit.details).toMatchObject({ logo: logoHash, name: 'Acme Cloud' });
    const none = { logo: null, accentColor: null, supportUrl: null, supportEmail: null, shopUrl: null };
    expect(await act('setMerchant', { merchantId: 'seen', ...none })).toMatchObject({
      name: 'Acme Cloud',
      logoType: null,
      logoHash: null,
      accentColor: null,
      supportEmail: null,
    });
  });

  it('accepts a logo of 64 KiB', async () => {
    await act('createMerchant', { merchantId: 'large' });
    const large = SVG.replace('<path', `<!--${' '.repeat(64 * 1024 - SVG.length - 7)}--><path`);
    expect(large).toHaveLength(64 * 1024);
    await act('setMerchant', { merchantId: 'large', logo: base64(large) });
  });

  it.each([
    ['logo', base64(SVG.replace('<path', '<script/><path')), 'UNPROCESSABLE'],
    ['logo', base64('GIF89a'), 'UNPROCESSABLE'],
    ['logo', '<svg/>', 'INPUT_INVALID'],
    ['accentColor', 'red', 'INPUT_INVALID'],
    ['supportUrl', 'javascript:alert(1)', 'INPUT_INVALID'],
    ['shopUrl', 'https://:80', 'UNPROCESSABLE'],
    ['supportEmail', 'help@acme.example?bcc=x@x.example', 'INPUT_INVALID'],
    ['name', 'Acme \u202eduolC', 'INPUT_INVALID'],
  ])('rejects a bad %s: %s', async (setting, value, code) => {
    await refused('setMerchant', { merchantId: 'shop', [setting]: value }, code);
  });
});

describe('acts on orders and callbacks', () => {
  it('accepts expired and refuses open collections, with events, and rejects others', async () => {
    const expired = await aCollection(admin.kysely, {
      order_pk: newId(),
      merchant_id: 'shop',
      status: 'EXPIRED',
    });
    const open = await aCollection(admin.kysely, { order_pk: newId(), merchant_id: 'shop' });
    const paid = await aCollection(admin.kysely, {
      order_pk: newId(),
      merchant_id: 'shop',
      status: 'SUCCESS',
    });
    const wakes = ops.wakes();
    const decision = await act(
      'decideOrder',
      { orderPk: expired.order_pk, decision: 'ACCEPT', reason: 'paid late' },
      'SUPPORT',
    );
    expect(decision).toMatchObject({ operator: 'sam', handledAt: null });
    await act('decideOrder', { orderPk: open.order_pk, decision: 'REFUSE', reason: 'fraud' }, 'SUPPORT');
    expect(ops.wakes()).toBe(wakes + 2);
    const decided = (await outboxEvents()).filter(({ type }) => type === 'order.decided');
    expect(decided.map(({ data }) => data['orderPk'])).toEqual([expired.order_pk, open.order_pk]);
    await refused(
      'decideOrder',
      { orderPk: expired.order_pk, decision: 'ACCEPT', reason: 'again' },
      'STATE_CONFLICT',
    );
    await refused(
      'decideOrder',
      { orderPk: paid.order_pk, decision: 'REFUSE', reason: 'no' },
      'STATE_CONFLICT',
    );
    await refused(
      'decideOrder',
      { orderPk: open.order_pk, decision: 'ACCEPT', reason: 'no' },
      'STATE_CONFLICT',
    );
    const both = await aCollection(admin.kysely, {
      order_pk: newId(),
      merchant_id: 'shop',
      status: 'EXPIRED',
    });
    const atOnce = await Promise.all(
      (['ACCEPT', 'REFUSE'] as const).map(async (word) =>
        ops.call('decideOrder', { orderPk: both.order_pk, decision: word, reason: 'at once' }, 'SUPPORT'),
      ),
    );
    expect(atOnce.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    const payout = await reservedPayout();
    await refused(
      'decideOrder',
      { orderPk: payout.order_pk, decision: 'REFUSE', reason: 'no' },
      'STATE_CONFLICT',
    );
    await refused('decideOrder', { orderPk: randomUUID(), decision: 'REFUSE', reason: 'no' }, 'NOT_FOUND');
    expect(ops.wakes()).toBe(wakes + 3);
  });

  it('replays single callbacks and selections, page by page', async () => {
    const order = await aCollection(admin.kysely, { order_pk: newId(), merchant_id: 'shop' });
    const ids = await deadDeliveries(order, 3);
    await act('replayDelivery', { eventId: ids[0] }, 'SUPPORT');
    await refused('replayDelivery', { eventId: randomUUID() }, 'NOT_FOUND', 'SUPPORT');
    const counted = await ops.call('countReplay', { orderId: order.order_id });
    expect(counted.body.data).toEqual([{ state: 'DEAD', count: 2 }]);
    const first = await act('replayDeliveries', { orderId: order.order_id, limit: 1 }, 'SUPPORT');
    expect(first.outcomes).toEqual({ REPLAYED: 1 });
    const second = await act(
      'replayDeliveries',
      { orderId: order.order_id, limit: 1, after: first.next },
      'SUPPORT',
    );
    expect(second.outcomes).toEqual({ REPLAYED: 1 });
    const states = await admin.kysely
      .selectFrom('delivery')
      .select('state')
      .where('event_id', 'in', ids)
      .execute();
    expect(states.map(({ state }) => state)).toEqual(['PENDING', 'PENDING', 'PENDING']);
    await refused('replayDeliveries', {}, 'INPUT_INVALID', 'SUPPORT');
    for (const moment of [
      '2026-02-30 00:00:00+00',
      '2026-13-01 00:00:00+00',
      '2026-01-01 25:00:00+00',
      '2026-01-01 00:00:00+99',
      '0000-01-01 00:00:00+00',
      '----------',
    ]) {
      const after = Buffer.from(`${moment} ${newId()}`).toString('base64url');
      await refused('replayDeliveries', { orderId: order.order_id, after }, 'CURSOR_INVALID', 'SUPPORT');
    }
    const noId = Buffer.from(`2026-01-01 00:00:00+00 ${'-'.repeat(36)}`).toString('base64url');
    await refused('replayDeliveries', { orderId: order.order_id, after: noId }, 'CURSOR_INVALID', 'SUPPORT');
    await refused(
      'replayDeliveries',
      { orderId: order.order_id, after: 'bm9uc2Vuc2U' },
      'CURSOR_INVALID',
      'SUPPORT',
    );
    await act('enableCallbackEndpoint', { merchantId: 'shop' }, 'SUPPORT');
    await refused('enableCallbackEndpoint', { merchantId: 'ghost' }, 'NOT_FOUND', 'SUPPORT');
  });

  async function deadDeliveries(order: OrderRow, count: number): Promise<string[]> {
    const ids = Array.from({ length: count }, () => newId());
    for (const [place, eventId] of ids.entries()) {
      const key = { event_id: eventId, merchant_id: 'shop', subject_id: order.order_pk, sequence: place + 1 };
      await admin.kysely
        .insertInto('notification')
        .values({ ...key, notify_type: 'ORDER_PENDING', data: '{}', occurred_at: new Date() })
        .execute();
      await admin.kysely
        .insertInto('delivery')
        .values({ ...key, state: 'DEAD', next_attempt_at: new Date(), finished_at: new Date() })
        .execute();
    }
    return ids;
  }
});

describe('acts on payouts', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const hex = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex');
  const signed = (text: string) => sign(null, Buffer.from(text), privateKey).toString('hex');

  it('stores an approval that signs exactly this payout and notifies the signer', async () => {
    const [order, other] = [await reservedPayout(), await reservedPayout()];
    const text = await ops.call('getApprovalText', { orderPk: order.order_pk }, 'VIEWER');
    expect(text.body.data.text).toBe(
      approvalText({
        chain: order.chain,
        wallet: order.source_address as never,
        contract: order.contract_address,
        symbol: 'USDT',
        amountBaseUnits: order.amount,
        receiver: order.address as never,
        merchantId: 'shop',
        orderPk: order.order_pk,
      }),
    );
    const otherText = await ops.call('getApprovalText', { orderPk: other.order_pk });
    const wrong = { orderPk: order.order_pk, publicKey: hex, signature: signed(otherText.body.data.text) };
    await refused('approvePayout', wrong, 'UNPROCESSABLE', 'FINANCE');
    const right = { ...wrong, signature: signed(text.body.data.text) };
    await refused('approvePayout', { ...right, publicKey: 'a'.repeat(64) }, 'UNPROCESSABLE', 'FINANCE');
    const shown = await act('approvePayout', right, 'FINANCE');
    expect(shown.approvals).toMatchObject([{ approver: hex }]);
    expect((await act('approvePayout', right, 'FINANCE')).approvals).toHaveLength(1);
    const row = await admin.kysely.selectFrom('payout_approval').selectAll().executeTakeFirstOrThrow();
    expect(row.signature.toString('hex')).toBe(right.signature);
    const events = (await outboxEvents()).filter(({ type }) => type === 'payout.decided');
    expect(events.map(({ data }) => data['orderPk'])).toContain(order.order_pk);
  });

  it('accepts vetoes and approvals only until the payout is signed', async () => {
    const [order, gone] = [await reservedPayout(), await reservedPayout()];
    const vetoed = await act('vetoPayout', { orderPk: order.order_pk, reason: 'wrong receiver' }, 'FINANCE');
    expect(vetoed.veto).toMatchObject({ operator: 'fay', reason: 'wrong receiver' });
    await refused('vetoPayout', { orderPk: order.order_pk, reason: 'again' }, 'STATE_CONFLICT', 'FINANCE');
    for (const state of ['AUTHORISED', 'SIGNED'] as const) {
      await admin.kysely
        .updateTable('payout')
        .set({ state, authorised_at: new Date() })
        .where('order_pk', '=', gone.order_pk)
        .execute();
    }
    expect(
      await refused('vetoPayout', { orderPk: gone.order_pk, reason: 'late' }, 'STATE_CONFLICT', 'FINANCE'),
    ).toContain('signed');
    await refused('vetoPayout', { orderPk: randomUUID(), reason: 'x' }, 'NOT_FOUND', 'FINANCE');
  });

  it('accepts PAY_AGAIN after the allowed attempts expired', async () => {
    const { order_pk: orderPk } = await reservedPayout();
    const again = { orderPk, decision: 'PAY_AGAIN', reason: 'looked at the chain' } as const;
    await sql`update payout set state = 'AUTHORISED', authorised_at = now(), obstacle = 'NO_GAS' where order_pk = ${orderPk}`.execute(
      admin.kysely,
    );
    await refused('decidePayout', again, 'STATE_CONFLICT');
    await sql`update payout set obstacle = 'NEEDS_DECISION' where order_pk = ${orderPk}`.execute(
      admin.kysely,
    );
    await act('decidePayout', again);
    const decisions = await admin.kysely
      .selectFrom('payout_decision')
      .select(['decision', 'nonce', 'handled_at'])
      .where('order_pk', '=', orderPk)
      .execute();
    expect(decisions).toEqual([{ decision: 'PAY_AGAIN', nonce: null, handled_at: null }]);
  });

  it('accepts PAY_AGAIN for an unproven attempt only after its last epoch', async () => {
    const order = await aReservedPayout(admin.kysely, {
      order_pk: newId(),
      merchant_id: 'shop',
      chain: 'SUI_TEST',
      family: 'SUI',
      source_address: newId(),
    });
    const { order_pk: orderPk, source_address: wallet } = order;
    const db = admin.kysely;
    await sql`update payout set state = 'AUTHORISED', authorised_at = now() where order_pk = ${orderPk}`.execute(
      db,
    );
    const { tx_hash: txHash } = await anOwnTransaction(db, order, { nonce: null });
    await sql`insert into payout_attempt (chain, tx_hash, wallet, order_pk, unique_ms, expires_ms, reference_height, reference_hash,
        first_epoch, last_epoch)
      values ('SUI_TEST', ${txHash}, ${wallet}, ${orderPk}, 1, 1, 1, 'b', 7, 8)`.execute(db);
    await sql`update payout set state = 'SIGNED' where order_pk = ${orderPk}`.execute(db);
    await aChainCursor(db, { chain: 'SUI_TEST', family: 'SUI' });
    const scanned = (epoch: number) =>
      sql`update chain_cursor set verified_epoch = ${epoch} where chain = 'SUI_TEST'`.execute(db);
    await scanned(8);
    const again = { orderPk, decision: 'PAY_AGAIN', reason: 'on no explorer' } as const;
    await refused('decidePayout', again, 'STATE_CONFLICT');
    // A decision before the end of the epoch does not refer to the attempt.
    await sql`insert into payout_decision (decision_id, order_pk, decision, operator, reason)
      values (${newId()}, ${orderPk}, 'PAY_AGAIN', 'ada', 'another was paid')`.execute(db);
    await scanned(9);
    await act('decidePayout', again);
    await refused('decidePayout', again, 'STATE_CONFLICT');
    const { rows } =
      await sql`select decision, unproven_tx_hash as of, reason, handled_at is null as open from payout_decision
      where order_pk = ${orderPk}`.execute(db);
    expect(rows).toEqual([{ decision: 'PAY_AGAIN', of: txHash, reason: 'on no explorer', open: true }]);
  });

  it('accepts one decision at a time about a payout in doubt, only from an ADMIN', async () => {
    const order = await reservedPayout();
    const orderPk = order.order_pk;
    const say = { orderPk, reason: 'looked at the chain' };
    await refused('decidePayout', { ...say, decision: 'PAY_AGAIN' }, 'STATE_CONFLICT');
    await refused('decidePayout', { ...say, decision: 'PAID_BY' }, 'UNPROCESSABLE');
    await admin.kysely
      .insertInto('wallet_nonce')
      .values({
        chain: order.chain,
        wallet: order.source_address ?? '',
        nonce: 7,
        state: 'TAKEN',
        order_pk: orderPk,
      })
      .execute();
    await act('decidePayout', { ...say, decision: 'PAY_AGAIN' });
    await refused('decidePayout', { ...say, decision: 'PAID_BY', txHash: '0xab' }, 'STATE_CONFLICT');
    const rows = await admin.kysely
      .selectFrom('payout_decision')
      .selectAll()
      .where('order_pk', '=', orderPk)
      .execute();
    expect(rows).toMatchObject([{ decision: 'PAY_AGAIN', nonce: 7, tx_hash: null, handled_at: null }]);
  });
});

describe('acts on halts, holds, incidents, chains and top-ups', () => {
  it('lets FINANCE halt a chain or a wallet and only an ADMIN release it', async () => {
    const halt = await act('setHalt', { chain: 'ETH_SEPOLIA', reason: 'drill' }, 'FINANCE');
    expect(halt).toMatchObject({ kind: 'OPERATOR', wallet: null, setBy: 'fay', releasedAt: null });
    const address = anEvmAddress();
    const shouted = address.toUpperCase().replace('0X', '0x');
    const ofWallet = { chain: 'BSC_TEST', wallet: shouted, reason: 'drill' };
    await refused('setHalt', ofWallet, 'UNPROCESSABLE', 'FINANCE');
    await admin.kysely.insertInto('hot_wallet').values({ family: 'EVM', address }).execute();
    const wallet = await act('setHalt', ofWallet, 'FINANCE');
    expect(wallet.wallet).toBe(address);
    await refused('setHalt', { chain: 'SUI', reason: 'x' }, 'UNPROCESSABLE', 'FINANCE');
    await refused('releaseHalt', { haltId: halt.haltId, reason: 'over' }, 'FORBIDDEN', 'FINANCE');
    const released = await act('releaseHalt', { haltId: halt.haltId, reason: 'over' }, 'ADMIN');
    expect(released).toMatchObject({ releasedBy: 'ada', releasedReason: 'over' });
    await refused('releaseHalt', { haltId: halt.haltId, reason: 'over' }, 'STATE_CONFLICT', 'ADMIN');
    for (const kind of ['FOREIGN_NONCE', 'RESTORED'] as const) {
      const doubt = newId();
      await admin.kysely
        .insertInto('wallet_halt')
        .values({ halt_id: doubt, chain: 'ETH_SEPOLIA', wallet: anEvmAddress(), kind, reason: 'nonce 7' })
        .execute();
      await refused('releaseHalt', { haltId: doubt, reason: 'looks well' }, 'FORBIDDEN', 'FINANCE');
      await refused('releaseHalt', { haltId: doubt }, 'INPUT_INVALID', 'ADMIN');
      await refused('closeIncident', { incidentId: doubt, reason: 'no' }, 'STATE_CONFLICT', 'ADMIN');
      await act('releaseHalt', { haltId: doubt, reason: 'it was the drill' }, 'ADMIN');
      const { body } = await ops.call('listIncidents', { chain: 'ETH_SEPOLIA' });
      expect(body.data).toContainEqual(
        expect.objectContaining({
          incidentId: doubt,
          kind,
          closedBy: 'ada',
          closedReason: 'it was the drill',
        }),
      );
    }
    expect((await ops.call('listHalts', { open: true })).body.data).toHaveLength(1);
  });

  it('holds assets, closes incidents, pauses chains and requests rescans', async () => {
    const hold = await act('setHold', { chain: 'ETH_SEPOLIA', symbol: 'usdt', reason: 'depeg' }, 'FINANCE');
    expect(hold).toMatchObject({ symbol: 'USDT', setBy: 'fay' });
    await refused('releaseHold', { holdId: hold.holdId, reason: 'over' }, 'FORBIDDEN', 'FINANCE');
    await act('releaseHold', { holdId: hold.holdId, reason: 'over' }, 'ADMIN');
    await refused('releaseHold', { holdId: hold.holdId, reason: 'over' }, 'STATE_CONFLICT', 'ADMIN');
    await refused(
      'setHold',
      { chain: 'ETH_SEPOLIA', symbol: 'DOGE', reason: 'x' },
      'UNPROCESSABLE',
      'FINANCE',
    );
    const incidentId = newId();
    await admin.kysely
      .insertInto('incident')
      .values({
        incident_id: incidentId,
        kind: 'CREDITED_TRANSFER_ORPHANED',
        chain: 'ETH_SEPOLIA',
        opened_at: new Date(),
      })
      .execute();
    expect(await act('closeIncident', { incidentId, reason: 'seen' }, 'SUPPORT')).toMatchObject({
      closedBy: 'sam',
    });
    await refused('closeIncident', { incidentId, reason: 'seen' }, 'STATE_CONFLICT', 'SUPPORT');
    const ofPayouts = newId();
    await admin.kysely
      .insertInto('incident')
      .values({ incident_id: ofPayouts, kind: 'PAYOUT_SHORT', chain: 'BSC_TEST', opened_at: new Date() })
      .execute();
    await refused('closeIncident', { incidentId: ofPayouts, reason: 'seen' }, 'FORBIDDEN', 'SUPPORT');
    await act('closeIncident', { incidentId: ofPayouts, reason: 'seen' }, 'FINANCE');
    await act('pauseChain', { chain: 'BSC_TEST', reason: 'node upgrade' });
    await refused('pauseChain', { chain: 'BSC_TEST', reason: 'again' }, 'STATE_CONFLICT');
    const chains = (await ops.call('listChains')).body.data as { chain: string; pause: unknown }[];
    expect(chains.map(({ chain, pause }) => [chain, pause === null])).toEqual([
      ['ETH_SEPOLIA', true],
      ['BSC_TEST', false],
    ]);
    await act('resumeChain', { chain: 'BSC_TEST', reason: 'done' });
    await refused('resumeChain', { chain: 'BSC_TEST', reason: 'again' }, 'STATE_CONFLICT');
    await act('pauseSweeps', { chain: 'BSC_TEST', reason: 'cold wallet moves' }, 'FINANCE');
    await refused('pauseSweeps', { chain: 'BSC_TEST', reason: 'again' }, 'STATE_CONFLICT', 'FINANCE');
    await refused('resumeSweeps', { chain: 'BSC_TEST', reason: 'done' }, 'FORBIDDEN', 'FINANCE');
    await act('resumeSweeps', { chain: 'BSC_TEST', reason: 'done' }, 'ADMIN');
    await refused('resumeSweeps', { chain: 'BSC_TEST', reason: 'again' }, 'STATE_CONFLICT', 'ADMIN');
    expect(await act('runSweeps', { chain: 'BSC_TEST', reason: 'now' }, 'FINANCE')).toMatchObject({
      chain: 'BSC_TEST',
    });
    const asked = await act('requestRescan', { chain: 'ETH_SEPOLIA', fromHeight: 5, toHeight: 9 }, 'SUPPORT');
    expect((await ops.call('getRescan', { requestId: asked.requestId })).body.data).toMatchObject({
      fromHeight: 5,
      doneAt: null,
    });
    await refused(
      'requestRescan',
      { chain: 'ETH_SEPOLIA', fromHeight: 9, toHeight: 5 },
      'UNPROCESSABLE',
      'SUPPORT',
    );
  });

  /** The signer read this balance above the ledger, at two verified blocks. */
  const holds = async (symbol: string, beyond: bigint) => {
    const { rows } = await sql<{
      ledger: bigint;
    }>`select coalesce(sum(balance), 0) as ledger from ledger_account
      where chain = 'ETH_SEPOLIA' and symbol = ${symbol} and kind in ('HOT_AVAILABLE', 'HOT_RESERVED', 'IN_FLIGHT', 'HOT_GAS')`.execute(
      admin.kysely,
    );
    const amount = (rows[0]?.ledger ?? 0n) + beyond;
    const address = anEvmAddress();
    await admin.kysely.insertInto('hot_wallet').values({ family: 'EVM', address }).execute();
    await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA' }).catch(() => undefined);
    for (const height of [1, 2])
      await sql`with stored as (
          insert into block (chain, height, hash, parent_hash, block_time)
          values ('ETH_SEPOLIA', ${height}, ${`0xb${height}`}, ${`0xb${height - 1}`}, now()) on conflict do nothing)
        insert into hot_wallet_balance (chain, wallet, symbol, amount, block_height, block_hash, seen_at)
        values ('ETH_SEPOLIA', ${address}, ${symbol}, ${amount}, ${height}, ${`0xb${height}`}, clock_timestamp())
        on conflict (chain, wallet, symbol) do update set block_height = excluded.block_height,
          block_hash = excluded.block_hash`.execute(admin.kysely);
  };

  it('rejects a top-up that was never sent', async () => {
    const topUp = { chain: 'ETH_SEPOLIA', symbol: 'ETH', amount: '5', txid: aHash() };
    await refused('bookTopUp', topUp, 'UNPROCESSABLE', 'FINANCE');
    expect((await ops.call('listTopUps', { symbol: 'ETH' })).body.data).toEqual([]);
  });

  it('books a covered top-up once for every spelling of its hash', async () => {
    await holds('USDT', 13_000_000n);
    const txid = aHash();
    const topUp = { chain: 'ETH_SEPOLIA', symbol: 'usdt', amount: '12.5' };
    const ref = `ETH_SEPOLIA:${txid}:USDT`;
    expect(await act('bookTopUp', { ...topUp, txid }, 'FINANCE')).toEqual({ booked: true, ref });
    expect(
      await act('bookTopUp', { ...topUp, txid: txid.toUpperCase().replace('0X', '0x') }, 'FINANCE'),
    ).toEqual({ booked: false, ref });
    await refused('bookTopUp', { ...topUp, txid: 'nothing' }, 'UNPROCESSABLE', 'FINANCE');
    await refused('bookTopUp', { ...topUp, txid, amount: '0.1234567' }, 'UNPROCESSABLE', 'FINANCE');
    await refused('bookTopUp', { ...topUp, txid, amount: '12.6' }, 'STATE_CONFLICT', 'FINANCE');
    await refused('bookTopUp', { ...topUp, txid: aHash() }, 'UNPROCESSABLE', 'FINANCE');
  });

  it('reverses a wrong top-up once and audits the reason', async () => {
    await holds('ETH', 13n * 10n ** 18n);
    const txid = aHash();
    const { ref } = await act(
      'bookTopUp',
      { chain: 'ETH_SEPOLIA', symbol: 'ETH', amount: '13', txid },
      'FINANCE',
    );
    const reason = 'it was 1.3';
    await refused('reverseTopUp', { ref: 'ETH_SEPOLIA:nothing:ETH', reason }, 'NOT_FOUND', 'FINANCE');
    expect(await act('reverseTopUp', { ref, reason }, 'FINANCE')).toMatchObject({
      reversed: true,
      amountBaseUnits: `${13n * 10n ** 18n}`,
    });
    expect(await act('reverseTopUp', { ref, reason }, 'FINANCE')).toMatchObject({ reversed: false });
    const { body } = await ops.call('listTopUps', { symbol: 'ETH' });
    expect(body.data).toMatchObject([{ ref, state: 'REVERSED', amount: '13', asOfHeight: 1 }]);
    const [entry] = (
      await ops.call('listAudit', { action: 'reverseTopUp', outcome: 'DONE' })
    ).body.data.slice(-1);
    expect(entry).toMatchObject({ operator: 'fay', subject: ref, details: { reason, reversed: true } });
  });
});

describe('acceptDeposit', () => {
  const aDeposit = async (
    reason: 'LATE' | 'WRONG_TOKEN' | 'AFTER_SUCCESS' | 'ORDER_FAILED',
    order: Parameters<typeof aCollection>[1] = {},
    transfer: Parameters<typeof aTransfer>[2] = {},
  ) => {
    const collection = await aCollection(admin.kysely, {
      chain: 'ETH_SEPOLIA',
      status: 'EXPIRED',
      ...order,
    });
    const { transfer_id: transferId } = await aTransfer(admin.kysely, collection, {
      state: 'VERIFIED',
      ...transfer,
    });
    await admin.kysely
      .insertInto('unmatched_deposit')
      .values({
        transfer_id: transferId,
        merchant_id: collection.merchant_id,
        order_pk: collection.order_pk,
        reason,
      })
      .execute();
    return { collection, transferId, accept: { transferId, reason: 'the customer wrote' } };
  };
  const decisionsOf = (collection: OrderRow) =>
    admin.kysely
      .selectFrom('order_decision')
      .selectAll()
      .where('order_pk', '=', collection.order_pk)
      .execute();

  it('accepts a late deposit as a decision about its order', async () => {
    const { collection, accept } = await aDeposit('LATE');
    expect(await refused('acceptDeposit', { ...accept, worth: '1' }, 'UNPROCESSABLE')).toContain(
      'its amount counts',
    );
    const accepted = await act('acceptDeposit', accept, 'SUPPORT');
    expect(accepted).toMatchObject({ orderId: collection.order_id, worth: null });
    expect(await decisionsOf(collection)).toMatchObject([
      { decision: 'ACCEPT', transfer_id: null, worth: null },
    ]);
    expect(await outboxEvents()).toContainEqual(
      expect.objectContaining({ type: 'order.decided', data: { orderPk: collection.order_pk } }),
    );
    expect(await refused('acceptDeposit', accept, 'STATE_CONFLICT')).toContain('already being carried out');
  });

  it('accepts another token for the worth that a FINANCE operator gives', async () => {
    const other = { symbol: 'OTHER', amount: 7n };
    const { collection, transferId, accept } = await aDeposit('WRONG_TOKEN', { decimals: 6 }, other);
    expect(await refused('acceptDeposit', accept, 'UNPROCESSABLE')).toContain(
      `give its worth in ${collection.symbol}`,
    );
    await refused('acceptDeposit', { ...accept, worth: '2.5' }, 'FORBIDDEN', 'SUPPORT');
    await refused('acceptDeposit', { ...accept, worth: '2.0000001' }, 'UNPROCESSABLE', 'FINANCE');
    const accepted = await act('acceptDeposit', { ...accept, worth: '2.5' }, 'FINANCE');
    expect(accepted).toMatchObject({ worth: '2.5', symbol: collection.symbol });
    expect(await decisionsOf(collection)).toMatchObject([
      { transfer_id: transferId, transfer_symbol: 'OTHER', transfer_amount: 7n, worth: 2_500_000n },
    ]);
  });

  it('rejects deposits that cannot be accepted and names the alternative', async () => {
    await refused('acceptDeposit', { transferId: 999_999, reason: 'x' }, 'NOT_FOUND');
    const says = async (...given: Parameters<typeof aDeposit>) =>
      refused('acceptDeposit', (await aDeposit(...given)).accept, 'STATE_CONFLICT', 'SUPPORT');
    expect(await says('AFTER_SUCCESS', { status: 'SUCCESS' })).toContain('is already paid');
    expect(await says('ORDER_FAILED', { status: 'FAILED' })).toContain('needs a new order');
    expect(await says('WRONG_TOKEN', { status: 'PENDING' })).toContain('when the order has expired, after 2');
    expect(await says('LATE', {}, { state: 'DETECTED' })).toContain('not verified yet');
  });

  it('rejects an acceptance after a refund and a refund during an acceptance', async () => {
    const { collection, transferId, accept } = await aDeposit('LATE');
    const { chain, symbol, amount } = collection;
    await sql`select book_top_up(${`${chain}:0xfee2:${symbol}`}, ${chain}, ${symbol}, ${amount})`.execute(
      admin.kysely,
    );
    const refund = { transferId, receiver: `0x${'cd'.repeat(20)}`, reason: 'came late' };
    await act('acceptDeposit', accept, 'SUPPORT');
    expect(await refused('refundDeposit', refund, 'STATE_CONFLICT', 'FINANCE')).toContain(
      'is being accepted',
    );
    await sql`update order_decision set handled_at = now(), outcome = 'NOT_POSSIBLE' where order_pk = ${collection.order_pk}`.execute(
      admin.kysely,
    );
    await act('refundDeposit', { ...refund, amount: '0.000001' }, 'FINANCE');
    expect(await refused('acceptDeposit', accept, 'STATE_CONFLICT')).toContain('were refunded');
    const { body } = await ops.call('listUnmatchedDeposits', {}, 'VIEWER');
    const shown = body.data.find(
      ({ transfer }: { transfer: { transferId: number } }) => transfer.transferId === transferId,
    );
    expect(shown).toMatchObject({ orderStatus: 'EXPIRED', leftBaseUnits: (amount - 1n).toString() });
  });
});

describe('acts on operators, exports and refunds', () => {
  it('audits acts on operators and exports', async () => {
    await act('createOperator', { operatorId: 'guest', name: 'Guest', role: 'VIEWER' });
    await act('setOperator', { operatorId: 'guest', role: 'SUPPORT' });
    await act('rotateOperatorToken', { operatorId: 'guest' });
    const time = { from: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' };
    for (const operation of ['exportOrders', 'exportLedger'] as const) {
      const answer = await ops.call(operation, time, 'FINANCE');
      expect(answer.status).toBe(200);
      expect(await entriesOf(answer.headers.get('x-request-id'))).toMatchObject([
        { action: operation, outcome: 'DONE' },
      ]);
      done.add(operation);
    }
    await refused('exportLedger', { from: time.until, until: time.from }, 'UNPROCESSABLE', 'FINANCE');
    const mine = await ops.call('rotateMyToken', {}, 'SUPPORT');
    expect(await entriesOf(mine.headers.get('x-request-id'))).toMatchObject([
      { action: 'rotateMyToken', operator: 'sam', subject: 'sam' },
    ]);
    done.add('rotateMyToken');
  });

  it('refunds an unmatched deposit in parts, at most its amount', async () => {
    const collection = await aCollection(admin.kysely, { chain: 'ETH_SEPOLIA' });
    const transfer = await aTransfer(admin.kysely, collection, { state: 'VERIFIED' });
    const { chain, symbol, amount } = transfer;
    await sql`insert into chain_family (chain, family) values (${chain}, 'EVM') on conflict do nothing`.execute(
      admin.kysely,
    );
    await sql`insert into hot_wallet (family, address) values ('EVM', ${'0x' + 'ab'.repeat(20)}) on conflict do nothing`.execute(
      admin.kysely,
    );
    const receiver = `0x${'CD'.repeat(20)}`;
    const refund = { transferId: transfer.transfer_id, receiver, reason: 'came late' };
    await refused('refundDeposit', refund, 'NOT_FOUND', 'FINANCE');
    await admin.kysely
      .insertInto('unmatched_deposit')
      .values({
        transfer_id: transfer.transfer_id,
        merchant_id: collection.merchant_id,
        order_pk: collection.order_pk,
        reason: 'LATE',
      })
      .execute();
    // Mixed case has a checksum, and one letter of this is wrong.
    const mistyped = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD';
    for (const wrong of ['TXYZ', `${receiver}00`, `0x${'cd'.repeat(32)}`, `0x${'0'.repeat(40)}`, mistyped])
      await refused('refundDeposit', { ...refund, receiver: wrong }, 'UNPROCESSABLE', 'FINANCE');
    const parts = { amount: '1', amountBaseUnits: '1' };
    await refused('refundDeposit', { ...refund, ...parts }, 'UNPROCESSABLE', 'FINANCE');
    await refused('refundDeposit', { ...refund, amount: '0.0000001' }, 'UNPROCESSABLE', 'FINANCE');
    await sql`select book_top_up(${`${chain}:0xfeed:${symbol}`}, ${chain}, ${symbol}, ${amount})`.execute(
      admin.kysely,
    );
    const part = await act('refundDeposit', { ...refund, amountBaseUnits: '1' }, 'FINANCE');
    expect(part).toMatchObject({ amountBaseUnits: '1', receiver: receiver.toLowerCase(), symbol });
    const isListed = async (open: boolean) => {
      const { body } = await ops.call('listUnmatchedDeposits', { open }, 'VIEWER');
      return (body.data as { transfer: { transferId: number } }[]).some(
        (one) => one.transfer.transferId === transfer.transfer_id,
      );
    };
    expect([await isListed(true), await isListed(false)]).toEqual([true, false]);
    const rest = await act('refundDeposit', refund, 'FINANCE');
    expect(rest).toMatchObject({ amountBaseUnits: (amount - 1n).toString() });
    expect([await isListed(true), await isListed(false)]).toEqual([false, true]);
    await refused('refundDeposit', refund, 'UNPROCESSABLE', 'FINANCE');
  });

  it('refunds from the hot wallet in use, not from those of earlier keystores', async () => {
    const collection = await aCollection(admin.kysely, { chain: 'BSC_TEST' });
    const transfer = await aTransfer(admin.kysely, collection, { state: 'VERIFIED' });
    const { transfer_id: transferId, chain, symbol, amount } = transfer;
    const { merchant_id, order_pk } = collection;
    await sql`insert into chain_family (chain, family) values (${chain}, 'EVM') on conflict do nothing`.execute(
      admin.kysely,
    );
    await admin.kysely
      .insertInto('unmatched_deposit')
      .values({ transfer_id: transferId, merchant_id, order_pk, reason: 'LATE' })
      .execute();
    await sql`select book_top_up(${`${chain}:0xfade:${symbol}`}, ${chain}, ${symbol}, ${amount})`.execute(
      admin.kysely,
    );
    const [before, now] = [`0x${'01'.repeat(20)}`, `0x${'02'.repeat(20)}`];
    const seen = (wallet: string) =>
      sql`
      insert into hot_wallet_balance (chain, wallet, symbol, amount, block_height, block_hash, seen_at)
        values (${chain}, ${wallet}, ${symbol}, 1, 1, 'x', clock_timestamp())
        on conflict (chain, wallet, symbol) do update set seen_at = excluded.seen_at`.execute(admin.kysely);
    const walletOfRefund = async () => {
      const answer = await act(
        'refundDeposit',
        { transferId, receiver: `0x${'cd'.repeat(20)}`, reason: 'late', amountBaseUnits: '1' },
        'FINANCE',
      );
      const { rows } = await sql<{ wallet: string }>`
        select wallet from payout where order_pk = ${(answer as { orderPk: string }).orderPk}`.execute(
        admin.kysely,
      );
      return rows[0]?.wallet;
    };
    const setUp = (wallet: string) =>
      sql`insert into hot_wallet (family, address, added_at) values ('EVM', ${wallet}, clock_timestamp())`.execute(
        admin.kysely,
      );
    await setUp(before);
    await seen(before);
    expect(await walletOfRefund()).toBe(before);
    await setUp(now);
    expect(await walletOfRefund()).toBe(now);
    await seen(now);
    expect(await walletOfRefund()).toBe(now);
    await seen(before); // its keystore was restored
    expect(await walletOfRefund()).toBe(before);
  });

  it('every act of the catalog is tested above', () => {
    const acts = OPS_OPERATIONS.filter((id) => {
      const { kind }: OpsRoute = OPS_ROUTES[id];
      return kind === 'ACT' || kind === 'EXPORT';
    });
    expect([...done].toSorted()).toEqual([...acts].toSorted());
  });
});

describe('an act and its audit entry', () => {
  it('an act that cannot be audited has no effect', async () => {
    await sql`create function no_entry() returns trigger language plpgsql as $$ begin raise exception 'full'; end $$`.execute(
      admin.kysely,
    );
    await sql`create trigger no_entry before insert on audit_entry for each row execute function no_entry()`.execute(
      admin.kysely,
    );
    const answer = await ops.call('setHalt', { chain: 'ETH_SEPOLIA', reason: 'unwritten' });
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain('full');
    await sql`drop trigger no_entry on audit_entry`.execute(admin.kysely);
    const { body } = await ops.call('listHalts', { chain: 'ETH_SEPOLIA' });
    expect(JSON.stringify(body)).not.toContain('unwritten');
  });
});
