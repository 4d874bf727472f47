import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { SourceHealth } from '@opentill/chain/source-health';
import { isReaderError } from '@opentill/chain/reader-error';
import type { RpcEndpoint } from '@opentill/contracts/network-config';
import { headStaleSecondsOf } from '@opentill/contracts/network-config';
import { createEvmClient } from './client.ts';
import type { HedgeBudget } from './hedge-budget.ts';
import { createHedgeBudget } from './hedge-budget.ts';
import { createAloneRule } from './alone-rule.ts';
import { createHeadProbe } from './probe-heads.ts';
import type { AskOptions, EvmClient, RpcExchange } from './rpc-call.ts';
import { runOnSources } from './run-on-sources.ts';
import type { EvmSource, SourceEntry } from './source-entry.ts';
import { createSourceEntry } from './source-entry.ts';
import type { SourceChange } from './rank-sources.ts';
import { createRanking } from './rank-sources.ts';
import { createSourceRecord } from './source-record.ts';
import { mayBeBetterElsewhere } from './translate-rpc-error.ts';
import { createHeadWatch } from './watch-heads.ts';

export type { EvmSource, SourceChange };

export interface RunOptions extends ReadOptions {
  /** Only for work without side effects. */
  readonly hedge?: boolean;
}

/** Several URLs of one network behind one call. */
export interface EvmSources {
  /**
   * Runs `work` against the best usable source; after a fault that another may not have (mayBeBetterElsewhere) against
   * the next, each at most once, at last those that are not usable, too; then throws the error that tells most. `work`
   * hands `options` on to `source.batch`. With `hedge` a second source starts when the first has not answered in its
   * usual time; the first success wins and the other is aborted. No more than a tenth of the runs start a second one.
   */
  run<T>(work: (source: EvmSource, options: AskOptions) => Promise<T>, options?: RunOptions): Promise<T>;
  /**
   * Usable now, best first: not known for another chain, not resting, neither stuck nor behind the others, not
   * excluded. Never empty: when none is well, all of them (the excluded only when all are), the least bad first.
   */
  usable(): readonly EvmSource[];
  /**
   * Who may be asked what two must agree on, best first: the usable ones, and those behind, who may have the block all
   * the same. Never empty, likewise.
   */
  witnesses(): readonly EvmSource[];
  /**
   * Whether this source's word alone is enough: it is the only one, or every other has given no usable answer for
   * `aloneAfterSeconds` on end, while this one did.
   */
  mayStandAlone(source: EvmSource): boolean;
  /** When the next of the sources that rest may be asked, in milliseconds from now; undefined when none rests. */
  restMs(): number | undefined;
  /** Tells whether a source had the blocks below its head that it was asked for. Nodes discard old ones. */
  noteCompleteness(source: EvmSource, isComplete: boolean): void;
  /** Every source, in the order of the configuration. */
  all(): readonly EvmSource[];
  /** Tells what head a source showed; one that stays behind is not usable until it has caught up. */
  noteHead(source: EvmSource, header: { readonly height: number; readonly timeSeconds: number }): void;
  /** Tells of a fault that was found in a source's answers outside of `run`, which notes its own. */
  noteFault(source: EvmSource, error: unknown): void;
  /**
   * Leaves a source out for good, while another one is left. Of one that names another chain it is enough to tell as a
   * fault: it comes back when it names the right one.
   */
  exclude(source: EvmSource, error: unknown): void;
  health(): readonly SourceHealth[];
}

export interface EvmSourcesConfig {
  /** In the order of preference; at least one. */
  readonly endpoints: readonly RpcEndpoint[];
  /** EIP-155 id that every URL must name before its answers count. */
  readonly chainId: number;
  /** Most blocks in one eth_getLogs, whatever an endpoint allows. */
  readonly maxBlockRange: number;
  /** Usual time between blocks. */
  readonly blockTimeMs: number;
  /** See NetworkConfig. */
  readonly aloneAfterSeconds?: number | 'never';
  /** See NetworkConfig. */
  readonly headStaleSeconds?: number;
  /** From sending a request to the last byte of its answer. @default 5000 */
  readonly requestTimeoutMs?: number;
  /** A longer answer is broken off. @default 32 MiB */
  readonly answerBytesMax?: number;
  readonly onExchange?: (exchange: RpcExchange) => void;
  /** For alarms: told when somebody next asks after the change. */
  readonly onSourceChange?: (change: SourceChange) => void;
  /** Monotonic milliseconds. @default performance.now */
  readonly nowMs?: () => number;
  /** @default Date.now */
  readonly epochMs?: () => number;
  /** In [0, 1). @default Math.random */
  readonly random?: () => number;
  /** Makes the client of one URL; tests put their own here. @default createEvmClient */
  readonly createClient?: (endpoint: RpcEndpoint, onExchange: (exchange: RpcExchange) => void) => EvmClient;
}

