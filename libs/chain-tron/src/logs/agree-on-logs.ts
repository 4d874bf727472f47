import type { Address } from '@opentill/chain/address-codec';
import type { ExpectedTransfer, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { WatchedAddresses } from '@opentill/chain/watched-addresses';
import type { TronHeader } from '../decode-block.ts';
import { countIn } from '../node-value.ts';
import type { BlockRange, Reading } from '../reading.ts';
import { readAccount } from '../sender/read-balances.ts';
import { readHeader, type TronSource, type TronSources } from '../tron-sources.ts';
import type { BeaconChoice } from './beacons.ts';
import { doubtfulHeights } from './compare-logs.ts';
import type { HeaderChain } from './header-chain.ts';
import type { LogOffers } from './log-offers.ts';
import type { LogPlan, PlannedLogs } from './log-plan.ts';
import { readLogs, type LogTerms, type TokenLog } from './read-logs.ts';

/** With a greater share of blocks in doubt, all of the range is read whole. */
const DOUBTFUL_SHARE_MAX = 1 / 4;

export type Pair = readonly [TronSource, TronSource];

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
  readonly beacons: BeaconChoice;
}

interface SourceFacts {
  readonly last: TronHeader;
  readonly isSolid: boolean;
  /** Time of the newest transaction of a hot wallet: java-tron stores the time of the block before. */
  readonly operatedAtMs: number;
}

export interface AgreedLogs extends Pick<PlannedLogs, 'recipients'> {
  readonly headers: readonly TronHeader[];
  readonly logs: readonly TokenLog[];
  /** Heights of blocks that must be read whole. */
  readonly doubtful: ReadonlySet<number>;
}

/**
 * Undefined if the range must be read whole: hot wallets sent transactions, or the sources have different blocks. Throws
 * if the logs do not suffice. `range.from` must be above 1.
 */
export async function agreeOnLogs(
  deps: LogReading,
  pair: Pair,
  range: BlockRange,
  expected: readonly ExpectedTransfer[],
  options: ReadOptions,
): Promise<AgreedLogs | undefined> {
  const { plan, watched, beacons, offers } = deps;
  const wallets = await watched.hotWallets();
  const [ours, theirs] = await Promise.all(
    pair.map((source) => readFacts(deps, source, { to: range.to, wallets }, options)) as [
      Promise<SourceFacts>,
      Promise<SourceFacts>,
    ],
  );
  if (ours.last.hash !== theirs.last.hash || !(ours.isSolid || theirs.isSolid)) return undefined;
  const withParent = { from: range.from - 1, to: range.to };
  const [parent, ...headers] = await deps.headers.read(pair[0], withParent, options, ours.last);
  if (parent === undefined || Math.max(ours.operatedAtMs, theirs.operatedAtMs) >= parent.timeMs)
    return undefined;
  const { filters, recipients } = await plan.planFor(range, beacons.chosen());
  const [own, other] = await Promise.all(
    pair.map((source) => offers.ask(source, () => readLogs(source, deps, { range, filters }, options))) as [
      ReturnType<typeof readLogs>,
      ReturnType<typeof readLogs>,
    ],
  );
  const unproven = [...own.unproven, ...other.unproven];
  const differing = doubtfulHeights(headers, [own.logs, other.logs], expected);
  const doubtful = new Set([...differing, ...unproven]);
  if (recipients === undefined) learnFrom(beacons, headers, own.logs, doubtful);
  else if (unproven.length > 0) beacons.doubt();
  if (doubtful.size > DOUBTFUL_SHARE_MAX * headers.length)
    throw readerError('INCONSISTENT_ANSWER', 'the logs of many blocks are in doubt', { height: range.from });
  return { headers, logs: own.logs, doubtful, recipients };
}

function learnFrom(
  beacons: BeaconChoice,
  headers: readonly TronHeader[],
  logs: readonly TokenLog[],
  doubtful: ReadonlySet<number>,
): void {
  const heights = headers.map(({ height }) => height).filter((height) => !doubtful.has(height));
  beacons.learn(heights, logs);
}

async function readFacts(
  deps: LogReading,
  source: TronSource,
  { to, wallets }: { readonly to: number; readonly wallets: ReadonlySet<Address> },
  options: ReadOptions,
): Promise<SourceFacts> {
  const [{ last, isSolid }, operatedAtMs] = await Promise.all([
    readLast(deps, source, to, options),
    readOperatedAtMs(source, wallets, options),
  ]);
  return { last, isSolid, operatedAtMs };
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
