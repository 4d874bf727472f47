import { isIP } from 'node:net';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { FailureCode, OwnFault } from './failure-codes.ts';
import type { AddressGuard } from './forbidden-addresses.ts';
import { BLOCKED_PORTS } from './blocked-ports.ts';

export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

/** Checked and pinned, so that a second lookup cannot redirect the attempt. */
export interface Endpoint {
  readonly url: URL;
  readonly address: string;
}

export class EndpointRefused extends Error {
  readonly code: FailureCode;
  constructor(code: FailureCode, message: string) {
    super(message);
    this.code = code;
  }
}

export interface AddressRules {
  readonly guard: AddressGuard;
  readonly allowHttp: boolean;
  readonly resolveHost: ResolveHost;
}

/**
 * A name is rejected when any of its addresses is forbidden: a mixed result is an attack or a mistake.
 * @throws EndpointRefused, or the error of the lookup
 */
export async function resolveEndpoint(text: string, rules: AddressRules): Promise<Endpoint> {
  const url = parseCallbackUrl(text, rules.allowHttp);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) === 0 ? await rules.resolveHost(host) : [host];
  const [address] = addresses;
  if (address === undefined) throw new EndpointRefused('LOOKUP_FAILED', `${host} has no address`);
  const forbidden = addresses.find((candidate) => !rules.guard.isAllowed(candidate));
  if (forbidden !== undefined)
    throw new EndpointRefused('ADDRESS_FORBIDDEN', `${host} resolves to the forbidden address ${forbidden}`);
  return { url, address };
}

/** The WHATWG parser normalises every spelling of an address (0x7f.1, 2130706433), so it runs before any check. */
function parseCallbackUrl(text: string, allowHttp: boolean): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new EndpointRefused('URL_REFUSED', 'the callback URL is not a URL');
  }
  if (url.protocol !== 'https:' && !(allowHttp && url.protocol === 'http:')) {
    throw new EndpointRefused('URL_REFUSED', `the callback URL must be https, not ${url.protocol}`);
  }
  if (url.username !== '' || url.password !== '')
    throw new EndpointRefused('URL_REFUSED', 'the callback URL must not contain a user or password');
  if (BLOCKED_PORTS.has(Number(url.port)) && url.port !== '')
    throw new EndpointRefused('URL_REFUSED', `port ${url.port} belongs to another protocol`);
  return url;
}

export function failureOfResolving(error: unknown): {
  readonly kind: 'FAILED';
  readonly code: FailureCode | OwnFault;
  readonly error: string;
} {
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof EndpointRefused) return { kind: 'FAILED', code: error.code, error: text };
  const code = error instanceof GatewayError ? error.code : undefined;
  const known = code === 'LOOKUP_TIMEOUT' || code === 'RESOLVER_DOWN';
  return { kind: 'FAILED', code: known ? code : 'LOOKUP_FAILED', error: text };
}
