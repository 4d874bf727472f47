import type pg from 'pg';
import { hostOf, urlPerHost } from '@opentill/contracts/server-url';
import { askServer, findPrimary, isPrimaryConflict, type Primary } from './find-primary.ts';
import {
  createServerHistory,
  readServerState,
  unavailable,
  type ServerHistory,
  type ServerState,
} from './server-state.ts';

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
  /** Pause between searches for a newer primary while the known one works. */
  readonly watchMs: number;
  readonly onPrimary?: ((news: PrimaryNews) => void) | undefined;
  /** The primary was seen: sessions to other servers must end. */
  readonly onSeen: () => void;
}

/**
 * Knows which server is the primary. The name of a single host can lead to another server too, for example that of a
 * Kubernetes Service, while sessions to the server before remain: a new connection finds out.
 */
export interface PrimaryKeeper {
  /** The URL names one host. */
  readonly isAlone: boolean;
  /** The URL for a new connection. Concurrent callers share one search. */
  find(): Promise<string>;
  /** A connection failed or became read-only: the next `find` searches. */
  lost(): void;
  /** For each new connection, before its first use. @throws GatewayError DATABASE_UNAVAILABLE */
  verify(client: pg.ClientBase): Promise<void>;
  /** True if the session's server is not the primary that was seen last. */
  isSuperseded(client: pg.ClientBase): boolean;
  stop(): void;
}

export function keepPrimary(options: PrimaryKeeperOptions): PrimaryKeeper {
  const { url, applicationName, limitMs } = options;
  const urls = urlPerHost(url);
  const isAlone = urls.length === 1;
  const news = createNews(isAlone, options.onPrimary);
  const history = createServerHistory();
  const servers = new WeakMap<pg.ClientBase, ServerState>();
  let current: ServerState | undefined;
  let known = isAlone ? url : undefined;
  let searching: Promise<string> | undefined;

  function seen(state: ServerState): void {
    history.record(state);
    current = state;
    options.onSeen();
  }

  async function search(): Promise<string> {
    try {
      const primary = isAlone
        ? await askOnlyHost(options, history, news)
        : await findPrimary({ urls, applicationName, limitMs, history });
      seen(primary.state);
      news.report(primary);
      known = primary.url;
      return known;
    } finally {
      searching = undefined;
    }
  }

  const watch = setInterval(
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

  return {
    isAlone,
    find: async () => known ?? (searching ??= search()),
    lost() {
      if (!isAlone) known = undefined;
    },
    async verify(client) {
      const state = await readServerState(client);
      const refusal = history.refusalOf(state);
      if (refusal !== undefined) throw unavailable(`the database server is refused: ${refusal}`);
      servers.set(client, state);
      const isNew = history.record(state);
      if (isNew) seen(state);
      if (isAlone && (isNew || news.isEmpty)) news.report({ url, state, conflicts: [] });
    },
    isSuperseded(client) {
      const server = servers.get(client);
      return server !== undefined && current !== undefined && server.startedAt !== current.startedAt;
    },
    stop: () => clearInterval(watch),
  };
}

interface News {
  readonly isEmpty: boolean;
  report(primary: Primary): void;
}

/** Reports changes. The first server behind the name of a single host is none. */
function createNews(isAlone: boolean, onPrimary: PrimaryKeeperOptions['onPrimary']): News {
  let reported: string | undefined;
  return {
    get isEmpty() {
      return reported === undefined;
    },
    report({ url, state, conflicts }) {
      const one = { host: hostOf(url), timeline: state.timeline, conflicts };
      const text = JSON.stringify(one);
      if (text === reported) return;
      const isChange = !isAlone || reported !== undefined || conflicts.length > 0;
      reported = text;
      if (isChange) onPrimary?.(one);
    },
  };
}

/** Asks once, so that an overloaded server gets no more load. Errors are those that the pool's connections report. */
async function askOnlyHost(
  { url, applicationName, limitMs }: PrimaryKeeperOptions,
  history: ServerHistory,
  news: News,
): Promise<Primary> {
  const state = await askServer(url, applicationName, limitMs);
  const refusal = history.refusalOf(state);
  if (refusal === undefined) return { url, state, conflicts: [] };
  if (state.writable) news.report({ url, state, conflicts: [`${hostOf(url)}: ${refusal}`] });
  throw unavailable(`the database server is refused: ${refusal}`);
}
