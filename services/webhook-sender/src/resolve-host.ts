import { lookup, Resolver } from 'node:dns/promises';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { ResolveHost } from './resolve-endpoint.ts';

export type ResolveErrorCode =
  | 'LOOKUP_TIMEOUT'
  | 'LOOKUP_FAILED'
  /** The name servers do not answer at all, not even for the root. The state of the name is unknown. */
  | 'RESOLVER_DOWN';

export interface HostResolverOptions {
  /**
   * Uses the operating system for single labels (a container's name) and reserved local domains. Never for public
   * names: the system's lookups share few threads with those of database and broker, and hanging names would block
   * them.
   */
  readonly localNames: boolean;
  /** `address:port`. @default the system's */
  readonly servers?: readonly string[];
  readonly timeoutMs?: number;
}

const OTHER_FAMILY_WAIT_MS = 300;
const ROOT_WAIT_MS = 1_000;
/** c-ares codes for a missing answer. */
const SILENT: ReadonlySet<string> = new Set(['ETIMEOUT', 'ECANCELLED', 'ECONNREFUSED']);
const LOCAL_NAME = /^[^.]+$|\.(localhost|local|internal|home\.arpa)$/;

/** IPv4 comes first. Concurrent lookups of one name share a query. Throws a ResolveErrorCode. */
export function createHostResolver(options: HostResolverOptions): ResolveHost {
  const underWay = new Map<string, Promise<readonly string[]>>();
  let probing: Promise<boolean> | undefined;
  const serversAnswer = () => (probing ??= queryRoot(options).finally(() => (probing = undefined)));
  return (hostname) => {
    const known = underWay.get(hostname);
    if (known !== undefined) return known;
    const asked =
      options.localNames && LOCAL_NAME.test(hostname)
        ? querySystem(hostname)
        : queryServers(hostname, options, serversAnswer);
    const found = asked.finally(() => underWay.delete(hostname));
    underWay.set(hostname, found);
    return found;
  };
}

async function querySystem(hostname: string): Promise<readonly string[]> {
  try {
    const found = await lookup(hostname, { all: true, order: 'ipv4first' });
    return found.map(({ address }) => address);
  } catch (error) {
    throw failed(hostname, error);
  }
}

/** A resolver per lookup can be cancelled by itself, and uses changed name servers. */
async function queryServers(
  hostname: string,
  options: HostResolverOptions,
  serversAnswer: () => Promise<boolean>,
): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: 1_000, tries: 2 });
  if (options.servers !== undefined) resolver.setServers(options.servers);
  const queries = [resolver.resolve4(hostname), resolver.resolve6(hostname)];
  const timers = [setTimeout(() => resolver.cancel(), options.timeoutMs ?? 3_000)];
  for (const query of queries) {
    query.then(
      () => timers.push(setTimeout(() => resolver.cancel(), OTHER_FAMILY_WAIT_MS)),
      () => undefined,
    );
  }
  const settled = await Promise.allSettled(queries);
  for (const timer of timers) clearTimeout(timer);
  const found = settled.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  if (found.length > 0) return found;
  const reasons = settled.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as NodeJS.ErrnoException] : [],
  );
  const reason = reasons.find(({ code }) => code !== 'ENODATA') ?? reasons[0];
  if (SILENT.has(String(reason?.code)) && !(await serversAnswer())) {
    throw new GatewayError('RESOLVER_DOWN', 'the name servers do not answer', {
      retryable: true,
      cause: reason,
    });
  }
  throw failed(hostname, reason);
}

/** Every public resolver answers for the root, if only with a refusal. */
async function queryRoot(options: HostResolverOptions): Promise<boolean> {
  const resolver = new Resolver({ timeout: ROOT_WAIT_MS, tries: 1 });
  if (options.servers !== undefined) resolver.setServers(options.servers);
  const timer = setTimeout(() => resolver.cancel(), ROOT_WAIT_MS);
  try {
    await resolver.resolveNs('.');
    return true;
  } catch (error) {
    return !SILENT.has(String((error as NodeJS.ErrnoException).code));
  } finally {
    clearTimeout(timer);
  }
}

function failed(hostname: string, cause: unknown): GatewayError<ResolveErrorCode> {
  const code = String((cause as NodeJS.ErrnoException | undefined)?.code ?? 'no address');
  return SILENT.has(code)
    ? new GatewayError('LOOKUP_TIMEOUT', `${hostname} was not resolved in time`, { retryable: true, cause })
    : new GatewayError('LOOKUP_FAILED', `${hostname} was not resolved: ${code}`, { retryable: true, cause });
}
