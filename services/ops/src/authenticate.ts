import { RateLimiterMemory } from 'rate-limiter-flexible';
import {
  findOperatorByToken,
  hashOperatorToken,
  operatorIdOfToken,
  type Operator,
} from '@opentill/db/operators';
import type { Db } from '@opentill/db/database';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { OpsErrorCode } from '@opentill/contracts/ops/errors';
import type { Exchange } from './exchange.ts';
import type { Observe } from './observe.ts';
import { refuse } from './refuse.ts';

/** Requests without a valid token that a client address may make in a minute before it is told to wait. */
const FAILURES_PER_MINUTE = 10;
/** Acts beyond his role that an operator may try in a minute. */
const FORBIDDEN_PER_MINUTE = 30;
const WINDOW_SECONDS = 60;
/** Tokens that were good once are asked of the database also from an address that is being slowed down. */
const KNOWN_TOKENS_MAX = 1_000;

export interface Authenticate {
  /** Whose request it is; from then on the exchange names him, also if he is refused. @throws GatewayError UNAUTHENTICATED, TOO_MANY_REQUESTS */
  operatorOf(exchange: Exchange, authorization: string | undefined): Promise<Operator>;
  /** Counts what an operator was forbidden. @throws GatewayError TOO_MANY_REQUESTS */
  countForbidden(operatorId: string): Promise<void>;
}

/**
 * Tells operators by their tokens. A token has 256 random bits and can't be guessed; the limit is for the load and the
 * log. Who guesses behind the same proxy must not keep an operator from a kill switch: so a token that was accepted by
 * this process before is asked of the database in any case. Counted in memory, by each replica for itself.
 */
export function createAuthenticate(db: Db, observe: Observe): Authenticate {
  const failures = new RateLimiterMemory({ points: FAILURES_PER_MINUTE, duration: WINDOW_SECONDS });
  const forbidden = new RateLimiterMemory({ points: FORBIDDEN_PER_MINUTE, duration: WINDOW_SECONDS });
  const known = new Set<string>();

  function remember(hash: string): void {
    known.delete(hash);
    known.add(hash);
    const [oldest] = known;
    if (known.size > KNOWN_TOKENS_MAX && oldest !== undefined) known.delete(oldest);
  }

  async function fail(exchange: Exchange, why: string, message: string, operatorId?: string): Promise<never> {
    await failures.consume(exchange.clientAddress).catch(() => undefined); // over the limit is over the limit
    observe.notAuthenticated(exchange, why, operatorId);
    throw refuse('UNAUTHENTICATED', message);
  }

  return {
    async operatorOf(exchange, authorization) {
      const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
      const hash = hashOperatorToken(token).toString('base64');
      const failed = await failures.get(exchange.clientAddress);
      if (failed !== null && failed.consumedPoints >= FAILURES_PER_MINUTE && !known.has(hash)) {
        throw tooMany(failed.msBeforeNext, 'Too many requests without a valid token came from this address.');
      }
      if (token === '') {
        return fail(
          exchange,
          'no token',
          'Send an operator’s token in the header Authorization: Bearer <token>.',
        );
      }
      const operator = await findOperatorByToken(db, token);
      if (operator === undefined) {
        return fail(
          exchange,
          'unknown token',
          'The token is not known (any more).',
          operatorIdOfToken(token),
        );
      }
      exchange.operator = operator;
      if (operator.disabledAt !== null) {
        known.delete(hash);
        return fail(exchange, 'disabled', 'The operator of this token is disabled.', operator.operatorId);
      }
      remember(hash);
      return operator;
    },
    async countForbidden(operatorId) {
      const state = await forbidden.get(operatorId);
      if (state !== null && state.consumedPoints >= FORBIDDEN_PER_MINUTE) {
        throw tooMany(state.msBeforeNext, 'Too many acts beyond your role.');
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
