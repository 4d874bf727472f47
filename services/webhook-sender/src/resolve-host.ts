import { lookup } from 'node:dns/promises';
import { GatewayError } from '@opentill/domain/gateway-error';

export type ResolveErrorCode =
  /** The resolver did not answer in time. */
  'LOOKUP_TIMEOUT';

const LOOKUP_TIMEOUT_MS = 3_000;

/**
 * Every address of a host name, by the system's resolver.
 * @throws GatewayError LOOKUP_TIMEOUT, or the resolver's own error
 */
export async function resolveHostBySystem(hostname: string): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(
        new GatewayError<ResolveErrorCode>('LOOKUP_TIMEOUT', `${hostname} was not resolved in time`, {
          retryable: true,
        }),
      );
    }, LOOKUP_TIMEOUT_MS);
  });
  try {
    const found = await Promise.race([lookup(hostname, { all: true }), timeout]);
    return found.map(({ address }) => address);
  } finally {
    clearTimeout(timer);
  }
}
