import { readFile } from 'node:fs/promises';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { NetworkConfig } from './network-config.ts';
import type { NetworkEnvironment } from './network-overrides.ts';
import { parseNetworkFile, type NetworkConfigErrorCode } from './parse-network-file.ts';

export type ReadNetworkFileErrorCode =
  /** The network file, or a file that a `…_FILE` variable names, cannot be read. */
  'NETWORKS_UNREADABLE';

/** URLs contain keys of providers, so each variable may name a file that holds its value. */
const FROM_FILE = /^[A-Z][A-Z0-9_]+_(RPC_URLS|SOLIDITY_URLS|WS_URL)_FILE$/;

/**
 * See parseNetworkFile. @throws GatewayError NETWORKS_UNREADABLE, NETWORKS_INVALID: the operator must correct the files
 */
export async function readNetworkFile(
  path: string,
  environment: NetworkEnvironment,
): Promise<readonly NetworkConfig[]> {
  const text = await read(path, path);
  const values: Record<string, string | undefined> = { ...environment };
  for (const [variable, file] of Object.entries(environment)) {
    if (!FROM_FILE.test(variable) || file === undefined || file === '') continue;
    const name = variable.slice(0, -'_FILE'.length);
    if (environment[name] !== undefined && environment[name] !== '') {
      throw new GatewayError<NetworkConfigErrorCode>(
        'NETWORKS_INVALID',
        `${name} is set directly and by ${variable}: remove one of them`,
        { retryable: false },
      );
    }
    values[name] = (await read(file, `the file in ${variable}`)).trim();
  }
  return parseNetworkFile(text, path, values);
}

function unreadable(message: string, path: string, cause?: unknown): GatewayError<ReadNetworkFileErrorCode> {
  return new GatewayError('NETWORKS_UNREADABLE', message, { retryable: false, context: { path }, cause });
}

async function read(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw unreadable(`${what} cannot be read`, path, cause);
  }
}
