import type pg from 'pg';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { DatabaseErrorCode } from './database-error.ts';

/** A server's own description of itself, read once per connection. */
export interface ServerState {
  readonly writable: boolean;
  /** Distinguishes two servers from two ways to one server, for example two poolers. */
  readonly startedAt: string;
  /** The same for a primary and its standbys. Undefined where the provider hides it. */
  readonly systemId: string | undefined;
  /** Grows with each promotion. Undefined on a standby, or where the provider hides it. */
  readonly timeline: number | undefined;
}

const STATE = `
  select current_setting('transaction_read_only') = 'off' and not pg_is_in_recovery() as writable,
    pg_postmaster_start_time()::text as "startedAt"`;
/** The control file still has the old timeline right after a promotion; a WAL file's name has the new one. */
const HISTORY = `
  select (select system_identifier::text from pg_control_system()) as "systemId",
    case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end as timeline`;

export async function readServerState(client: Pick<pg.Client, 'query'>): Promise<ServerState> {
  const { rows } = await client.query<Omit<ServerState, 'systemId' | 'timeline'>>(STATE);
  const [state] = rows;
  if (state === undefined) throw new Error('Postgres returned no state');
  if (!state.writable) return { ...state, systemId: undefined, timeline: undefined };
  const history = await client
    .query<{ systemId: string; timeline: string | null }>(HISTORY)
    .catch((error: { readonly code?: string }) => {
      if (isHidden(error.code)) return undefined;
      throw error;
    });
  const { systemId, timeline } = history?.rows[0] ?? {};
  const hasTimeline = typeof timeline === 'string';
  return { ...state, systemId, timeline: hasTimeline ? Number.parseInt(timeline, 16) : undefined };
}

/** No permission, no such function, not supported: some providers' Postgres. */
function isHidden(code: string | undefined): boolean {
  return code === '42501' || code === '42883' || code === '0A000';
}

/** Servers that this process must not write to, because a newer primary exists. In memory only. */
export interface ServerHistory {
  /** Undefined if the server may be used; else the reason. Does not record it. */
  refusalOf(state: ServerState): string | undefined;
  /** @returns true if the server's timeline is newer than all before */
  record(state: ServerState): boolean;
  readonly timeline: number | undefined;
}

export function createServerHistory(): ServerHistory {
  let systemId: string | undefined;
  let newest: number | undefined;
  return {
    refusalOf(state) {
      if (!state.writable) return 'it is read-only (a standby, or default_transaction_read_only)';
      if (systemId !== undefined && state.systemId !== undefined && state.systemId !== systemId)
        return `it belongs to another database cluster (system identifier ${state.systemId}, before ${systemId}); if you replaced the cluster, restart this service`;
      if (newest !== undefined && state.timeline !== undefined && state.timeline < newest)
        return `it is an old primary (timeline ${state.timeline}, the newest is ${newest}); stop it, then make it a standby with pg_rewind`;
      return undefined;
    },
    record(state) {
      systemId ??= state.systemId;
      if (state.timeline === undefined || state.timeline <= (newest ?? 0)) return false;
      const isNewer = newest !== undefined;
      newest = state.timeline;
      return isNewer;
    },
    get timeline() {
      return newest;
    },
  };
}

export function unavailable(
  message: string,
  cause?: unknown,
  context: Readonly<Record<string, unknown>> = {},
): GatewayError<DatabaseErrorCode> {
  return new GatewayError<DatabaseErrorCode>('DATABASE_UNAVAILABLE', message, {
    retryable: true,
    context,
    cause,
  });
}
