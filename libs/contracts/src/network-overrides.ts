import type { NetworkConfig } from './network-config.ts';

/** `<CHAIN>_RPC_URLS`, `<CHAIN>_SOLIDITY_URLS` and `<CHAIN>_WS_URL` are read. */
export type NetworkEnvironment = Readonly<Record<string, string | undefined>>;

/** An empty variable counts as absent. Errors never contain the URL, because it contains a provider's key. */
export function withEnvironment(
  network: NetworkConfig,
  environment: NetworkEnvironment,
  mistakes: string[],
): NetworkConfig {
  const rpcVariable = `${network.chain}_RPC_URLS`;
  const wsVariable = `${network.chain}_WS_URL`;
  const rpcUrls = itemsOf(environment[rpcVariable]);
  const wsUrl = environment[wsVariable]?.trim();
  for (const [place, url] of rpcUrls.entries()) {
    if (!isUrlOf(url, 'http'))
      mistakes.push(`${rpcVariable} (item ${place + 1}) is not an http or https URL`);
  }
  if (hasDuplicates(rpcUrls)) mistakes.push(`${rpcVariable} lists an endpoint twice`);
  if (wsUrl && !isUrlOf(wsUrl, 'ws')) mistakes.push(`${wsVariable} is not a ws or wss URL`);
  const { solidityUrls: ofFile, ...others } = network;
  // The file's solidity URLs belong to the file's endpoints.
  const solidityUrls =
    solidityUrlsOf(network, environment, mistakes) ?? (rpcUrls.length === 0 ? ofFile : undefined);
  return {
    ...others,
    ...(rpcUrls.length === 0 ? {} : { rpcUrls }),
    ...(solidityUrls === undefined ? {} : { solidityUrls }),
    ...(wsUrl ? { wsUrl } : {}),
  };
}

function solidityUrlsOf(
  { chain, family, rpcUrls }: NetworkConfig,
  environment: NetworkEnvironment,
  mistakes: string[],
): readonly string[] | undefined {
  const variable = `${chain}_SOLIDITY_URLS`;
  const urls = itemsOf(environment[variable]);
  if (urls.length === 0) return undefined;
  if (family !== 'TRON') mistakes.push(`${variable} is not allowed for the ${family} family`);
  for (const [place, url] of urls.entries())
    if (!isUrlOf(url, 'http')) mistakes.push(`${variable} (item ${place + 1}) is not an http or https URL`);
  const given = itemsOf(environment[`${chain}_RPC_URLS`]);
  const [endpoints, place] = given.length === 0 ? [rpcUrls, 'rpcUrls'] : [given, `${chain}_RPC_URLS`];
  if (urls.length !== endpoints.length)
    mistakes.push(
      `${variable} must have one URL for each endpoint, in the same order: it has ${urls.length}, ${place} has ${endpoints.length}`,
    );
  return urls;
}

function itemsOf(list = ''): readonly string[] {
  return list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

export function isUrlOf(text: string, protocol: 'http' | 'ws'): boolean {
  return URL.canParse(text) && [`${protocol}:`, `${protocol}s:`].includes(new URL(text).protocol);
}

/** Compares URLs after normalisation. */
export function hasDuplicates(urls: readonly string[]): boolean {
  return new Set(urls.map((url) => (URL.canParse(url) ? new URL(url).href : url))).size < urls.length;
}
