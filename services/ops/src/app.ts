import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Database } from '@opentill/db/database';
import { announcePresence } from '@opentill/db/presence';
import type { Clock } from '@opentill/runtime/clock';
import type { Checks } from '@opentill/runtime/health';
import type { NewId } from '@opentill/runtime/ids';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import { createAssets } from './assets.ts';
import { createAuthenticate } from './authenticate.ts';
import { createSendCsv } from './exports/send-csv.ts';
import { createLimitReads } from './limit-reads.ts';
import { createObserve } from './observe.ts';
import { allHandlers } from './operations/all-handlers.ts';
import { createPerform } from './perform.ts';
import { buildRouter } from './routes/build-router.ts';
import { createOpsServer } from './server.ts';
import { databaseAnswers } from './store/database-answers.ts';

export interface OpsAppDeps {
  /** Serves authentication and acts, which reads must not delay. The caller closes it. */
  readonly database: Database;
  /** The same role, for reads, with a statement timeout of a few seconds. */
  readonly readDatabase: Database;
  /** The same role; the first row of an export may take long. */
  readonly exportDatabase: Database;
  readonly networks: readonly NetworkConfig[];
  readonly secretsKey: Buffer;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly wakeRelay: () => void;
  readonly brokerConnected: () => boolean;
  readonly instance: string;
  readonly port: number;
  readonly host: string;
}

export interface OpsApp {
  /** Listens even if the database is down. Resolves with the port. */
  start(): Promise<number>;
  stop(): Promise<void>;
  readonly checks: Checks;
}

const STOP_GRACE_MS = 6_000;

export function createApp(deps: OpsAppDeps): OpsApp {
  const { database, newId, clock } = deps;
  const observe = createObserve(deps);
  const authenticate = createAuthenticate(database.kysely, observe);
  const sendCsv = createSendCsv();
  const handlers = allHandlers({
    db: deps.readDatabase.kysely,
    exportDb: deps.exportDatabase.kysely,
    assets: createAssets(deps.networks),
    secretsKey: deps.secretsKey,
    clock,
    newId,
  });
  const perform = createPerform({ database, authenticate, observe, wakeRelay: deps.wakeRelay });
  const limitReads = createLimitReads();
  const router = buildRouter({ handlers, authenticate, perform, sendCsv, limitReads, observe, newId });
  const server = createOpsServer(router, observe);
  let presence: ReturnType<typeof announcePresence> | undefined;

  return {
    checks: {
      database: async () => {
        await databaseAnswers(database.kysely);
        return { ok: true };
      },
      broker: async () => ({
        ok: true,
        detail: deps.brokerConnected() ? 'connected' : 'not connected, events wait',
      }),
    },
    async start() {
      const port = await server.listen(deps.port, deps.host);
      presence = announcePresence({
        db: database.kysely,
        schema: 'ops',
        instance: deps.instance,
        onError: observe.presenceFailed,
      });
      observe.listening(port);
      return port;
    },
    async stop() {
      await server.close(STOP_GRACE_MS);
      await presence?.stop();
    },
  };
}
