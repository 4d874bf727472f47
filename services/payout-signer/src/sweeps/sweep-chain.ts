import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import { PREPARE_MAX, type PaymentIntent, type WalletSender } from '@opentill/chain/wallet-sender';

/** What a planner asks a chain. */
export interface SweepChain {
  /** What a unit of work costs now: EVM wei for gas, TRON sun for energy. Throws as readers do. */
  gasPrice(options: ReadOptions): Promise<bigint>;
  /** What each payment costs at most, base units of the native coin; undefined where the chain would refuse it. */
  costsOf(intents: readonly PaymentIntent[], options: ReadOptions): Promise<readonly (bigint | undefined)[]>;
  /** The native coin that lies at an address. */
  coinAt(address: Address, options: ReadOptions): Promise<bigint>;
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
      return prepared.map((one) => (one.kind === 'READY' ? one.gasLimit * maxFeePerGas : undefined));
    },
    coinAt: (address, options) => nativeOf(sender, address, options),
  };
}

/** Of a chain whose transactions end by time. */
export function sweepChainOfTimes(
  sender: Pick<ExpiringSender, 'workPrice' | 'prepare' | 'balances'>,
): SweepChain {
  return {
    gasPrice: (options) => sender.workPrice(options),
    async costsOf(intents, options) {
      const prepared = await inParts(intents, (part) => sender.prepare(part, options));
      return prepared.map((one) => (one.kind === 'READY' ? one.costBaseUnits : undefined));
    },
    coinAt: (address, options) => nativeOf(sender, address, options),
  };
}

async function nativeOf(
  sender: Pick<WalletSender, 'balances'> | Pick<ExpiringSender, 'balances'>,
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
