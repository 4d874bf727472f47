import { GatewayError } from '@opentill/domain/gateway-error';
import { composeRates } from '@opentill/rates/compose';
import { createObserve } from '@opentill/rates/observe';
import { systemClock } from '@opentill/runtime/clock';
import { createLogger, type Logger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import type { Compose } from '@opentill/runtime/run-process';

const INTERVAL_MS = 30_000;

/**
 * Payments need no rates. A mistake in their variables therefore leaves out this service only, with a line in the log.
 * Rates then expire, the api rejects orders with a price, and the age of the rates raises its alert.
 */
export function composeRatesOrNone(
  logger: Logger = createLogger({ service: 'rates', level: 'error' }),
): Compose {
  return async (env, context) => {
    try {
      return await composeRates(env, context);
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'CONFIG_INVALID') throw error;
      logger.error('rates are left out', { error });
      const metrics = createMetrics('rates', { ofProcess: !context.sharesProcess });
      createObserve({ logger, metrics, clock: systemClock, settings: { pollIntervalMs: INTERVAL_MS } });
      return { checks: {}, metrics, health: { port: 0, host: '127.0.0.1' }, stop: async () => undefined };
    }
  };
}
