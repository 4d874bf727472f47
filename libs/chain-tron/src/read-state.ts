import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { Holding, StateNumber } from '@opentill/chain/state-number';
import { agreeOnNumber } from '@opentill/chain-sources/agree-on-number';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { shortHexOf } from './address-codec.ts';
import { plainHeader } from './decode-block.ts';
import { listIn, malformed, objectIn, sunIn, type Raw } from './node-value.ts';
import { callConstant } from './sender/call-constant.ts';
import { readAccount } from './sender/read-balances.ts';
import {
  createTronSources,
  readHeader,
  type TronSource,
  type TronSourcesDeps,
  type TronSourcesNetwork,
} from './tron-sources.ts';

/**
 * TRON nodes keep no state of earlier blocks. The balances are of a state between the solid block before the reads and
 * the one after; of exactly one block if both are the same.
 */
export interface SolidBalances {
  /** The lower of the sources' solid blocks before the reads, and the higher of those after. */
  readonly from: BlockHeader;
  readonly to: BlockHeader;
  readonly balances: readonly StateNumber[];
}

export interface TronStateReader {
  solidBalances(holdings: readonly Holding[], options?: ReadOptions): Promise<SolidBalances>;
}

interface SourceBalances {
  readonly from: BlockHeader;
  readonly to: BlockHeader;
  readonly balances: readonly bigint[];
}

const BALANCE_SELECTOR = '70a08231';
const WORD = /^[0-9a-f]{64}$/;
/** Each call reads one balance. */
const CALLS_AT_ONCE = 16;

export function createTronStateReader(
  network: TronSourcesNetwork,
  deps: TronSourcesDeps = {},
): TronStateReader {
  const sources = createTronSources(network, deps);
  return {
    async solidBalances(holdings, options = {}) {
      const [first, second] = await askTwoSources(
        sources,
        {
          ask: (source, own) => readSource(source, holdings, own),
          height: undefined,
          onSingleSource: () => undefined, // the scanner's reader raises the alarm
        },
        options,
      );
      const all = second === undefined ? [first.answer] : [first.answer, second.answer];
      const numbersOf = ({ source, answer }: typeof first) => ({ source, answer: answer.balances });
      const answers = [numbersOf(first), second === undefined ? undefined : numbersOf(second)] as const;
      return {
        from: all.map(({ from }) => from).reduce((a, b) => (b.height < a.height ? b : a)),
        to: all.map(({ to }) => to).reduce((a, b) => (b.height > a.height ? b : a)),
        balances: holdings.map((_, place) => agreeOnNumber(answers, place)),
      };
    },
  };
}

async function readSource(
  source: TronSource,
  holdings: readonly Holding[],
  options: ReadOptions,
): Promise<SourceBalances> {
  const solid = async (): Promise<BlockHeader> =>
    plainHeader(await readHeader(source, options, undefined, 'walletsolidity'));
  const from = await solid();
  const balances = await readAll(holdings, (holding) => readBalance(source, holding, options));
  return { from, to: await solid(), balances };
}

async function readAll<T, R>(items: readonly T[], read: (item: T) => Promise<R>): Promise<readonly R[]> {
  const answers: R[] = [];
  const left = items.entries();
  let hasFailed = false;
  const work = async (): Promise<void> => {
    for (const [place, item] of left) {
      if (hasFailed) return;
      try {
        answers[place] = await read(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(CALLS_AT_ONCE, items.length) }, work));
  return answers;
}

/** Includes staked coin: for own use, delegated to others, or being unstaked. */
function ownSun(account: Raw): bigint {
  const resource =
    account['account_resource'] === undefined
      ? {}
      : objectIn(account['account_resource'], 'account_resource');
  const lists = [
    ['frozenV2', 'amount'],
    ['unfrozenV2', 'unfreeze_amount'],
  ] as const;
  const listed = lists.flatMap(([name, key]) =>
    listIn(account[name], name).map((entry) => sunIn(objectIn(entry, name)[key], key)),
  );
  const lentForBytes = 'delegated_frozenV2_balance_for_bandwidth';
  const lentForEnergy = 'delegated_frozenV2_balance_for_energy';
  const all = [
    sunIn(account['balance'], 'balance'),
    sunIn(account[lentForBytes], lentForBytes),
    sunIn((resource as Raw)[lentForEnergy], lentForEnergy),
    ...listed,
  ];
  return all.reduce((sum, sun) => sum + sun, 0n);
}

async function readBalance(
  source: TronSource,
  { holder, contract }: Holding,
  options: ReadOptions,
): Promise<bigint> {
  if (contract === null) {
    const account = await readAccount(source, holder, options, 'walletsolidity');
    return account === undefined ? 0n : ownSun(account);
  }
  const data = BALANCE_SELECTOR + shortHexOf(holder).padStart(64, '0');
  const call = { from: holder, contract, data };
  const { words, failure } = await callConstant(source, call, options, 'walletsolidity');
  const [word] = words;
  if (failure !== undefined || word === undefined || !WORD.test(word))
    return malformed('balanceOf', failure ?? word);
  return BigInt(`0x${word}`);
}
