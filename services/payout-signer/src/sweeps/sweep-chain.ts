import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { EnergyAccounts } from '@opentill/chain/energy-accounts';
import type { ExpiringSender, Sponsorship } from '@opentill/chain/expiring-sender';
import {
  highestCost,
  PREPARE_MAX,
  type PaymentIntent,
  type PaymentObstacle,
  type WalletSender,
} from '@opentill/chain/wallet-sender';
import type { SweepNeed } from '@opentill/domain/sweep-options';
import type { EnergySeller } from '../energy/energy-seller.ts';
import type { CostObstacle } from './store/sweep-facts.ts';

export interface SweepChain {
  /** EVM: wei per gas; TRON: sun per energy. @throws ReaderError */
  gasPrice(options: ReadOptions): Promise<bigint>;
  /** Per payment its highest cost in base units of the native coin, or its obstacle; undefined if unknown. */
  costsOf(
    intents: readonly PaymentIntent[],
    options: ReadOptions,
  ): Promise<readonly (bigint | CostObstacle | undefined)[]>;
  /** Native coin that can pay fees at the address. Where the hot wallet pays them (SUI), includes its balance. */
  coinAt(address: Address, options: ReadOptions): Promise<bigint>;
  readonly sponsorship?: Pick<Sponsorship, 'mostAtOnce'>;
  /** Absent: only the native coin pays for execution. */
  readonly energy?: SweepEnergy;
}

export interface SweepEnergy {
  readonly accounts: EnergyAccounts;
  /** Execution units and bytes that each payment needs, or its obstacle; undefined if unknown. */
  needsOf(
    intents: readonly PaymentIntent[],
    options: ReadOptions,
  ): Promise<readonly (SweepNeed | CostObstacle | undefined)[]>;
  readonly seller: EnergySeller | undefined;
}

export function nonceSweepChain(
  sender: Pick<WalletSender, 'currentPrices' | 'prepare' | 'balances'>,
): SweepChain {
  return {
    gasPrice: async (options) => (await sender.currentPrices(options)).maxFeePerGas,
    async costsOf(intents, options) {
      const prices = await sender.currentPrices(options);
      const prepared = await inBatches(intents, (part) => sender.prepare(part, options));
      return prepared.map((one) =>
        one.kind === 'READY' ? highestCost({ ...prices, ...one }) : obstacleOf(one.obstacle),
      );
    },
    coinAt: (address, options) => nativeOf(sender, address, options),
  };
}

export function expiringSweepChain(
  sender: Pick<ExpiringSender, 'workPrice' | 'prepare' | 'balances' | 'energy' | 'sponsorship'>,
  seller?: EnergySeller,
): SweepChain {
  const { energy: accounts, sponsorship } = sender;
  return {
    ...(accounts === undefined ? {} : { energy: { accounts, seller, needsOf: needsBy(sender) } }),
    ...(sponsorship === undefined ? {} : { sponsorship }),
    gasPrice: (options) => sender.workPrice(options),
    async costsOf(intents, options) {
      const prepared = await inBatches(intents, (part) => sender.prepare(part, options));
      return prepared.map((one) => (one.kind === 'READY' ? one.costBaseUnits : obstacleOf(one.obstacle)));
    },
    async coinAt(address, options) {
      const { amounts, allowanceBaseUnits } = await sender.balances(address, [null], options);
      return (amounts.get(null) ?? 0n) + (sponsorship === undefined ? 0n : allowanceBaseUnits);
    },
  };
}

function needsBy(sender: Pick<ExpiringSender, 'prepare'>): SweepEnergy['needsOf'] {
  return async (intents, options) => {
    const prepared = await inBatches(intents, (part) => sender.prepare(part, options));
    return prepared.map((one) => (one.kind === 'READY' ? one.takes : obstacleOf(one.obstacle)));
  };
}

function obstacleOf(obstacle: PaymentObstacle): CostObstacle | undefined {
  return obstacle === 'WOULD_FAIL' || obstacle === 'FEES_ABOVE_CAP' ? obstacle : undefined;
}

async function nativeOf(
  sender: Pick<WalletSender, 'balances'>,
  address: Address,
  options: ReadOptions,
): Promise<bigint> {
  const { amounts } = await sender.balances(address, [null], options);
  return amounts.get(null) ?? 0n;
}

async function inBatches<R>(
  intents: readonly PaymentIntent[],
  prepare: (part: readonly PaymentIntent[]) => Promise<readonly R[]>,
): Promise<readonly R[]> {
  const all: R[] = [];
  for (let from = 0; from < intents.length; from += PREPARE_MAX)
    all.push(...(await prepare(intents.slice(from, from + PREPARE_MAX))));
  return all;
}
