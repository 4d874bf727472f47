import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { SourceHealth } from '@opentill/chain/source-health';
import { isReaderError } from '@opentill/chain/reader-error';
import { headStaleSecondsOf } from '@opentill/contracts/network-config';
import { createSingleSourceRule } from './single-source-rule.ts';
import type { HedgeBudget } from './hedge-budget.ts';
import { createHedgeBudget } from './hedge-budget.ts';
import { isFailoverError } from './is-failover-error.ts';
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

export interface Sources<S extends Source> {
  /**
   * Runs `work` on the best usable source. After a fault that another source may not have (isFailoverError) it tries
   * the next, each at most once, and finally the unusable ones. Then it throws the most informative error. With
   * `hedge`, a second source starts when the first exceeds its usual time; the first success wins and the other is
   * aborted. At most a tenth of the runs start a second one. `work` must pass `options` to its source.
   */
  run<T>(work: (source: S, options: AskOptions) => Promise<T>, options?: RunOptions): Promise<T>;
  /**
   * Best first: not on another chain, in backoff, stuck, lagging or excluded. Never empty: when none is usable, all of
   * them, the least bad first (excluded ones only when all are excluded).
   */
  usable(): readonly S[];
  /** Best first: the usable ones and lagging ones, which may have the block. Never empty. */
  quorumSources(): readonly S[];
  /**
   * A single answer suffices: no other source is configured, or every other has given no usable answer for
   * `aloneAfterSeconds` while this one did.
   */
  acceptsSingle(source: S): boolean;
  /**
   * When to repeat a question on which two must agree: a source's backoff ends then, or a single one is accepted.
   * Undefined when no such moment is ahead, or when a failed source may be asked already.
   */
  retryInMs(): number | undefined;
  /** If a source had the requested blocks below its head. Nodes prune old ones. */
  noteCompleteness(source: S, isComplete: boolean): void;
  all(): readonly S[];
  readHead(source: S, options?: AskOptions): Promise<ShownHead>;
  /** A lagging source is not usable until it has caught up. */
  noteHead(source: S, header: { readonly height: number; readonly timeSeconds: number }): void;
  /** Infinity before the source's first head. */
  headShownMsAgo(source: S): number;
  /** For faults found outside of `run`, which records its own. */
  noteFault(source: S, error: unknown): void;
  /**
   * Excluded until `recheck` passes, which runs each minute, while another source remains. A WRONG_CHAIN error is only
   * recorded as a fault: the source returns when it reports the right chain.
   */
  exclude(source: S, error: unknown, recheck?: () => Promise<void>): void;
  health(): readonly SourceHealth[];
}

export interface SourcesConfig<S extends Source> {
  readonly createSources: readonly ((notes: SourceNotes) => S)[];
  readonly readHead: (source: S, options: AskOptions) => Promise<ShownHead>;
  readonly blockTimeMs: number;
  readonly aloneAfterSeconds?: number | 'never' | undefined;
  readonly headStaleSeconds?: number | undefined;
  /** From sending a request to the last byte of its answer. @default 5000 */
  readonly requestTimeoutMs?: number | undefined;
  /** Raise an alarm. Called at the next request after the change. */
  readonly onSourceChange?: ((change: SourceChange) => void) | undefined;
  /** Monotonic. @default performance.now */
  readonly nowMs?: (() => number) | undefined;
  /** @default Date.now */
  readonly epochMs?: (() => number) | undefined;
  /** In [0, 1). @default Math.random */
  readonly random?: (() => number) | undefined;
}

const REQUEST_TIMEOUT_MS = 5_000;

/** Throws TypeError without an endpoint. */
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
  const rule = createSingleSourceRule({ entries, heads, nowMs, aloneAfterSeconds: config.aloneAfterSeconds });
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
    quorumSources: () => ranking.quorumSources().map(({ source }) => source),
    acceptsSingle: (source) => entries.length === 1 || rule.isSingleSource(known(source)),
    retryInMs() {
      const backoffs = entries.flatMap(({ record, excludedSinceMs }) =>
        excludedSinceMs === undefined && record.failingSinceMs() !== undefined
          ? [record.backoffUntilMs() - nowMs()]
          : [],
      );
      if (backoffs.some((ms) => ms <= 0)) return undefined;
      const acceptances = entries.flatMap((entry) => rule.acceptedInMs(entry) ?? []);
      const ahead = [...backoffs, ...acceptances].filter((ms) => ms > 0 && ms < Infinity);
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
        failingSinceSeconds: epochSecondsOf(rule.failingSinceMs(entry), epochMs() - nowMs()),
        isSingleSource: rule.isSingleSource(entry),
        headLagBlocks: heads.lagBlocks(entry.place),
      })),
  };
}

function plainHealthOf<S extends Source>(
  { place, source, record }: SourceEntry<S>,
  trouble: SourceHealth['trouble'],
): Omit<SourceHealth, 'failingSinceSeconds' | 'isSingleSource' | 'headLagBlocks'> {
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
    // Sources whose rate limit makes the calls slow were skipped. No other source has answered, so use them.
    if (tooSlow.length === 0 || signal?.aborted === true || !isFailoverError(error)) throw error;
    return start(
      tooSlow.toSorted((x, y) => x.source.waitMs() - y.source.waitMs()),
      false,
    );
  }
}
