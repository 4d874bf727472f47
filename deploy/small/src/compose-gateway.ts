import { composeApi } from '@opentill/api/compose';
import { composeTracker } from '@opentill/confirmation-tracker/compose';
import { composeOps } from '@opentill/ops/compose';
import { readConfig } from '@opentill/runtime/config';
import { createMetrics, joinMetrics } from '@opentill/runtime/metrics';
import type { Compose, ComposedService } from '@opentill/runtime/run-process';
import type { Checks } from '@opentill/runtime/health';
import { composeScanner as composeScannerEvm } from '@opentill/scanner-evm/compose';
import { composeScanner as composeScannerSui } from '@opentill/scanner-sui/compose';
import { composeScanner as composeScannerTron } from '@opentill/scanner-tron/compose';
import { composeWebhookSender } from '@opentill/webhook-sender/compose';
import { composeRatesOrNone } from './compose-rates.ts';
import { environmentOf, type SmallService } from './environment-of.ts';
import { refuseKeystore } from './refuse-keystore.ts';

/** Each service keeps its own database role, broker user, pool, outbox and checks. */
const PARTS: Readonly<Partial<Record<SmallService, Compose>>> = {
  api: composeApi,
  'scanner-evm': composeScannerEvm,
  'scanner-tron': composeScannerTron,
  'scanner-sui': composeScannerSui,
  'confirmation-tracker': composeTracker,
  'webhook-sender': composeWebhookSender,
  rates: composeRatesOrNone(),
  ops: composeOps,
};

interface HealthVariables {
  readonly HEALTH_PORT: number;
  readonly HEALTH_HOST: string;
}

const GATEWAY_CONFIG_SCHEMA = {
  properties: {
    HEALTH_PORT: { type: 'integer', minimum: 0, maximum: 65_535, default: 3020 },
    HEALTH_HOST: { type: 'string', minLength: 1, default: '127.0.0.1' },
  },
} as const;

/**
 * Public process: every service except the signer, with one health port for all. They start and stop together. An
 * error that ends one ends the process; compose-rates.ts has the exception.
 * @throws GatewayError CONFIG_INVALID, KEYSTORE_IN_REACH, and the services' errors
 */
export const composeGateway: Compose = async (env, { fail }) => {
  const { HEALTH_PORT: port, HEALTH_HOST: host } = readConfig<HealthVariables>(GATEWAY_CONFIG_SCHEMA, env);
  refuseKeystore(env);
  const parts = await startTogether(
    Object.entries(PARTS).map(async ([name, compose]) => {
      const service = name as SmallService;
      return [name, await compose(environmentOf(service, env), { fail, sharesProcess: true })] as const;
    }),
  );
  return {
    checks: () => sumOfChecks(parts.map(([name, { checks }]) => [name, checks])),
    liveness: () => sumOfChecks(parts.map(([name, { liveness = {} }]) => [name, liveness])),
    metrics: joinMetrics([createMetrics('gateway'), ...parts.map(([, { metrics }]) => metrics)]),
    health: { port, host },
    stop: async () => stopTogether(parts),
  };
};

type Part = readonly [name: string, service: ComposedService];

async function startTogether(starting: readonly Promise<Part>[]): Promise<readonly Part[]> {
  const results = await Promise.allSettled(starting);
  const parts = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed === undefined) return parts;
  await stopTogether(parts);
  throw failed.reason;
}

async function stopTogether(parts: readonly Part[]): Promise<void> {
  const results = await Promise.allSettled(parts.map(async ([, service]) => service.stop()));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** Prefixes checks with the service: `api: database`. */
function sumOfChecks(parts: readonly (readonly [name: string, checks: ComposedService['checks']])[]): Checks {
  return Object.fromEntries(
    parts.flatMap(([name, checks]) =>
      Object.entries(typeof checks === 'function' ? checks() : checks).map(
        ([check, run]) => [`${name}: ${check}`, run] as const,
      ),
    ),
  );
}
