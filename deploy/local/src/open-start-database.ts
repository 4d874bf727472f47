import { openDatabase, type Database } from '@opentill/db/database';

/** A busy machine takes longer than the default to connect, and the start would fail. */
const CONNECT_TIMEOUT_MS = 60_000;

/** One connection for the few statements of the start. */
export function openStartDatabase(url: string): Database {
  return openDatabase({
    url,
    applicationName: 'opentill-local',
    poolMax: 1,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
  });
}
