import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { startAnvil, type Anvil } from '@opentill/devnets/evm/anvil';
import { devAccount, type DevAccount } from '@opentill/devnets/evm/accounts';
import {
  DEV_TOKEN_ADDRESSES,
  deployDevTokens,
  payNative,
  payToken,
} from '@opentill/devnets/evm/start-evm-devnet';
import { waitForReceipt } from '@opentill/devnets/evm/transactions';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { Db } from '@opentill/db/database';
import {
  aChainCursor,
  aCollection,
  aHash,
  aMerchant,
  aPayout,
  type OrderRow,
} from '@opentill/testkit/scenario';
import { listenLocally, readBody } from '@opentill/testkit/local-http-server';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { runCli } from '../src/run-cli.ts';

export const CHAIN = 'BSC_TEST';
export const USDT = 10n ** 18n;
const CHAIN_ID = 97;
const HOT = devAccount(6);
export const HOT_WALLET = HOT.address.toLowerCase();
const CUSTOMER = devAccount(1);
const COLD = `0x${'c01d'.repeat(10)}`;

type Moved = Pick<OrderRow, 'order_pk' | 'symbol' | 'contract_address' | 'address' | 'amount'>;

interface Mined {
  readonly txHash: string;
  readonly height: number;
  readonly hash: string;
  readonly time: Date;
  readonly fee: bigint;
}

export interface Reconciled {
  readonly code: number;
  readonly out: string;
  readonly errors: readonly string[];
  readonly differences: readonly {
    kind: string;
    symbol: string;
    subject: string;
    amount: string | null;
    mend: string;
  }[];
  readonly explanations: readonly { kind: string; subject: string; amount: string }[];
  readonly lines: readonly {
    symbol: string;
    what: string;
    ledger: string;
    onItsWay: string;
    unasked: string;
    onChain: string | null;
  }[];
  readonly addresses: readonly Record<string, string>[];
  readonly chain: { addresses: number; block: { height: number } };
}

/** Null: the native coin. */
const contractOf = (symbol: string): string | null =>
  symbol in DEV_TOKEN_ADDRESSES ? DEV_TOKEN_ADDRESSES[symbol as 'USDT'].toLowerCase() : null;

