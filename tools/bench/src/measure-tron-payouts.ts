import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { addressOfShortHex } from '@opentill/chain-tron/address-codec';
import { tronFamily } from '@opentill/chain-tron/family';
import { createTronSender } from '@opentill/chain-tron/sender/create-sender';
import { findToken, type NetworkConfig } from '@opentill/contracts/network-config';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { tronPayoutTermsOf } from '@opentill/contracts/payout-terms';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startTronNode } from '@opentill/devnets/tron/node-process';
import { payOnTronDevnet, tronTokenBalance, waitForTronReceipt } from '@opentill/devnets/tron/payments';
import { LOCAL_NETWORKS_FILE } from '@opentill/local/checkout';
import {
  measureExpiringPayouts,
  type ExpiringPayoutFigures,
  type ExpiringWorld,
} from './measure-expiring-payouts.ts';
import { AMOUNT_BASE_UNITS, PAYOUTS, withPayoutBench } from './payout-bench.ts';

/** Payouts of one hot wallet on TRON, all asked for at once. */
export interface TronPayoutFigures extends ExpiringPayoutFigures {
  readonly solidLagBlocks: number;
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
        const world = worldOn(node.url, network);
        const figures = await measureExpiringPayouts({ dir, database, amqpUrl: bench.amqpUrl, ...world });
        runs.push({ ...figures, solidLagBlocks: SOLID_LAG_BLOCKS });
        say(JSON.stringify(runs.at(-1)));
      } finally {
        await node.stop('kill');
      }
    }
    return { runs };
  });
}

function worldOn(url: string, network: TronNetwork): Omit<ExpiringWorld, 'dir' | 'database' | 'amqpUrl'> {
  const contract = findToken(network, 'USDT')?.contract ?? '';
  const terms = tronPayoutTermsOf(network);
  if (terms === undefined) throw new TypeError(`the network ${network.chain} has no terms of payouts`);
  return {
    network,
    contract,
    codec: tronFamily.addressCodec,
    payWith: (keys) => ({ terms, sender: createTronSender(network, { backend: keys }) }),
    aReceiver: () => addressOfShortHex(randomBytes(20).toString('hex')) ?? '',
    async fund(to) {
      const amountBaseUnits = AMOUNT_BASE_UNITS * BigInt(PAYOUTS);
      const gifts = await payOnTronDevnet({ url, to, trxSun: FEES_SUN, symbol: 'USDT', amountBaseUnits });
      for (const txid of gifts) await waitForTronReceipt(url, txid);
    },
    async countPaid(receivers) {
      let paid = 0;
      for (const receiver of receivers)
        if ((await tronTokenBalance(url, contract, receiver)) === AMOUNT_BASE_UNITS) paid += 1;
      return paid;
    },
  };
}

type TronNetwork = NetworkConfig & { readonly family: 'TRON' };

/** TRON of the local profile, with its devnet here, and with so many payouts at once. */
async function networkOf(url: string, maxOpenPayouts: number): Promise<TronNetwork> {
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
