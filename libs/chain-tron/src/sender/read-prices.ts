import type { ReadOptions } from '@opentill/chain/chain-reader';
import { listIn, malformed, objectIn, sunIn } from '../node-value.ts';
import type { TronSource, TronSources } from '../tron-sources.ts';

/** Current prices of the chain, in sun. Representatives change them at any maintenance, so none is hard-coded. */
export interface ChainPrices {
  /** Per unit of energy. */
  readonly energySun: bigint;
  /** Per byte of bandwidth. */
  readonly byteSun: bigint;
  /** Additional cost of the first TRX to an address, paid by the sender. */
  readonly activationSun: bigint;
  /** Free bandwidth of each account per day, in bytes. */
  readonly freeBytes: bigint;
}

export async function readPrices(
  source: Pick<TronSource, 'call'>,
  options: ReadOptions,
): Promise<ChainPrices> {
  const raw = await source.call({ side: 'wallet', method: 'getchainparameters' }, options);
  const parameters = new Map(
    listIn(objectIn(raw, 'chain parameters')['chainParameter'], 'chainParameter').map((one) => {
      const { key, value } = objectIn(one, 'chain parameter');
      return [key, value] as const;
    }),
  );
  const sunOf = (key: string): bigint =>
    parameters.has(key) ? sunIn(parameters.get(key), key) : malformed('chain parameters', `no ${key}`);
  const energySun = sunOf('getEnergyFee');
  if (energySun === 0n) return malformed('getEnergyFee', energySun);
  return {
    energySun,
    byteSun: sunOf('getTransactionFee'),
    activationSun: sunOf('getCreateAccountFee') + sunOf('getCreateNewAccountFeeInSystemContract'),
    freeBytes: parameters.has('getFreeNetLimit')
      ? sunIn(parameters.get('getFreeNetLimit'), 'getFreeNetLimit')
      : 0n,
  };
}

/** The higher energy price of up to two sources. A failing source is ignored; throws if none answers. */
export async function readWorkPrice(sources: TronSources, options: ReadOptions): Promise<bigint> {
  const asked = sources.witnesses().slice(0, 2);
  const answers = await Promise.allSettled(asked.map((source) => readPrices(source, options)));
  const named = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.energySun] : []));
  const [first] = answers;
  if (named.length === 0 && first?.status === 'rejected') throw first.reason;
  return named.reduce((highest, price) => (price > highest ? price : highest), 0n);
}
