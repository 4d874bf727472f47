import { randomUUID } from 'node:crypto';
import autocannon from 'autocannon';
import { signedCollection } from './signed-request.ts';

/** Figures of one run against one server. */
export interface CreationFigures {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers other than 200; a run with any is worth nothing. */
  readonly refused: number;
}

export interface CreationLoad {
  readonly url: string;
  readonly token: string;
  readonly connections: number;
  readonly durationSeconds: number;
}

/** Loads createCollection with signed requests for orders of their own, each from another client address. */
export async function measureCreation(load: CreationLoad): Promise<CreationFigures> {
  const run = randomUUID().slice(0, 8);
  let sent = 0;
  const result = await autocannon({
    url: load.url,
    connections: load.connections,
    duration: load.durationSeconds,
    requests: [
      {
        method: 'POST',
        path: '/v1/order/createCollection',
        setupRequest: (request) => {
          sent += 1;
          return {
            ...request,
            headers: {
              ...request.headers,
              'content-type': 'application/json',
              'x-forwarded-for': `10.${(sent >> 16) & 255}.${(sent >> 8) & 255}.${sent & 255}`,
            },
            body: signedCollection(load.token, `${run}-${sent}`),
          };
        },
      },
    ],
  });
  return {
    requestsPerSecond: result.requests.average,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    refused: result.non2xx + result.errors,
  };
}
