import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { SourceHealth } from '@opentill/chain/source-health';
import { isReaderError } from '@opentill/chain/reader-error';
import { headStaleSecondsOf } from '@opentill/contracts/network-config';
import { createAloneRule } from './alone-rule.ts';
import type { HedgeBudget } from './hedge-budget.ts';
import { createHedgeBudget } from './hedge-budget.ts';
import { mayBeBetterElsewhere } from './may-be-better-elsewhere.ts';
import { createHeadProbe } from './probe-heads.ts';
import type { SourceChange } from './rank-sources.ts';
import { createRanking } from './rank-sources.ts';
import { runOnSources } from './run-on-sources.ts';
import type { AskOptions, Source } from './source.ts';
import type { SourceEntry, SourceNotes } from './source-entry.ts';
import { createSourceEntry } from './source-entry.ts';
import { createSourceRecord } from './source-record.ts';
import type { ShownHead } from './watch-heads.ts';
import { createHeadWatch } from './watch-heads.ts';

export interface RunOptions extends ReadOptions {
  /** Only for work without side effects. */
  readonly hedge?: boolean;
}

/** Several URLs of one network behind one call. */
export interface Sources<S extends Source> {
  /**
   * Runs `work` against the best usable source; after a fault that another may not have (mayBeBetterElsewhere) against
   * the next, each at most once, at last those that are not usable, too; then throws the error that tells most. `work`
   * hands `options` on to its source. With `hedge` a second source starts when the first has not answered in its
   * usual time; the first success wins and the other is aborted. No more than a tenth of the runs start a second one.
   */
  run<T>(work: (source: S, options: AskOptions) => Promise<T>, options?: RunOptions): Promise<T>;
  /**
   * Usable now, best first: not known for another chain, not resting, neither stuck nor behind the others, not
   * excluded. Never empty: when none is well, all of them (the excluded only when all are), the least bad first.
   */
  usable(): readonly S[];
  /**
   * Who may be asked what two must agree on, best first: the usable ones, and those behind, who may have the block all
   * the same. Never empty, likewise.
   */
  witnesses(): readonly S[];
  /**
   * Whether this source's word alone is enough: it is the only one, or every other has given no usable answer for
   * `aloneAfterSeconds` on end, while this one did.
   */
  mayStandAlone(source: S): boolean;
  /**
   * When it is worth it to ask again what two must agree on, in milliseconds from now: the next of the sources that rest may be
   * asked then, or one may stand alone. Undefined when nothing of that is ahead, and when one that failed may be asked already:
   * its rest may have ended while the other one answered.
   */
  againInMs(): number | undefined;
  /** Tells whether a source had the blocks below its head that it was asked for. Nodes discard old ones. */
  noteCompleteness(source: S, isComplete: boolean): void;
  /** Every source, in the order of the configuration. */
  all(): readonly S[];
  /** Asks this one for its newest block, and notes it as its head. */
  readHead(source: S, options?: AskOptions): Promise<ShownHead>;
  /** Tells what head a source showed; one that stays behind is not usable until it has caught up. */
  noteHead(source: S, header: { readonly height: number; readonly timeSeconds: number }): void;
  /** How long ago a source last showed its head; Infinity before. */
  headShownMsAgo(source: S): number;
  /** Tells of a fault that was found in a source's answers outside of `run`, which notes its own. */
  noteFault(source: S, error: unknown): void;
  /**
   * Leaves a source out while another one is left, until `recheck` passes, which runs each minute. Of one that names another
   * chain it is enough to tell as a fault: it comes back when it names the right one.
   */
  exclude(source: S, error: unknown, recheck?: () => Promise<void>): void;
  health(): readonly SourceHealth[];
}

export interface SourcesConfig<S extends Source> {
  /** Makes the source of each URL, in the order of preference; at least one. */
  readonly createSources: readonly ((notes: SourceNotes) => S)[];
  /** Asks one source for its newest block. */
  readonly readHead: (source: S, options: AskOptions) => Promise<ShownHead>;
  /** Usual time between blocks. */
  readonly blockTimeMs: number;
  /** See NetworkConfig. */
  readonly aloneAfterSeconds?: number | 'never' | undefined;
  /** See NetworkConfig. */
  readonly headStaleSeconds?: number | undefined;
  /** From sending a request to the last byte of its answer. @default 5000 */
  readonly requestTimeoutMs?: number | undefined;
  /** For alarms: told when somebody next asks after the change. */
  readonly onSourceChange?: ((change: SourceChange) => void) | undefined;
  /** Monotonic milliseconds. @default performance.now */
  readonly nowMs?: (() => number) | undefined;
  /** @default Date.now */
  readonly epochMs?: (() => number) | undefined;
  /** In [0, 1). @default Math.random */
  readonly random?: (() => number) | undefined;
}

const REQUEST_TIMEOUT_MS = 5_000;

