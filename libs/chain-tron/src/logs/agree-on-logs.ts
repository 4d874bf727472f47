import type { Address } from '@opentill/chain/address-codec';
import type { ExpectedTransfer, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import type { WatchedAddresses } from '@opentill/chain/watched-addresses';
import type { TronHeader } from '../decode-block.ts';
import { countIn } from '../node-value.ts';
import type { BlockRange, Reading } from '../reading.ts';
import { readAccount } from '../sender/read-balances.ts';
import { readHeader, type TronSource, type TronSources } from '../tron-sources.ts';
import { doubtfulHeights } from './compare-logs.ts';
import type { HeaderChain } from './header-chain.ts';
import { unprovenHeights, type LogControls, type Pair } from './log-controls.ts';
import type { LogOffers } from './log-offers.ts';
import type { LogPlan } from './log-plan.ts';
import { readControls, readLogs, type LogQuestion, type LogTerms, type TokenLog } from './read-logs.ts';

/** More blocks in doubt are read whole together with the rest of the range. */
const WHOLE_BLOCKS_MAX = 8;

export interface LogReaderDeps extends LogTerms {
  readonly reading: Reading;
  readonly sources: TronSources;
  readonly headers: HeaderChain;
  readonly watched: WatchedAddresses;
  readonly offers: LogOffers;
  readonly readWhole: (range: BlockRange, options: ReadOptions) => Promise<RangeRead>;
}

export interface LogReading extends LogReaderDeps {
  readonly plan: LogPlan;
  readonly controls: LogControls;
}

interface SourceFacts {
  readonly controls: readonly (readonly TokenLog[])[];
  readonly last: TronHeader;
  readonly isSolid: boolean;
  /** Time of the newest transaction of a hot wallet: java-tron stores the time of the block before. */
  readonly operatedAtMs: number;
}

export interface AgreedLogs {
  readonly headers: readonly TronHeader[];
  readonly logs: readonly TokenLog[];
  /** Heights of blocks that must be read whole. */
  readonly doubtful: ReadonlySet<number>;
}

/** Undefined if the whole range must be read whole. `range.from` must be above 1. */
export async function agreeOnLogs(
  deps: LogReading,
  pair: Pair,
  range: BlockRange,
  expected: readonly ExpectedTransfer[],
  options: ReadOptions,
): Promise<AgreedLogs | undefined> {
  const { plan, watched, controls } = deps;
  const asked = controls.controlsFor(range);
  const wallets = await watched.hotWallets();
  const ask = (source: TronSource): Promise<SourceFacts> =>
    readFacts(deps, source, { asked, to: range.to, wallets }, options);
  const [ours, theirs] = await Promise.all([ask(pair[0]), ask(pair[1])]);
  if (ours.last.hash !== theirs.last.hash || !(ours.isSolid || theirs.isSolid)) return undefined;
  const canaries = controls.agree(pair, asked, [...deps.tokens.keys()], [ours.controls, theirs.controls]);
  if (canaries === undefined) return undefined;
  const withParent = { from: range.from - 1, to: range.to };
  const [parent, ...headers] = await deps.headers.read(pair[0], withParent, options, ours.last);
  if (parent === undefined || Math.max(ours.operatedAtMs, theirs.operatedAtMs) >= parent.timeMs)
    return undefined;
  const question = { range, filters: await plan.filtersFor(range), canaries };
  const [ourLogs, theirLogs] = await Promise.all([
    askForLogs(deps, pair[0], question, options),
    askForLogs(deps, pair[1], question, options),
  ]);
  const doubtful = new Set([
    ...doubtfulHeights(headers, [ourLogs, theirLogs], expected),
    ...unprovenHeights(range, provenHeights(canaries, [parent, ...headers])),
  ]);
  return doubtful.size > WHOLE_BLOCKS_MAX ? undefined : { headers, logs: ourLogs, doubtful };
}

/** Logs of a block that is not in this chain prove nothing. Of blocks further below, only the index matters. */
function provenHeights(shown: readonly TokenLog[], headers: readonly TronHeader[]): readonly number[] {
  const hashAt = new Map(headers.map(({ height, hash }) => [height, hash as string]));
  return shown.flatMap(({ height, blockHash }) =>
    (hashAt.get(height) ?? blockHash) === blockHash ? [height] : [],
  );
}

async function readFacts(
  deps: LogReading,
  source: TronSource,
  {
    asked,
    to,
    wallets,
  }: { readonly asked: readonly BlockRange[]; readonly to: number; readonly wallets: ReadonlySet<Address> },
  options: ReadOptions,
): Promise<SourceFacts> {
  const [{ last, isSolid }, controls, operatedAtMs] = await Promise.all([
    readLast(deps, source, to, options),
    forgetting(deps, source, () => readControls(source, deps, asked, options)),
    readOperatedAtMs(source, wallets, options),
  ]);
  return { controls, last, isSolid, operatedAtMs };
}

export function askForLogs(
  deps: LogReading,
  source: TronSource,
  question: LogQuestion,
  options: ReadOptions,
): Promise<readonly TokenLog[]> {
  return forgetting(deps, source, () => readLogs(source, deps, question, options));
}

/** After a failure, earlier controls of the source no longer count: its index may have ended meanwhile. */
async function forgetting<T>(
  { offers, controls }: LogReading,
  source: TronSource,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await offers.ask(source, work);
  } catch (error) {
    controls.forget(source);
    throw error;
  }
}

async function readLast(
  { headers }: LogReading,
  source: TronSource,
  height: number,
  options: ReadOptions,
): Promise<Pick<SourceFacts, 'last' | 'isSolid'>> {
  const solid = headers.solidOf(source, height);
  if (solid !== undefined) return { last: solid, isSolid: true };
  try {
    return { last: await readHeader(source, options, height, 'walletsolidity'), isSolid: true };
  } catch (error) {
    if (!isReaderError(error, 'BLOCK_NOT_FOUND')) throw error;
    return { last: await readHeader(source, options, height), isSolid: false };
  }
}

async function readOperatedAtMs(
  source: TronSource,
  wallets: ReadonlySet<Address>,
  options: ReadOptions,
): Promise<number> {
  const accounts = await Promise.all([...wallets].map((wallet) => readAccount(source, wallet, options)));
  const times = accounts.map((account) => countIn(account?.['latest_opration_time'], 'latest_opration_time'));
  return Math.max(-1, ...times);
}
