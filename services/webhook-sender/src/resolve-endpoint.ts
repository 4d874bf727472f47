import { isIP } from 'node:net';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { FailureCode, OwnFault } from './failure-codes.ts';
import type { AddressGuard } from './forbidden-addresses.ts';
import { BLOCKED_PORTS } from './blocked-ports.ts';

/** Looks a host name up: every address it has. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

/** Where exactly an attempt connects: checked, and pinned, so that the name can't change its meaning in between. */
export interface Endpoint {
  readonly url: URL;
  readonly address: string;
}

/** Why a callback URL is not contacted. */
export class EndpointRefused extends Error {
  readonly code: FailureCode;
  constructor(code: FailureCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** What callbacks may be sent to. */
export interface AddressRules {
  readonly guard: AddressGuard;
  readonly allowHttp: boolean;
  readonly resolveHost: ResolveHost;
}

/**
 * Turns a callback URL into an address to connect to. A name is looked up once per attempt and refused when any of its
 * addresses is forbidden: a mixed answer is an attack or a mistake.
 * @throws EndpointRefused, or what the look-up throws
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

/** The WHATWG parser normalises every spelling of an address (0x7f.1, 2130706433), so it comes before any check. */
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
    throw new EndpointRefused('URL_REFUSED', 'the callback URL must not hold a password');
  if (BLOCKED_PORTS.has(Number(url.port)) && url.port !== '')
    throw new EndpointRefused('URL_REFUSED', `port ${url.port} is another protocol's`);
  return url;
}

/** What an error of `resolveEndpoint` makes of an attempt. */
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
