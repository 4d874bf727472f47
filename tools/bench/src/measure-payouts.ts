import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { evmFamily } from '@opentill/chain-evm/family';
import { createEvmSender } from '@opentill/chain-evm/sender/create-sender';
import { payoutTermsOf } from '@opentill/contracts/payout-terms';
import { startAnvil } from '@opentill/devnets/evm/anvil';
import { CUSTOMER_INDEX, devAccount } from '@opentill/devnets/evm/accounts';
import {
  DEV_TOKEN_ADDRESSES,
  deployDevTokens,
  mine,
  payNative,
  payToken,
  setBlockTime,
} from '@opentill/devnets/evm/start-evm-devnet';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { benchEvmNetwork, EVM_BLOCK_TIME_SECONDS, EVM_CHAIN, EVM_CHAIN_ID } from './bench-evm-network.ts';
import { round2 } from './median.ts';
import {
  AMOUNT_BASE_UNITS,
  askForPayouts,
  makeKeys,
  numberOf,
  PAYOUTS,
  sendingSeconds,
  startPayoutServices,
  until,
  withPayoutBench,
  type PayoutDatabase,
} from './payout-bench.ts';

/** Payouts of one hot wallet, all asked for at once. */
export interface PayoutFigures {
  readonly payouts: number;
  /** Most transactions on their way at once. */
  readonly maxOpenNonces: number;
  /** From the first authorisation to the last first send. */
  readonly broadcastPerSecond: number;
  /** Until the last of them was final in the database. */
  readonly secondsToFinal: number;
  /** Nonces of the chain, of the database, and receivers that have their amount: all the number of payouts. */
  readonly chainNonces: number;
  readonly finalNonces: number;
  readonly receiversPaid: number;
}

const USDT = DEV_TOKEN_ADDRESSES.USDT.toLowerCase();
/** The cap of BSC and of the local chains (ETH, POLYGON and AVAX_C_CHAIN ship with 16), and none to speak of. */
const CAPS = [64, PAYOUTS];

/**
 * Pays 1,000 people from one hot wallet on anvil with a block a second, with the signer and the scanner in this process and a
 * durable database and broker of their own; throws when a nonce is left out or a receiver has not exactly its amount.
 */
export async function measurePayouts(
  say: (line: string) => void,
): Promise<{ runs: readonly PayoutFigures[] }> {
  return withPayoutBench(say, async (bench) => {
    const runs: PayoutFigures[] = [];
    for (const [place, maxOpenNonces] of CAPS.entries()) {
      const dir = join(bench.dir, `anvil-${place}`);
      const anvil = await startAnvil({ dir, port: await findFreePort(), chainId: EVM_CHAIN_ID });
      try {
        const world: World = {
          dir,
          database: await bench.createDatabase(`payouts_${place}`),
          amqpUrl: bench.amqpUrl,
          rpcUrl: anvil.rpcUrl,
          network: benchEvmNetwork({ rpcUrl: anvil.rpcUrl, confirmations: 3, maxOpenNonces }),
        };
        runs.push(await measure(world));
        say(JSON.stringify(runs.at(-1)));
      } finally {
        await anvil.stop('kill');
      }
    }
    return { runs };
  });
}

interface World {
  readonly dir: string;
  readonly database: PayoutDatabase;
  readonly amqpUrl: string;
  readonly rpcUrl: string;
  readonly network: ReturnType<typeof benchEvmNetwork>;
}

async function measure(world: World): Promise<PayoutFigures> {
  const { rpcUrl, database, network } = world;
  const admin = new pg.Client({ connectionString: database.adminUrl, application_name: 'bench' });
  await admin.connect();
  await setBlockTime(rpcUrl, 0);
  await deployDevTokens({ rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
  const codec = evmFamily.addressCodec;
  const keys = await makeKeys(world.dir, codec);
  const wallet = keys.addresses[0] ?? '';
  const fromKey = devAccount(CUSTOMER_INDEX).privateKey;
  await payNative({ rpcUrl, fromKey, to: wallet, amountWei: 1_000n * 10n ** 18n });
  const all = AMOUNT_BASE_UNITS * BigInt(PAYOUTS);
  await payToken({ rpcUrl, token: USDT, fromKey, to: wallet, amountBaseUnits: all });
  await mine({ rpcUrl, blocks: 5 });
  await setBlockTime(rpcUrl, EVM_BLOCK_TIME_SECONDS);
  const terms = payoutTermsOf(network);
  if (terms === undefined) throw new TypeError(`the network ${network.chain} has no terms of payouts`);
  const sender = createEvmSender(network, { backend: keys });
  const reader = evmFamily.createReader(network, {});
  const services = startPayoutServices({
    ...world,
    keys,
    paying: { kind: 'NONCES', network, terms, codec, sender, reader },
  });
  try {
    const cursor = async () =>
      (await admin.query('select from chain_cursor where chain = $1', [EVM_CHAIN])).rowCount === 1;
    await until('the scanner begins', cursor);
    const receivers = Array.from({ length: PAYOUTS }, () => `0x${randomBytes(20).toString('hex')}`);
    await askForPayouts(admin, { chain: EVM_CHAIN, family: 'EVM', contract: USDT, wallet, receivers });
    const askedAtMs = performance.now();
    const final = `select count(*) n from wallet_nonce where state = 'FINAL'`;
    await until('every payout is final', async () => (await numberOf(admin, final)) === PAYOUTS);
    const secondsToFinal = (performance.now() - askedAtMs) / 1_000;
    const figures: PayoutFigures = {
      payouts: PAYOUTS,
      maxOpenNonces: terms.maxOpenNonces,
      broadcastPerSecond: round2(PAYOUTS / (await sendingSeconds(admin))),
      secondsToFinal: round2(secondsToFinal),
      chainNonces: Number(await callRpc<string>(rpcUrl, 'eth_getTransactionCount', [wallet, 'latest'])),
      finalNonces: await numberOf(admin, 'select count(distinct nonce) n from own_transaction'),
      receiversPaid: await countPaid(rpcUrl, receivers),
    };
    const { chainNonces, finalNonces, receiversPaid } = figures;
    if (![chainNonces, finalNonces, receiversPaid].every((n) => n === PAYOUTS))
      throw new Error(`payouts are missing or too many: ${JSON.stringify(figures)}`);
    return figures;
  } finally {
    await services.stop();
    keys.close();
    await admin.end();
  }
}

/** Receivers that hold exactly their amount. */
async function countPaid(rpcUrl: string, receivers: readonly string[]): Promise<number> {
  let paid = 0;
  for (const receiver of receivers) {
    const data = `0x70a08231${receiver.slice(2).padStart(64, '0')}`;
    if (
      BigInt(await callRpc<string>(rpcUrl, 'eth_call', [{ to: USDT, data }, 'latest'])) === AMOUNT_BASE_UNITS
    )
      paid += 1;
  }
  return paid;
}

/** The lines that are printed. */
export function describePayouts({ runs }: { readonly runs: readonly PayoutFigures[] }): string[] {
  return runs.map(
    ({ payouts, maxOpenNonces, broadcastPerSecond, secondsToFinal }) =>
      `${payouts} payouts of one hot wallet, at most ${maxOpenNonces} on their way: ${broadcastPerSecond} broadcast/s, ` +
      `all final after ${secondsToFinal} s, no gap, every receiver paid once`,
  );
}
