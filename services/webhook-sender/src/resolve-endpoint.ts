import { isIP } from 'node:net';
import type { AddressGuard } from './forbidden-addresses.ts';

/** Looks a host name up: every address it has. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

/** Where exactly an attempt connects: checked, and pinned, so that the name can't change its meaning in between. */
export interface Endpoint {
  readonly url: URL;
  readonly address: string;
}

/** Why a callback URL is not contacted. */
export class EndpointRefused extends Error {}

export interface EndpointRules {
  readonly guard: AddressGuard;
  readonly allowHttp: boolean;
  readonly resolveHost: ResolveHost;
}

/**
 * Turns a callback URL into an address to connect to. A name is looked up once per attempt and refused when any of its
 * addresses is forbidden: a mixed answer is an attack or a mistake.
 * @throws EndpointRefused, or what the look-up throws
 */
export async function resolveEndpoint(text: string, rules: EndpointRules): Promise<Endpoint> {
  const url = parseCallbackUrl(text, rules.allowHttp);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) === 0 ? await rules.resolveHost(host) : [host];
  const [address] = addresses;
  if (address === undefined) throw new EndpointRefused(`${host} has no address`);
  const forbidden = addresses.find((candidate) => !rules.guard.isAllowed(candidate));
  if (forbidden !== undefined)
    throw new EndpointRefused(`${host} resolves to the forbidden address ${forbidden}`);
  return { url, address };
}

/** The WHATWG parser normalises every spelling of an address (0x7f.1, 2130706433), so it comes before any check. */
function parseCallbackUrl(text: string, allowHttp: boolean): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new EndpointRefused('the callback URL is not a URL');
  }
  if (url.protocol !== 'https:' && !(allowHttp && url.protocol === 'http:')) {
    throw new EndpointRefused(`the callback URL must be https, not ${url.protocol}`);
  }
  if (url.username !== '' || url.password !== '')
    throw new EndpointRefused('the callback URL must not hold a password');
  return url;
}
