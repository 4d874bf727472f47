import type { OpsErrorCode } from '@opentill/contracts/ops/errors';
import { GatewayError } from '@opentill/domain/gateway-error';

const READS_PER_OPERATOR = 4;

/** Runs a read of an operator. @throws GatewayError TOO_MANY_REQUESTS when too many of their reads are running */
export type LimitReads = <T>(operatorId: string, read: () => Promise<T>) => Promise<T>;

/** Limits the read connections that one operator may use, so that others have some. */
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
