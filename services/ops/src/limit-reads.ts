import type { OpsErrorCode } from '@opentill/contracts/ops/errors';
import { GatewayError } from '@opentill/domain/gateway-error';

const READS_PER_OPERATOR = 4;

/** @throws GatewayError TOO_MANY_REQUESTS when too many reads of the operator are running */
export type LimitReads = <T>(operatorId: string, read: () => Promise<T>) => Promise<T>;

/** One operator must not use all read connections. */
export function createLimitReads(): LimitReads {
  const underWay = new Map<string, number>();
  return async (operatorId, read) => {
    const before = underWay.get(operatorId) ?? 0;
    if (before >= READS_PER_OPERATOR) {
      throw new GatewayError<OpsErrorCode>(
        'TOO_MANY_REQUESTS',
        `You have ${before} reads in progress. Wait for one of them.`,
        { retryable: true, context: { retryAfterSeconds: 1 } },
      );
    }
    underWay.set(operatorId, before + 1);
    try {
      return await read();
    } finally {
      const left = (underWay.get(operatorId) ?? 1) - 1;
      if (left === 0) underWay.delete(operatorId);
      else underWay.set(operatorId, left);
    }
  };
}
