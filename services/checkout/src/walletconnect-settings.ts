import type { WalletConnectSettings } from './view/render-document.ts';

/** Names of the two settings in messages: variables of the api, or options of the export. */
export interface SettingNames {
  readonly projectId: string;
  readonly relayUrl: string;
}

const PROJECT_ID = /^[\w-]{1,64}$/;
/** A relay on the same machine, for tests. */
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/**
 * WalletConnect is on when both are set, and off when neither is.
 * @returns the settings, undefined when off, or the problems
 */
export function walletConnectSettings(
  given: { readonly projectId: string | undefined; readonly relayUrl: string | undefined },
  names: SettingNames,
): { readonly settings: WalletConnectSettings | undefined } | { readonly problems: readonly string[] } {
  const { projectId, relayUrl } = given;
  if (projectId === undefined && relayUrl === undefined) return { settings: undefined };
  if (projectId === undefined)
    return { problems: [`${names.projectId} is missing: ${names.relayUrl} is set`] };
  if (relayUrl === undefined)
    return { problems: [`${names.relayUrl} is missing: ${names.projectId} is set`] };
  const origin = originOf(relayUrl);
  const problems = [
    ...(PROJECT_ID.test(projectId) ? [] : [`${names.projectId} must have 1 to 64 letters, digits, _ or -`]),
    ...(origin === undefined
      ? [`${names.relayUrl} must be wss:// and a host, without a path, for example wss://relay.example.com`]
      : []),
  ];
  if (origin === undefined || problems.length > 0) return { problems };
  return { settings: { projectId, relayUrl: origin } };
}

function originOf(relayUrl: string): string | undefined {
  if (!URL.canParse(relayUrl)) return undefined;
  const { protocol, hostname, host, username, password, pathname, search, hash } = new URL(relayUrl);
  const isPlain = protocol === 'ws:' && LOOPBACK.test(hostname);
  if (protocol !== 'wss:' && !isPlain) return undefined;
  if (pathname !== '/' || `${username}${password}${search}${hash}` !== '') return undefined;
  return `${protocol}//${host}`;
}
