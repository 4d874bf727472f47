import { generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from 'amqplib';
import { getAddress, hexlify } from 'ethers';
import { sql } from 'kysely';
import { EVENTS_EXCHANGE, queueName } from '@opentill/contracts/topology';
import { openDatabase, type Database, type Db } from '@opentill/db/database';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { ServiceName } from '@opentill/local/gateway-options';
import { DENIED_RECEIVER } from '@opentill/local/prepare-policy';
import { waitUntil } from '@opentill/testkit/wait-until';
import { approvalText } from '@opentill/wallet/policy/approval';
import { signApproval } from '@opentill/wallet/policy/approver-key';
import type { ChainUnderTest } from '../src/chain-under-test.ts';
import type { RunningGateway } from '../src/running-gateway.ts';
import type { GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { WAIT_MS } from '../src/time-limits.ts';

interface ForgedOrder {
  readonly chain?: string;
  readonly symbol?: string;
  readonly contract?: string | null;
  readonly decimals?: number;
  readonly amount?: bigint;
  readonly receiver?: string;
  readonly wallet?: string;
  readonly expiresInMs?: number;
}

/**
 * An attacker with the database role and broker user of the api or of ops uses all their rights. The signer must sign no
 * payout that the sealed policy does not allow.
 */
export function describeAttackers(under: () => GatewayUnderTest<RunningGateway>): void {
  let api: Database;
  let ops: Database;
  let bsc: ChainUnderTest;
  /** Primary keys of payouts that must never be signed, with the forged property. */
  const forged = new Map<string, string>();
  const signedBefore = new Set<string>();
  const sentBefore = new Map<string, number>();

  const environment = (service: ServiceName, name: string): string =>
    under().gateway.environmentOf(service)[name] ?? '';
  const admin = (): Db => under().database.kysely;
  const hotWallet = () => under().gateway.wallet.evmHotWallet.toLowerCase();
  const accomplice = () => hexlify(randomBytes(20));
  const transactionsOf = async (chain: ChainUnderTest) =>
    Number(await callRpc<string>(chain.rpcUrl, 'eth_getTransactionCount', [hotWallet(), 'latest']));

  async function forge(what: string, order: ForgedOrder = {}): Promise<boolean> {
    const orderPk = randomUUID();
    const { chain = 'BSC_TEST', symbol = 'USDT', amount = 10n ** 18n, decimals = 18 } = order;
    const { receiver = accomplice(), wallet = hotWallet(), expiresInMs = 600_000 } = order;
    const contract = order.contract === undefined ? bsc.contractOf('USDT').toLowerCase() : order.contract;
    const [createdAt, expiresAt] = [new Date(), new Date(Date.now() + expiresInMs)];
    await sql`insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, contract_address, decimals,
        display_decimals, amount, accepted_amount, address, source_address, created_at, expires_at)
      values (${orderPk}, 'default', ${`forged-${orderPk}`}, 'PAYOUT', ${chain}, 'EVM', ${symbol}, ${contract}, ${decimals},
        2, ${amount.toString()}::numeric, ${amount.toString()}::numeric, ${receiver}, ${wallet}, ${createdAt}, ${expiresAt})`.execute(
      api.kysely,
    );
    const { rows } = await sql<{ reserved: boolean }>`select reserve(${orderPk}) as reserved`.execute(
      api.kysely,
    );
    forged.set(orderPk, what);
    await publish('api', 'payout.requested', { orderPk });
    return rows[0]?.reserved ?? false;
  }

  /** Publishes with a service's user. Returns the broker's error, if any. */
  async function publish(
    service: ServiceName,
    type: string,
    data: object | string,
  ): Promise<string | undefined> {
    const connection = await connect(environment(service, 'AMQP_URL'));
    try {
      const channel = await connection.createConfirmChannel();
      const refused = new Promise<string>((resolve) =>
        channel.once('error', (error: Error) => resolve(error.message)),
      );
      const envelope = { id: randomUUID(), type, version: 1, occurredAt: new Date().toISOString(), data };
      const content = Buffer.from(typeof data === 'string' ? data : JSON.stringify(envelope));
      channel.publish(EVENTS_EXCHANGE, `${type}.evm`, content, { persistent: true, messageId: envelope.id });
      const confirmed = channel.waitForConfirms().then(() => undefined);
      return await Promise.race([confirmed.catch(() => refused), refused]);
    } finally {
      await connection.close().catch(() => undefined);
    }
  }

  async function payHonestly(chain: ChainUnderTest): Promise<string> {
    const orderId = under().newOrderId();
    const fields = {
      amount: '1',
      symbol: 'USDT',
      chain: chain.chain,
      receiveAddress: getAddress(accomplice()),
    };
    expect(await under().merchant.createPayout({ ...fields, orderId })).toMatchObject({ code: 200 });
    await waitUntil(
      `${orderId} is paid`,
      async () => (await under().merchant.status(orderId)).data?.status === 'SUCCESS',
      WAIT_MS,
    );
    return orderId;
  }

  const expectRejected = async (db: Database, statement: string): Promise<void> => {
    await expect(sql.raw(statement).execute(db.kysely)).rejects.toThrow(
      /permission denied|row-level security/,
    );
  };

  describe('an attacker with the role and broker user of the api or ops', () => {
    beforeAll(async () => {
      bsc = under().chains.BSC_TEST;
      const open = (service: ServiceName) =>
        openDatabase({ url: environment(service, 'DATABASE_URL'), applicationName: 'attacker', poolMax: 1 });
      [api, ops] = [open('api'), open('ops')];
      // The hot wallet signs fee transfers for sweeps. Those of earlier tests must not count as signed here.
      const isSwept = async () =>
        (await sql`select from sweep where state = 'OPEN'`.execute(admin())).rows.length === 0;
      await waitUntil('no sweep is open', isSwept, WAIT_MS).catch(() => undefined); // the final assertion shows more
      const signed = await admin().selectFrom('own_transaction').select('tx_hash').execute();
      for (const { tx_hash: txHash } of signed) signedBefore.add(txHash);
      for (const chain of Object.values(under().chains))
        sentBefore.set(chain.chain, await transactionsOf(chain));
    });
    afterAll(async () => {
      await api.close();
      await ops.close();
    });

    it('can insert every kind of order that the api may insert', async () => {
      const usdt = bsc.contractOf('USDT').toLowerCase();
      expect(await forge('another contract', { contract: accomplice() })).toBe(true);
      expect(await forge('no contract, like native coin', { contract: null })).toBe(true);
      expect(
        await forge('the contract of another token', {
          symbol: 'USDC',
          decimals: 6,
          amount: 10n ** 6n,
          contract: usdt,
        }),
      ).toBe(true);
      expect(await forge('fewer decimals', { decimals: 0 })).toBe(true);
      expect(await forge('more decimals', { decimals: 36 })).toBe(true);
      expect(await forge('above the limit per payout', { amount: 100_001n * 10n ** 18n })).toBe(true);
      expect(await forge('a denied receiver', { receiver: DENIED_RECEIVER.toLowerCase() })).toBe(true);
      expect(await forge('a denied receiver in checksum case', { receiver: DENIED_RECEIVER })).toBe(true);
      expect(await forge('an invalid address', { receiver: 'somewhere' })).toBe(true);
      expect(await forge('the zero address', { receiver: `0x${'0'.repeat(40)}` })).toBe(true);
      expect(await forge("a token's contract as the receiver", { receiver: usdt })).toBe(true);
      expect(await forge('the hot wallet as the receiver', { receiver: hotWallet() })).toBe(true);
      expect(await forge('on a chain that is not enabled', { chain: 'BSC' })).toBe(false);
      expect(await forge('an unknown token', { symbol: 'GOLD' })).toBe(false);
      expect(await forge('above the balance', { amount: 10n ** 30n })).toBe(false);
      for (const [what, order] of [
        ['from a foreign wallet', { wallet: accomplice() }],
        ['from the hot wallet in checksum case', { wallet: getAddress(hotWallet()) }],
        ['that expires in 100 years', { expiresInMs: 100 * 365 * 86_400_000 }],
      ] as const)
        await expect(forge(what, order)).rejects.toMatchObject({ code: 'DATABASE_CONSTRAINT' });
      expect(
        await forge('above the threshold, for the approvals below', { amount: 5_001n * 10n ** 18n }),
      ).toBe(true);
    });

    it('cannot change other rows, events or queues', async () => {
      for (const [db, statements] of [
        [
          api,
          [
            `update orders set amount = amount * 1000`,
            `update orders set address = '0x1'`,
            `insert into payout (order_pk, chain, wallet, expires_at) select order_pk, chain, source_address, expires_at from orders limit 1`,
            `update payout set state = 'AUTHORISED', authorised_at = now()`,
            `insert into wallet_nonce (chain, wallet, nonce, state) values ('BSC_TEST', 'x', 99, 'RESERVED')`,
            `insert into own_transaction (chain) values ('BSC_TEST')`,
            `select raw from own_transaction`,
            `insert into payout_approval (order_pk, approver, signature) select order_pk, repeat('0', 64), repeat('x', 64)::bytea from orders limit 1`,
            `delete from payout_veto`,
            `update wallet_halt set released_at = now()`,
            `update asset_hold set released_at = now()`,
            `insert into hot_wallet (family, address) values ('EVM', '0x1')`,
            `insert into own_transaction_fate (chain) values ('BSC_TEST')`,
            `insert into ledger_transaction (ref, kind) values ('forged', 'TOP_UP')`,
            `select book_top_up('x', 'BSC_TEST', 'USDT', 1)`,
            `insert into signer.lease (name, holder, fencing_token, expires_at) values ('wallet/BSC_TEST', 'x', 99, now())`,
            `insert into signer.outbox (event_id, routing_key, payload) values (gen_random_uuid(), 'x', '{}')`,
          ],
        ],
        [
          ops,
          [
            `update orders set amount = amount * 1000`,
            `insert into orders (order_pk) values (gen_random_uuid())`,
            `update payout set state = 'AUTHORISED', authorised_at = now()`,
            `update payout set waiting_since = null`,
            `select raw from own_transaction`,
            `insert into own_transaction (chain) values ('BSC_TEST')`,
            `insert into wallet_nonce (chain, wallet, nonce, state) values ('BSC_TEST', 'x', 99, 'RESERVED')`,
            `update payout_approval set approver = repeat('0', 64)`,
            `delete from payout_veto`,
            `delete from audit_entry`,
            `update signer.lease set holder = 'x'`,
            `select reserve(gen_random_uuid())`,
          ],
        ],
      ] as const) {
        for (const statement of statements) await expectRejected(db, statement);
      }
      for (const [service, type] of [
        ['api', 'payout.decided'],
        ['api', 'payout.changed'],
        ['api', 'fate.changed'],
        ['ops', 'payout.requested'],
        ['ops', 'payout.changed'],
        ['ops', 'block.verified'],
      ] as const)
        expect(`${type}: ${await publish(service, type, { orderPk: randomUUID() })}`).toMatch(
          /ACCESS_REFUSED/,
        );
      const connection = await connect(environment('api', 'AMQP_URL'));
      const channel = await connection.createChannel();
      channel.on('error', () => undefined);
      await expect(channel.get(queueName('payout-signer', 'payout.requested'))).rejects.toThrow(
        /ACCESS_REFUSED/,
      );
      await connection.close();
    });

    it('can publish events of unknown and ended payouts, and malformed events', async () => {
      const ended = await admin()
        .selectFrom('payout')
        .select('order_pk')
        .where('state', '=', 'REFUSED')
        .executeTakeFirst();
      for (const data of [
        { orderPk: randomUUID() },
        { orderPk: ended?.order_pk ?? '' },
        '{"no":"envelope"}',
        'no JSON',
      ])
        expect(await publish('api', 'payout.requested', data)).toBeUndefined();
      expect(await publish('ops', 'payout.decided', { orderPk: randomUUID() })).toBeUndefined();
    });

    it('can insert forged approvals and top-ups with the role of ops', async () => {
      const [orderPk = ''] = [...forged].find(([, what]) => what.startsWith('above the threshold')) ?? [];
      const { approverKeyFile, approverPassphraseFile } = under().gateway.policy;
      const approver = (JSON.parse(readFileSync(approverKeyFile, 'utf8')) as { keyId: string }).keyId;
      const order = await admin()
        .selectFrom('orders')
        .selectAll()
        .where('order_pk', '=', orderPk)
        .executeTakeFirstOrThrow();
      const payout = {
        chain: order.chain,
        wallet: order.source_address as never,
        contract: order.contract_address,
        symbol: order.symbol,
        amountBaseUnits: order.amount,
        receiver: order.address as never,
        merchantId: order.merchant_id,
        orderPk,
      };
      const own = generateKeyPairSync('ed25519');
      const ownKey = Buffer.from(own.publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString(
        'hex',
      );
      // A valid signature of the approver, for another amount.
      const passphrase = readFileSync(approverPassphraseFile, 'utf8').trim();
      const other = approvalText({ ...payout, amountBaseUnits: payout.amountBaseUnits - 1n });
      const { signature: ofAnother } = await signApproval(approverKeyFile, passphrase, other);
      const insert = async (key: string, signature: Uint8Array) =>
        sql`insert into payout_approval (order_pk, approver, signature) values (${orderPk}, ${key}, ${Buffer.from(signature)})`.execute(
          ops.kysely,
        );
      await insert(ownKey, sign(null, Buffer.from(approvalText(payout), 'utf8'), own.privateKey));
      await insert(approver, ofAnother);
      await insert(randomBytes(32).toString('hex'), randomBytes(64));
      expect(await publish('ops', 'payout.decided', { orderPk })).toBeUndefined();
      await sql`insert into hot_wallet (family, address) values ('EVM', ${accomplice()})`.execute(ops.kysely);
      // The ledger then exceeds the wallet's balance; the signer must trust the chain.
      await sql`select book_top_up('BSC_TEST:forged:USDT', 'BSC_TEST', 'USDT', 1000000000000000000000000)`.execute(
        ops.kysely,
      );
    });

    it('gets no signature, while honest payouts continue', async () => {
      const { chains } = under();
      const honest = await Promise.all(Object.values(chains).map(payHonestly));
      // The signer checks all open payouts before it signs the next one, so it has checked the forged ones.
      const open = await admin()
        .selectFrom('payout')
        .select(['order_pk', 'state', 'obstacle', 'waiting_since'])
        .where('order_pk', 'in', [...forged.keys()])
        .where('wallet', '=', hotWallet()) // no signer checks other wallets
        .execute();
      const unconsidered = open.filter(
        ({ state, obstacle, waiting_since: waits }) =>
          state === 'REQUESTED' && obstacle === null && waits === null,
      );
      expect(unconsidered.map(({ order_pk: orderPk }) => forged.get(orderPk))).toEqual([]);
      const signed = open.filter(({ state }) => state === 'AUTHORISED' || state === 'SIGNED');
      expect(signed.map(({ order_pk: orderPk }) => forged.get(orderPk))).toEqual([]);

      const transactions = await admin()
        .selectFrom('own_transaction as t')
        .innerJoin('orders as o', 'o.order_pk', 't.order_pk')
        .select(['t.tx_hash', 'o.order_id'])
        .execute();
      const since = transactions.filter(({ tx_hash: txHash }) => !signedBefore.has(txHash));
      expect(since.map(({ order_id: orderId }) => orderId).toSorted()).toEqual(honest.toSorted());
      for (const chain of Object.values(chains))
        expect(await transactionsOf(chain)).toBe((sentBefore.get(chain.chain) ?? 0) + 1);
      const refusals = open
        .filter(({ state }) => state === 'REFUSED')
        .map(({ order_pk: pk }) => forged.get(pk));
      expect(refusals).toContain('above the limit per payout');
      expect(refusals).toContain('a denied receiver');
    });
  });
}
