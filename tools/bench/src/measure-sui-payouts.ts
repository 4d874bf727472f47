import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suiFamily } from '@opentill/chain-sui/family';
import { createSuiSender } from '@opentill/chain-sui/sender/create-sender';
import { findToken, type NetworkConfig } from '@opentill/contracts/network-config';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { suiPayoutTermsOf } from '@opentill/contracts/payout-terms';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startSuiNode } from '@opentill/devnets/sui/node-process';
import { payOnSuiDevnet, suiBalance, waitForSuiCheckpoint } from '@opentill/devnets/sui/payments';
import { LOCAL_NETWORKS_FILE } from '@opentill/local/checkout';
import {
  measureExpiringPayouts,
  type ExpiringPayoutFigures,
  type ExpiringWorld,
} from './measure-expiring-payouts.ts';
import { AMOUNT_BASE_UNITS, PAYOUTS, withPayoutBench } from './payout-bench.ts';

const CHAIN = 'SUI_TEST';
/** More than all of them cost. */
const FEES_MIST = 10_000n * 10n ** 9n;

type SuiNetwork = NetworkConfig & { readonly family: 'SUI' };

/**
 * Pays 1,000 people from one hot wallet on the devnet of SUI with a checkpoint each 250 ms, with the signer and the scanner in this
 * process and a durable database and broker of their own; throws when a payout took two attempts, or a receiver has not exactly
 * its amount.
 */
export async function measureSuiPayouts(say: (line: string) => void): Promise<ExpiringPayoutFigures> {
  return withPayoutBench(say, async (bench) => {
    const dir = join(bench.dir, 'sui');
    const node = await startSuiNode({ dir, port: await findFreePort() });
    try {
      const database = await bench.createDatabase('sui_payouts');
      const world = worldOn(node.url, await networkOf(node.url));
      return await measureExpiringPayouts({ dir, database, amqpUrl: bench.amqpUrl, ...world });
    } finally {
      await node.stop('kill');
    }
  });
}

function worldOn(url: string, network: SuiNetwork): Omit<ExpiringWorld, 'dir' | 'database' | 'amqpUrl'> {
  const contract = findToken(network, 'USDT')?.contract ?? '';
  const terms = suiPayoutTermsOf(network);
  if (terms === undefined) throw new TypeError(`the network ${network.chain} has no terms of payouts`);
  return {
    network,
    contract,
    codec: suiFamily.addressCodec,
    payWith: (keys) => ({ terms, sender: createSuiSender(network, { backend: keys }) }),
    aReceiver: () => `0x${randomBytes(32).toString('hex')}`,
    async fund(to) {
      const amountBaseUnits = AMOUNT_BASE_UNITS * BigInt(PAYOUTS);
      const form = 'address';
      const gifts = await payOnSuiDevnet({ url, to, form, mist: FEES_MIST, symbol: 'USDT', amountBaseUnits });
      for (const digest of gifts) await waitForSuiCheckpoint(url, digest);
    },
    async countPaid(receivers) {
      let paid = 0;
      for (const receiver of receivers)
        if ((await suiBalance(url, contract, receiver)) === AMOUNT_BASE_UNITS) paid += 1;
      return paid;
    },
  };
}

/** SUI of the local profile, with its devnet here. */
async function networkOf(url: string): Promise<SuiNetwork> {
  const networks = parseNetworkFile(await readFile(LOCAL_NETWORKS_FILE, 'utf8'), LOCAL_NETWORKS_FILE);
  const network = networks.find(({ chain }) => chain === CHAIN);
  if (network?.payouts === undefined) throw new Error(`no payouts on ${CHAIN} in ${LOCAL_NETWORKS_FILE}`);
  return { ...network, family: 'SUI', rpcUrls: [url] };
}

/** The lines that are printed. */
export function describeSuiPayouts(figures: ExpiringPayoutFigures): string[] {
  const { payouts, maxOpenPayouts, broadcastPerSecond, secondsToFinal } = figures;
  return [
    `${payouts} payouts of one hot wallet on SUI, at most ${maxOpenPayouts} on their way: ${broadcastPerSecond} broadcast/s, ` +
      `all final after ${secondsToFinal} s, one attempt each, every receiver paid once`,
  ];
}