/** Has the rows that scanner, tracker and signer would have written. */
export async function createReconcileWorld() {
  const folder = mkdtempSync(join(tmpdir(), 'opentill-reconcile-'));
  const anvil: Anvil = await startAnvil({
    dir: join(folder, 'anvil'),
    port: await findFreePort(),
    chainId: CHAIN_ID,
  });
  const { rpcUrl } = anvil;
  const rpc = <T>(method: string, ...params: unknown[]): Promise<T> => callRpc<T>(rpcUrl, method, params);
  await rpc('evm_setAutomine', true);
  await deployDevTokens({ rpcUrl, usdtDecimals: 18, usdcDecimals: 6 });
  await rpc('anvil_setBalance', HOT.address, '0x0');
  const server: TestDatabase = await createTestDatabase();
  const admin = server.open('admin');
  const db: Db = admin.kysely;
  const { merchantId } = await aMerchant(db);
  await db.insertInto('hot_wallet').values({ family: 'EVM', address: HOT_WALLET }).execute();
  let booking = 0;

  async function mined(txHash: string): Promise<Mined> {
    await waitForReceipt(rpcUrl, txHash);
    const receipt = await rpc<Record<string, string>>('eth_getTransactionReceipt', txHash);
    const block = await rpc<{ timestamp: string }>('eth_getBlockByHash', receipt['blockHash'], false);
    return {
      txHash,
      height: Number(receipt['blockNumber']),
      hash: receipt['blockHash'] ?? '',
      time: new Date(Number(block.timestamp) * 1_000),
      fee: BigInt(receipt['gasUsed'] ?? 0) * BigInt(receipt['effectiveGasPrice'] ?? 0),
    };
  }

  async function post(
    kind: string,
    symbol: string,
    lines: readonly (readonly [account: string, merchant: string | null, amount: bigint])[],
  ): Promise<void> {
    booking += 1;
    const values = sql.join(
      lines.map(
        ([account, merchant, amount]) =>
          sql`(ledger_account_for(${account}, ${CHAIN}, ${symbol}, ${merchant}), ${amount.toString()}::numeric)`,
      ),
    );
    await sql`
      with t as (insert into ledger_transaction (ref, kind) values (${`test:${booking}`}, ${kind}) returning ledger_tx_id)
      insert into ledger_posting (ledger_tx_id, account_id, amount)
        select t.ledger_tx_id, v.account_id, v.amount from t, (values ${values}) as v (account_id, amount)`.execute(
      db,
    );
  }

  async function signedAndMined(
    { order_pk, contract_address, address, amount }: Omit<Moved, 'symbol'>,
    wallet: string,
    tx: Mined,
  ): Promise<void> {
    const nonce = Number((await rpc<{ nonce: string }>('eth_getTransactionByHash', tx.txHash)).nonce);
    await sql`update payout set state = 'AUTHORISED', authorised_at = now() where order_pk = ${order_pk}`.execute(
      db,
    );
    await sql`update payout set state = 'SIGNED' where order_pk = ${order_pk}`.execute(db);
    await sql`update payout set first_sent_at = now() where order_pk = ${order_pk}`.execute(db);
    await sql`insert into wallet_nonce (chain, wallet, nonce, state, order_pk) values (${CHAIN}, ${wallet}, ${nonce}, 'SIGNED', ${order_pk})`.execute(
      db,
    );
    await sql`insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount, raw, fee_terms, signed_at)
      values (${CHAIN}, ${tx.txHash}, 'EVM', ${wallet}, ${nonce}, 'PAYOUT', ${order_pk}, ${contract_address}, ${address}, ${amount.toString()}::numeric, '\\x00', '{}', now())`.execute(
      db,
    );
    await sql`insert into own_transaction_fate (chain, tx_hash, family, block_height, block_hash, block_time, state, succeeded, delivered, network_fee)
      values (${CHAIN}, ${tx.txHash}, 'EVM', ${tx.height}, ${tx.hash}, ${tx.time}, 'VERIFIED', true, ${amount.toString()}::numeric, ${tx.fee.toString()}::numeric)`.execute(
      db,
    );
  }

  async function planned(
    kind: string,
    sweepId: string,
    pays: Omit<Moved, 'order_pk'>,
    wallet: string,
  ): Promise<Moved> {
    const order = { order_pk: randomUUID(), ...pays };
    const movement = {
      orderPk: order.order_pk,
      chain: CHAIN,
      kind,
      sweepId,
      symbol: pays.symbol,
      contract: pays.contract_address,
      decimals: 18,
      displayDecimals: 2,
      amount: pays.amount.toString(),
      wallet,
      receiver: pays.address,
      seconds: 3_600,
    };
    await sql`select plan_movement(${JSON.stringify(movement)}::jsonb)`.execute(db);
    return order;
  }

  const world = {
    rpcUrl,
    db,
    merchantId,
    server,

    order: (address: string, symbol = 'USDT'): Promise<OrderRow> =>
      aCollection(db, {
        merchant_id: merchantId,
        chain: CHAIN,
        symbol,
        decimals: symbol === 'USDT' ? 18 : 6,
        address: address.toLowerCase(),
        contract_address: DEV_TOKEN_ADDRESSES[symbol as 'USDT'].toLowerCase(),
      }),

    pay: async (to: string, amountBaseUnits: bigint, symbol: 'USDT' | 'USDC' = 'USDT', from = CUSTOMER) => {
      const token = DEV_TOKEN_ADDRESSES[symbol];
      return mined(await payToken({ rpcUrl, token, fromKey: from.privateKey, to, amountBaseUnits }));
    },
    sendCoin: async (to: string, amountWei: bigint, from = CUSTOMER) =>
      mined(await payNative({ rpcUrl, fromKey: from.privateKey, to, amountWei })),

    /** Inserts what the scanner records, verified by default. @returns its id */
    async seen(to: string, tx: Mined, amount: bigint, symbol = 'USDT', state = 'VERIFIED'): Promise<number> {
      const { transfer_id } = await db
        .insertInto('transfer')
        .values({
          chain: CHAIN,
          family: 'EVM',
          tx_hash: tx.txHash,
          position: 'log:0',
          contract_address: contractOf(symbol),
          symbol,
          from_address: CUSTOMER.address.toLowerCase(),
          to_address: to.toLowerCase(),
          amount,
          network_fee: tx.fee,
          block_height: tx.height,
          block_hash: tx.hash,
          block_time: tx.time,
          first_block_time: tx.time,
          state: state as 'VERIFIED',
        })
        .returning('transfer_id')
        .executeTakeFirstOrThrow();
      return transfer_id;
    },

    async booked(transferId: number, order: OrderRow, amount: bigint, credited: boolean): Promise<void> {
      await db
        .insertInto('transfer_settlement')
        .values({
          transfer_id: transferId,
          settled_version: 1,
          order_pk: order.order_pk,
          booked_amount: amount,
          booked_symbol: order.symbol,
          bookings: 1,
          credited,
        })
        .execute();
      await post('DEPOSIT', order.symbol, [
        ['DEPOSIT', null, amount],
        ['SUSPENSE', merchantId, -amount],
      ]);
      if (credited) {
        await post('CREDIT', order.symbol, [
          ['SUSPENSE', merchantId, amount],
          ['MERCHANT', merchantId, -amount],
        ]);
      }
    },
    post,

    async toppedUp(amount: bigint): Promise<void> {
      const id = await world.seen(HOT_WALLET, await world.pay(HOT_WALLET, amount), amount);
      await sql`select settle_hot_wallet_deposits(${JSON.stringify([{ transferId: id, version: 1 }])}::jsonb)`.execute(
        db,
      );
    },

    /** Writes the rows of signer and scanner; books it if requested. */
    async paidOut(amount: bigint, booked: boolean): Promise<OrderRow> {
      const order = await aPayout(db, {
        merchant_id: merchantId,
        chain: CHAIN,
        decimals: 18,
        amount,
        address: devAccount(8).address.toLowerCase(),
        source_address: HOT_WALLET,
        contract_address: DEV_TOKEN_ADDRESSES.USDT.toLowerCase(),
      });
      await sql`select reserve(${order.order_pk})`.execute(db);
      const tx = await world.pay(order.address, amount, 'USDT', HOT);
      await signedAndMined(order, HOT_WALLET, tx);
      if (booked) await world.bookPayout(order, tx.txHash);
      return order;
    },
    /** Tops up the address for the fee, then sweeps all its USDT to cold storage; both booked. @returns the fee */
    async swept(order: OrderRow, key: DevAccount, amount: bigint, broughtWei: bigint): Promise<bigint> {
      const [sweepId, contract_address] = [randomUUID(), order.contract_address];
      await sql`insert into sweep (sweep_id, chain, family, address, symbol, contract_address, amount, destination, destination_kind, method, cost_estimate)
        values (${sweepId}, ${CHAIN}, 'EVM', ${order.address}, 'USDT', ${contract_address}, ${amount.toString()}::numeric, ${COLD}, 'COLD', 'TOP_UP', 1)`.execute(
        db,
      );
      const brings = { symbol: 'tBNB', contract_address: null, address: order.address, amount: broughtWei };
      const topUp = await planned('GAS_TOP_UP', sweepId, brings, HOT_WALLET);
      const brought = await world.sendCoin(order.address, broughtWei, HOT);
      await signedAndMined(topUp, HOT_WALLET, brought);
      await world.bookPayout(topUp, brought.txHash);
      const sweeps = { symbol: 'USDT', contract_address, address: COLD, amount };
      const sweep = await planned('SWEEP', sweepId, sweeps, order.address);
      const tx = await world.pay(COLD, amount, 'USDT', key);
      await signedAndMined(sweep, order.address, tx);
      await world.bookPayout(sweep, tx.txHash);
      return tx.fee;
    },
    async setCoin(address: string, amountWei: bigint): Promise<void> {
      await rpc('anvil_setBalance', address, `0x${amountWei.toString(16)}`);
      await rpc('evm_mine');
    },
    async bookPayout({ order_pk }: Pick<OrderRow, 'order_pk'>, txHash: string): Promise<void> {
      await sql`select settle_payout_money(array[${order_pk}::uuid])`.execute(db);
      const fates = JSON.stringify([{ chain: CHAIN, txHash, nativeSymbol: 'tBNB', version: 1 }]);
      await sql`select settle_network_fees(${fates}::jsonb)`.execute(db);
    },

    async verified(): Promise<number> {
      const block = await rpc<{ number: string; hash: string; timestamp: string }>(
        'eth_getBlockByNumber',
        'latest',
        false,
      );
      const [height, time] = [Number(block.number), new Date(Number(block.timestamp) * 1_000)];
      await aChainCursor(db, {
        chain: CHAIN,
        head_height: height,
        head_hash: block.hash,
        head_time: time,
        seen_height: height,
        seen_hash: block.hash,
        verified_height: height,
        verified_hash: block.hash,
        verified_time: time,
      });
      return height;
    },

    /** Runs commands that use the database directly. */
    async opentill(line: string): Promise<{ readonly code: number; readonly output: string }> {
      const output: string[] = [];
      const code = await runCli(line.split(' '), {
        env: { OPS_DATABASE_URL: server.url('ops'), NETWORKS_FILE: networksFile(folder, [rpcUrl]) },
        clock: { now: () => new Date() },
        print: (out) => output.push(out),
        printError: (error) => output.push(error),
        askSecret: async () => '',
      });
      return { code, output: output.join('\n') };
    },

    async reconcile(
      args: readonly string[] = ['--json'],
      rpcUrls: readonly string[] = [rpcUrl],
    ): Promise<Reconciled> {
      const out: string[] = [];
      const errors: string[] = [];
      const code = await runCli(['reconcile', ...args], {
        env: { OPS_DATABASE_URL: server.url('ops'), NETWORKS_FILE: networksFile(folder, rpcUrls) },
        clock: { now: () => new Date() },
        print: (line) => out.push(line),
        printError: (line) => errors.push(line),
        askSecret: async () => '',
      });
      const text = out.join('\n');
      const whole = args.includes('--addresses') ? out.slice(out.indexOf('{')).join('\n') : text;
      const json =
        args.includes('--json') && text !== '' ? (JSON.parse(whole) as { chains: Reconciled[] }) : undefined;
      const [chain] = json?.chains ?? [];
      return {
        code,
        out: text,
        errors,
        differences: chain?.differences ?? [],
        explanations: chain?.explanations ?? [],
        lines: chain?.lines ?? [],
        addresses:
          json === undefined
            ? []
            : out.slice(0, out.indexOf('{')).map((line) => JSON.parse(line) as Record<string, string>),
        chain: chain as unknown as Reconciled['chain'],
      };
    },
    /** Old enough to count as differences. */
    async grewOld(): Promise<void> {
      await sql`update transfer set updated_at = now() - interval '10 minutes'`.execute(db);
      await sql`update own_transaction_fate set updated_at = now() - interval '10 minutes'`.execute(db);
      await sql`update payout set updated_at = now() - interval '10 minutes'`.execute(db);
    },
    networks: (): string => networksText([rpcUrl]),
    newAddress: (): string => `0x${randomUUID().replaceAll('-', '')}00000000`,
    aHash,

    async close(): Promise<void> {
      await admin.close();
      await server.drop();
      await anvil.stop('kill');
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return world;
}

export type WorldOfBooks = Awaited<ReturnType<typeof createReconcileWorld>>;

function networksFile(folder: string, rpcUrls: readonly string[]): string {
  const file = join(folder, 'networks.json');
  writeFileSync(file, networksText(rpcUrls));
  return file;
}

function networksText(rpcUrls: readonly string[]): string {
  const limits = { displayDecimals: 2, minAmount: null, maxAmount: null };
  const network = {
    chain: CHAIN,
    family: 'EVM',
    enabled: true,
    chainId: CHAIN_ID,
    name: 'devnet',
    rpcUrls,
    nativeSymbol: 'tBNB',
    nativeDecimals: 18,
    confirmations: 3,
    blockTimeMs: 1_000,
    pollIntervalMs: 250,
    reorgWindow: 64,
    maxBlockRange: 200,
    bloom: true,
    tokens: [
      { symbol: 'USDT', contract: DEV_TOKEN_ADDRESSES.USDT, decimals: 18, ...limits },
      { symbol: 'USDC', contract: DEV_TOKEN_ADDRESSES.USDC, decimals: 6, ...limits },
    ],
  };
  return JSON.stringify({ networks: [network] });
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A second source in front of the same node. `answer` overrides answers to single calls, or returns undefined. */
export async function startSecondSource(
  upstreamUrl: string,
  answer: (call: Call) => object | undefined | Promise<object | undefined>,
): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, response) => {
    void (async () => {
      const body = JSON.parse(await readBody(request)) as Call | Call[];
      const upstream = await fetch(upstreamUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const answers = (await upstream.json()) as { id: number } | { id: number }[];
      const calls = Array.isArray(body) ? body : [body];
      const changed = await Promise.all(
        (Array.isArray(answers) ? answers : [answers]).map(async (one) => {
          const call = calls.find(({ id }) => id === one.id);
          const own = call === undefined ? undefined : await answer(call);
          return own === undefined ? one : { jsonrpc: '2.0', id: one.id, ...own };
        }),
      );
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(Array.isArray(body) ? changed : changed[0]));
    })();
  });
  const url = await listenLocally(server);
  return {
    url,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
