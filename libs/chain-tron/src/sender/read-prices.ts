import type { ReadOptions } from '@opentill/chain/chain-reader';
import { listIn, malformed, objectIn, sunIn } from '../node-value.ts';
import type { TronSource, TronSources } from '../tron-sources.ts';

/** In sun. Representatives change these prices at any maintenance, so none is hard-coded. */
export interface ChainPrices {
  readonly energySun: bigint;
  readonly byteSun: bigint;
  /** Cost of the first TRX to an address, in addition to the transfer, paid by the sender. */
  readonly activationSun: bigint;
  /** Bandwidth in bytes per account and day. */
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

/** The higher of two answers. Throws only if none answers. */
export async function readWorkPrice(sources: TronSources, options: ReadOptions): Promise<bigint> {
  const asked = sources.quorumSources().slice(0, 2);
  const answers = await Promise.allSettled(asked.map((source) => readPrices(source, options)));
  const named = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.energySun] : []));
  const [first] = answers;
  if (named.length === 0 && first?.status === 'rejected') throw first.reason;
  return named.reduce((highest, price) => (price > highest ? price : highest), 0n);
}
