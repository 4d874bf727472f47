import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { networkKindOf } from '@opentill/contracts/network-kind';
import type { Database } from '@opentill/db/database';
import { isDatabaseUnavailable } from '@opentill/db/database';
import type { Family } from '@opentill/domain/chains';
import type { Clock } from '@opentill/runtime/clock';
import type { Checks } from '@opentill/runtime/health';
import type { NewId } from '@opentill/runtime/ids';
import type { Logger } from '@opentill/runtime/logger';
import { startLoop, type Loop } from '@opentill/runtime/loop';
import type { Metrics } from '@opentill/runtime/metrics';
import type { WalletPublicKeys } from '@opentill/wallet/public-keys';
import { createAssetBook } from './asset-book.ts';
import { createCheckoutPage, type CheckoutDesign } from './checkout-page.ts';
import { createChainReadiness } from './chain-readiness.ts';
import { createDepositAddressPool } from './deposit-address-pool.ts';
import { docsFactsOf } from './docs/docs-facts.ts';
import { createMerchantBook } from './merchant-book.ts';
import { createObserve, observeLoad } from './observe.ts';
import { createOrderStreams, type StreamLimits } from './order-streams.ts';
import { createRateLimits } from './rate-limits.ts';
import { answerReadiness, apiChecks, gatewayChecks, type ReadinessDeps } from './readiness.ts';
import { buildRouter, type RouterDeps } from './routes/build-router.ts';
import { streamed } from './routes/order-events.ts';
import { createApiServer } from './server.ts';
import { createStore } from './store/create-store.ts';
import { createRegistrationWatch } from './watch-registrations.ts';

export interface ApiDeps {
  /** Uses the role opentill_api. Stays open when the app stops. */
  readonly database: Database;
  readonly networks: readonly NetworkConfig[];
  readonly codecs: readonly AddressCodec[];
  readonly publicKeys: WalletPublicKeys;
  /** Returns deposit addresses in the order of `indexes`. Runs outside the event loop (derive-in-worker.ts). */
  readonly deriveAddresses: (family: Family, indexes: readonly number[]) => Promise<readonly Address[]>;
  readonly secretsKey: Buffer;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly wakeRelay: () => void;
  readonly brokerConnected: () => boolean;
  readonly checkout: CheckoutDesign;
  readonly settings: ApiSettings;
}

export interface ApiSettings {
  /** 0 picks a free port. */
  readonly port: number;
  readonly host: string;
  /** Without a query. */
  readonly checkoutBaseUrl: string;
  readonly trustedProxies: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly timestampWindowSeconds: number;
  readonly rateLimitStore: 'memory' | 'postgres';
  /** Number of merchants, oldest first, whose tokens are tried for a request without a merchant id. */
  readonly unnamedMerchantsMax: number;
  /** Wrong signatures of a client address per minute before its requests must name their merchant. */
  readonly unnamedFailuresMax: number;
  readonly profile: 'production' | 'local';
  readonly streamLimits: StreamLimits;
  /** Number of derived deposit addresses kept ready per family. */
  readonly addressesReady: number;
  /** Maximum wait of an order for a deposit address. @default 3 000 */
  readonly addressWaitMs?: number;
  /** See ApiServer.close. @default 0 */
  readonly drainMs?: number;
}

export interface Api {
  /** Listens even while the database is down; requests then get 503. Resolves with the port. */
  start(): Promise<number>;
  stop(): Promise<void>;
  readonly checks: Checks;
}

const MERCHANTS_READ_EVERY_MS = 3_000;
const REGISTRATIONS_READ_EVERY_MS = 10_000;
const HOUSEKEEPING_EVERY_MS = 60_000;
/** With the drain below runService's 10 s. */
const STOP_GRACE_MS = 6_000;

