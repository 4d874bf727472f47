import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { EnergyAccounts } from '@opentill/chain/energy-accounts';
import type { ExpiringSender, Sponsorship } from '@opentill/chain/expiring-sender';
import {
  PREPARE_MAX,
  type PaymentIntent,
  type PaymentObstacle,
  type WalletSender,
} from '@opentill/chain/wallet-sender';
import type { SweepNeed } from '@opentill/domain/ways-to-sweep';
import type { EnergySeller } from '../energy/energy-seller.ts';
import type { CostObstacle } from './store/sweep-facts.ts';

/** What a planner asks a chain. */
export interface SweepChain {
  /** What a unit of work costs now: EVM wei for gas, TRON sun for energy. Throws as readers do. */
  gasPrice(options: ReadOptions): Promise<bigint>;
  /** What each payment costs at most, base units of the native coin; or what is in its way; undefined where nobody knows. */
  costsOf(
    intents: readonly PaymentIntent[],
    options: ReadOptions,
  ): Promise<readonly (bigint | CostObstacle | undefined)[]>;
  /** The native coin that lies at an address; where the hot wallet pays the fees there, with what it has for them. */
  coinAt(address: Address, options: ReadOptions): Promise<bigint>;
  /** See ExpiringSender. */
  readonly sponsorship?: Pick<Sponsorship, 'mostAtOnce'>;
  /** Where work is paid for otherwise than in coin as well. */
  readonly energy?: SweepEnergy;
}

/** What a planner asks of a chain where stake pays for work. */
export interface SweepEnergy {
  readonly accounts: EnergyAccounts;
  /** What each payment takes of work and bytes; or what is in its way; undefined where nobody knows. */
  needsOf(
    intents: readonly PaymentIntent[],
    options: ReadOptions,
  ): Promise<readonly (SweepNeed | CostObstacle | undefined)[]>;
  /** Undefined: nobody sells energy here. */
  readonly seller: EnergySeller | undefined;
}

/** Of a chain whose transactions are ordered by nonces. */
export function sweepChainOfNonces(
  sender: Pick<WalletSender, 'currentPrices' | 'prepare' | 'balances'>,
): SweepChain {
  return {
    gasPrice: async (options) => (await sender.currentPrices(options)).maxFeePerGas,
    async costsOf(intents, options) {
      const { maxFeePerGas } = await sender.currentPrices(options);
      const prepared = await inParts(intents, (part) => sender.prepare(part, options));
      return prepared.map((one) =>
        one.kind === 'READY' ? one.gasLimit * maxFeePerGas : obstacleOf(one.obstacle),
      );
    },
    coinAt: (address, options) => nativeOf(sender, address, options),
  };
}

/** Of a chain whose transactions end by time. */
export function sweepChainOfTimes(
  sender: Pick<ExpiringSender, 'workPrice' | 'prepare' | 'balances' | 'energy' | 'sponsorship'>,
  seller?: EnergySeller,
): SweepChain {
  const { energy: accounts, sponsorship } = sender;
  return {
    ...(accounts === undefined ? {} : { energy: { accounts, seller, needsOf: needsBy(sender) } }),
    ...(sponsorship === undefined ? {} : { sponsorship }),
    gasPrice: (options) => sender.workPrice(options),
    async costsOf(intents, options) {
      const prepared = await inParts(intents, (part) => sender.prepare(part, options));
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
    const prepared = await inParts(intents, (part) => sender.prepare(part, options));
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

async function inParts<R>(
  intents: readonly PaymentIntent[],
  prepare: (part: readonly PaymentIntent[]) => Promise<readonly R[]>,
): Promise<readonly R[]> {
  const all: R[] = [];
  for (let from = 0; from < intents.length; from += PREPARE_MAX)
    all.push(...(await prepare(intents.slice(from, from + PREPARE_MAX))));
  return all;
}
