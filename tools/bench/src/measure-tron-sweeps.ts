import { readFile } from 'node:fs/promises';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { tronFamily } from '@opentill/chain-tron/family';
import { createTronSender } from '@opentill/chain-tron/sender/create-sender';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { tronTokenBalance } from '@opentill/devnets/tron/payments';
import { startEnergySeller, type EnergySeller } from '@opentill/devnets/tron/start-energy-seller';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { baseUnits } from '@opentill/domain/money';
import { missingUnits, waysToSweep, type SweepNeed } from '@opentill/domain/ways-to-sweep';
import { LOCAL_NETWORKS_FILE } from '@opentill/local/checkout';
import { createTronsaveSeller } from '@opentill/payout-signer/energy/tronsave-seller';
import { termsOf } from '@opentill/payout-signer/sweeps/price-energy';
import { makeSweepKeys } from './sweep-keys.ts';

/** Of each address, on average, in sun. */
export interface TronSweepCost {
  readonly method: 'TOP_UP' | 'STAKE' | 'RENT';
  /** Whether the addresses were no accounts before. */
  readonly isNew: boolean;
  readonly batch: number;
  /** Fees of all transactions, and rent. */
  readonly costSun: number;
  readonly rentSun: number;
  /** Lent until the end. */
  readonly stakeSun: number;
  /** Coin that was brought and not burnt: it pays for the next time. */
  readonly leftSun: number;
}

const CHAIN = 'TRON_TEST';
const TRX = 1_000_000n;
const AMOUNT = baseUnits(50_000_000n);
/** The factor of Tether's contract on the main network: its work costs 4.4 times what it takes. */
const BUSIEST = 34_000;
/** Asked by sellers in 2026, sun for a unit. */
const RENT_SUN = 44;
const LIFETIME_MS = 60_000;

interface World {
  readonly dir: string;
  readonly devnet: TronDevnet;
  readonly network: NetworkConfig;
  readonly shop: EnergySeller;
  readonly contract: TokenContract;
  readonly cold: Address;
}

/** Empties so many addresses together, by each way to pay for the work, of new addresses and of accounts. */
export async function measureTronSweeps(
  dir: string,
  batches: readonly number[],
  say: (line: string) => void,
): Promise<readonly TronSweepCost[]> {
  const devnet = await startTronDevnet({ blockTimeMs: 0, solidLagBlocks: 1 });
  const account = devnet.accounts[9];
  const cold = devnet.accounts[2]?.address as Address;
  if (account === undefined) throw new Error('the devnet has ten accounts');
  const shop = await startEnergySeller({
    nodeUrl: devnet.url,
    account,
    apiKey: 'bench',
    unitPriceSun: RENT_SUN,
    balanceSun: 1e12,
  });
  try {
    await devnet.control.setEnergyFactor(devnet.tokens.USDT, BUSIEST);
    await devnet.control.stake(account.address, 50_000_000n * TRX);
    const contract = devnet.tokens.USDT as TokenContract;
    const world = { dir, devnet, network: await networkOf(devnet.url), shop, contract, cold };
    const costs: TronSweepCost[] = [];
    for (const method of ['TOP_UP', 'RENT', 'STAKE'] as const)
      for (const isNew of [true, false])
        for (const batch of batches) {
          costs.push(await sweepTogether(world, method, isNew, batch));
          say(JSON.stringify(costs.at(-1)));
        }
    return costs;
  } finally {
    await shop.close();
    await devnet.close();
  }
}

async function sweepTogether(
  world: World,
  method: TronSweepCost['method'],
  isNew: boolean,
  batch: number,
): Promise<TronSweepCost> {
  const { devnet, contract, cold, shop } = world;
  const { signer, wallet, deposits } = await makeSweepKeys(world.dir, tronFamily.addressCodec, batch);
  try {
    const stake = 10_000n * TRX * BigInt(batch);
    await devnet.control.fund(wallet, { trxSun: 10_000n * TRX + stake });
    if (method === 'STAKE') await devnet.control.stake(wallet, stake);
    for (const address of deposits)
      await devnet.control.fund(address, {
        trxSun: isNew ? 0n : 1n,
        symbol: 'USDT',
        amountBaseUnits: AMOUNT,
      });
    await devnet.control.mine(2);
    const sender = createTronSender(world.network, { backend: signer });
    const send = (intents: readonly PaymentIntent[]) => sendAll(devnet, sender, intents);
    const sweeps = deposits.map((from) => ({ from, contract, to: cold, amountBaseUnits: AMOUNT }));
    const ways = await waysOf(world, sender, wallet, sweeps, method);
    const helping = (key: 'topUpBaseUnits' | 'stakeBaseUnits', resource?: PaymentIntent['resource']) =>
      ways.flatMap((way, place): PaymentIntent[] => {
        const [amount = 0n, to] = [way[key], deposits[place]];
        if (amount === 0n || to === undefined) return [];
        const intent = { from: wallet, contract: null, to, amountBaseUnits: baseUnits(amount) };
        return [resource === undefined ? intent : { ...intent, resource }];
      });
    const paidBefore = shop.orders().length;
    let fees = await send(helping('topUpBaseUnits'));
    fees += await send(helping('stakeBaseUnits', 'LEND_ENERGY'));
    if (method === 'RENT') await rentAll(world, sender, sweeps);
    fees += await send(sweeps);
    fees += await send(helping('stakeBaseUnits', 'TAKE_ENERGY_BACK'));
    const rent = shop
      .orders()
      .slice(paidBefore)
      .reduce((sum, { payoutAmount }) => sum + payoutAmount, 0);
    const lent = ways.reduce((sum, { stakeBaseUnits = 0n }) => sum + stakeBaseUnits, 0n);
    return {
      method,
      isNew,
      batch,
      costSun: (fees + rent) / batch,
      rentSun: rent / batch,
      stakeSun: Number(lent) / batch,
      leftSun: (await leftAt(world, sender, deposits)) / batch,
    };
  } finally {
    signer.close();
  }
}

