import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import type { Exchange } from './exchange.ts';

export type Observe = ReturnType<typeof createObserve>;

export function createObserve({ logger, metrics }: { readonly logger: Logger; readonly metrics: Metrics }) {
  const duration = metrics.histogram({
    name: 'opentill_ops_request_duration_seconds',
    help: 'Time from the request to its answer.',
    labelNames: ['operation', 'code'],
  });
  const acts = metrics.counter({
    name: 'opentill_ops_acts_total',
    help: 'Acts of operators in the audit log.',
    labelNames: ['operation', 'outcome'],
  });
  const failures = metrics.counter({
    name: 'opentill_ops_authentication_failures_total',
    help: 'Requests without a valid token.',
    labelNames: ['why'],
  });

  return {
    requestAnswered(exchange: Exchange, code: number): void {
      const durationMs = performance.now() - exchange.startedMs;
      const { requestId, method, operation, clientAddress, operator } = exchange;
      duration.observe({ operation, code }, durationMs / 1000);
      logger.info('request', {
        requestId,
        method,
        operation,
        code,
        durationMs: Math.round(durationMs * 1000) / 1000,
        clientAddress,
        operator: operator?.operatorId,
      });
    },
    /** The cause of a 500, a 503 or an interrupted response. */
    requestFailed(exchange: Exchange, error: unknown): void {
      const { requestId, operation } = exchange;
      logger.error('request failed', { requestId, operation, error });
    },
    acted(operation: string, outcome: 'DONE' | 'REFUSED'): void {
      acts.inc({ operation, outcome });
    },
    /** `operatorId` is the claim of the token, which is never logged. */
    notAuthenticated(exchange: Exchange, why: string, operatorId?: string): void {
      failures.inc({ why });
      const { requestId, clientAddress } = exchange;
      logger.warn('not authenticated', { requestId, clientAddress, why, claimedOperator: operatorId });
    },
    connectionRefused(reason: string): void {
      logger.info('connection refused', { reason });
    },
    presenceFailed(error: unknown): void {
      logger.warn('presence not announced', { error });
    },
    listening(port: number): void {
      logger.info('listening', { port });
    },
  };
}
