import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { addressOfShortHex } from '@opentill/chain-tron/address-codec';
import { tronFamily } from '@opentill/chain-tron/family';
import { createTronSender } from '@opentill/chain-tron/sender/create-sender';
import { findToken, type NetworkConfig } from '@opentill/contracts/network-config';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { tronPayoutTermsOf } from '@opentill/contracts/payout-terms';
import { findFreePort } from '@opentill/devnet/free-port';
import { startTronNode } from '@opentill/devnet/tron-node';
import { payOnTronDevnet, tronTokenBalance, waitForTronReceipt } from '@opentill/devnet/tron-payments';
import { LOCAL_NETWORKS_FILE } from '@opentill/local/checkout';
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

/** Payouts of one hot wallet on TRON, all asked for at once. */
export interface TronPayoutFigures {
  readonly payouts: number;
  /** Most payouts on their way at once: from their signing until they are solid. */
  readonly maxOpenPayouts: number;
  readonly solidLagBlocks: number;
  /** From the first authorisation to the last first send. */
  readonly broadcastPerSecond: number;
  /** Until the last of them was solid in the database. */
  readonly secondsToFinal: number;
  /** Attempts that were made, and those that are settled, and receivers that have their amount: all the number of payouts. */
  readonly attempts: number;
  readonly settledAttempts: number;
  readonly receiversPaid: number;
}

const CHAIN = 'TRON_TEST';
const BLOCK_TIME_MS = 1_000;
const SOLID_LAG_BLOCKS = 3;
/** More than all of them burn. */
const FEES_SUN = 100_000n * 1_000_000n;
/** The cap of the local profile (50 on the shipped networks), and none to speak of. */
const CAPS = [64, PAYOUTS];

/**
 * Pays 1,000 people from one hot wallet on the devnet of TRON with a block a second, with the signer and the scanner in this
 * process and a durable database and broker of their own; throws when a payout took two attempts, or a receiver has not
 * exactly its amount.
 */
export async function measureTronPayouts(
  say: (line: string) => void,
): Promise<{ runs: readonly TronPayoutFigures[] }> {
  return withPayoutBench(say, async (bench) => {
    const runs: TronPayoutFigures[] = [];
    for (const [place, maxOpenPayouts] of CAPS.entries()) {
      const dir = join(bench.dir, `tron-${place}`);
      const node = await startTronNode({
        dir,
        port: await findFreePort(),
        blockTimeMs: BLOCK_TIME_MS,
        solidLagBlocks: SOLID_LAG_BLOCKS,
      });
      try {
        const database = await bench.createDatabase(`tron_payouts_${place}`);
        const network = await networkOf(node.url, maxOpenPayouts);
        runs.push(await measure({ dir, database, amqpUrl: bench.amqpUrl, url: node.url, network }));
        say(JSON.stringify(runs.at(-1)));
      } finally {
        await node.stop('kill');
      }
    }
    return { runs };
  });
}

interface World {
  readonly dir: string;
  readonly database: PayoutDatabase;
  readonly amqpUrl: string;
  readonly url: string;
  readonly network: NetworkConfig & { readonly family: 'TRON' };
}

async function measure(world: World): Promise<TronPayoutFigures> {
  const { url, database, network } = world;
  const contract = findToken(network, 'USDT')?.contract ?? '';
  const admin = new pg.Client({ connectionString: database.adminUrl, application_name: 'bench' });
  await admin.connect();
  const codec = tronFamily.addressCodec;
  const keys = await makeKeys(world.dir, codec);
  const wallet = keys.addresses[0] ?? '';
  const all = AMOUNT_BASE_UNITS * BigInt(PAYOUTS);
  const gifts = await payOnTronDevnet({
    url,
    to: wallet,
    trxSun: FEES_SUN,
    symbol: 'USDT',
    amountBaseUnits: all,
  });
  for (const txid of gifts) await waitForTronReceipt(url, txid);
  const terms = tronPayoutTermsOf(network);
  if (terms === undefined) throw new TypeError(`the network ${network.chain} has no terms of payouts`);
  const sender = createTronSender(network, { backend: keys });
  const services = startPayoutServices({
    ...world,
    keys,
    paying: { kind: 'EXPIRING', network, terms, codec, sender },
  });
  try {
    // The wallet's money must be solid before it counts.
    const verified = `select count(*) n from chain_cursor where chain = '${CHAIN}' and verified_height > 3`;
    await until('the scanner is under way', async () => (await numberOf(admin, verified)) === 1);
    const receivers = Array.from({ length: PAYOUTS }, aReceiver);
    await askForPayouts(admin, { chain: CHAIN, family: 'TRON', contract, wallet, receivers });
    const askedAtMs = performance.now();
    const settled = `select count(*) n from payout_attempt where state = 'SETTLED'`;
    await until('every payout is final', async () => (await numberOf(admin, settled)) === PAYOUTS);
    const secondsToFinal = (performance.now() - askedAtMs) / 1_000;
    const figures: TronPayoutFigures = {
      payouts: PAYOUTS,
      maxOpenPayouts: terms.maxOpenPayouts,
      solidLagBlocks: SOLID_LAG_BLOCKS,
      broadcastPerSecond: round2(PAYOUTS / (await sendingSeconds(admin))),
      secondsToFinal: round2(secondsToFinal),
      attempts: await numberOf(admin, 'select count(*) n from payout_attempt'),
      settledAttempts: await numberOf(admin, settled),
      receiversPaid: await countPaid(url, contract, receivers),
    };
    const { attempts, settledAttempts, receiversPaid } = figures;
    if (![attempts, settledAttempts, receiversPaid].every((n) => n === PAYOUTS))
      throw new Error(`payouts are missing or too many: ${JSON.stringify(figures)}`);
    return figures;
  } finally {
    await services.stop();
    keys.close();
    await admin.end();
  }
}

function aReceiver(): string {
  return addressOfShortHex(randomBytes(20).toString('hex')) ?? '';
}

/** Receivers that hold exactly their amount. */
async function countPaid(url: string, contract: string, receivers: readonly string[]): Promise<number> {
  let paid = 0;
  for (const receiver of receivers)
    if ((await tronTokenBalance(url, contract, receiver)) === AMOUNT_BASE_UNITS) paid += 1;
  return paid;
}

/** TRON of the local profile, with its devnet here, and with so many payouts at once. */
async function networkOf(url: string, maxOpenPayouts: number): Promise<World['network']> {
  const networks = parseNetworkFile(await readFile(LOCAL_NETWORKS_FILE, 'utf8'), LOCAL_NETWORKS_FILE);
  const network = networks.find(({ chain }) => chain === CHAIN);
  if (network?.payouts === undefined) throw new Error(`no payouts on ${CHAIN} in ${LOCAL_NETWORKS_FILE}`);
  const payouts = { ...network.payouts, maxOpenPayouts };
  return { ...network, family: 'TRON', rpcUrls: [url], blockTimeMs: BLOCK_TIME_MS, payouts };
}

/** The lines that are printed. */
export function describeTronPayouts({ runs }: { readonly runs: readonly TronPayoutFigures[] }): string[] {
  return runs.map(
    ({ payouts, maxOpenPayouts, solidLagBlocks, broadcastPerSecond, secondsToFinal }) =>
      `${payouts} payouts of one hot wallet on TRON, at most ${maxOpenPayouts} on their way until solid (${solidLagBlocks} blocks): ` +
      `${broadcastPerSecond} broadcast/s, all final after ${secondsToFinal} s, one attempt each, every receiver paid once`,
  );
}
