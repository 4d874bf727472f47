import { usage } from './context.ts';

/**
 * An origin as browsers and the api spell it, without path, slash at its end or default port: nothing else would ever
 * equal a returnUrl's.
 * @throws GatewayError CLI_USAGE
 */
export function requireOrigin(name: string, text: string): void {
  if (isHttpUrl(text) && new URL(text).origin === text) return;
  const meant = isHttpUrl(text) ? `: ${new URL(text).origin}?` : ', for example https://shop.example.';
  throw usage(`${name} must be an origin, not ${text}${meant}`);
}

/** @throws GatewayError CLI_USAGE */
export function requireHttpUrl(name: string, text: string): void {
  if (!isHttpUrl(text)) throw usage(`${name} must be an http or https URL, not ${text}.`);
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
