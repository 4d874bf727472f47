import { randomBytes } from 'node:crypto';
import type { Address } from '@opentill/chain/address-codec';
import type { SignedExpiring } from '@opentill/chain/expiring-sender';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { addressOfShortHex } from '@opentill/chain-tron/address-codec';
import { createTronSender } from '@opentill/chain-tron/sender/create-sender';
import { readHeader, createTronSources } from '@opentill/chain-tron/tron-sources';
import type { Database, Db } from '@opentill/db/database';
import { signHash } from '@opentill/devnets/tron/chain/signature';
import type { TronDevAccount } from '@opentill/devnets/tron/dev-accounts';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { baseUnits } from '@opentill/domain/money';
import { TRON_DEVNET_PAYOUTS, tronDevnetNetwork } from '@opentill/testkit/devnet-networks';
import { aCollection, aPayout, aTransfer, type OrderRow } from '@opentill/testkit/scenario';
import { createTestDatabase } from '@opentill/testkit/test-database';
import { sql } from 'kysely';
import { createRestoredBooks, storeAttempt, type RestoredBooks } from './restored-ledger.ts';

export const CHAIN = 'TRON_TEST';
export const USDT = 1_000_000n;
const SOLID_LAG_BLOCKS = 3;

export type Signed = SignedExpiring & { readonly intent: PaymentIntent };

/** A TRON hot wallet with its ledger, on a node whose blocks come on demand. No service runs. */
export interface TronBooks extends Pick<RestoredBooks, 'age' | 'opentill'> {
  readonly devnet: TronDevnet;
  readonly admin: Db;
  readonly wallet: Address;
  /** Reserved, not signed. */
  payout(amount?: bigint): Promise<OrderRow>;
  /** Signs like an earlier process of the signer, without a record. */
  sign(pays: Partial<PaymentIntent>): Promise<Signed>;
  /** USDT, verified and booked. The devnet account has the address' key. */
  deposited(account: TronDevAccount, amount: bigint): Promise<OrderRow>;
  signFor(order: OrderRow): Promise<Signed>;
  send(signed: Signed): Promise<void>;
  store(order: OrderRow, signed: Signed): Promise<void>;
  recordVerified(signed: Signed): Promise<void>;
  mine(blocks?: number): Promise<void>;
  /** Advances solid blocks past the expiry of every signature. */
  passExpiry(): Promise<void>;
  /** `hoursAgo`: age of the restore. */
  restore(hoursAgo: number): Promise<void>;
  close(): Promise<void>;
}

export const randomAddress = (): Address => addressOfShortHex(randomBytes(20).toString('hex'))!;

