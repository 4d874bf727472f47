import { readFile } from 'node:fs/promises';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { suiFamily } from '@opentill/chain-sui/family';
import { createSuiSender } from '@opentill/chain-sui/sender/create-sender';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { suiBalance } from '@opentill/devnets/sui/payments';
import { startSuiDevnet, type SuiDevnet } from '@opentill/devnets/sui/start-sui-devnet';
import { baseUnits } from '@opentill/domain/money';
import { LOCAL_NETWORKS_FILE } from '@opentill/local/checkout';
import { makeSweepKeys } from './sweep-keys.ts';

/** Of each address, on average, in MIST. */
export interface SuiSweepCost {
  /** GASLESS: nobody pays; SPONSORED: the hot wallet, beside the address. */
  readonly method: 'GASLESS' | 'SPONSORED';
  /** In how many coins the money lies there; 0: in the address balance. */
  readonly coins: number;
  readonly batch: number;
  /** The budget that the transaction is signed with: what the planner reckons with. */
  readonly plannedMist: number;
  /** What the hot wallet has less after it; below zero where more came back for the coins' storage than it cost. */
  readonly costMist: number;
}

const CHAIN = 'SUI_TEST';
const ONE_SUI = 10n ** 9n;
const AMOUNT = baseUnits(50_000_000n);
const COLD = `0x${'c01d'.repeat(16)}` as Address;
const SUI_TYPE = '0x2::sui::SUI';
const SYMBOLS = { GASLESS: 'USDC', SPONSORED: 'USDT' } as const;
/** How the money may lie there: as a wallet sent it, as several did, and in the address balance. */
const COINS = [1, 10, 0];

/** Empties so many addresses together, by each way to pay for it, of coins and of address balances. */
export async function measureSuiSweeps(
  dir: string,
  batches: readonly number[],
  say: (line: string) => void,
): Promise<readonly SuiSweepCost[]> {
  const devnet = await startSuiDevnet({ checkpointMs: 0 });
  try {
    const network = await networkOf(devnet);
    const costs: SuiSweepCost[] = [];
    for (const method of ['GASLESS', 'SPONSORED'] as const)
      for (const coins of COINS)
        for (const batch of batches) {
          costs.push(await sweepTogether({ dir, devnet, network }, method, coins, batch));
          say(JSON.stringify(costs.at(-1)));
        }
    return costs;
  } finally {
    await devnet.close();
  }
}

interface World {
  readonly dir: string;
  readonly devnet: SuiDevnet;
  readonly network: NetworkConfig;
}

async function sweepTogether(
  { dir, devnet, network }: World,
  method: SuiSweepCost['method'],
  coins: number,
  batch: number,
): Promise<SuiSweepCost> {
  const { signer, wallet, deposits } = await makeSweepKeys(dir, suiFamily.addressCodec, batch);
  const { control, url } = devnet;
  try {
    const symbol = SYMBOLS[method];
    const contract = devnet.tokens[symbol] as TokenContract;
    await control.fund(wallet, { mist: 10n * ONE_SUI, form: 'address' });
    const form = coins === 0 ? 'address' : 'coin';
    const gifts = Math.max(coins, 1);
    for (const address of deposits)
      for (let gift = 0; gift < gifts; gift += 1)
        await control.fund(address, { symbol, amountBaseUnits: AMOUNT / BigInt(gifts), form });
    control.checkpoint();
    const sender = createSuiSender(network, { backend: signer });
    const sweeps = deposits.map((from) => ({ from, contract, to: COLD, amountBaseUnits: AMOUNT }));
    const before = [await suiBalance(url, SUI_TYPE, wallet), await suiBalance(url, contract, COLD)] as const;
    const plannedMist = await sendAll(devnet, sender, sweeps);
    const cost = before[0] - (await suiBalance(url, SUI_TYPE, wallet));
    const swept = (await suiBalance(url, contract, COLD)) - before[1];
    if (swept !== AMOUNT * BigInt(batch)) throw new Error(`${swept} of ${batch} times ${AMOUNT} were swept`);
    if (method === 'GASLESS' && cost !== 0n) throw new Error(`what is free cost ${cost} MIST`);
    return { method, coins, batch, plannedMist: plannedMist / batch, costMist: Number(cost) / batch };
  } finally {
    signer.close();
  }
}

let uniqueMs = Date.now();

/** @returns the budgets of all, in MIST */
async function sendAll(
  { control }: SuiDevnet,
  sender: ExpiringSender,
  intents: readonly PaymentIntent[],
): Promise<number> {
  const prepared = await sender.prepare(intents);
  const { epoch, checkpoint: height, digest } = control.summary();
  const window = await sender.currentWindow?.(epoch);
  if (window === undefined) throw new Error('epochs end transactions on SUI');
  const signed = [];
  let planned = 0n;
  for (const [place, intent] of intents.entries()) {
    const one = prepared[place];
    if (one?.kind !== 'READY') throw new Error(`not to be sent: ${one?.obstacle}, ${one?.detail}`);
    uniqueMs += 1;
    const validity = { ...window, reference: { height, hash: digest as BlockHash }, uniqueMs };
    planned += one.costBaseUnits;
    signed.push(await sender.sign(intent, validity, one.feeLimitBaseUnits, one.funding));
  }
  const outcomes = await sender.broadcast(signed);
  if (outcomes.some((outcome) => outcome !== 'ACCEPTED')) throw new Error(`not taken: ${outcomes.join()}`);
  control.checkpoint();
  return Number(planned);
}

async function networkOf({ url, chainId }: SuiDevnet): Promise<NetworkConfig> {
  const networks = parseNetworkFile(await readFile(LOCAL_NETWORKS_FILE, 'utf8'), LOCAL_NETWORKS_FILE);
  const network = networks.find(({ chain }) => chain === CHAIN);
  if (network?.payouts === undefined) throw new Error(`no payouts on ${CHAIN} in ${LOCAL_NETWORKS_FILE}`);
  return { ...network, rpcUrls: [url], genesisId: chainId };
}