const REQUEST_TIMEOUT_MS = 5_000;

/** Opens nothing until the first call. Throws TypeError without an endpoint. */
export function createEvmSources(config: EvmSourcesConfig): EvmSources {
  if (config.endpoints.length === 0) throw new TypeError('a network needs at least one URL');
  const nowMs = config.nowMs ?? (() => performance.now());
  const epochMs = config.epochMs ?? Date.now;
  const heads = createHeadWatch({
    blockTimeMs: config.blockTimeMs,
    staleSeconds: headStaleSecondsOf(config),
    nowMs,
    epochSeconds: () => epochMs() / 1_000,
  });
  const entries = config.endpoints.map((endpoint, place) => entryOf(config, endpoint, place, nowMs));
  const ranking = createRanking({ entries, heads, nowMs, onSourceChange: config.onSourceChange });
  const alone = createAloneRule({ entries, heads, nowMs, aloneAfterSeconds: config.aloneAfterSeconds });
  const probe = createHeadProbe({ entries, ranking, heads, nowMs });
  const budget = createHedgeBudget(config.requestTimeoutMs ?? REQUEST_TIMEOUT_MS);
  const bySource = new Map(entries.map((entry) => [entry.source, entry]));
  const known = (source: EvmSource): SourceEntry => {
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
    restMs() {
      const waits = entries.map(({ record }) => record.restingUntilMs() - nowMs()).filter((ms) => ms > 0);
      return waits.length === 0 ? undefined : Math.min(...waits);
    },
    noteCompleteness(source, isComplete) {
      const entry = known(source);
      entry.lackingSinceMs = isComplete ? undefined : (entry.lackingSinceMs ?? nowMs());
    },
    all: () => entries.map(({ source }) => source),
    noteHead: (source, header) => heads.note(known(source).place, header),
    noteFault: (source, error) => known(source).noteFailure(error),
    exclude(source, error) {
      const entry = known(source);
      if (isReaderError(error, 'WRONG_CHAIN')) entry.noteFailure(error);
      else entry.excludedSinceMs ??= nowMs();
    },
    health: () =>
      entries.map((entry) => {
        const trouble = ranking.troubleOf(entry);
        const failingSinceMs = alone.failingSinceMs(entry);
        return {
          place: entry.place,
          label: entry.source.label,
          usable: trouble === null,
          trouble,
          failingSinceSeconds:
            failingSinceMs === undefined ? null : Math.floor((epochMs() - nowMs() + failingSinceMs) / 1_000),
          isAlone: alone.isAlone(entry),
          score: entry.record.score(),
          headLagBlocks: heads.lagBlocks(entry.place),
          lastErrorCode: entry.record.lastErrorCode(),
        };
      }),
  };
}

function entryOf(
  config: EvmSourcesConfig,
  endpoint: RpcEndpoint,
  place: number,
  nowMs: () => number,
): SourceEntry {
  const { chainId, requestTimeoutMs, answerBytesMax } = config;
  const createClient =
    config.createClient ??
    (({ url, requestsPerSecond }, onExchange) =>
      createEvmClient({
        url,
        chainId,
        onExchange,
        ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
        ...(answerBytesMax === undefined ? {} : { answerBytesMax }),
        ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }),
      }));
  return createSourceEntry({
    place,
    label: new URL(endpoint.url).host,
    maxBlockRange: Math.min(config.maxBlockRange, endpoint.maxBlockRange ?? Infinity),
    record: createSourceRecord({ nowMs, random: config.random ?? Math.random }),
    nowMs,
    createClient: (onExchange) => createClient(endpoint, onExchange),
    onExchange: config.onExchange,
  });
}

async function runRanked<T>(
  order: readonly SourceEntry[],
  budget: HedgeBudget,
  work: (source: EvmSource, options: AskOptions) => Promise<T>,
  { signal, hedge = false }: RunOptions,
): Promise<T> {
  const tooSlow: SourceEntry[] = [];
  const start = (entries: readonly SourceEntry[], hurried: boolean): Promise<T> =>
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
        ? { hedge: { afterMs: ({ source }: SourceEntry) => budget.afterMs(source), take: budget.take } }
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