/** As the planner reckons it, of each address this one way. */
async function waysOf(
  { cold }: World,
  sender: ExpiringSender,
  wallet: Address,
  sweeps: readonly PaymentIntent[],
  method: TronSweepCost['method'],
) {
  const accounts = energyOf(sender);
  const terms = termsOf(
    { accounts },
    await accounts.market(wallet),
    wallet,
    cold,
    true,
    (units) => units * BigInt(RENT_SUN),
  );
  const needs = await needsOf(sender, sweeps);
  return Promise.all(
    sweeps.map(async ({ from }, place) => {
      const ways = waysToSweep(needs[place]!, await accounts.means(from), terms);
      const way = ways.find((one) => one.method === method);
      if (way === undefined) throw new Error(`${from} can't be emptied by ${method}`);
      return way;
    }),
  );
}

async function rentAll(
  { shop, devnet }: World,
  sender: ExpiringSender,
  sweeps: readonly PaymentIntent[],
): Promise<void> {
  const seller = createTronsaveSeller({ url: shop.url, apiKey: shop.apiKey });
  const { signal } = new AbortController();
  const needs = await needsOf(sender, sweeps);
  for (const [place, { from }] of sweeps.entries()) {
    const units = missingUnits(needs[place]!, await energyOf(sender).means(from));
    const quote = await seller.quote(units, from, signal);
    const outcome = quote && (await seller.order({ receiver: from, quote }, signal));
    if (outcome?.kind !== 'ORDERED') throw new Error(`no energy: ${JSON.stringify(outcome)}`);
  }
  await devnet.control.mine(1);
}

async function needsOf(
  sender: ExpiringSender,
  intents: readonly PaymentIntent[],
): Promise<readonly SweepNeed[]> {
  const prepared = await sender.prepare(intents);
  return prepared.map((one) => {
    if (one.kind !== 'READY' || one.takes === undefined)
      throw new Error(`not ready: ${JSON.stringify(one.kind)}`);
    return one.takes;
  });
}

function energyOf({ energy }: ExpiringSender) {
  if (energy === undefined) throw new Error('TRON has energy');
  return energy;
}

let uniqueMs = Date.now();

/** @returns what all of them burnt, in sun */
async function sendAll(
  devnet: TronDevnet,
  sender: ExpiringSender,
  intents: readonly PaymentIntent[],
): Promise<number> {
  if (intents.length === 0) return 0;
  const prepared = await sender.prepare(intents);
  const solid = await ask<Header>(devnet, 'walletsolidity/getblock', { detail: false });
  const { headTimeMs } = devnet.control.summary();
  const signed = [];
  for (const [place, intent] of intents.entries()) {
    const one = prepared[place];
    if (one?.kind !== 'READY') throw new Error(`not to be sent: ${one?.obstacle}, ${one?.detail}`);
    uniqueMs += 1;
    const validity = {
      expiresMs: headTimeMs + LIFETIME_MS,
      reference: { height: solid.block_header.raw_data.number, hash: solid.blockID },
      uniqueMs,
    };
    signed.push(await sender.sign(intent, validity, one.feeLimitBaseUnits));
  }
  const outcomes = await sender.broadcast(signed);
  if (outcomes.some((outcome) => outcome !== 'ACCEPTED')) throw new Error(`not taken: ${outcomes.join()}`);
  await devnet.control.mine(3);
  let fees = 0;
  for (const { txHash } of signed) {
    const info = await ask<Info>(devnet, 'wallet/gettransactioninfobyid', { value: txHash });
    if (info.id === undefined || info.result === 'FAILED') throw new Error(`${txHash} failed`);
    fees += info.fee ?? 0;
  }
  return fees;
}

/** What lies on emptied addresses, in sun; throws when one is not empty. */
async function leftAt(
  { devnet, contract }: World,
  sender: ExpiringSender,
  deposits: readonly Address[],
): Promise<number> {
  let left = 0;
  for (const address of deposits) {
    if ((await tronTokenBalance(devnet.url, contract, address)) !== 0n)
      throw new Error(`${address} is not empty`);
    left += Number((await energyOf(sender).means(address)).coinBaseUnits);
  }
  return left;
}

interface Header {
  readonly blockID: BlockHash;
  readonly block_header: { readonly raw_data: { readonly number: number } };
}
interface Info {
  readonly id?: string;
  readonly fee?: number;
  readonly result?: string;
}

async function ask<T>(devnet: TronDevnet, path: string, body: object): Promise<T> {
  const answer = await fetch(`${devnet.url}/${path}`, { method: 'POST', body: JSON.stringify(body) });
  return (await answer.json()) as T;
}

async function networkOf(url: string): Promise<NetworkConfig> {
  const networks = parseNetworkFile(await readFile(LOCAL_NETWORKS_FILE, 'utf8'), LOCAL_NETWORKS_FILE);
  const network = networks.find(({ chain }) => chain === CHAIN);
  if (network?.payouts === undefined) throw new Error(`no payouts on ${CHAIN} in ${LOCAL_NETWORKS_FILE}`);
  return { ...network, rpcUrls: [url] };
}