/** The merchant API. It opens only its port. */
export function createApp(deps: ApiDeps): Api {
  const { settings } = deps;
  const parts = createParts(deps);
  const { observe, merchants, store, pool, streams } = parts;
  const readiness: ReadinessDeps = { ...parts, brokerConnected: deps.brokerConnected };
  const answerReady = () => answerReadiness(gatewayChecks(readiness));
  const router = buildRouter({ ...parts, readiness: settings.profile === 'local' ? answerReady : undefined });
  const server = createApiServer(router, observe);
  let loops: readonly Loop[] = [];

  return {
    checks: apiChecks(readiness),
    async start() {
      await merchants.refresh().catch((error: unknown) => {
        if (!isDatabaseUnavailable(error)) throw error;
        observe.merchantsNotRead(error);
      });
      loops = [
        startLoop({
          name: 'registrations',
          intervalMs: REGISTRATIONS_READ_EVERY_MS,
          maxBackoffMs: REGISTRATIONS_READ_EVERY_MS,
          run: createRegistrationWatch(store, observe),
          onError: observe.registrationsNotRead,
        }),
        startLoop({
          name: 'merchants',
          intervalMs: MERCHANTS_READ_EVERY_MS,
          maxBackoffMs: MERCHANTS_READ_EVERY_MS,
          run: merchants.refresh,
          onError: observe.merchantsNotRead,
        }),
        startLoop({
          name: 'housekeeping',
          intervalMs: HOUSEKEEPING_EVERY_MS,
          run: () => store.deleteExpired(),
          onError: observe.housekeepingFailed,
        }),
      ];
      pool.start();
      streams.start();
      const port = await server.listen(settings.port, settings.host);
      observe.listening(port);
      return port;
    },
    async stop() {
      await streams.stop(); // open streams would keep the server open
      await server.close(STOP_GRACE_MS, settings.drainMs);
      await Promise.all([pool.stop(), ...loops.map((loop) => loop.stop())]);
    },
  };
}

function createParts(deps: ApiDeps): Omit<RouterDeps, 'readiness'> {
  const { database, settings, clock, newId } = deps;
  const observe = createObserve(deps);
  const store = createStore(database.kysely, deps.networks);
  const assets = createAssetBook(deps.networks, deps.codecs);
  const merchants = createMerchantBook({
    store,
    secretsKey: deps.secretsKey,
    observe,
    nowMs: () => performance.now(),
    unnamedMax: settings.unnamedMerchantsMax,
  });
  const pool = createDepositAddressPool({
    families: assets.enabledFamilies,
    reserveIndexes: store.reserveDepositIndexes,
    derive: deps.deriveAddresses,
    observe,
    target: settings.addressesReady,
    ...(settings.addressWaitMs === undefined ? {} : { waitMs: settings.addressWaitMs }),
  });
  const streams = createOrderStreams({
    store,
    observe,
    limits: settings.streamLimits,
    read: async ({ merchantId, orderId }) => {
      const order = await store.findOrder(merchantId, orderId);
      return order === undefined ? undefined : streamed({ assets, clock }, order);
    },
  });
  observeLoad(deps.metrics, { database, pool, families: assets.enabledFamilies, streams });
  const limits = createRateLimits(settings.rateLimitStore === 'memory' ? 'memory' : database.kysely);
  const local = settings.profile === 'local';
  return {
    store,
    assets,
    merchants,
    pool,
    limits,
    clock,
    newId,
    observe,
    streams,
    checkoutPage: createCheckoutPage(deps.checkout, settings.checkoutBaseUrl),
    docs: docsFactsOf({ ...settings, networks: deps.networks, merchants }),
    chains: createChainReadiness(store),
    timestampWindowSeconds: settings.timestampWindowSeconds,
    unnamedFailuresMax: settings.unnamedFailuresMax,
    explainSignatures: networkKindOf(deps.networks) === 'test',
    checkoutBaseUrl: settings.checkoutBaseUrl,
    hotWallets: new Map(
      Object.entries(deps.publicKeys.families).map(([name, keys]) => [name, keys.hotWallets]),
    ),
    wakeRelay: deps.wakeRelay,
    allowHttpReturnUrl: local,
    strictTransportSecurity: !local,
    trustedProxies: settings.trustedProxies,
    corsOrigins: settings.corsOrigins,
  };
}