export async function openTronBooks(
  seed: string,
  { takesCoin = true }: { readonly takesCoin?: boolean } = {},
): Promise<TronBooks> {
  const [devnet, database] = await Promise.all([
    startTronDevnet({ blockTimeMs: 0, solidLagBlocks: SOLID_LAG_BLOCKS, seed }),
    createTestDatabase(),
  ]);
  const adminDatabase: Database = database.open('admin');
  const admin = adminDatabase.kysely;
  const { address, privateKeyHex } = devnet.accounts[1]!;
  const wallet = address as Address;
  const all = tronDevnetNetwork(devnet, { payouts: TRON_DEVNET_PAYOUTS });
  const network = { ...all, tokens: all.tokens.filter(({ contract }) => takesCoin || contract !== null) };
  const restored = await createRestoredBooks(database, admin, JSON.stringify({ networks: [network] }));
  await sql`insert into hot_wallet (family, address) values ('TRON', ${wallet})`.execute(admin);
  await sql`select book_top_up(${`${CHAIN}:0x1:USDT`}, ${CHAIN}, 'USDT', ${1_000_000n * USDT})`.execute(
    admin,
  );
  const sender = createTronSender(network, {
    backend: {
      addresses: devnet.accounts.map((account) => account.address as Address),
      sign: (address, digest) => {
        const key = devnet.accounts.find((account) => account.address === address)?.privateKeyHex;
        return Promise.resolve(signHash(digest, Buffer.from(key ?? privateKeyHex, 'hex')));
      },
    },
  });
  const [source] = createTronSources(network, {}).all();
  const usdt = devnet.tokens.USDT;
  let uniqueMs = Date.now();

  /** Pretends that the scanner verified everything up to the solid block. */
  async function verify(): Promise<void> {
    const { solid, head } = devnet.control.summary();
    const [before, last, top] = await Promise.all(
      [solid - 1, solid, head].map((height) => readHeader(source!, {}, height)),
    );
    for (const { height, hash, parentHash, timeSeconds } of [before!, last!, top!])
      await sql`insert into block (chain, height, hash, parent_hash, block_time)
        values (${CHAIN}, ${height}, ${hash}, ${parentHash}, to_timestamp(${timeSeconds})) on conflict do nothing`.execute(
        admin,
      );
    const { height, hash, timeSeconds } = last!;
    await sql`insert into chain_cursor (chain, family, head_height, head_hash, head_time, finalized_height, seen_height, seen_hash,
        verified_height, verified_hash, verified_time, fencing_token)
      values (${CHAIN}, 'TRON', ${top!.height}, ${top!.hash}, to_timestamp(${top!.timeSeconds}), ${height}, ${top!.height}, ${top!.hash},
        ${height}, ${hash}, to_timestamp(${timeSeconds}), 1)
      on conflict (chain) do update set head_height = excluded.head_height, head_hash = excluded.head_hash,
        head_time = excluded.head_time, finalized_height = excluded.finalized_height, seen_height = excluded.seen_height,
        seen_hash = excluded.seen_hash, verified_height = excluded.verified_height, verified_hash = excluded.verified_hash,
        verified_time = excluded.verified_time`.execute(admin);
  }

  const books: TronBooks = {
    ...restored,
    devnet,
    admin,
    wallet,
    async payout(amount = 5n * USDT) {
      const order = await aPayout(admin, {
        chain: CHAIN,
        family: 'TRON',
        symbol: 'USDT',
        contract_address: usdt,
        decimals: 6,
        amount,
        accepted_amount: amount,
        address: randomAddress(),
        source_address: wallet,
      });
      await sql`select reserve(${order.order_pk})`.execute(admin);
      return order;
    },
    async deposited({ address }, amount) {
      const order = await aCollection(admin, {
        chain: CHAIN,
        family: 'TRON',
        symbol: 'USDT',
        contract_address: usdt,
        decimals: 6,
        address,
      });
      const transfer = await aTransfer(admin, order, { amount: baseUnits(amount), state: 'VERIFIED' });
      await devnet.control.fund(address, { amountBaseUnits: amount, symbol: 'USDT' });
      await sql`insert into transfer_settlement (transfer_id, settled_version, order_pk, booked_amount, booked_symbol, bookings, credited)
        values (${transfer.transfer_id}, 1, ${order.order_pk}, ${amount}, 'USDT', 1, false)`.execute(admin);
      const tx = randomBytes(8).toString('hex');
      await sql`
        with t as (insert into ledger_transaction (ref, kind) values (${`test:${tx}`}, 'DEPOSIT') returning ledger_tx_id)
        insert into ledger_posting (ledger_tx_id, account_id, amount) select t.ledger_tx_id, v.account_id, v.amount from t, (values
          (ledger_account_for('DEPOSIT', ${CHAIN}, 'USDT', null), ${amount}::numeric),
          (ledger_account_for('SUSPENSE', ${CHAIN}, 'USDT', ${order.merchant_id}), -${amount}::numeric)) as v (account_id, amount)`.execute(
        admin,
      );
      return order;
    },
    async sign(pays) {
      const intent = {
        from: wallet,
        contract: usdt as unknown as PaymentIntent['contract'],
        to: randomAddress(),
        amountBaseUnits: baseUnits(5n * USDT),
        ...pays,
      };
      const { solid, headTimeMs } = devnet.control.summary();
      const { height, hash } = await readHeader(source!, {}, solid);
      uniqueMs += 1;
      const validity = { expiresMs: headTimeMs + sender.validForMs, uniqueMs, reference: { height, hash } };
      const feeLimit = intent.contract === null ? 0n : 50_000_000n;
      return { ...(await sender.sign(intent, validity, feeLimit)), intent };
    },
    signFor: ({ address: to, amount }) =>
      books.sign({ to: to as Address, amountBaseUnits: baseUnits(amount) }),
    async send(signed) {
      const [outcome] = await sender.broadcast([signed]);
      if (outcome !== 'ACCEPTED') throw new Error(`not taken: ${outcome}`);
    },
    store: (order, signed) =>
      storeAttempt(admin, order, {
        chain: CHAIN,
        family: 'TRON',
        wallet,
        contract: usdt,
        cost: '60000000',
        ...signed,
      }),
    async recordVerified({ txHash, intent: { amountBaseUnits } }) {
      await sql`insert into own_transaction_fate (chain, tx_hash, family, state, block_height, block_hash, block_time, succeeded,
          delivered, network_fee)
        values (${CHAIN}, ${txHash}, 'TRON', 'VERIFIED', 5, 'b', now(), true, ${amountBaseUnits.toString()}::numeric, 1)`.execute(
        admin,
      );
    },
    async mine(blocks = 1) {
      await devnet.control.mine(blocks);
      await verify();
    },
    passExpiry: () => books.mine(Math.ceil(sender.validForMs / 3_000) + SOLID_LAG_BLOCKS + 2),
    async restore(hoursAgo) {
      await restored.restore();
      await restored.age(hoursAgo);
    },
    async close() {
      await adminDatabase.close();
      await database.drop();
      await devnet.close();
      restored.close();
    },
  };
  await verify();
  return books;
}
