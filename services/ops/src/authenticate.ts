import { RateLimiterMemory } from 'rate-limiter-flexible';
import {
  findOperatorsByTokens,
  operatorIdOfToken,
  type OfToken,
  type Operator,
} from '@opentill/db/operators';
import type { Db } from '@opentill/db/database';
import { GatewayError } from '@opentill/domain/gateway-error';
import { batchCalls } from '@opentill/runtime/batch-calls';
import type { OpsErrorCode } from '@opentill/contracts/ops/errors';
import type { Exchange } from './exchange.ts';
import type { Observe } from './observe.ts';
import { opsError } from './ops-error.ts';

/** Requests without a valid token, per client address. Further ones get 429. */
const FAILURES_PER_MINUTE = 10;
/** Per operator; more than the API has acts. */
const FORBIDDEN_PER_MINUTE = 60;
const WINDOW_SECONDS = 60;
/** As many as the server has connections. */
const TOKENS_PER_LOOK_UP = 200;

export interface Authenticate {
  /** Stores the operator in the exchange, even if rejected. @throws GatewayError UNAUTHENTICATED, TOO_MANY_REQUESTS */
  operatorOf(exchange: Exchange, authorization: string | undefined): Promise<Operator>;
  /** @throws GatewayError TOO_MANY_REQUESTS */
  countForbidden(operatorId: string): Promise<void>;
}

/**
 * An attacker behind the same proxy must not lock an operator out of the kill switch. So only failures count against an
 * address, and well-formed tokens are looked up first, in batches of one statement. Counters are in memory, per
 * replica.
 */
export function createAuthenticate(db: Db, observe: Observe): Authenticate {
  const failures = new RateLimiterMemory({ points: FAILURES_PER_MINUTE, duration: WINDOW_SECONDS });
  const forbidden = new RateLimiterMemory({ points: FORBIDDEN_PER_MINUTE, duration: WINDOW_SECONDS });
  const lookUp = batchCalls<string, OfToken>({
    runTogether: (tokens) => findOperatorsByTokens(db, tokens),
    failedWhole: () => false,
    runsAtOnce: 1,
    inputsPerRun: TOKENS_PER_LOOK_UP,
  });

  /** Beyond the address' limit it answers 429 and does not log. */
  async function fail(exchange: Exchange, why: string, message: string, operatorId?: string): Promise<never> {
    const failed = await failures.get(exchange.clientAddress);
    if (failed !== null && failed.consumedPoints >= FAILURES_PER_MINUTE) {
      throw tooMany(failed.msBeforeNext, 'Too many requests without a valid token came from this address.');
    }
    await failures.consume(exchange.clientAddress).catch(() => undefined); // rejects only beyond the limit
    observe.notAuthenticated(exchange, why, operatorId);
    throw opsError('UNAUTHENTICATED', message);
  }

  return {
    async operatorOf(exchange, authorization) {
      const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
      const claimed = operatorIdOfToken(token);
      if (claimed === undefined) {
        const why = token === '' ? 'no token' : 'no token of an operator';
        const message = 'Send an operator’s token in the header Authorization: Bearer <token>.';
        return fail(exchange, why, message);
      }
      const { operator } = await lookUp(token);
      if (operator === undefined) {
        return fail(exchange, 'unknown token', 'The token is unknown or was replaced.', claimed);
      }
      exchange.operator = operator;
      if (operator.disabledAt !== null) {
        return fail(exchange, 'disabled', 'The operator of this token is disabled.', operator.operatorId);
      }
      return operator;
    },
    async countForbidden(operatorId) {
      const state = await forbidden.get(operatorId);
      if (state !== null && state.consumedPoints >= FORBIDDEN_PER_MINUTE) {
        throw tooMany(state.msBeforeNext, 'Too many acts that your role does not permit.');
      }
      await forbidden.consume(operatorId).catch(() => undefined);
    },
  };
}

function tooMany(msBeforeNext: number, message: string): GatewayError<OpsErrorCode> {
  const retryAfterSeconds = Math.max(1, Math.ceil(msBeforeNext / 1_000));
  return new GatewayError<OpsErrorCode>('TOO_MANY_REQUESTS', `${message} Wait ${retryAfterSeconds} s.`, {
    retryable: true,
    context: { retryAfterSeconds },
  });
}
