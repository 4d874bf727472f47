import type { OpsErrorCode } from '@opentill/contracts/ops/errors';
import { GatewayError } from '@opentill/domain/gateway-error';

/** What one operator may have looked for at the same time. */
const READS_PER_OPERATOR = 4;

/** Runs what an operator wants to look at. @throws GatewayError TOO_MANY_REQUESTS when too much of his is under way */
export type LimitReads = <T>(operatorId: string, read: () => Promise<T>) => Promise<T>;

/** Bounds what one operator takes of the connections for reading, so that the others have some. */
export function createLimitReads(): LimitReads {
  const underWay = new Map<string, number>();
  return async (operatorId, read) => {
    const before = underWay.get(operatorId) ?? 0;
    if (before >= READS_PER_OPERATOR) {
      throw new GatewayError<OpsErrorCode>(
        'TOO_MANY_REQUESTS',
        `You are looking for ${before} things at once; wait for one of them.`,
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