/** Opens nothing until the first call. Throws TypeError without an endpoint. */
export function createSources<S extends Source>(config: SourcesConfig<S>): Sources<S> {
  if (config.createSources.length === 0) throw new TypeError('a network needs at least one URL');
  const nowMs = config.nowMs ?? (() => performance.now());
  const epochMs = config.epochMs ?? Date.now;
  const random = config.random ?? Math.random;
  const { blockTimeMs, headStaleSeconds } = config;
  const staleSeconds = headStaleSecondsOf({
    blockTimeMs,
    ...(headStaleSeconds === undefined ? {} : { headStaleSeconds }),
  });
  const heads = createHeadWatch({ blockTimeMs, staleSeconds, nowMs, epochSeconds: () => epochMs() / 1_000 });
  const entries = config.createSources.map((createSource, place) =>
    createSourceEntry(place, createSourceRecord({ nowMs, random }), createSource),
  );
  const ranking = createRanking({ entries, heads, nowMs, onSourceChange: config.onSourceChange });
  const alone = createAloneRule({ entries, heads, nowMs, aloneAfterSeconds: config.aloneAfterSeconds });
  const probe = createHeadProbe({ entries, ranking, heads, nowMs, readHead: config.readHead });
  const budget = createHedgeBudget(config.requestTimeoutMs ?? REQUEST_TIMEOUT_MS);
  const bySource = new Map(entries.map((entry) => [entry.source, entry]));
  const known = (source: S): SourceEntry<S> => {
    const entry = bySource.get(source);
    if (entry === undefined) throw new TypeError('the source is not one of these');
    return entry;
  };

  return {
    run(work, options = {}) {
      probe();
      return runRanked(ranking.ranked(), budget, work, options);
    },
    usable: () => ranking.usable().map(({ source }) => source),
    witnesses: () => ranking.witnesses().map(({ source }) => source),
    mayStandAlone: (source) => entries.length === 1 || alone.isAlone(known(source)),
    againInMs() {
      const rests = entries.flatMap(({ record, excludedSinceMs }) =>
        excludedSinceMs === undefined && record.failingSinceMs() !== undefined
          ? [record.restingUntilMs() - nowMs()]
          : [],
      );
      if (rests.some((ms) => ms <= 0)) return undefined;
      const alones = entries.flatMap((entry) => alone.aloneInMs(entry) ?? []);
      const ahead = [...rests, ...alones].filter((ms) => ms > 0 && ms < Infinity);
      return ahead.length === 0 ? undefined : Math.min(...ahead);
    },
    noteCompleteness(source, isComplete) {
      const entry = known(source);
      entry.lackingSinceMs = isComplete ? undefined : (entry.lackingSinceMs ?? nowMs());
    },
    all: () => entries.map(({ source }) => source),
    async readHead(source, options = {}) {
      const head = await config.readHead(source, options);
      heads.note(known(source).place, head);
      return head;
    },
    noteHead: (source, header) => heads.note(known(source).place, header),
    headShownMsAgo: (source) => nowMs() - heads.notedAtMs(known(source).place),
    noteFault: (source, error) => known(source).noteFailure(error),
    exclude(source, error, recheck) {
      const entry = known(source);
      if (isReaderError(error, 'WRONG_CHAIN')) entry.noteFailure(error);
      else Object.assign(entry, { excludedSinceMs: entry.excludedSinceMs ?? nowMs(), recheck });
    },
    health: () =>
      entries.map((entry) => ({
        ...plainHealthOf(entry, ranking.troubleOf(entry)),
        failingSinceSeconds: epochSecondsOf(alone.failingSinceMs(entry), epochMs() - nowMs()),
        isAlone: alone.isAlone(entry),
        headLagBlocks: heads.lagBlocks(entry.place),
      })),
  };
}

function plainHealthOf<S extends Source>(
  { place, source, record }: SourceEntry<S>,
  trouble: SourceHealth['trouble'],
): Omit<SourceHealth, 'failingSinceSeconds' | 'isAlone' | 'headLagBlocks'> {
  const [score, lastErrorCode] = [record.score(), record.lastErrorCode()];
  return { place, label: source.label, usable: trouble === null, trouble, score, lastErrorCode };
}

function epochSecondsOf(monotonicMs: number | undefined, offsetMs: number): number | null {
  return monotonicMs === undefined ? null : Math.floor((offsetMs + monotonicMs) / 1_000);
}

async function runRanked<S extends Source, T>(
  order: readonly SourceEntry<S>[],
  budget: HedgeBudget,
  work: (source: S, options: AskOptions) => Promise<T>,
  { signal, hedge = false }: RunOptions,
): Promise<T> {
  const tooSlow: SourceEntry<S>[] = [];
  const start = (entries: readonly SourceEntry<S>[], hurried: boolean): Promise<T> =>
    runOnSources({
      order: entries,
      signal,
      work: (entry, own) => work(entry.source, { ...(own === undefined ? {} : { signal: own }), hurried }),
      onFailure(entry, error) {
        entry.noteFailure(error);
        if (isReaderError(error, 'RPC_RATE_LIMITED') && error.context['tooSlow'] === true)
          tooSlow.push(entry);
      },
      onSuccess({ source }, durationMs) {
        if (hedge) budget.noteDuration(source, durationMs);
      },
      ...(hedge && entries.length > 1
        ? { hedge: { afterMs: ({ source }: SourceEntry<S>) => budget.afterMs(source), take: budget.take } }
        : {}),
    });
  if (hedge) budget.noteRun();
  if (order.length === 1) return start(order, false);
  try {
    return await start(order, true);
  } catch (error) {
    // Some were not asked: at their rate the calls take longer than usual. When nobody else has answered it is worth it.
    if (tooSlow.length === 0 || signal?.aborted === true || !mayBeBetterElsewhere(error)) throw error;
    return start(
      tooSlow.toSorted((x, y) => x.source.waitMs() - y.source.waitMs()),
      false,
    );
  }
}
