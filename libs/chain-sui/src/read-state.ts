import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { Holding, StateNumber } from '@opentill/chain/state-number';
import { agreeOnNumber } from '@opentill/chain-sources/agree-on-number';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { coinTypeOf } from './coin-type.ts';
import type { SuiSource, SuiSourcesDeps, SuiSourcesNetwork } from './sui-sources.ts';
import { createSuiSources, readServiceHead } from './sui-sources.ts';

/** To compare the ledger with the chain. Throws a GatewayError with a ReaderErrorCode. */
export interface SuiStateReader {
  /** Coins and address balances together. Disputed if a balance moves between the reads of two sources. */
  balances(holdings: readonly Holding[], options?: ReadOptions): Promise<readonly StateNumber[]>;
  /**
   * With the range of newest checkpoints during the reads. With several nodes behind one URL, a balance may be from a
   * state outside that range; a difference caused by this disappears when read again.
   */
  newestBalances(
    holdings: readonly Holding[],
    options?: ReadOptions,
  ): Promise<{
    readonly fromHeight: number;
    readonly toHeight: number;
    readonly balances: readonly StateNumber[];
  }>;
}

const CALLS_AT_ONCE = 16;

export function createSuiStateReader(network: SuiSourcesNetwork, deps: SuiSourcesDeps = {}): SuiStateReader {
  const sources = createSuiSources(network, deps);
  // The scanner's reader raises the alarm single-source.
  const question = { height: undefined, onSingleSource: () => undefined };
  return {
    async balances(holdings, options = {}) {
      const ask = (source: SuiSource, own: ReadOptions): Promise<readonly bigint[]> =>
        readBalances(source, holdings, own);
      const answers = await askTwoSources(sources, { ...question, ask }, options);
      return holdings.map((_, place) => agreeOnNumber(answers, place));
    },
    async newestBalances(holdings, options = {}) {
      const heights: number[] = [];
      const ask = async (source: SuiSource, own: ReadOptions): Promise<readonly bigint[]> => {
        const before = await readServiceHead(source, own);
        const balances = await readBalances(source, holdings, own);
        const after = await readServiceHead(source, own);
        heights.push(before.height, after.height);
        return balances;
      };
      const answers = await askTwoSources(sources, { ...question, ask }, options);
      return {
        fromHeight: Math.min(...heights),
        toHeight: Math.max(...heights),
        balances: holdings.map((_, place) => agreeOnNumber(answers, place)),
      };
    },
  };
}

async function readBalances(
  source: SuiSource,
  holdings: readonly Holding[],
  options: ReadOptions,
): Promise<readonly bigint[]> {
  const balances: bigint[] = [];
  for (let at = 0; at < holdings.length; at += CALLS_AT_ONCE) {
    const some = holdings.slice(at, at + CALLS_AT_ONCE);
    balances.push(...(await Promise.all(some.map((holding) => readBalance(source, holding, options)))));
  }
  return balances;
}

async function readBalance(
  source: SuiSource,
  { holder, contract }: Holding,
  options: ReadOptions,
): Promise<bigint> {
  const request = { owner: holder, coinType: coinTypeOf(contract) };
  const { response } = await source.ask(({ state }, call) => state.getBalance(request, call), options);
  const balance = response.balance?.balance;
  if (balance === undefined)
    throw readerError('INCONSISTENT_ANSWER', 'the node returned no balance', { holder });
  return balance;
}
