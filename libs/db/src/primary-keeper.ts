import type pg from 'pg';
import { hostOf, urlPerHost } from '@opentill/contracts/server-url';
import { findPrimary, isPrimaryConflict, type Primary } from './find-primary.ts';
import { createServerHistory, readServerState, unavailable } from './server-state.ts';

export interface PrimaryNews {
  readonly host: string;
  readonly timeline: number | undefined;
  /** Other hosts that accept writes. */
  readonly conflicts: readonly string[];
}

export interface PrimaryKeeperOptions {
  readonly url: string;
  readonly applicationName: string;
  readonly limitMs: number;
  /** Pause between searches for a newer primary while the known one works, if the URL has several hosts. */
  readonly watchMs: number;
  readonly onPrimary?: ((news: PrimaryNews) => void) | undefined;
  /** A newer timeline was seen: sessions of older ones must end. */
  readonly onNewTimeline: () => void;
}

/** Knows which host a pool's connections go to. With one host it only verifies connections. */
export interface PrimaryKeeper {
  /** The URL names one host. */
  readonly isAlone: boolean;
  /** The URL for a new connection. Concurrent callers share one search. */
  find(): Promise<string>;
  /** A connection failed or became read-only: the next `find` searches. */
  lost(): void;
  /** For each new connection, before its first use. @throws GatewayError DATABASE_UNAVAILABLE */
  verify(client: pg.ClientBase): Promise<void>;
  /** True if the session's server is of an older timeline than the newest. */
  isSuperseded(client: pg.ClientBase): boolean;
  stop(): void;
}

export function keepPrimary(options: PrimaryKeeperOptions): PrimaryKeeper {
  const { applicationName, limitMs } = options;
  const urls = urlPerHost(options.url);
  const history = createServerHistory();
  const timelines = new WeakMap<pg.ClientBase, number | undefined>();
  let known: string | undefined = urls.length === 1 ? options.url : undefined;
  let reported = '';
  let searching: Promise<string> | undefined;
  let watch: NodeJS.Timeout | undefined;

  function report({ url, state, conflicts }: Primary): void {
    const news = { host: hostOf(url), timeline: state.timeline, conflicts };
    if (JSON.stringify(news) === reported) return;
    reported = JSON.stringify(news);
    options.onPrimary?.(news);
  }

  async function search(): Promise<string> {
    try {
      const primary = await findPrimary({ urls, applicationName, limitMs, history });
      if (history.record(primary.state)) options.onNewTimeline();
      report(primary);
      known = primary.url;
      return known;
    } finally {
      searching = undefined;
    }
  }

  if (urls.length > 1) {
    watch = setInterval(
      () => {
        if (known === undefined) return;
        (searching ??= search()).catch((error: unknown) => {
          // The next connection reports it. Otherwise the known primary may be only busy.
          if (isPrimaryConflict(error)) known = undefined;
        });
      },
      options.watchMs * (0.75 + Math.random() / 2),
    );
    watch.unref();
  }

  return {
    isAlone: urls.length === 1,
    find: async () => known ?? (searching ??= search()),
    lost() {
      if (urls.length > 1) known = undefined;
    },
    async verify(client) {
      const state = await readServerState(client);
      const refusal = history.refusalOf(state);
      if (refusal !== undefined) throw unavailable(`the database server is refused: ${refusal}`);
      const isNew = history.record(state);
      timelines.set(client, state.timeline);
      if (isNew) options.onNewTimeline();
    },
    isSuperseded(client) {
      const timeline = timelines.get(client);
      return timeline !== undefined && history.timeline !== undefined && timeline < history.timeline;
    },
    stop: () => clearInterval(watch),
  };
}
